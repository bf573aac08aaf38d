//! A host with at most 255 threads, for the ticket lock with 8-bit counters, which does not compile
//! for more.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::time::Duration;
use lockyard::platform::{Event, Execution, Host, QueueNode, Slot, U32};

/// The host `H`, promising that no more than 255 threads use it. The programs of this crate have
/// far fewer.
#[derive(Debug)]
pub struct FewSlots<H>(PhantomData<fn() -> H>);

// SAFETY: everything is `H`'s; a slot beyond 255 is withheld, which a host may do.
unsafe impl<H: Host> Host for FewSlots<H> {
    type Atomics = H::Atomics;
    const SLOTS: u32 = if H::SLOTS < 255 { H::SLOTS } else { 255 };

    fn slot() -> Option<Slot> {
        H::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    fn numa_node() -> u32 {
        H::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<H::Atomics> {
        H::queue_node(slot, level)
    }
    fn relax() {
        H::relax()
    }
    fn yield_now() {
        H::yield_now()
    }
    fn now() -> Duration {
        H::now()
    }
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        H::park(word, expected, timeout)
    }
    fn unpark(word: *const U32<Self>, count: u32) {
        H::unpark(word, count)
    }
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        H::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise is `H`'s.
        unsafe { H::deallocate(memory, layout) }
    }
    fn count(event: Event) {
        H::count(event)
    }
    fn execution() -> Execution {
        H::execution()
    }
    fn fatal(message: &'static str) -> ! {
        H::fatal(message)
    }
}
