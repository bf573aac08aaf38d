//! Stacks of model checks, used again.
//!
//! The model checker (loom) runs each thread of each execution on a stack of its own. It maps and
//! unmaps that stack: three system calls, and a fault for each page used. With two tests at a time
//! in one process these waited for each other's address space: two took longer than one after the
//! other. So this file defines `mmap`, `munmap` and `mprotect` for programs that link this crate.
//! They keep unmapped stacks for the same OS thread, and pass everything else on to the kernel.
//!
//! Only Rust code calls these definitions. The C library maps memory by functions of its own, for
//! example in `malloc` and for the stacks of OS threads.

use libc::{c_int, c_void, off_t, size_t};
use std::cell::RefCell;

/// Flags with which stacks are mapped.
const STACK: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
/// Access with which stacks are mapped.
const ACCESS: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// Maximum number of stacks that an OS thread keeps. A model check has at most five threads.
const MOST: usize = 16;

/// A mapped stack.
#[derive(Clone, Copy)]
struct Stack {
    lowest: usize,
    bytes: usize,
    /// Bytes at the lower end that may not be accessed.
    guard: usize,
}

/// The stacks of an OS thread.
struct Stacks {
    used: Vec<Stack>,
    kept: Vec<Stack>,
}

impl Drop for Stacks {
    fn drop(&mut self) {
        for stack in &self.kept {
            unmap(stack.lowest, stack.bytes);
        }
    }
}

thread_local!(static STACKS: RefCell<Stacks> = const {
    RefCell::new(Stacks { used: Vec::new(), kept: Vec::new() })
});

/// Runs `act` on the OS thread's stacks. Returns `None` in a thread that ends, and inside another
/// call.
fn with_stacks<R>(act: impl FnOnce(&mut Stacks) -> Option<R>) -> Option<R> {
    STACKS.try_with(|stacks| act(&mut *stacks.try_borrow_mut().ok()?)).ok()?
}

fn unmap(lowest: usize, bytes: usize) -> c_int {
    // SAFETY: whoever called `munmap` with this range does not use it any more.
    unsafe { libc::syscall(libc::SYS_munmap, lowest, bytes) as c_int }
}

/// The C library's function, which gives a kept stack if one is asked for.
///
/// # Safety
///
/// That of the C library's.
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
        let at = stacks.kept.iter().position(|stack| is_stack && stack.bytes == bytes)?;
        let stack = stacks.kept.swap_remove(at);
        stacks.used.push(stack);
        Some(stack.lowest as *mut c_void)
    });
    again.unwrap_or_else(|| {
        // SAFETY: the caller's promise.
        let mapped =
            unsafe { libc::syscall(libc::SYS_mmap, address, bytes, access, flags, file, offset) }
                as *mut c_void;
        if is_stack && mapped != libc::MAP_FAILED {
            with_stacks(|stacks| {
                stacks.used.push(Stack { lowest: mapped as usize, bytes, guard: 0 });
                Some(())
            });
        }
        mapped
    })
}

/// The C library's function, which keeps a stack.
///
/// # Safety
///
/// That of the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    let lowest = address as usize;
    let kept = with_stacks(|stacks| {
        let is_it = |stack: &Stack| stack.lowest == lowest && stack.bytes == bytes;
        let at = stacks.used.iter().position(is_it)?;
        let stack = stacks.used.swap_remove(at);
        (stacks.kept.len() < MOST).then(|| stacks.kept.push(stack))
    });
    kept.map_or_else(|| unmap(lowest, bytes), |()| 0)
}

/// The C library's function, which knows that a stack that is used again has its guard.
///
/// # Safety
///
/// That of the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, bytes: size_t, access: c_int) -> c_int {
    let guard = if access == libc::PROT_NONE { bytes } else { 0 };
    let has_it = with_stacks(|stacks| {
        let stack = stacks.used.iter().find(|stack| stack.lowest == address as usize)?;
        (guard > 0 && stack.guard == guard).then_some(())
    });
    if has_it.is_some() {
        return 0;
    }
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_mprotect, address, bytes, access) } as c_int;
    with_stacks(|stacks| {
        let is_it = |stack: &&mut Stack| stack.lowest == address as usize;
        stacks.used.iter_mut().find(is_it)?.guard = if result == 0 { guard } else { 0 };
        Some(())
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn map() -> usize {
        // SAFETY: a new mapping.
        let mapped = unsafe { libc::mmap(null_mut(), 1 << 16, ACCESS, STACK, -1, 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        mapped as usize
    }

    fn protect(lowest: usize) {
        // SAFETY: nothing is in the page.
        assert_eq!(unsafe { libc::mprotect(lowest as *mut c_void, 4096, libc::PROT_NONE) }, 0);
    }

    fn unmap(lowest: usize) {
        // SAFETY: nobody uses it.
        assert_eq!(unsafe { libc::munmap(lowest as *mut c_void, 1 << 16) }, 0);
    }

    fn counts() -> [usize; 2] {
        STACKS.with_borrow(|stacks| [stacks.used.len(), stacks.kept.len()])
    }

    #[test]
    fn a_stack_is_used_again_with_its_guard() {
        let (first, second) = (map(), map());
        protect(first);
        assert_eq!(counts(), [2, 0]);
        unmap(first);
        assert_eq!((counts(), map()), ([1, 1], first));
        let guards =
            || STACKS.with_borrow(|stacks| stacks.used.iter().map(|s| s.guard).sum::<usize>());
        assert_eq!(guards(), 4096);
        protect(first);
        protect(second);
        assert_eq!(guards(), 2 * 4096);
        unmap(second);
        unmap(first);
        assert_eq!(counts(), [0, 2]);
    }

    #[test]
    fn more_stacks_than_are_kept_and_other_mappings_go_to_the_kernel() {
        let many: Vec<usize> = (0..MOST + 3).map(|_| map()).collect();
        many.into_iter().for_each(unmap);
        assert_eq!(counts(), [0, MOST]);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which nobody uses.
        unsafe {
            let other = libc::mmap(null_mut(), 1 << 16, ACCESS, flags, -1, 0);
            assert_eq!(counts(), [0, MOST]);
            assert_eq!(libc::munmap(other, 1 << 16), 0);
            assert_eq!(libc::munmap(other.wrapping_byte_add(1), 1 << 16), -1, "it is not aligned");
        }
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL));
    }
}
