//! What an example has in memory: a global allocator that counts what it was asked for, and the
//! operating system's figure.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with the bytes that it was asked for and has not got back.
struct Counting;

static REQUESTED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        REQUESTED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes requested from the allocator, and bytes that the process has in memory (0 where the system
/// does not say).
pub(crate) fn memory() -> (usize, usize) {
    let requested = REQUESTED.load(Ordering::Relaxed);
    let pages = std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| {
        text.split_whitespace().nth(1).and_then(|resident| resident.parse::<usize>().ok())
    });
    (requested, pages.unwrap_or(0) * 4096)
}
