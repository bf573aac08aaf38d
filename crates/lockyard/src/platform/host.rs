//! The other half of a platform: who runs, and what it runs on.
//!
//! A kernel or a hypervisor supplies its own [`Host`], over [`NativeAtomics`](super::NativeAtomics)
//! or atomics of its own; `examples/bare_host.rs` is a worked one. Everything here is an associated
//! function, because a lock in a `static` has no place to keep a reference to its host.

use super::{Activity, Atomics, Budget, BudgetSpent, ConstAtomics, Ordering, Word};
use crate::lock::queue::{self, levels};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::time::Duration;

/// The 16-bit word of a host.
pub type U16<H> = <<H as Host>::Atomics as Atomics>::U16;
/// The 32-bit word of a host.
pub type U32<H> = <<H as Host>::Atomics as Atomics>::U32;
/// The 64-bit word of a host.
pub type U64<H> = <<H as Host>::Atomics as Atomics>::U64;
/// The data cell of a host.
pub type Cell<H, T> = <<H as Host>::Atomics as Atomics>::Cell<T>;

/// The index of a running thread (user space) or CPU (kernel, hypervisor), below
/// [`Host::SLOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// How deep lock waits may nest in one slot: a thread and three levels of interruption.
pub const NEST_LEVELS: u32 = 4;

/// What a waiter of a queued lock spins on. It belongs to the host: one for each slot and nesting
/// level, a slot's four in one 64-byte line, never freed while the host runs.
///
/// The meaning of the words is the lock's that uses the node, and nobody else's: whoever could write to them
/// could end another thread's wait. A host makes nodes, and hands them out.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct QueueNode<A: Atomics> {
    /// The next waiter, as the lock encodes it; 0 for none.
    pub(crate) next: A::U32,
    /// What the waiter spins on.
    pub(crate) ready: A::U32,
    /// In the node of level 0: which of the slot's nodes are in use, and how (`lock/queue.rs`). In that of level 1: how many
    /// guards of reclamation the slot has. Written by its slot only.
    pub(crate) in_use: A::U32,
    /// Free for the lock: what a parked waiter waits for, or who has the node now.
    pub(crate) parked: A::U32,
}

impl<A: Atomics> QueueNode<A> {
    /// A node that no one uses: all its words are 0.
    pub fn new() -> Self {
        let zero = || <A::U32 as Word>::new(0);
        QueueNode { next: zero(), ready: zero(), in_use: zero(), parked: zero() }
    }

    /// Of a slot's node of level 0: how many of the slot's nodes are in use. A snapshot (relaxed); exact in
    /// the slot's own thread. One load.
    #[track_caller]
    pub fn nodes_in_use(&self) -> u32 {
        levels(self.in_use.load(Ordering::Relaxed)).count_ones()
    }
}

impl<A: ConstAtomics> QueueNode<A> {
    /// A node that no one uses, for statics.
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    pub const UNUSED: Self = QueueNode {
        next: A::U32_ZERO,
        ready: A::U32_ZERO,
        in_use: A::U32_ZERO,
        parked: A::U32_ZERO,
    };
}

impl<A: Atomics> Default for QueueNode<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// A place in a host's table of [announcements](Host::announcements): a waiter that is about to
/// park says there which lock it waits for, and which queue node is its own.
///
/// What is in it is the locks' that park, and nobody else's: whoever could write to it could lose
/// another thread's wake-up. A host makes these words, and hands them out.
#[repr(transparent)]
#[derive(Debug)]
pub struct Announcement<A: Atomics>(pub(crate) A::U64);

impl<A: Atomics> Announcement<A> {
    /// A place in which nobody has announced itself: its word is 0.
    pub fn new() -> Self {
        Announcement(<A::U64 as Word>::new(0))
    }
}

impl<A: ConstAtomics> Announcement<A> {
    /// A place in which nobody has announced itself, for statics.
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    pub const UNUSED: Self = Announcement(A::U64_ZERO);
}

impl<A: Atomics> Default for Announcement<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// Something rare that a primitive did, for counters. What each costs is in the documentation of
/// the primitive that counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
#[non_exhaustive]
pub enum Event {
    /// A queued lock was taken through the pending bit.
    Pending,
    /// A lock was not free and its slow path began.
    Slowpath,
    /// A waiter had no queue node, because it has no slot or because too many waits are nested: it
    /// spun on the lock's word, or yielded.
    NoNode,
    /// A parked waiter was woken.
    Kick,
    /// A lock was taken out of order.
    Steal,
    /// A waiter parked.
    Wait,
    /// A reference count reached its maximum and stays there: the object is leaked.
    Saturated,
    /// A lockref operation gave up its compare-exchange loop and took the lock.
    RefLocked,
    /// A thread without a [slot](Host::slot) did what needs one: it waited outside a lock's queue,
    /// did not park, or was counted by a domain together with others. See [`HostWithSlots`].
    NoSlot,
}

impl Event {
    /// All events, in the order of their indices.
    pub const ALL: [Event; 9] = [
        Event::Pending,
        Event::Slowpath,
        Event::NoNode,
        Event::Kick,
        Event::Steal,
        Event::Wait,
        Event::Saturated,
        Event::RefLocked,
        Event::NoSlot,
    ];

    /// The event's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Event::Pending => "pending",
            Event::Slowpath => "slowpath",
            Event::NoNode => "no_node",
            Event::Kick => "kick",
            Event::Steal => "steal",
            Event::Wait => "wait",
            Event::Saturated => "saturated",
            Event::RefLocked => "ref_locked",
            Event::NoSlot => "no_slot",
        }
    }
}

/// What kind of code is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Execution {
    /// A thread: it may park.
    Thread,
    /// An interrupt, a signal handler that says so, a section with preemption off: it must not
    /// park.
    Interrupt,
}

/// How often [`Host::wait_yielding`] polls between two yields.
const POLLS_BETWEEN_YIELDS: u32 = 64;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014), which loses nothing: each
/// of its 64 bits depends on each of those that it is given.
#[inline(always)]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Spreads the address of a lock, and the turn in it for which somebody waits, over 64 bits: for a host's table of
/// [announcements](Host::announcements). Addresses below 2^48 and turns below 2^16 are told apart.
#[inline]
pub fn spread(lock: usize, turn: u32) -> u64 {
    mix(lock as u64 ^ u64::from(turn).rotate_left(48))
}

/// Whether `slot`, the running thread's, may be given back, to be another thread's from then on: no node of it is in use, but for
/// those that successors give back (of [`Clh`](crate::lock::Clh)), and there is no [guard of reclamation](crate::reclaim::Guard) that
/// was made in it. For hosts that [give slots back](Host::GIVES_SLOTS_BACK). Five loads.
#[track_caller]
pub fn slot_is_idle<H: Host>(slot: Slot) -> bool {
    queue::is_idle::<H>(slot) && guards::<H>(slot).load(Ordering::Relaxed) == 0
}

fn guards<H: Host>(slot: Slot) -> &'static U32<H> {
    &H::queue_node(slot, 1).in_use
}

/// Counts `change` guards of reclamation more (modulo 2^32) in the running thread's slot.
#[inline(always)]
#[track_caller]
pub(crate) fn count_guards<H: Host>(slot: Slot, change: u32) {
    if H::GIVES_SLOTS_BACK {
        // Relaxed, both: only this slot uses it, and what interrupts it, which leaves it as it was.
        let guards = guards::<H>(slot);
        guards.store(guards.load(Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
    }
}

/// A host whose threads have [slots](Host::slot), and so queue nodes.
///
/// Locks that queue, waiters that park and readers of a [domain](crate::reclaim::Domain) rest on
/// slots: without them each would be another lock, or none. So they take a host only if it says
/// that it has slots. A host says so by
///
/// ```
/// # use lockyard::platform::{Host, HostWithSlots, Native, Slot};
/// # struct Kernel;
/// # // SAFETY: everything is `Native`'s.
/// # unsafe impl Host for Kernel {
/// #     type Atomics = <Native as Host>::Atomics;
/// #     const SLOTS: u32 = Native::SLOTS;
/// #     lockyard::forward_to_host!(Native: slots, memory, activity, rest);
/// # }
/// impl HostWithSlots for Kernel {}
/// ```
///
/// and by that promises that [`slot`](Host::slot) is `Some` for every thread that takes a lock, but
/// for those that come when all [`SLOTS`](Host::SLOTS) are taken, and those that are being torn
/// down. Nothing is unsound if it does not keep the promise. [`Native`](super::Native) has slots
/// with the feature `std`.
///
/// # A thread without a slot on such a host
///
/// | it uses | and |
/// | --- | --- |
/// | [`Queued`](crate::lock::Queued), [`PvQueued`](crate::lock::PvQueued) | spins on the lock's word, or yields, outside the queue: others may overtake it |
/// | [`PvTicket`](crate::lock::PvTicket) | keeps its turn, and yields where it would park |
/// | [`Mcs`](crate::lock::Mcs), [`Clh`](crate::lock::Clh) | ends the program in `lock`, fails in `try_lock` |
/// | a [`Domain`](crate::reclaim::Domain) | is counted in a line that all such threads share: two read-modify-writes a guard |
///
/// Each is counted as [`Event::NoSlot`].
#[diagnostic::on_unimplemented(
    message = "the host `{Self}` has no slots, which locks that queue or park and reclamation domains need",
    label = "needs a host with slots; `{Self}` does not say that it has them",
    note = "`lockyard::Native` has slots with the feature `std`, which is on by default",
    note = "without `std`, write a host of your own and name it: `type Lock<T> = lockyard::on::QSpinLock<T, MyHost>;` \
            with `impl HostWithSlots for MyHost {{}}`; the library's `examples/bare_host.rs` is a worked one",
    note = "`TicketLock`, `TestAndSetLock` and `PageRef` need no slots"
)]
pub trait HostWithSlots: Host {}

/// Who runs and what it runs on.
///
/// # Safety
///
/// Primitives are sound only if
/// - two threads of execution never have the same [`slot`](Self::slot) at the same time (an
///   interruption runs in the slot that it interrupted), and a slot that is not [idle](slot_is_idle) stays its thread's, if need be for
///   good: a node of it is [in use](QueueNode::nodes_in_use), by a wait or by a guard, or there is a
///   [`reclaim::Guard`](crate::reclaim::Guard) from it (a slot that is a CPU: preemption is off inside a guard); what the thread did in
///   the slot happened before what the next one does there,
/// - [`GIVES_SLOTS_BACK`](Self::GIVES_SLOTS_BACK) is true if a slot is ever another thread's,
/// - [`queue_node`](Self::queue_node) returns the same node for the same arguments, different nodes
///   for different ones; each is [`QueueNode::new`] at first, is changed by this crate's locks only, and stays
///   valid until no thread of the host runs any more,
/// - [`announcements`](Self::announcements) returns the same words for the same arguments; each is
///   [`Announcement::new`] at first, is changed by this crate's locks only, and stays valid as
///   long,
/// - [`allocate`](Self::allocate) returns memory that fits the layout and that no one else uses,
/// - if [`SLOTS`](Self::SLOTS) is at most 255, at most 255 executions hold or wait for one lock at the same time,
///   those without a slot among them (the ticket lock in 2 bytes counts them in 8 bits),
/// - [`fatal`](Self::fatal) neither returns nor unwinds,
/// - where a host has its own [`wait_until`](Self::wait_until) and [`wait_within`](Self::wait_within), what they return
///   (but for [`BudgetSpent`]) was loaded from the word with the ordering that was asked for, and `predicate` was true
///   of it; they change no memory and do not unwind,
/// - [`interruption_fence`](Self::interruption_fence), where a host has its own, is at least the one that is here.
pub unsafe trait Host: Sized + 'static {
    /// The memory that this host's threads share.
    type Atomics: Atomics;

    /// Slots are 0 to `SLOTS - 1`. More threads than this may wait at the same time, unless it is at most 255 (see
    /// *Safety*); those beyond have no slot.
    const SLOTS: u32;

    /// Whether a slot may be another thread's one day. Then guards of reclamation are counted, so that [`slot_is_idle`] can say whether
    /// it may: a load and a store, of the slot's own line, when one is made, and when it is dropped. A host whose slots are CPUs, or stay
    /// with their threads, says `false`.
    const GIVES_SLOTS_BACK: bool = true;

    /// The slot of the running thread, or `None` if it has none: the host has none at all, none is
    /// left, or the thread is being torn down. What a lock does without is said at
    /// [`HostWithSlots`].
    fn slot() -> Option<Slot>;

    /// The NUMA node on which the caller runs. A hint: the thread may move at any time.
    fn numa_node() -> u32;

    /// The node of `slot` at nesting `level` (0 to [`NEST_LEVELS`] - 1).
    ///
    /// # Panics
    ///
    /// If `slot` or `level` is out of range.
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<Self::Atomics>;

    /// The places in which a waiter of the lock at the address `lock`, for its turn `turn`,
    /// announces that it is about to park, so that the one who releases the lock finds it: a part
    /// of a bounded table of the host's, one line of it say, that [`spread`] may choose. Others
    /// announce themselves there too; waiters with a time do so in the second half of it only. Where
    /// there are none left, and on a host that has none, waiters of the [locks that
    /// park](crate::lock::pv) do not park but yield.
    #[inline(always)]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<Self::Atomics>] {
        let _ = (lock, turn);
        &[]
    }

    /// One pause of a waiting loop (x86 `pause`, Arm `isb` or `yield`).
    fn relax();

    /// Gives the CPU to another thread that could run, where the host can. Used where a waiter can
    /// neither park nor expect to be next.
    ///
    /// The caller may hold locks of this crate and be inside their [`Context`](crate::Context): a holder that waits for its successor to
    /// say who he is (`pv-queued`, for a few instructions of the successor) yields too. So this must not take a lock that could be one of
    /// those, nor be what a context switches off: a kernel whose context switches preemption off spins here, as the
    /// default does, while it is off.
    #[inline(always)]
    fn yield_now() {
        Self::relax();
    }

    /// Monotonic time since some fixed moment, or zero always on a host without a clock (rules that
    /// are bounded by time then go by the number of polls alone).
    fn now() -> Duration;

    /// Blocks while `word` equals `expected`, like a futex: it returns after an
    /// [`unpark`](Self::unpark) of the same word that comes after the comparison, at once if the
    /// comparison fails, after `timeout` if there is one, and *may return for no reason*. It orders
    /// nothing: who needs an acquire loads the word again. A host that cannot block [yields](Self::yield_now)
    /// and returns. The word is in a queue node (locks), in a [domain](crate::reclaim) or in a buffer.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>);

    /// Wakes at most `count` threads that are parked on `word`. It orders nothing, and does not
    /// touch the memory of `word`: that may have been freed.
    fn unpark(word: *const U32<Self>, count: u32);

    /// Allocates, near `node` if one is named and the host can, without blocking and without
    /// emergency reserves. `None` is an answer that every caller must expect.
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>>;

    /// Gives memory back.
    ///
    /// # Safety
    ///
    /// `memory` came from [`allocate`](Self::allocate) of this host with this `layout`, and is not
    /// used any more.
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout);

    /// Counts an event. Must be cheap, must not block; doing nothing is right.
    #[inline(always)]
    fn count(event: Event) {
        let _ = event;
    }

    /// The running thread does `activity` from now on; returns what it did before, for [`goes_back_to`](Self::goes_back_to).
    /// For hosts that keep account of where time goes: here it does nothing, and compiles to nothing.
    ///
    /// Primitives say it through [`during`](super::during). A host that keeps account leaves a [part](Activity::part) in
    /// force that is of the same region, if `activity` names none.
    #[inline(always)]
    fn begins(activity: Activity) -> Activity {
        activity
    }

    /// What the thread began is over, and it does `before` again: what [`begins`](Self::begins) returned.
    #[inline(always)]
    fn goes_back_to(before: Activity) {
        let _ = before;
    }

    /// What kind of code is running.
    #[inline(always)]
    fn execution() -> Execution {
        Execution::Thread
    }

    /// Keeps what stands before it before what stands after it, as an interruption of the same
    /// thread (a signal handler, an interrupt) sees them. It costs no instruction, and orders nothing
    /// for other threads.
    #[inline(always)]
    fn interruption_fence() {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// A primitive found that its own invariant cannot be kept (a ticket counter overran). The
    /// program cannot go on, and unwinding through a lock would hide it: this must not return and
    /// must not unwind.
    fn fatal(message: &'static str) -> !;

    /// Waits until `predicate` is true of `word`, and returns the value of which it was.
    #[inline(always)]
    #[track_caller]
    fn wait_until<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        match word.wait_until(order, Budget::Unbounded, Self::relax, predicate) {
            Ok(value) | Err(BudgetSpent(value)) => value,
        }
    }

    /// As [`wait_until`](Self::wait_until), for at most `polls` polls.
    #[inline(always)]
    #[track_caller]
    fn wait_within<W: Word>(
        word: &W,
        order: Ordering,
        polls: u32,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        word.wait_until(order, Budget::Polls(polls), Self::relax, predicate)
    }

    /// As [`wait_until`](Self::wait_until), with a [`yield_now`](Self::yield_now) now and then: for a waiter that would
    /// park, and cannot.
    #[track_caller]
    fn wait_yielding<W: Word>(
        word: &W,
        order: Ordering,
        mut predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        loop {
            match Self::wait_within(word, order, POLLS_BETWEEN_YIELDS, &mut predicate) {
                Ok(value) => return value,
                Err(BudgetSpent(_)) => Self::yield_now(),
            }
        }
    }
}
