//! Another caller acts at the worst moment: when a miss allocates memory.

use lockyard::platform::{Host, HostWithSlots, Native};
use lockyard_tables::buffers::{
    BlockCache, Configuration, FixedHash, Key, MoveToFront, OnMiss, Outside, ReferencedBit,
    Switches, TreePerGroup, UnderLock, WideHash, With,
};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

thread_local! {
    /// Called before the next allocation.
    static FIRST: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// The native host, with an action that runs at an allocation.
struct Interrupted;

// SAFETY: every call goes to `Native`.
unsafe impl Host for Interrupted {
    type Atomics = <Native as Host>::Atomics;
    const SLOTS: u32 = Native::SLOTS;
    const GIVES_SLOTS_BACK: bool = Native::GIVES_SLOTS_BACK;

    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        if let Some(first) = FIRST.take() {
            first();
        }
        Native::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Native::deallocate(memory, layout) }
    }
    lockyard::forward_to_host!(Native: slots, activity, rest);
}

impl HostWithSlots for Interrupted {}

fn the_other_ones_buffer<S: Switches<Interrupted>>() {
    let cache =
        Rc::new(BlockCache::<u64, S, Interrupted>::new(Configuration::DEFAULT.with_limit(1)));
    let get = |block, value| cache.get_or_fill(Key::new(0, block), || Ok::<u64, ()>(value));
    let the_same = Rc::clone(&cache);
    // From here on the cache has its own memory.
    assert_eq!(get(9, 9).as_deref(), Ok(&9));
    FIRST.set(Some(Box::new(move || {
        let buffer = the_same.get_or_fill(Key::new(0, 0), || Ok::<u64, ()>(1)).unwrap();
        assert_eq!(*buffer, 1, "what nobody used made room");
        // The buffer stays referenced, so the cache stays full.
        std::mem::forget(buffer);
    })));
    assert_eq!(get(0, 2).as_deref(), Ok(&1));
    assert!(FIRST.take().is_none(), "it happened");
    assert_eq!((cache.len(), cache.living()), (1, 1));
    assert!(get(1, 1).is_err(), "the cache is full");
}

#[test]
fn a_miss_in_a_full_cache_gets_what_another_made_meanwhile() {
    the_other_ones_buffer::<With<OnMiss, Outside, ReferencedBit, WideHash<1>>>();
    the_other_ones_buffer::<With<OnMiss, Outside, MoveToFront, FixedHash<1>>>();
    the_other_ones_buffer::<With<OnMiss, UnderLock, ReferencedBit, TreePerGroup>>();
    the_other_ones_buffer::<With<OnMiss, UnderLock, MoveToFront, WideHash<1>>>();
}
