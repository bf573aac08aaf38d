//! A function that the header sets under the thread sanitizer, called around functions of the
//! program, and around the library's own allocations. The sanitizer does not see the library, so
//! the header tells it about the ordering. It does see `malloc` and `free`: one call of the library
//! may free memory that another thread allocated after the call began.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::alloc::System;

/// Function that is called with `false` before a function of the program runs or memory is freed,
/// and with `true` after a function of the program or the library has made data that other threads
/// get.
pub type ly_hook_fn_ = Option<unsafe extern "C" fn(address: *mut c_void, is_after: bool)>;

/// The function, or null.
static HOOK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Returns the address that stands for everything that the library orders.
fn address() -> *mut c_void {
    (&raw const HOOK).cast_mut().cast()
}

/// Only for this header, under the thread sanitizer: sets a function that is called around
/// functions of the program and allocations. Returns the address that it gets. Cost: one store.
///
/// # Safety
///
/// `hook` must be safe to call at any time, in any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_hook_(hook: ly_hook_fn_) -> *mut c_void {
    let pointer = hook.map_or(core::ptr::null_mut(), |hook| hook as *mut c_void);
    // Relaxed: it publishes only the address of code.
    HOOK.store(pointer, Ordering::Relaxed);
    address()
}

/// Calls the function, if there is one.
#[inline]
pub(crate) fn call(is_after: bool) {
    // Relaxed: as in `ly_hook_`.
    let hook = HOOK.load(Ordering::Relaxed);
    if !hook.is_null() {
        // SAFETY: a function of this type, stored by `ly_hook_`.
        let hook = unsafe {
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, bool)>(hook)
        };
        // SAFETY: the promise of the caller of `ly_hook_`.
        unsafe { hook(address(), is_after) };
    }
}

/// The system's allocator. Tells the sanitizer that each memory block is freed after it was
/// allocated. Cost, beside the system's: a load and a branch. A Rust program that links this crate
/// cannot have its own global allocator.
///
/// The sanitizer also sees `memcpy` and `memset`, as writes after the allocation, which nothing
/// orders. The library calls them only in memory that lives as long as its table.
struct Ordered;

#[global_allocator]
static ALLOCATOR: Ordered = Ordered;

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Ordered {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        call(true);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        call(true);
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        call(false);
        // SAFETY: the caller's promise.
        let block = unsafe { System.realloc(block, layout, size) };
        call(true);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        call(false);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }
}
