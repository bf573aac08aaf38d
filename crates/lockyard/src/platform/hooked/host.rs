//! The hooked host. It forwards everything to the inner host, except that memory operations, waits
//! and allocations pass through the hook.

use super::hook::{Hook, PARKED_SLICE};
use super::memory::HookedAtomics;
use crate::invariance::Invariant;
use crate::platform::{
    Activity, Announcement, BudgetSpent, Event, Execution, Host, HostWithSlots, Ordering,
    QueueNode, Slot, U32, Word,
};
use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;
use core::time::Duration;

/// Number of slices of polls that one slice of a park counts as.
const SLICES_PARKED: u64 = 100;

/// The host `H`, with its operations passing through `K`.
pub struct Hooked<H, K>(Invariant<(H, K)>);

impl<H, K> fmt::Debug for Hooked<H, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

// SAFETY: `H` provides everything. A queue node on `HookedAtomics<A, K>` has the layout of a queue
// node on `A`: `HookedWord` is transparent and `QueueNode` is `repr(C)`.
unsafe impl<H: Host, K: Hook> Host for Hooked<H, K> {
    type Atomics = HookedAtomics<H::Atomics, K>;
    const SLOTS: u32 = H::SLOTS;
    const GIVES_SLOTS_BACK: bool = H::GIVES_SLOTS_BACK;

    fn slot() -> Option<Slot> {
        H::slot()
    }
    fn numa_node() -> u32 {
        H::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<Self::Atomics> {
        let node: *const QueueNode<H::Atomics> = H::queue_node(slot, level);
        // SAFETY: the layout is the same, as shown at the `impl`. The reference lives as long as
        // the original.
        unsafe { &*node.cast() }
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<Self::Atomics>] {
        let words: *const [Announcement<H::Atomics>] = H::announcements(lock, turn);
        // SAFETY: `HookedWord` and `Announcement` are transparent. The reference lives as long as
        // the original.
        unsafe { &*(words as *const [Announcement<Self::Atomics>]) }
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
    /// If waits are watched, a park without a timeout becomes repeated parks of [`PARKED_SLICE`],
    /// while the word keeps its value.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        if timeout.is_some() || !K::WATCHES_WAITS {
            return H::park(&word.0, expected, timeout);
        }
        let mut slices = 0;
        while word.0.load(Ordering::Relaxed) == expected {
            H::park(&word.0, expected, Some(PARKED_SLICE));
            slices += SLICES_PARKED;
            K::waiting(slices);
        }
    }
    fn unpark(word: *const U32<Self>, count: u32) {
        // `HookedWord` is transparent, so its address is the inner word's address.
        H::unpark(word.cast(), count)
    }
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        if !K::may_allocate(layout) {
            return None;
        }
        let memory = H::allocate(layout, node)?;
        K::allocated(memory, layout);
        Some(memory)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        K::freed(memory, layout);
        // SAFETY: the caller promises what `H` requires.
        unsafe { H::deallocate(memory, layout) }
    }
    fn count(event: Event) {
        H::count(event)
    }
    fn begin_activity(activity: Activity) -> Activity {
        H::begin_activity(activity)
    }
    fn resume_activity(before: Activity) {
        H::resume_activity(before)
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
        // A watched wait is cut into slices, and the hook may yield between them.
        if K::WATCHES_WAITS {
            H::wait_until(word, order, predicate)
        } else {
            H::wait_yielding(word, order, predicate)
        }
    }
    fn fatal(message: &'static str) -> ! {
        H::fatal(message)
    }
}

#[diagnostic::do_not_recommend]
impl<H: HostWithSlots, K: Hook> HostWithSlots for Hooked<H, K> {}
