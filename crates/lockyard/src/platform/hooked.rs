//! Any platform with its operations passing through a hook: for fault injection and for weakening
//! one ordering at one place.
//!
//! [`Hooked<H, K>`] is the host `H` whose memory asks the [`Hook`] `K` about each operation before
//! it is performed. The hook sees what kind of operation it is, where the primitive's source calls
//! it, and its orderings; it may change the orderings, and it may have the operation take no effect
//! and be reported as done. So a wrong step reaches a primitive without a change of its source, and
//! every harness can be shown to notice.
//!
//! A hook is a type, not a value, because a host is one too; what it must know at run time it keeps
//! in statics or thread-locals of its own.

use super::{
    Activity, Announcement, Atomics, Budget, BudgetSpent, ConstAtomics, Event, Execution, Host,
    HostWithSlots, Int, Ordering, Part, QueueNode, Slot, U32, Word, part_of,
};
use crate::invariance::Invariant;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use core::ptr::NonNull;
use core::time::Duration;

/// What kind of operation a hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// [`Word::load`].
    Load,
    /// [`Word::store`].
    Store,
    /// [`Word::swap`].
    Swap,
    /// [`Word::compare_exchange`] and [`Word::compare_exchange_weak`]; the only one with two
    /// orderings.
    CompareExchange,
    /// [`Word::fetch_add`] and [`Word::fetch_sub`].
    FetchAdd,
    /// [`Word::fetch_or`] and [`Word::fetch_and`].
    FetchBits,
    /// [`Part::store_part`].
    StorePart,
    /// [`Part::swap_part`].
    SwapPart,
    /// [`Word::wait_until`] without a bound, and [`Part::wait_part_assembly`], whose ordering
    /// (acquire) is in its assembly and cannot be changed there: it then runs as a plain loop.
    Wait,
    /// [`Word::wait_until`] for a number of polls.
    WaitBounded,
    /// [`Atomics::fence`].
    Fence,
}

/// One operation, before it is performed.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What it is.
    pub kind: Kind,
    /// Where it is called, in the source of the primitive (platform functions and lanes pass their
    /// callers' places on).
    pub place: &'static Location<'static>,
    /// The address of the word; 0 of a fence.
    pub address: usize,
    /// Its ordering; of a compare-exchange, that of success.
    pub order: Ordering,
    /// The ordering of a compare-exchange that fails; `None` for every other kind.
    pub failure: Option<Ordering>,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is performed.
    Performed,
    /// It changes nothing and is reported as done. A store is dropped. A read-modify-write returns
    /// the value that it found; a compare-exchange that found what it expected returns `Ok`. A wait
    /// returns the value that it found, true or not. A fence orders nothing. A load has no effect
    /// to lose: it is performed.
    Pretended,
}

/// Decides about operations.
///
/// # Safety
///
/// A primitive over [`Hooked`] keeps what it promises only while the hook changes nothing. Whoever implements one that
/// weakens orderings, or has operations [pretended](Effect::Pretended), sees to it that no primitive over it guards
/// what must not be accessed without it: the checks of this project guard atomics and cells of a model.
pub unsafe trait Hook: 'static {
    /// Whether unbounded waits are cut into slices, so that [`waiting`](Self::waiting) is called.
    const WATCHES_WAITS: bool = false;

    /// Sees an operation before it is performed; may change its orderings (to ones that the kind of
    /// operation can have).
    fn operation(operation: &mut Operation) -> Effect;

    /// Sees an operation after it has been performed, or pretended, with the orderings that it had.
    fn done(operation: &Operation) {
        let _ = operation;
    }

    /// A wait that is not over, after each [`SLICE`] polls, and after each [`PARKED_SLICE`] of a park. `slices` is how
    /// many slices of polls this wait has lasted; one of a park counts as many. It may panic, to end a wait that will never end; it may yield.
    fn waiting(slices: u64) {
        let _ = slices;
    }

    /// Whether an allocation may succeed; if not, [`Host::allocate`] returns `None`.
    fn may_allocate(layout: Layout) -> bool {
        let _ = layout;
        true
    }

    /// Sees memory that was allocated.
    fn allocated(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }

    /// Sees memory that is about to be given back.
    fn freed(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }
}

/// Polls between two calls of [`Hook::waiting`].
pub const SLICE: u32 = 64;

/// How long a watched park lasts between two calls of [`Hook::waiting`].
pub const PARKED_SLICE: Duration = Duration::from_millis(1);

/// As how many slices of polls one of a park counts.
const SLICES_PARKED: u64 = 100;

/// The host `H` with its operations passing through `K`.
pub struct Hooked<H, K>(Invariant<(H, K)>);

/// The memory `A` with its operations passing through `K`.
pub struct HookedAtomics<A, K>(Invariant<(A, K)>);

/// A word of memory whose operations pass through `K`.
#[repr(transparent)]
pub struct HookedWord<W, K>(W, Invariant<K>);

impl<H, K> fmt::Debug for Hooked<H, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooked")
    }
}

impl<A, K> fmt::Debug for HookedAtomics<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedAtomics")
    }
}

impl<W: fmt::Debug, K> fmt::Debug for HookedWord<W, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a hook said: the operation with the orderings to use, and whether it is performed.
struct Said<K> {
    operation: Operation,
    performed: bool,
    _hook: Invariant<K>,
}

impl<K: Hook> Said<K> {
    fn order(&self) -> Ordering {
        self.operation.order
    }

    fn failure(&self) -> Ordering {
        self.operation.failure.unwrap_or(Ordering::Relaxed)
    }

    /// Tells the hook that the operation is done; returns what it returned.
    fn done<R>(self, result: R) -> R {
        K::done(&self.operation);
        result
    }
}

#[inline(always)]
#[track_caller]
fn ask<K: Hook>(kind: Kind, address: usize, order: Ordering, failure: Option<Ordering>) -> Said<K> {
    let mut operation = Operation { kind, place: Location::caller(), address, order, failure };
    let performed = K::operation(&mut operation) == Effect::Performed;
    Said { operation, performed, _hook: PhantomData }
}

/// The reading half of an ordering, for the load that stands for a pretended operation.
fn of_load(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

impl<W: Word, K: Hook> HookedWord<W, K> {
    #[inline(always)]
    #[track_caller]
    fn ask(&self, kind: Kind, order: Ordering, failure: Option<Ordering>) -> Said<K> {
        ask::<K>(kind, core::ptr::from_ref(self).addr(), order, failure)
    }

    #[track_caller]
    fn found(&self, said: &Said<K>) -> W::Int {
        self.0.load(of_load(said.order()))
    }

    /// The compare-exchange that compares and stores nothing.
    #[track_caller]
    fn compare_only(&self, current: W::Int, said: &Said<K>) -> Result<W::Int, W::Int> {
        let found = self.found(said);
        if found == current { Ok(found) } else { Err(found) }
    }

    /// An unbounded wait in slices, each followed by a call of the hook.
    #[track_caller]
    fn wait_watched(
        &self,
        order: Ordering,
        relax: fn(),
        mut predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        let mut slices = 0;
        loop {
            match self.0.wait_until(order, Budget::Polls(SLICE), relax, &mut predicate) {
                Ok(value) => return value,
                Err(BudgetSpent(_)) => {
                    slices += 1;
                    K::waiting(slices);
                }
            }
        }
    }
}

impl<W: Word, K: Hook> Word for HookedWord<W, K> {
    type Int = W::Int;

    fn new(value: W::Int) -> Self {
        Self(W::new(value), PhantomData)
    }
    fn get(&mut self) -> W::Int {
        self.0.get()
    }
    fn load(&self, order: Ordering) -> W::Int {
        let said = self.ask(Kind::Load, order, None);
        let value = self.0.load(said.order());
        said.done(value)
    }
    fn store(&self, value: W::Int, order: Ordering) {
        let said = self.ask(Kind::Store, order, None);
        if said.performed {
            self.0.store(value, said.order());
        }
        said.done(())
    }
    fn swap(&self, value: W::Int, order: Ordering) -> W::Int {
        let said = self.ask(Kind::Swap, order, None);
        let before =
            if said.performed { self.0.swap(value, said.order()) } else { self.found(&said) };
        said.done(before)
    }
    fn compare_exchange(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        let said = self.ask(Kind::CompareExchange, success, Some(failure));
        let result = if said.performed {
            self.0.compare_exchange(current, new, said.order(), said.failure())
        } else {
            self.compare_only(current, &said)
        };
        said.done(result)
    }
    fn compare_exchange_weak(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        let said = self.ask(Kind::CompareExchange, success, Some(failure));
        let result = if said.performed {
            self.0.compare_exchange_weak(current, new, said.order(), said.failure())
        } else {
            self.compare_only(current, &said)
        };
        said.done(result)
    }
    fn fetch_add(&self, value: W::Int, order: Ordering) -> W::Int {
        let said = self.ask(Kind::FetchAdd, order, None);
        let before =
            if said.performed { self.0.fetch_add(value, said.order()) } else { self.found(&said) };
        said.done(before)
    }
    fn fetch_sub(&self, value: W::Int, order: Ordering) -> W::Int {
        let said = self.ask(Kind::FetchAdd, order, None);
        let before =
            if said.performed { self.0.fetch_sub(value, said.order()) } else { self.found(&said) };
        said.done(before)
    }
    fn fetch_or(&self, value: W::Int, order: Ordering) -> W::Int {
        let said = self.ask(Kind::FetchBits, order, None);
        let before =
            if said.performed { self.0.fetch_or(value, said.order()) } else { self.found(&said) };
        said.done(before)
    }
    fn fetch_and(&self, value: W::Int, order: Ordering) -> W::Int {
        let said = self.ask(Kind::FetchBits, order, None);
        let before =
            if said.performed { self.0.fetch_and(value, said.order()) } else { self.found(&said) };
        said.done(before)
    }
    fn wait_until(
        &self,
        order: Ordering,
        budget: Budget,
        relax: fn(),
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        let kind = match budget {
            Budget::Unbounded => Kind::Wait,
            Budget::Polls(_) => Kind::WaitBounded,
        };
        let said = self.ask(kind, order, None);
        let result = if !said.performed {
            Ok(self.found(&said))
        } else if kind == Kind::Wait && K::WATCHES_WAITS {
            Ok(self.wait_watched(said.order(), relax, predicate))
        } else {
            self.0.wait_until(said.order(), budget, relax, predicate)
        };
        said.done(result)
    }
}

impl<P: Int, W: Part<P>, K: Hook> Part<P> for HookedWord<W, K> {
    fn store_part(&self, index: usize, old: P, new: P, order: Ordering) {
        let said = self.ask(Kind::StorePart, order, None);
        if said.performed {
            self.0.store_part(index, old, new, said.order());
        }
        said.done(())
    }
    fn swap_part(&self, index: usize, new: P, order: Ordering) -> P {
        let said = self.ask(Kind::SwapPart, order, None);
        let before = if said.performed {
            self.0.swap_part(index, new, said.order())
        } else {
            part_of(self.found(&said), index)
        };
        said.done(before)
    }
    fn wait_part_assembly(&self, index: usize, value: P, relax: fn()) {
        let said = self.ask(Kind::Wait, Ordering::Acquire, None);
        let arrived = |word: W::Int| part_of::<W::Int, P>(word, index) == value;
        if !said.performed {
            self.found(&said);
        } else if K::WATCHES_WAITS {
            // Assembly cannot be cut into slices.
            self.wait_watched(said.order(), relax, arrived);
        } else if said.order() != Ordering::Acquire {
            let done = self.0.wait_until(said.order(), Budget::Unbounded, relax, arrived);
            debug_assert!(done.is_ok());
        } else {
            self.0.wait_part_assembly(index, value, relax);
        }
        said.done(())
    }
}

// SAFETY: the words are `A`'s. A hook that changes operations breaks what the trait promises, on
// purpose: who uses one expects the primitives above to fail, and judges them by what they do.
unsafe impl<A: Atomics, K: Hook> Atomics for HookedAtomics<A, K> {
    type U16 = HookedWord<A::U16, K>;
    type U32 = HookedWord<A::U32, K>;
    type U64 = HookedWord<A::U64, K>;
    type Cell<T: Send> = A::Cell<T>;

    fn fence(order: Ordering) {
        let said = ask::<K>(Kind::Fence, 0, order, None);
        // A fence that is weakened to relaxed is none: `core` has no such fence.
        if said.performed && said.order() != Ordering::Relaxed {
            A::fence(said.order());
        }
        said.done(())
    }
}

impl<A: ConstAtomics, K: Hook> ConstAtomics for HookedAtomics<A, K> {
    const U16_ZERO: Self::U16 = HookedWord(A::U16_ZERO, PhantomData);
    const U32_ZERO: Self::U32 = HookedWord(A::U32_ZERO, PhantomData);
    const U64_ZERO: Self::U64 = HookedWord(A::U64_ZERO, PhantomData);
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
        // SAFETY: the same layout, as argued at the `impl`; the reference is as long-lived as the
        // one it is made from.
        unsafe { &*node.cast() }
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<Self::Atomics>] {
        let words: *const [Announcement<H::Atomics>] = H::announcements(lock, turn);
        // SAFETY: `HookedWord` and `Announcement` are transparent; the reference is as long-lived
        // as the one it is made from.
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
    /// Where waits are watched, one without a timeout is one of a [`PARKED_SLICE`] after another, while the word stays
    /// what it is.
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
    fn begins(activity: Activity) -> Activity {
        H::begins(activity)
    }
    fn goes_back_to(before: Activity) {
        H::goes_back_to(before)
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
