//! Any platform with its operations passing through a hook: for fault injection, and for weakening
//! one ordering at one place.
//!
//! [`Hooked<H, K>`] is the host `H` whose memory asks the [`Hook`] `K` about each operation before
//! performing it. The hook sees the kind of operation, the place of the call in the primitive's
//! source, and the orderings. It may change the orderings. It may also prevent the effect and have
//! the operation reported as done. So a wrong step reaches a primitive without a change of its
//! source, and every harness can be shown to notice.
//!
//! A hook is a type, not a value, because a host is one too. State that it needs at run time is in
//! statics or thread-locals of its own.

mod memory;

pub use memory::{HookedAtomics, HookedWord};

use super::{
    Activity, Announcement, BudgetSpent, Event, Execution, Host, HostWithSlots, Ordering,
    QueueNode, Slot, U32, Word,
};
use crate::invariance::Invariant;
use core::alloc::Layout;
use core::fmt;
use core::panic::Location;
use core::ptr::NonNull;
use core::time::Duration;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// [`Word::load`].
    Load,
    /// [`Word::store`].
    Store,
    /// [`Word::swap`].
    Swap,
    /// [`Word::compare_exchange`] and [`Word::compare_exchange_weak`]. Only this kind has two
    /// orderings.
    CompareExchange,
    /// [`Word::fetch_add`] and [`Word::fetch_sub`].
    FetchAdd,
    /// [`Word::fetch_or`] and [`Word::fetch_and`].
    FetchBits,
    /// [`Part::store_part`](super::Part::store_part).
    StorePart,
    /// [`Part::swap_part`](super::Part::swap_part).
    SwapPart,
    /// [`Word::wait_until`] without a bound, and
    /// [`Part::wait_part_assembly`](super::Part::wait_part_assembly). The ordering of the latter
    /// (acquire) is in its assembly and cannot be changed there, so with another ordering it runs
    /// as a plain loop.
    Wait,
    /// [`Word::wait_until`] for a number of polls.
    WaitBounded,
    /// [`Atomics::fence`](super::Atomics::fence) and
    /// [`Atomics::acquire_after`](super::Atomics::acquire_after).
    Fence,
}

/// One operation, before it is performed.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its kind.
    pub kind: OperationKind,
    /// The place of its call in the source of the primitive. (Platform functions and lanes pass on
    /// their callers' places.)
    pub place: &'static Location<'static>,
    /// The address of the word, or 0 for a fence.
    pub address: usize,
    /// Its ordering. For a compare-exchange, that of success.
    pub order: Ordering,
    /// The failure ordering of a compare-exchange; `None` for every other kind.
    pub failure: Option<Ordering>,
}

/// The effect that a hook allows an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is performed.
    Performed,
    /// It changes nothing and is reported as done. A store is dropped. A read-modify-write returns
    /// the value that it found. A compare-exchange that found the expected value returns `Ok`. A
    /// wait returns the value that it found, whether its predicate is true or not. A fence orders
    /// nothing. A load has no effect to lose, so it is performed.
    Pretended,
}

/// A decision about each operation of a [`Hooked`] platform.
///
/// # Safety
///
/// A primitive over [`Hooked`] keeps its promises only while the hook changes nothing. A hook may
/// weaken orderings, or have operations [pretended](Effect::Pretended). Its implementer then
/// ensures that no primitive over it guards anything that must not be accessed without it. (The
/// checks of this project guard atomics and cells of a model.)
pub unsafe trait Hook: 'static {
    /// True if unbounded waits are cut into slices, so that [`waiting`](Self::waiting) is called.
    const WATCHES_WAITS: bool = false;

    /// Sees an operation before it is performed, and decides its effect. It may change the
    /// orderings, to ones that the kind of operation can have.
    fn operation(operation: &mut Operation) -> Effect;

    /// Sees an operation after it was performed or pretended, with the orderings that it had.
    fn done(operation: &Operation) {
        let _ = operation;
    }

    /// Sees a wait that is not over, after each [`SLICE`] polls, and after each [`PARKED_SLICE`] of
    /// a park. `slices` is the length of this wait in slices of polls. A slice of a park counts as
    /// many slices of polls. It may yield. It may panic, to end a wait that will never end.
    fn waiting(slices: u64) {
        let _ = slices;
    }

    /// Returns true if an allocation may succeed. Otherwise [`Host::allocate`] returns `None`.
    fn may_allocate(layout: Layout) -> bool {
        let _ = layout;
        true
    }

    /// Sees memory that was allocated.
    fn allocated(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }

    /// Sees memory that is about to be freed.
    fn freed(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }
}

/// Polls between two calls of [`Hook::waiting`].
pub const SLICE: u32 = 64;

/// Duration of a watched park between two calls of [`Hook::waiting`].
pub const PARKED_SLICE: Duration = Duration::from_millis(1);

/// Slices of polls that one slice of a park counts as.
const SLICES_PARKED: u64 = 100;

/// The host `H` with its operations passing through `K`.
pub struct Hooked<H, K>(Invariant<(H, K)>);

impl<H, K> fmt::Debug for Hooked<H, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

// SAFETY: everything is `H`'s. A queue node of `HookedAtomics<A, K>` has the layout of one of `A`:
// `HookedWord` is transparent and `QueueNode` is `repr(C)`.
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
        // SAFETY: the same layout, as argued at the `impl`. The reference lives as long as the
        // original.
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
    /// If waits are watched, a park without a timeout is a sequence of parks of [`PARKED_SLICE`],
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
        // `HookedWord` is transparent: the address is the inner word's.
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
        // SAFETY: the caller's promise is `H`'s.
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
