//! A host that does not reuse freed memory before the next execution of a model. Every operation on
//! a word in freed memory is a finding. A primitive that touches memory it has freed is thus
//! caught, instead of causing undefined behaviour.

use crate::{hooks, ration};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::platform::{Host, HostWithSlots};
use std::cell::RefCell;

/// The host `H`, which keeps deallocated memory until [`begin`].
#[derive(Debug)]
pub struct Quarantine<H>(PhantomData<fn() -> H>);

/// Deallocated memory, each piece with its layout and the function that returns it to the host.
type Kept = Vec<(NonNull<u8>, Layout, unsafe fn(NonNull<u8>, Layout))>;

std::thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Vec::new()) };
}

/// Begins an execution: returns the memory that the previous execution freed to the host. Programs
/// that allocate call this when they are created.
pub fn begin() {
    hooks::free_nothing();
    for (memory, layout, give_back) in KEPT.take() {
        // SAFETY: the memory came from the same host, with this layout. The execution that used it
        // is over.
        unsafe { give_back(memory, layout) };
    }
    // The ration has recorded the memory as freed.
    ration::begin();
}

// SAFETY: every call goes to `H`. Freed memory is returned to `H` later.
unsafe impl<H: Host> Host for Quarantine<H> {
    type Atomics = H::Atomics;
    const SLOTS: u32 = H::SLOTS;
    const GIVES_SLOTS_BACK: bool = H::GIVES_SLOTS_BACK;

    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        H::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        let start = memory.addr().get();
        hooks::free(start..start + layout.size());
        KEPT.with_borrow_mut(|kept| kept.push((memory, layout, H::deallocate)));
    }
    lockyard::forward_to_host!(H: slots, activity, rest);
}

impl<H: HostWithSlots> HostWithSlots for Quarantine<H> {}
