//! The memory that a model allocates. It stays until the next execution begins, so that a later use
//! of freed memory is a finding.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::cell::RefCell;

std::thread_local! {
    static ALLOCATED: RefCell<Vec<(NonNull<u8>, Layout)>> = const { RefCell::new(Vec::new()) };
}

/// Frees the memory of the previous execution, whose objects are gone.
pub(super) fn free_all() {
    for (memory, layout) in ALLOCATED.take() {
        // SAFETY: `allocate` made it with this layout, and the execution that used it is over.
        unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
    }
}

/// Returns memory for `layout`, unless the layout has no bytes or there is no memory.
pub(super) fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the layout's size is not zero.
    let memory = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
    ALLOCATED.with_borrow_mut(|allocated| allocated.push((memory, layout)));
    Some(memory)
}
