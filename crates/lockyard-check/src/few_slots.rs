//! A host with few slots: with 255 for the ticket lock with 8-bit counters, which does not compile for
//! more; with fewer than there are threads for what a lock does whose waiter has none.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::time::Duration;
use lockyard::platform::{
    BudgetSpent, Event, Execution, Host, Ordering, QueueNode, Slot, U32, U64, Word,
};

/// The host `H` with at most `N` slots: threads beyond have none.
#[derive(Debug)]
pub struct FewSlots<H, const N: u32 = 255>(PhantomData<fn() -> H>);

// SAFETY: everything is `H`'s; a slot beyond `N` is withheld, which a host may do. The programs of this crate have far fewer
// than 255 threads.
unsafe impl<H: Host, const N: u32> Host for FewSlots<H, N> {
    type Atomics = H::Atomics;
    const SLOTS: u32 = if H::SLOTS < N { H::SLOTS } else { N };

    fn slot() -> Option<Slot> {
        H::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    fn numa_node() -> u32 {
        H::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<H::Atomics> {
        H::queue_node(slot, level)
    }
    fn announcements(lock: usize, turn: u32) -> &'static [U64<Self>] {
        H::announcements(lock, turn)
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
    fn interruption_fence() {
        H::interruption_fence()
    }
    #[track_caller]
    fn wait_until<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        H::wait_until(word, order, predicate)
    }
    #[track_caller]
    fn wait_within<W: Word>(
        word: &W,
        order: Ordering,
        polls: u32,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        H::wait_within(word, order, polls, predicate)
    }
    #[track_caller]
    fn wait_yielding<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        H::wait_yielding(word, order, predicate)
    }
    fn fatal(message: &'static str) -> ! {
        H::fatal(message)
    }
}
