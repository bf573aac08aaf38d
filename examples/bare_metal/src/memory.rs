//! The kernel's memory: one heap behind a lock. The lock is a ticket lock, which needs no memory
//! and no slot, and handlers may take it.

use crate::host::{InterruptsOff, Kernel};
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use linked_list_allocator::Heap;
use lockyard::on;

const BYTES: usize = 4 << 20;

/// A byte that freed memory is filled with, so that a reader of it notices.
const FREED: u8 = 0xdd;

#[repr(align(4096))]
struct Memory(UnsafeCell<[u8; BYTES]>);
// SAFETY: only the heap gives it out.
unsafe impl Sync for Memory {}
static MEMORY: Memory = Memory(UnsafeCell::new([0; BYTES]));

static HEAP: on::TicketLock<Heap, Kernel, InterruptsOff> = on::TicketLock::new(Heap::empty());

/// Gives the heap its memory.
pub(crate) fn fill() {
    // SAFETY: the memory is a static that nothing else uses, and this runs once.
    unsafe { HEAP.lock().init(MEMORY.0.get().cast(), BYTES) };
}

/// Number of bytes in use.
pub(crate) fn used() -> usize {
    HEAP.lock().used()
}

/// Returns memory for `layout`, if there is any.
pub(crate) fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    HEAP.lock().allocate_first_fit(layout).ok()
}

/// Takes memory back.
///
/// # Safety
///
/// It is from [`allocate`] with this `layout`, and no longer used.
pub(crate) unsafe fn free(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller no longer uses it.
    unsafe { memory.write_bytes(FREED, layout.size()) };
    // SAFETY: the caller's promise.
    unsafe { HEAP.lock().deallocate(memory, layout) };
}
