//! A platform without operations on parts of words: each is a read-modify-write of the whole word.
//!
//! Processors without a port of the assembly use these forms. The forms also show the price of the
//! difference: a store of a part drains in the background, but a read-modify-write stalls. The
//! platform wraps any host, so the price can be both measured and predicted.

use super::{
    Activity, Announcement, Atomics, Budget, BudgetSpent, ConstAtomics, Event, Execution, Host,
    HostWithSlots, Int, Ordering, Part, QueueNode, Slot, U32, Word, store_part_by_rmw,
    swap_part_by_rmw,
};
use crate::invariance::Invariant;
use bytemuck::NoUninit;
use core::alloc::Layout;
use core::ptr::NonNull;
use core::time::Duration;

/// The host `H` with [`PortableAtomics`].
#[derive(Debug)]
pub struct Portable<H>(Invariant<H>);

/// The memory of `A`, whose parts are read-modify-writes of the whole word.
#[derive(Debug)]
pub struct PortableAtomics<A>(Invariant<A>);

/// A word of `A`, whose parts are read-modify-writes of the whole word.
#[repr(transparent)]
#[derive(Debug)]
pub struct PortableWord<W>(W);

impl<W: Word> Word for PortableWord<W> {
    type Int = W::Int;

    #[inline(always)]
    fn new(value: W::Int) -> Self {
        Self(W::new(value))
    }
    #[inline(always)]
    fn get(&mut self) -> W::Int {
        self.0.get()
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> W::Int {
        self.0.load(order)
    }
    #[inline(always)]
    fn store(&self, value: W::Int, order: Ordering) {
        self.0.store(value, order)
    }
    #[inline(always)]
    fn swap(&self, value: W::Int, order: Ordering) -> W::Int {
        self.0.swap(value, order)
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        self.0.compare_exchange(current, new, success, failure)
    }
    #[inline(always)]
    fn compare_exchange_weak(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        self.0.compare_exchange_weak(current, new, success, failure)
    }
    #[inline(always)]
    fn fetch_add(&self, value: W::Int, order: Ordering) -> W::Int {
        self.0.fetch_add(value, order)
    }
    #[inline(always)]
    fn fetch_sub(&self, value: W::Int, order: Ordering) -> W::Int {
        self.0.fetch_sub(value, order)
    }
    #[inline(always)]
    fn fetch_or(&self, value: W::Int, order: Ordering) -> W::Int {
        self.0.fetch_or(value, order)
    }
    #[inline(always)]
    fn fetch_and(&self, value: W::Int, order: Ordering) -> W::Int {
        self.0.fetch_and(value, order)
    }
    #[inline(always)]
    fn wait_until(
        &self,
        order: Ordering,
        budget: Budget,
        relax: fn(),
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        self.0.wait_until(order, budget, relax, predicate)
    }
}

impl<P: Int, W: Part<P>> Part<P> for PortableWord<W> {
    #[inline(always)]
    fn store_part(&self, index: usize, old: P, new: P, order: Ordering) {
        store_part_by_rmw(&self.0, index, old, new, order);
    }
    #[inline(always)]
    fn swap_part(&self, index: usize, new: P, order: Ordering) -> P {
        swap_part_by_rmw(&self.0, index, new, order)
    }
}

// SAFETY: the words are words of `A`. The operations on parts are the read-modify-writes that
// `Part` describes.
unsafe impl<A: Atomics> Atomics for PortableAtomics<A> {
    type U16 = PortableWord<A::U16>;
    type U32 = PortableWord<A::U32>;
    type U64 = PortableWord<A::U64>;
    type Cell<T: Send> = A::Cell<T>;
    type Words<T: NoUninit + Send> = A::Words<T>;

    #[inline(always)]
    fn fence(order: Ordering) {
        A::fence(order)
    }
    #[inline(always)]
    fn acquire_after<W: Word>(word: &W) {
        A::acquire_after(word)
    }
}

impl<A: ConstAtomics> ConstAtomics for PortableAtomics<A> {
    const U16_ZERO: Self::U16 = PortableWord(A::U16_ZERO);
    const U32_ZERO: Self::U32 = PortableWord(A::U32_ZERO);
    const U64_ZERO: Self::U64 = PortableWord(A::U64_ZERO);
}

// SAFETY: `H` provides everything. A queue node on `PortableAtomics<A>` has the layout of a queue
// node on `A`: `PortableWord` is transparent and `QueueNode` is `repr(C)`.
unsafe impl<H: Host> Host for Portable<H> {
    type Atomics = PortableAtomics<H::Atomics>;
    const SLOTS: u32 = H::SLOTS;
    const GIVES_SLOTS_BACK: bool = H::GIVES_SLOTS_BACK;

    #[inline(always)]
    fn slot() -> Option<Slot> {
        H::slot()
    }
    #[inline(always)]
    fn numa_node() -> u32 {
        H::numa_node()
    }
    #[inline(always)]
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<Self::Atomics> {
        let node: *const QueueNode<H::Atomics> = H::queue_node(slot, level);
        // SAFETY: the layout is the same, as shown at the `impl`. The reference lives as long as
        // the original.
        unsafe { &*node.cast() }
    }
    #[inline(always)]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<Self::Atomics>] {
        let words: *const [Announcement<H::Atomics>] = H::announcements(lock, turn);
        // SAFETY: `PortableWord` and `Announcement` are transparent. The reference lives as long
        // as the original.
        unsafe { &*(words as *const [Announcement<Self::Atomics>]) }
    }
    #[inline(always)]
    fn relax() {
        H::relax()
    }
    #[inline(always)]
    fn yield_now() {
        H::yield_now()
    }
    #[inline(always)]
    fn now() -> Duration {
        H::now()
    }
    #[inline(always)]
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        H::park(&word.0, expected, timeout)
    }
    #[inline(always)]
    fn unpark(word: *const U32<Self>, count: u32) {
        // `PortableWord` is transparent, so its address is the inner word's address.
        H::unpark(word.cast(), count)
    }
    #[inline(always)]
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        H::allocate(layout, node)
    }
    #[inline(always)]
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller promises what `H` requires.
        unsafe { H::deallocate(memory, layout) }
    }
    #[inline(always)]
    fn count(event: Event) {
        H::count(event)
    }
    #[inline(always)]
    fn begin_activity(activity: Activity) -> Activity {
        H::begin_activity(activity)
    }
    #[inline(always)]
    fn resume_activity(before: Activity) {
        H::resume_activity(before)
    }
    #[inline(always)]
    fn execution() -> Execution {
        H::execution()
    }
    #[inline(always)]
    fn interruption_fence() {
        H::interruption_fence()
    }
    #[inline(always)]
    #[track_caller]
    fn wait_until<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        H::wait_until(word, order, predicate)
    }
    #[inline(always)]
    #[track_caller]
    fn wait_within<W: Word>(
        word: &W,
        order: Ordering,
        polls: u32,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        H::wait_within(word, order, polls, predicate)
    }
    #[inline(always)]
    #[track_caller]
    fn wait_yielding<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        H::wait_yielding(word, order, predicate)
    }
    #[inline(always)]
    fn fatal(message: &'static str) -> ! {
        H::fatal(message)
    }
}

#[diagnostic::do_not_recommend]
impl<H: HostWithSlots> HostWithSlots for Portable<H> {}
