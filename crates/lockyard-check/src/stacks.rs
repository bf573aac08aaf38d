//! Reuses the stacks of model checks.
//!
//! The model checker (loom) runs each thread of each execution on a separate stack. It maps and
//! unmaps that stack: three system calls, and a page fault for each page used. Two concurrent tests
//! in one process contended for the address space: together they took longer than one after the
//! other. So this file defines `mmap`, `munmap` and `mprotect` for programs that link this crate.
//! These functions keep unmapped stacks for the same OS thread, and pass all other calls on to the
//! kernel.
//!
//! A kept stack is not zeroed, and keeps its guard page. Only stacks that had a guard are kept, and
//! any other change of a stack's range ends its record. The program exports the three names, so
//! shared libraries that call these names get these functions too. The GNU C library does not: it
//! maps memory by internal functions, in `malloc` and for the stacks of OS threads.
//!
//! A program that must have the C library's own functions switches the feature `stacks` off.

use libc::{c_int, c_long, c_void, off_t, size_t};
use std::cell::RefCell;
use std::ops::Range;

/// Flags with which stacks are mapped.
const STACK: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
/// Access with which stacks are mapped.
const ACCESS: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// Maximum number of stacks that an OS thread knows. A model check has at most five threads.
const MOST: usize = 16;

/// Last operation on a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was mapped.
    Mapped,
    /// It was mapped, and has a guard at its lower end.
    Guarded,
    /// It was unmapped, and is kept.
    Kept,
    /// It was mapped again, and has its old guard.
    Again,
}

/// A stack. The record is correct only for the OS thread that owns it.
#[derive(Clone, Copy)]
struct Stack {
    lowest: usize,
    bytes: usize,
    /// Bytes of the guard, which is there except in the state `Mapped`.
    guard: usize,
    state: State,
}

impl Stack {
    fn overlaps(&self, range: &Range<usize>) -> bool {
        self.lowest < range.end && range.start < self.lowest + self.bytes
    }
}

/// The stacks of an OS thread.
struct Stacks([Option<Stack>; MOST]);

impl Stacks {
    /// Returns the place of the stack with exactly this range.
    fn exact(&mut self, range: &Range<usize>) -> Option<&mut Option<Stack>> {
        let is_it = |stack: Stack| (stack.lowest..stack.lowest + stack.bytes) == *range;
        self.0.iter_mut().find(|place| place.is_some_and(is_it))
    }

    /// Forgets the stacks that overlap a changed range.
    fn forget(&mut self, range: &Range<usize>) {
        for place in &mut self.0 {
            place.take_if(|stack| stack.overlaps(range));
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        for stack in self.0.iter().flatten().filter(|stack| stack.state == State::Kept) {
            // SAFETY: the stack's user has unmapped it.
            unsafe { unmap(stack.lowest..stack.lowest + stack.bytes) };
        }
    }
}

thread_local!(static STACKS: RefCell<Stacks> = const { RefCell::new(Stacks([None; MOST])) });

/// Runs `act` on the OS thread's stacks. Returns `None` in a thread that ends, and inside another
/// call.
fn with_stacks<R>(act: impl FnOnce(&mut Stacks) -> Option<R>) -> Option<R> {
    STACKS.try_with(|stacks| act(&mut *stacks.try_borrow_mut().ok()?)).ok()?
}

/// # Safety
///
/// No thread may use the range any more.
unsafe fn unmap(range: Range<usize>) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_munmap, range.start, range.len()) as c_int }
}

/// # Safety
///
/// No thread may use the range in a way that the access forbids.
unsafe fn protect(range: Range<usize>, access: c_int) -> c_int {
    let access = c_long::from(access);
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_mprotect, range.start, range.len(), access) as c_int }
}

fn range(address: *mut c_void, bytes: size_t) -> Range<usize> {
    address as usize..(address as usize).saturating_add(bytes)
}

/// Replaces the C library's function. If a stack is asked for, returns a kept stack, which is not
/// zeroed, and has a guard page.
///
/// # Safety
///
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: size_t,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let is_stack = address.is_null() && access == ACCESS && flags == STACK && file == -1;
    let again = with_stacks(|stacks| {
        let fits = |stack: &&mut Stack| stack.state == State::Kept && stack.bytes == bytes;
        let stack = stacks.0.iter_mut().flatten().filter(|_| is_stack).find(fits)?;
        stack.state = State::Again;
        Some(stack.lowest as *mut c_void)
    });
    again.unwrap_or_else(|| {
        let [access, flags, file] = [access, flags, file].map(c_long::from);
        // SAFETY: the caller's promise.
        let mapped =
            unsafe { libc::syscall(libc::SYS_mmap, address, bytes, access, flags, file, offset) };
        let mapped = mapped as *mut c_void;
        if mapped != libc::MAP_FAILED {
            with_stacks(|stacks| {
                // Forget stacks that another thread unmapped, and stacks that this mapping
                // replaces.
                stacks.forget(&range(mapped, bytes));
                let place = stacks.0.iter_mut().filter(|_| is_stack).find(|p| p.is_none())?;
                let lowest = mapped as usize;
                *place = Some(Stack { lowest, bytes, guard: 0, state: State::Mapped });
                Some(())
            });
        }
        mapped
    })
}

/// Replaces the C library's function. Keeps a stack that has a guard.
///
/// # Safety
///
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    let range = range(address, bytes);
    let kept = with_stacks(|stacks| {
        if let Some(Some(stack)) = stacks.exact(&range)
            && matches!(stack.state, State::Guarded | State::Again)
        {
            stack.state = State::Kept;
            return Some(());
        }
        stacks.forget(&range);
        None
    });
    // SAFETY: the caller's promise.
    kept.map_or_else(|| unsafe { unmap(range) }, |()| 0)
}

/// Replaces the C library's function. Recognises that a reused stack already has its guard.
///
/// # Safety
///
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, bytes: size_t, access: c_int) -> c_int {
    let range = range(address, bytes);
    let is_there = with_stacks(|stacks| {
        let begins = |stack: &&mut Stack| stack.lowest == range.start && stack.bytes > bytes;
        let Some(stack) = stacks.0.iter_mut().flatten().find(begins) else {
            stacks.forget(&range);
            return None;
        };
        let is_guard = access == libc::PROT_NONE && bytes > 0;
        match stack.state {
            State::Again if is_guard && stack.guard == bytes => {
                stack.state = State::Guarded;
                return Some(());
            }
            State::Mapped if is_guard => (stack.state, stack.guard) = (State::Guarded, bytes),
            _ => {
                let guard = stack.lowest..stack.lowest + stack.guard;
                stacks.forget(&range);
                // SAFETY: the memory belongs to the caller. The caller assumes that it has no guard
                // yet, or its access is set below.
                unsafe { protect(guard, ACCESS) };
            }
        }
        None
    });
    if is_there.is_some() {
        return 0;
    }
    // SAFETY: the caller's promise.
    let result = unsafe { protect(range.clone(), access) };
    if result != 0 {
        with_stacks(|stacks| {
            stacks.forget(&range);
            Some(())
        });
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    const BYTES: usize = 1 << 16;
    const PAGE: usize = 4096;

    fn map() -> usize {
        // SAFETY: a new mapping.
        let mapped = unsafe { libc::mmap(null_mut(), BYTES, ACCESS, STACK, -1, 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        mapped as usize
    }

    fn guard(lowest: usize, bytes: usize) {
        // SAFETY: nothing is in the pages.
        assert_eq!(unsafe { libc::mprotect(lowest as *mut c_void, bytes, libc::PROT_NONE) }, 0);
    }

    fn unmap(lowest: usize) {
        // SAFETY: no thread uses it.
        assert_eq!(unsafe { libc::munmap(lowest as *mut c_void, BYTES) }, 0);
    }

    /// Returns the number of known stacks, and of those that are kept.
    fn counts() -> [usize; 2] {
        STACKS.with_borrow(|stacks| {
            let kept = stacks.0.iter().flatten().filter(|stack| stack.state == State::Kept);
            [stacks.0.iter().flatten().count(), kept.count()]
        })
    }

    /// Returns true if the page can be read.
    fn is_readable(page: usize) -> bool {
        let mut ends = [0; 2];
        // SAFETY: the kernel reads the page, and refuses it if it cannot.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let written = libc::write(ends[1], page as *const c_void, 1);
            let _ = ends.map(|end| libc::close(end));
            written == 1
        }
    }

    #[test]
    fn a_stack_is_used_again_with_its_guard() {
        let (first, second) = (map(), map());
        guard(first, PAGE);
        assert_eq!(counts(), [2, 0]);
        unmap(first);
        assert_eq!((counts(), map(), counts()), ([2, 1], first, [2, 0]));
        guard(first, PAGE);
        assert!(!is_readable(first) && is_readable(first + PAGE) && is_readable(second));
        unmap(second);
        assert_eq!(counts(), [1, 0], "a stack without a guard is not kept");
        unmap(first);
        assert_eq!(counts(), [1, 1]);
    }

    #[test]
    fn a_stack_that_is_changed_in_another_way_is_not_kept() {
        let stack = map();
        guard(stack, 2 * PAGE);
        unmap(stack);
        assert_eq!((map(), counts()), (stack, [1, 0]));
        guard(stack, PAGE);
        assert!(!is_readable(stack) && is_readable(stack + PAGE), "the larger guard is gone");
        assert_eq!(counts(), [0, 0]);
        unmap(stack);
        let stack = map();
        guard(stack, PAGE);
        // SAFETY: no thread uses the stack.
        unsafe { assert_eq!(libc::munmap((stack + PAGE) as *mut c_void, PAGE), 0) };
        assert_eq!(counts(), [0, 0], "it has a hole");
        unmap(stack);
    }

    #[test]
    fn more_stacks_than_are_known_and_other_mappings_go_to_the_kernel() {
        let many: Vec<usize> = (0..MOST + 3).map(|_| map()).collect();
        for &stack in &many {
            guard(stack, PAGE);
        }
        assert_eq!(counts(), [MOST, 0]);
        many.into_iter().for_each(unmap);
        assert_eq!(counts(), [MOST, MOST]);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which no thread uses.
        unsafe {
            let other = libc::mmap(null_mut(), BYTES, ACCESS, flags, -1, 0);
            assert_eq!(counts(), [MOST, MOST]);
            assert_eq!(libc::munmap(other, BYTES), 0);
            assert_eq!(libc::munmap(other.wrapping_byte_add(1), BYTES), -1, "it is not aligned");
        }
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL));
    }
}
