//! Stand-ins for the unwinder's functions, to which the standard library refers. With them this
//! library does not need the unwinder's library: where that is missing, the loader would ignore
//! this library.
//!
//! A thread that ends early is unwound through frames of this library, whose descriptions ask for
//! these functions. The C library has loaded the unwinder by then. A panic of this library, which
//! is a fault, loads it. If there is none, the process ends.
//!
//! The names are hidden: the program's own calls must not come here. Each function jumps to the
//! unwinder's function, which inspects its caller.

use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Stands for a function of a missing unwinder.
unsafe extern "C" fn missing() {
    crate::system::complain(&[b"there is no libgcc_s.so.1 to unwind with"]);
    crate::system::exit(134)
}

/// Finds a function of the unwinder.
unsafe extern "C" fn find(name: *const c_char, place: &AtomicPtr<c_void>) {
    const FILE: &CStr = c"libgcc_s.so.1";
    // SAFETY: the names end with a zero.
    let found = unsafe {
        let mut library = dlopen(FILE.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if library.is_null() {
            library = dlopen(FILE.as_ptr(), libc::RTLD_LAZY);
        }
        if library.is_null() { library } else { dlsym(library, name) }
    };
    let found = if found.is_null() { missing as *mut c_void } else { found };
    place.store(found, Ordering::Relaxed);
}

/// Defines a function that first finds the unwinder's function, and then jumps to it.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($name:literal, $place:ident) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "cmp qword ptr [rip + {place}], 0",
            "jne 2f",
            "sub rsp, 40",
            ".cfi_adjust_cfa_offset 40",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "lea rdi, [rip + 3f]",
            "lea rsi, [rip + {place}]",
            "call {find}",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "add rsp, 40",
            ".cfi_adjust_cfa_offset -40",
            "2:",
            "jmp qword ptr [rip + {place}]",
            concat!("3: .asciz \"", $name, "\""),
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            place = sym $place,
            find = sym find,
        );
    };
}

/// Defines a function that first finds the unwinder's function, and then jumps to it.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($name:literal, $place:ident) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "adrp x16, {place}",
            "ldr x16, [x16, :lo12:{place}]",
            "cbnz x16, 2f",
            "stp x29, x30, [sp, -48]!",
            ".cfi_adjust_cfa_offset 48",
            ".cfi_rel_offset x29, 0",
            ".cfi_rel_offset x30, 8",
            "stp x0, x1, [sp, 16]",
            "str x2, [sp, 32]",
            "adr x0, 3f",
            "adrp x1, {place}",
            "add x1, x1, :lo12:{place}",
            "bl {find}",
            "ldp x0, x1, [sp, 16]",
            "ldr x2, [sp, 32]",
            "ldp x29, x30, [sp], 48",
            ".cfi_restore x30",
            ".cfi_restore x29",
            ".cfi_adjust_cfa_offset -48",
            "adrp x16, {place}",
            "ldr x16, [x16, :lo12:{place}]",
            "2:",
            "br x16",
            concat!("3: .asciz \"", $name, "\""),
            ".p2align 2",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            place = sym $place,
            find = sym find,
        );
    };
}

macro_rules! functions {
    ($($name:literal, $place:ident;)*) => { $(
        #[doc = concat!("Address of `", $name, "`, or null before it is found.")]
        static $place: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
        jump!($name, $place);
    )* };
}

functions! {
    "_Unwind_Backtrace", BACKTRACE;
    "_Unwind_DeleteException", DELETE_EXCEPTION;
    "_Unwind_GetCFA", GET_CFA;
    "_Unwind_GetDataRelBase", GET_DATA_REL_BASE;
    "_Unwind_GetGR", GET_GR;
    "_Unwind_GetIP", GET_IP;
    "_Unwind_GetIPInfo", GET_IP_INFO;
    "_Unwind_GetLanguageSpecificData", GET_LANGUAGE_SPECIFIC_DATA;
    "_Unwind_GetRegionStart", GET_REGION_START;
    "_Unwind_GetTextRelBase", GET_TEXT_REL_BASE;
    "_Unwind_FindEnclosingFunction", FIND_ENCLOSING_FUNCTION;
    "_Unwind_RaiseException", RAISE_EXCEPTION;
    "_Unwind_Resume", RESUME;
    "_Unwind_SetGR", SET_GR;
    "_Unwind_SetIP", SET_IP;
}
