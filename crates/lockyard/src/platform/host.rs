//! The other half of a platform: its threads, and the machine that runs them.
//!
//! A kernel or a hypervisor implements [`Host`], on [`NativeAtomics`](super::NativeAtomics) or on
//! its own atomics. See `examples/bare_host.rs` for a worked example. Everything here is an
//! associated function, because a lock in a `static` has no place for a reference to its host.

use super::queue_node::{self, QueueNode};
use super::{Activity, Atomics, Budget, BudgetSpent, ConstAtomics, Ordering, Word};
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

/// The index of a running thread (user space) or CPU (kernel, hypervisor), below [`Host::SLOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// A place in a host's table of [announcements](Host::announcements). A waiter that is about to
/// park stores there the lock that it waits for, and its queue node.
///
/// Only the locks that park use its contents. Other code cannot write to a place, because such a
/// write could lose another thread's wake-up. A host creates these words, and passes them to the
/// locks.
#[repr(transparent)]
#[derive(Debug)]
pub struct Announcement<A: Atomics>(pub(crate) A::U64);

impl<A: Atomics> Announcement<A> {
    /// Makes a place without an announcement: its word is 0.
    pub fn new() -> Self {
        Announcement(<A::U64 as Word>::new(0))
    }
}

impl<A: ConstAtomics> Announcement<A> {
    /// A place without an announcement, for statics.
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    pub const UNUSED: Self = Announcement(A::U64_ZERO);
}

impl<A: Atomics> Default for Announcement<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// A rare event in a primitive, for counters. The cost of counting an event is documented at the
/// primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
#[non_exhaustive]
pub enum Event {
    /// A queued lock was taken through the pending bit.
    Pending,
    /// A lock was not free, and the thread entered the slow path.
    Slowpath,
    /// A waiter had no queue node, because it had no slot or too many waits were nested. It spun on
    /// the lock's word, or yielded.
    NoNode,
    /// A parked waiter was woken.
    Kick,
    /// A lock was taken out of order.
    Steal,
    /// A waiter parked.
    Wait,
    /// A reference count reached its maximum and stays there, so the object is leaked.
    Saturated,
    /// A lockref operation gave up its compare-exchange loop and took the lock.
    RefLocked,
    /// A thread without a [slot](Host::slot) made a call that needs one. So it waited outside a
    /// lock's queue, did not park, or shared a domain's counter with other threads. See
    /// [`HostWithSlots`].
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

    /// Returns the event's name in tables and JSON.
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

/// The kind of code that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Execution {
    /// A thread, which may park.
    Thread,
    /// An interrupt, a signal handler that declares itself, or a section with preemption off. It
    /// must not park.
    Interrupt,
}

/// Number of polls of [`Host::wait_yielding`] between two yields.
const POLLS_BETWEEN_YIELDS: u32 = 64;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014). It is a bijection, and each of its 64 bits depends on each bit of its
/// argument.
#[inline(always)]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Hashes a lock's address, and the turn that a waiter waits for, to 64 bits, for a host's table of
/// [announcements](Host::announcements). Addresses below 2^48 and turns below 2^16 stay distinct.
#[inline]
pub fn spread(lock: usize, turn: u32) -> u64 {
    mix(lock as u64 ^ u64::from(turn).rotate_left(48))
}

/// Returns true if the running thread's `slot` may now be given back, for use by another thread.
/// For hosts that [give slots back](Host::GIVES_SLOTS_BACK). Cost: five loads.
///
/// A slot is idle if two conditions are true. None of its nodes is in use, except those that
/// successors give back (of [`Clh`](crate::lock::Clh)). And no [reclamation
/// guard](crate::reclaim::Guard) that was made in the slot still exists.
#[track_caller]
pub fn slot_is_idle<H: Host>(slot: Slot) -> bool {
    queue_node::is_idle(|level| H::queue_node(slot, level))
}

/// Adds `change` (modulo 2^32) to the number of reclamation guards in the running thread's slot.
#[inline(always)]
#[track_caller]
pub(crate) fn count_guards<H: Host>(slot: Slot, change: u32) {
    if H::GIVES_SLOTS_BACK {
        // Relaxed, both: only this slot uses the word. An interruption restores its value.
        let guards = queue_node::guards(H::queue_node(slot, 1));
        guards.store(guards.load(Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
    }
}

/// A host whose threads have [slots](Host::slot), and therefore queue nodes.
///
/// Locks that queue, waiters that park and readers of a [domain](crate::reclaim::Domain) need
/// slots. Without slots they would behave differently, or not work at all. So they accept a host
/// only if it declares that it has slots:
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
/// With this line the host promises that [`slot`](Host::slot) is `Some` for every thread that takes
/// a lock. Two exceptions are allowed: threads that ask for a slot when all [`SLOTS`](Host::SLOTS)
/// are in use, and threads that are being torn down. A broken promise does not make anything
/// unsound. [`Native`](super::Native) has slots with the feature `std`.
///
/// # A thread without a slot on such a host
///
/// | it uses | behaviour |
/// | --- | --- |
/// | [`Queued`](crate::lock::Queued) | spins outside the queue, and may be overtaken |
/// | [`PvQueued`](crate::lock::PvQueued) | the same, and yields |
/// | [`PvTicket`](crate::lock::PvTicket) | keeps its turn, and yields instead of parking |
/// | [`Adaptive`](crate::lock::Adaptive) | yields outside the queue, and everyone may pass it |
/// | [`RwLock`](crate::rwlock) | the same |
/// | [`RawShardedRwLock`](crate::rwlock::sharded) | the same; its readers do not spread |
/// | [`RawQRwLock`](crate::rwlock::queued) | as `Queued` |
/// | [`Mcs`](crate::lock::Mcs) | ends the program in `lock`, fails in `try_lock` |
/// | [`Clh`](crate::lock::Clh) | the same |
/// | a [`Domain`](crate::reclaim::Domain) | two read-modify-writes of a shared line, each guard |
///
/// Each case is counted as [`Event::NoSlot`].
#[diagnostic::on_unimplemented(
    message = "the host `{Self}` has no slots, which locks that queue or park and reclamation \
               domains need",
    label = "needs a host with slots; `{Self}` does not say that it has them",
    note = "`lockyard::Native` has slots with the feature `std`, which is on by default",
    note = "without `std`, write a host of your own and name it: \
            `type Lock<T> = lockyard::on::QSpinLock<T, MyHost>;` \
            with `impl HostWithSlots for MyHost {{}}`; \
            the library's `examples/bare_host.rs` is a worked one",
    note = "`TicketLock`, `TestAndSetLock` and `PageRef` need no slots"
)]
pub trait HostWithSlots: Host {}

/// The threads of a platform, and the machine that runs them.
///
/// # Safety
///
/// Primitives are sound only if the host keeps these promises.
///
/// - **Slots.** Two threads of execution must never have the same [`slot`](Self::slot) at the same
///   time. An interruption runs in the slot that it interrupted.
/// - **Reusing slots.** A slot that is not [idle](slot_is_idle) must stay with its thread, if
///   necessary for good. A slot is not idle while a wait or a guard has one of its nodes [in
///   use](QueueNode::nodes_in_use), or while a [`reclaim::Guard`](crate::reclaim::Guard) from it
///   exists. (If a slot is a CPU, preemption is off inside a guard.) Everything that a thread did
///   in a slot happens before everything that the next thread does in it.
/// - **[`GIVES_SLOTS_BACK`](Self::GIVES_SLOTS_BACK)** is true if a slot ever moves to another
///   thread.
/// - **[`queue_node`](Self::queue_node)** returns the same node for the same arguments, and
///   different nodes for different arguments. Each node starts as [`QueueNode::new`], and only this
///   crate's locks change it. It stays valid until no thread of the host runs any more.
/// - **[`announcements`](Self::announcements)** returns the same words for the same arguments. Each
///   word starts as [`Announcement::new`], and only this crate's locks change it. It stays valid as
///   long as the nodes do.
/// - **[`allocate`](Self::allocate)** returns memory that fits the layout and has no other user.
/// - **[`SLOTS`](Self::SLOTS)**: if it is at most 255, then at most 255 executions hold or wait for
///   one lock at the same time, including those without a slot. (The ticket lock of 2 bytes counts
///   them in 8 bits.)
/// - **[`fatal`](Self::fatal)** neither returns nor unwinds.
/// - **Own waits.** A host may implement [`wait_until`](Self::wait_until) and
///   [`wait_within`](Self::wait_within) itself. Except for [`BudgetSpent`], they must return a
///   value that was loaded from the word with the requested ordering, and for which `predicate` was
///   true. They must change no memory and must not unwind.
/// - **[`interruption_fence`](Self::interruption_fence)**: a host's own version must be at least as
///   strong as the default.
pub unsafe trait Host: Sized + 'static {
    /// The memory that this host's threads share.
    type Atomics: Atomics;

    /// Number of slots. They have the numbers 0 to `SLOTS - 1`. If it is above 255, more threads
    /// than this may wait at the same time (see *Safety*). The additional threads have no slot.
    const SLOTS: u32;

    /// True if a slot may later move to another thread. Reclamation guards are then counted, and
    /// [`slot_is_idle`] reads that count. Counting costs a load and a store of the slot's own line,
    /// when a guard is made and when it is dropped. Set it to `false` if slots are CPUs, or stay
    /// with their threads.
    const GIVES_SLOTS_BACK: bool = true;

    /// Returns the slot of the running thread. Returns `None` if the host has no slots, if none is
    /// free, or if the thread is being torn down. [`HostWithSlots`] describes the behaviour of a
    /// lock in that case.
    fn slot() -> Option<Slot>;

    /// Returns the NUMA node where the caller runs. A hint: the thread may move at any time.
    fn numa_node() -> u32;

    /// Returns the node of `slot` at nesting `level` (0 to [`NEST_LEVELS`] - 1).
    ///
    /// # Panics
    ///
    /// If `slot` or `level` is out of range.
    ///
    /// [`NEST_LEVELS`]: super::NEST_LEVELS
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<Self::Atomics>;

    /// Returns the places where a waiter may announce that it is about to park. The waiter waits
    /// for its turn `turn` in the lock at address `lock`, and the releasing thread finds it by
    /// these places. These places are a part of a bounded table of the host, for example one line,
    /// chosen by [`spread`].
    ///
    /// Other waiters also announce themselves there; timed waiters use only the second half. If no
    /// place is free, and on a host without places, waiters of the [locks that
    /// park](crate::lock::pv) yield instead of parking.
    #[inline(always)]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<Self::Atomics>] {
        let _ = (lock, turn);
        &[]
    }

    /// Pauses once in a waiting loop (x86 `pause`, Arm `isb` or `yield`).
    fn relax();

    /// Gives the CPU to another runnable thread, if the host can. Called by waiters that cannot
    /// park and are not the next holder.
    ///
    /// The caller may hold locks of this crate and be inside their [`Context`](crate::Context). (A
    /// holder of `pv-queued` also yields while it waits for its successor to store its name, for a
    /// few instructions of the successor.) So this function must not take a lock that the caller
    /// could hold. It must also not do anything that a context switches off. For example, a kernel
    /// whose context disables preemption must spin here, as the default does.
    #[inline(always)]
    fn yield_now() {
        Self::relax();
    }

    /// Returns the monotonic time since some fixed moment. A host without a clock always returns
    /// zero. Rules with a time limit then use only the number of polls.
    fn now() -> Duration;

    /// Blocks while `word` equals `expected`, like a futex. The word is in a queue node (locks), in
    /// a waiter's stack frame ([condition variables](crate::condvar)), in a
    /// [domain](crate::reclaim) or in a buffer. Only [`ThreeStates`](crate::lock::ThreeStates)
    /// and two of the [locks for comparison](crate::rwlock#locks-for-comparison) block on the lock
    /// itself.
    ///
    /// The call returns in these cases:
    ///
    /// - immediately, if the comparison fails;
    /// - after an [`unpark`](Self::unpark) of the same word that comes after the comparison;
    /// - after `timeout`, if there is one;
    /// - *spuriously*, at any time.
    ///
    /// The call orders nothing: a caller that needs an acquire loads the word again. A host that
    /// cannot block [yields](Self::yield_now) and returns.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>);

    /// Wakes at most `count` threads that are parked on `word`. The call orders nothing, and does
    /// not touch the memory of `word`, which may have been freed.
    fn unpark(word: *const U32<Self>, count: u32);

    /// Allocates memory without blocking and without emergency reserves. Allocates near `node` if a
    /// node is given and the host can choose one. Every caller must expect `None`.
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>>;

    /// Frees memory.
    ///
    /// # Safety
    ///
    /// `memory` must come from [`allocate`](Self::allocate) of this host with this `layout`, and
    /// must no longer be used.
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout);

    /// Counts an event. The function must be cheap and must not block. It may do nothing.
    #[inline(always)]
    fn count(event: Event) {
        let _ = event;
    }

    /// Begins `activity` in the running thread. Returns the previous activity, for
    /// [`resume_activity`](Self::resume_activity). For hosts that account for time: the default
    /// does nothing, and compiles to nothing.
    ///
    /// Primitives call it, mostly through [`during`](super::during). If `activity` names no
    /// [part](Activity::part), an accounting host keeps the current part if that part is of the
    /// same region.
    #[inline(always)]
    fn begin_activity(activity: Activity) -> Activity {
        activity
    }

    /// Ends the thread's activity, and resumes `before`: the value that
    /// [`begin_activity`](Self::begin_activity) returned.
    #[inline(always)]
    fn resume_activity(before: Activity) {
        let _ = before;
    }

    /// Returns the kind of code that is running.
    #[inline(always)]
    fn execution() -> Execution {
        Execution::Thread
    }

    /// Keeps accesses before the fence ahead of accesses after the fence, as seen by an
    /// interruption of the same thread (a signal handler, an interrupt). It costs no instruction,
    /// and orders nothing for other threads.
    #[inline(always)]
    fn interruption_fence() {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// Ends the program, because a primitive found its own invariant broken (for example, a ticket
    /// counter overflowed). Unwinding through a lock would hide that, so this function must neither
    /// return nor unwind.
    fn fatal(message: &'static str) -> !;

    /// Waits until `predicate` is true of the value of `word`, and returns that value.
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

    /// The same as [`wait_until`](Self::wait_until), for at most `polls` polls.
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

    /// The same as [`wait_until`](Self::wait_until), with a [`yield_now`](Self::yield_now) from
    /// time to time. For a waiter that would park, but cannot.
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
