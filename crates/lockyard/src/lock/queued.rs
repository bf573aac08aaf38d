//! The queued spinlock: four bytes, one compare-exchange when it is free, and waiters that each
//! spin on a line of their own.
//!
//! ```text
//!    31                       16 15        8 7         0
//!   +---------------------------+-----------+-----------+
//!   | tail: the last waiter     | pending   | locked    |     free  <=>  all bits 0
//!   +---------------------------+-----------+-----------+
//!         ^ joins by a swap           ^           ^ 1 while it is held; the holder alone writes 0
//!                                     the first waiter, which spins on the word
//!
//!   (tail, pending, locked)
//!   (0, 0, 0) --lock, compare-exchange--> (0, 0, 1)                         uncontended
//!   (0, 0, 1) --first waiter, compare-exchange--> (0, 1, 1)                 spins on the word
//!   (t, 1, 0) --first waiter, store of the lower half--> (t, 0, 1)          takes the lock
//!   (t, p, l) --later waiter w, swap of the upper half--> (w, p, l)         spins on its own node
//!   (w, 0, 0) --head w, the last: compare-exchange--> (0, 0, 1)             takes it, empties the
//!   queue
//!   (t, 0, 0) --head w, others behind it: store of the byte--> (t, 0, 1)    takes the lock
//!   (t, p, 1) --unlock, store of the byte--> (t, p, 0)
//! ```
//!
//! From the queue on it is first in, first out. Only the queue's head spins on the word, so a
//! hand-over costs a fixed number of transfers, however many wait. It is correct only with these
//! rules:
//!
//! - The head takes the lock only when `locked` *and* `pending` are clear: the first waiter is
//!   older.
//! - A newcomer takes the lock, or becomes the first waiter, only from a word without tail and
//!   `pending`. Between a release and the first waiter's acquisition it waits for a while.
//!   [`try_lock`](LaneLock::try_lock) takes the lock only from a word that is 0. So no thread
//!   overtakes the queue. (A compare-exchange sets `pending`, so the bit never appears for a moment
//!   and goes away again.)
//! - A thread that takes the lock by a store writes only the bytes that it owns, because the tail
//!   changes meanwhile.
//! - The last waiter's compare-exchange, which clears the tail, fails when another thread joins.
//!   That thread then waits behind the head, and the head takes the lock as any other head does.
//! - Wherever the lock is taken after a wait, the wait's last read is an acquire of the former
//!   holder's release. A relaxed read followed by a relaxed compare-exchange would acquire nothing
//!   from it.
//!
//! The lock counts as held while any bit is set ([`Algorithm::is_held`]), even between a release
//! and the next acquisition. A lockref therefore leaves its count alone in that moment. A thread
//! that takes the lock after a wait finds the count that the former holder left.
//!
//! # Nodes
//!
//! A waiter that queues needs one of its host's nodes
//! ([`Host::queue_node`](crate::platform::Host::queue_node)), of which there is one for each slot
//! and nesting level. A held lock needs none, so a thread may hold any number.
//!
//! A waiter has no node if it has no slot: its thread is being torn down, or more than
//! [`Host::SLOTS`](crate::platform::Host::SLOTS) threads wait. Nor has it one if more than
//! [`NEST_LEVELS`](crate::platform::NEST_LEVELS) waits are nested. It then spins on the word until
//! that is 0, and counts as [`Event::NoNode`]. It excludes other threads as any waiter does, but it
//! is not in the queue, and may be overtaken.
//!
//! A wait must run to its end on its thread. Each of these leaves a node in the queue for ever, and
//! blocks all waiters behind it:
//!
//! - switching fibres in the middle of a wait, to run another wait on the same thread;
//! - a `longjmp` out of a signal handler over the wait;
//! - ending the thread inside the wait.
//!
//! A signal handler that takes a lock for which its own thread waits, or which that thread holds,
//! waits for ever too. After a `fork`, locks that other threads of the parent held or queued for
//! are lost in the child.
//!
//! Sources:
//!
//! - The queue: J. Mellor-Crummey and M. Scott, *Algorithms for Scalable Synchronization on
//!   Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991, section 2.4.
//! - Four bytes suffice with the name of the last waiter's node instead of its address, and the
//!   first waiter needs no node: P. Zijlstra and W. Long (qspinlock, linux-kernel mailing list,
//!   2014 and 2015).
//! - The simple store of [`StoreGrab`]: W. Long, *locking/qspinlock: Use a simple write to grab the
//!   lock*, 2015-04-24, whose measurements are the published table `qspinlock-loop`.
//!
//! Written from the descriptions, not from an implementation.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::queue::{self, Name};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, lower, upper};
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

const LOCKED: u64 = 1;
const PENDING: u64 = 1 << 8;
const TAIL_SHIFT: u32 = 16;

/// Failed compare-exchanges after which a newcomer goes to the queue, where its turn comes.
///
/// In a lockref one compare-exchange is several, each lost to a change of the count. In the queue
/// none can be lost: joining is an exchange. From then on the lock counts as held, and the count
/// stands still.
const MOST_TRIES: u32 = 4;

/// Polls of a newcomer that finds the lock between a release and the first waiter's acquisition,
/// before it goes to the queue. A thread that releases the lock and wants it again at once arrives
/// in that moment. When the moment is over, it is the first waiter.
const HAND_OVER_POLLS: u32 = 32;

/// The way in which the queue's head takes the lock when others wait behind it: [`StoreGrab`] or
/// [`CmpxchgGrab`]. Sealed.
pub trait Grab: sealed::Sealed + 'static {
    /// True if it takes the lock by a store of the locked byte.
    const BY_STORE: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::StoreGrab {}
    impl Sealed for super::CmpxchgGrab {}
}

/// The head takes the lock by a store: when others wait behind it, no other thread can take it.
#[derive(Debug)]
pub struct StoreGrab;
impl Grab for StoreGrab {
    const BY_STORE: bool = true;
}

/// The head always takes the lock by a compare-exchange. For comparison.
#[derive(Debug)]
pub struct CmpxchgGrab;
impl Grab for CmpxchgGrab {
    const BY_STORE: bool = false;
}

/// The queued spinlock. See the [module documentation](self).
///
/// Uncontended: one locked compare-exchange, one plain store. Elsewhere than on x86-64, and over
/// [`Portable`](crate::platform::Portable), the store is a locked subtraction.
#[derive(Debug)]
pub struct Queued<G: Grab = StoreGrab>(Invariant<G>);

#[inline(always)]
fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

#[inline(always)]
fn half<L: Lane>(bits: u64) -> <L::Bits as Int>::Half {
    <L::Bits as Int>::Half::truncate(bits)
}

/// Takes a lock that was not free: `seen` is what the lane held.
#[cold]
#[inline(never)]
fn lock_slowly<G: Grab, H: HostWithSlots, L: Lane>(lane: L, seen: L::Bits) {
    H::count(Event::Slowpath);
    let mut seen = seen.to_u64();
    for _ in 0..MOST_TRIES {
        // Acquire, of the first: pairs with the release store in `unlock`. The second takes
        // nothing: the wait that follows it acquires.
        let (wanted, order) = match seen {
            0 => (LOCKED, Ordering::Acquire),
            LOCKED => (LOCKED | PENDING, Ordering::Relaxed),
            PENDING => {
                // Relaxed: a hint.
                let changed = |bits: u64| bits != PENDING;
                seen = match lane.wait_within::<H>(Ordering::Relaxed, HAND_OVER_POLLS, changed) {
                    Some(bits) => bits.to_u64(),
                    None => break,
                };
                continue;
            }
            _ => break,
        };
        match lane.compare_exchange_bounded(bits::<L>(seen), bits::<L>(wanted), order) {
            Ok(_) if wanted == LOCKED => return,
            Ok(_) => return wait_as_first::<H, L>(lane),
            Err(actual) => seen = actual.to_u64(),
        }
    }
    match queue::take::<H>() {
        Some(me) => {
            wait_in_queue::<G, H, L>(lane, me);
            queue::give_back::<H>(me);
        }
        None => wait_without_node::<H, L>(lane),
    }
}

/// Waits as the first waiter, which owns the pending byte, for the holder, and takes the lock.
fn wait_as_first<H: HostWithSlots, L: Lane>(lane: L) {
    // Acquire: pairs with the release store in `unlock`.
    lane.wait_until::<H>(Ordering::Acquire, |bits| bits.to_u64() & LOCKED == 0);
    // Both bytes of the lower half belong to this thread: no other thread takes a lock that is
    // pending, or clears what this one has set. Relaxed: taking the lock publishes nothing, and its
    // acquire is above.
    lane.store_lower(half::<L>(PENDING), half::<L>(LOCKED), Ordering::Relaxed);
    H::count(Event::Pending);
}

/// Waits as a later waiter, with its node: joins the queue, becomes its head, and takes the lock.
fn wait_in_queue<G: Grab, H: HostWithSlots, L: Lane>(lane: L, me: Name) {
    let node = me.node::<H>();
    // Relaxed: joining, and the store to the predecessor's `next`, publish them.
    node.next.store(0, Ordering::Relaxed);
    node.ready.store(0, Ordering::Relaxed);
    if let Some(predecessor) = queue::join(lane, me) {
        // Release: pairs with the acquire in `make_successor_head`, which then writes to `ready`.
        predecessor.node::<H>().next.store(me.to_bits() as u32, Ordering::Release);
        // Acquire: pairs with the release in `make_successor_head`. Without it the head could read
        // a word that is older than its predecessor's acquisition, and find it free.
        H::wait_until(&node.ready, Ordering::Acquire, |ready| ready != 0);
    }
    // Acquire: pairs with the release store in `unlock`.
    let free = |bits: L::Bits| bits.to_u64() & (LOCKED | PENDING) == 0;
    let mut seen = lane.wait_until::<H>(Ordering::Acquire, free);
    let alone = half::<L>(me.to_bits());
    loop {
        let is_last = upper(seen) == alone;
        if !is_last && G::BY_STORE {
            // Only the head takes a lock that has a tail, so the byte is its own. Relaxed: as in
            // `wait_as_first`. `make_successor_head` ensures that the successor sees no older word.
            lane.store_lowest_byte(0, LOCKED as u8, Ordering::Relaxed);
            break;
        }
        let tail = if is_last { 0 } else { upper(seen).to_u64() << TAIL_SHIFT };
        // Relaxed: as above. The replaced value was read with acquire, or only its tail is newer.
        match lane.compare_exchange(seen, bits::<L>(tail | LOCKED), Ordering::Relaxed) {
            Ok(_) if is_last => return,
            Ok(_) => break,
            Err(actual) => seen = actual,
        }
        debug_assert!(lower(seen).to_u64() == 0, "the head of a queue was overtaken");
    }
    make_successor_head::<H>(me);
}

/// Makes the waiter behind node `me` the head.
fn make_successor_head<H: HostWithSlots>(me: Name) {
    // Acquire: pairs with the release store of the successor, which has prepared its node before.
    let next = H::wait_until(&me.node::<H>().next, Ordering::Acquire, |next| next != 0);
    if let Some(successor) = Name::from_bits(u64::from(next)) {
        // Release: pairs with the acquire of the successor's wait, so that it sees the lock taken.
        successor.node::<H>().ready.store(1, Ordering::Release);
    }
}

/// Waits without a node, beside the queue.
#[cold]
fn wait_without_node<H: HostWithSlots, L: Lane>(lane: L) {
    H::count(Event::NoNode);
    loop {
        // Relaxed: only the compare-exchange takes the lock.
        lane.wait_until::<H>(Ordering::Relaxed, |bits| bits.to_u64() == 0);
        // Acquire: pairs with the release store in `unlock`.
        let taken = lane.compare_exchange(bits::<L>(0), bits::<L>(LOCKED), Ordering::Acquire);
        if taken.is_ok() {
            return;
        }
    }
}

impl<G: Grab> Algorithm for Queued<G> {
    type Token = ();
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() != 0
    }
}

// SAFETY: `locked` goes from 0 to 1 in three ways only: by a compare-exchange from a word of 0; by
// the one thread that set `pending`; or by the one head of the queue, when neither bit is set, from
// a word with a tail, from which no newcomer takes the lock. There is one head: a waiter that
// joined an empty queue, or one that its predecessor made the head after taking the lock. Each
// operation argues its ordering. Each changes the word by a read-modify-write, or by a store of a
// part, which stands for one and of which the thread is the only writer.
unsafe impl<H: HostWithSlots, G: Grab> LaneLock<H> for Queued<G> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) {
        const { queue::assert_names_fit::<H, L>() }
        // Acquire: pairs with the release store in `unlock`.
        let free =
            lane.compare_exchange_bounded(bits::<L>(0), bits::<L>(LOCKED), Ordering::Acquire);
        if let Err(seen) = free {
            lock_slowly::<G, H, L>(lane, seen);
        }
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        const { queue::assert_names_fit::<H, L>() }
        if lane.load(Ordering::Relaxed).to_u64() != 0 {
            return None;
        }
        // Acquire: pairs with the release store in `unlock`.
        lane.compare_exchange(bits::<L>(0), bits::<L>(LOCKED), Ordering::Acquire).ok().map(|_| ())
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder. While the lock is held, only the
        // holder writes the byte.
        lane.store_lowest_byte(LOCKED as u8, 0, Ordering::Release);
    }
}

// SAFETY: the release is `LaneLock`'s.
unsafe impl<H: HostWithSlots, G: Grab> FairLock<H> for Queued<G> {}
