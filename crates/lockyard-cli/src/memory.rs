//! Allocator of the command: the system's, but out of memory it prints one line and exits.
//!
//! Without this allocator, the standard library prints several lines and aborts, which leaves
//! temporary files behind.

use crate::errors::complain;
use crate::temporary;
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, except that a failure ends the process with exit code 1.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// True once an allocation has failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Returns `memory`, or ends the process if it is null.
fn or_end(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() && !FAILED.swap(true, Ordering::Relaxed) {
        // After the refusal of a large block, small blocks are usually still available for the
        // message. If not, the nested call returns null, and the standard library aborts.
        complain(&format!(
            "lockyard: out of memory: {bytes} bytes were refused; use fewer threads, fewer \
             objects, or --jobs 1, or allow the process more memory"
        ));
        temporary::try_remove_all();
        #[cfg(target_os = "linux")]
        crate::profile::try_remove_all();
        exit(1);
    }
    memory
}

// SAFETY: all blocks are the system allocator's, with the layouts of the calls.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        or_end(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}
