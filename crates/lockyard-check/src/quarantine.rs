//! A host that does not reuse freed memory before the next execution of a model. Every operation on
//! a word in freed memory is a finding. So a primitive that touches memory it has freed is caught,
//! instead of causing undefined behaviour.

use crate::{hooks, ration};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::platform::{Host, HostWithSlots};
use std::cell::RefCell;

/// The host `H`, which keeps deallocated memory until [`begin`].
#[derive(Debug)]
pub struct Quarantine<H>(PhantomData<fn() -> H>);

/// Deallocated memory, each with its layout and the function that gives it back.
type Kept = Vec<(NonNull<u8>, Layout, unsafe fn(NonNull<u8>, Layout))>;

std::thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Vec::new()) };
}

/// Begins an execution: gives back the memory that the previous one freed, and forgets it. Programs
/// that allocate call it when they are made.
pub fn begin() {
    hooks::free_nothing();
    for (memory, layout, give_back) in KEPT.take() {
        // SAFETY: it came from the same host, with this layout. The execution in which it was used
        // is over.
        unsafe { give_back(memory, layout) };
    }
    // The ration has noted the memory as freed.
    ration::begin();
}

// SAFETY: everything is `H`'s. Memory is given back later.
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
