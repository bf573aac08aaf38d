//! A system call that records its return address, so that a handler that interrupts it can return
//! there: see `leave.rs`.
//!
//! If a handler has left the call by its own jump, the stale record must not be used. So the
//! unwinder checks whether the call is among the frames below the handler.
//!
//! This works only on x86-64 without shadow stacks, which do not allow such a return.

#[cfg(target_arch = "x86_64")]
mod arch {
    use core::arch::{asm, global_asm};
    use core::ffi::{c_int, c_void};

    // A frame: the address of the record, the former record, and the caller's registers.
    global_asm!(
        ".pushsection .text.lockyard_mutex_leave, \"ax\", @progbits",
        ".hidden lockyard_mutex_sleep",
        ".globl lockyard_mutex_sleep",
        ".type lockyard_mutex_sleep, @function",
        "lockyard_mutex_sleep:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbx, 0",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r12, 0",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r13, 0",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r14, 0",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r15, 0",
        "push qword ptr [rsi]",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "mov [rsi], rsp",
        // A handler that interrupts before the record is written could not return here.
        "mov rax, {interrupted}",
        "cmp byte ptr [rdx], 0",
        "jne 2f",
        "mov rax, [rdi]",
        "mov rsi, [rdi + 16]",
        "mov rdx, [rdi + 24]",
        "mov r10, [rdi + 32]",
        "mov r8, [rdi + 40]",
        "mov r9, [rdi + 48]",
        "mov rdi, [rdi + 8]",
        "syscall",
        "2:",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop qword ptr [rcx]",
        ".cfi_adjust_cfa_offset -8",
        "pop r15",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r15",
        "pop r14",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r14",
        "pop r13",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r13",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r12",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore rbx",
        "pop rbp",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore rbp",
        "ret",
        ".cfi_endproc",
        ".size lockyard_mutex_sleep, . - lockyard_mutex_sleep",
        ".hidden lockyard_mutex_return",
        ".globl lockyard_mutex_return",
        ".type lockyard_mutex_return, @function",
        "lockyard_mutex_return:",
        "mov rsp, rdi",
        "mov rax, {interrupted}",
        "jmp 2b",
        ".size lockyard_mutex_return, . - lockyard_mutex_return",
        ".popsection",
        interrupted = const -(libc::EINTR as isize),
    );

    unsafe extern "C" {
        fn lockyard_mutex_sleep(
            call: *const [usize; 7],
            place: *mut usize,
            is_interrupted: *const bool,
        ) -> isize;
        fn lockyard_mutex_return(note: usize) -> !;
        fn _Unwind_Backtrace(
            look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            search: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    }

    /// Performs a system call: a number and six arguments. Records in `place` the return address.
    /// If `is_interrupted` is then true, it returns at once.
    ///
    /// # Safety
    ///
    /// The arguments must be right for the call. The places are the running thread's.
    pub(crate) unsafe fn call(
        call: [usize; 7],
        place: *mut usize,
        is_interrupted: *const bool,
    ) -> isize {
        // SAFETY: the caller's promise.
        unsafe { lockyard_mutex_sleep(&raw const call, place, is_interrupted) }
    }

    /// Returns true if there are no shadow stacks.
    fn may_return() -> bool {
        let shadow: usize;
        // SAFETY: the instruction reads a register, or does nothing.
        unsafe {
            asm!("xor {0:e}, {0:e}", "rdsspq {0}", out(reg) shadow, options(nomem, nostack));
        }
        shadow == 0
    }

    /// A search for the frame of a note.
    struct Search {
        note: usize,
        is_found: bool,
    }

    /// Looks at a frame. Returns 0, which means that the search continues.
    extern "C" fn look(frame: *mut c_void, search: *mut c_void) -> c_int {
        let search = search.cast::<Search>();
        let [first, last] = [lockyard_mutex_sleep as *const (), lockyard_mutex_return as *const ()];
        // SAFETY: the unwinder's frame; the pointer is to the search.
        unsafe {
            let is_call = (first.addr()..last.addr()).contains(&_Unwind_GetIP(frame));
            // For an interrupted frame it is the stack pointer.
            (*search).is_found |= is_call && _Unwind_GetCFA(frame) == (*search).note;
        }
        0
    }

    /// Returns true if the record in `place` belongs to a call that the caller has interrupted.
    ///
    /// # Safety
    ///
    /// The place must belong to the running thread.
    pub(crate) unsafe fn is_in_call(place: *const usize) -> bool {
        // SAFETY: the caller's promise.
        let mut search = Search { note: unsafe { *place }, is_found: false };
        if search.note != 0 && may_return() {
            // SAFETY: the function does not keep the search.
            unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
        }
        search.is_found
    }

    /// Returns from the call that is recorded in `place`.
    ///
    /// # Safety
    ///
    /// The record must belong to a call that the caller has interrupted. No frame above may have
    /// anything to drop.
    pub(crate) unsafe fn go_back(place: *const usize) -> ! {
        // SAFETY: the caller's promise.
        unsafe { lockyard_mutex_return(*place) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod arch {
    /// Performs a system call: a number and six arguments.
    ///
    /// # Safety
    ///
    /// The arguments must be right for the call.
    pub(crate) unsafe fn call(
        [number, a, b, c, d, e, f]: [usize; 7],
        _: *mut usize,
        _: *const bool,
    ) -> isize {
        // SAFETY: the caller's promise.
        unsafe { lockyard_interpose::call(number, [a, b, c, d, e, f]) }
    }

    /// Returns false: there are no records.
    ///
    /// # Safety
    ///
    /// None.
    pub(crate) unsafe fn is_in_call(_: *const usize) -> bool {
        false
    }

    /// Never called.
    ///
    /// # Safety
    ///
    /// None.
    pub(crate) unsafe fn go_back(_: *const usize) -> ! {
        loop {}
    }
}

pub(crate) use arch::{call, go_back, is_in_call};
