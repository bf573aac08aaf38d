//! The queued spinlock: four bytes, one compare-exchange when it is free, and waiters that each
//! spin on a separate line.
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
//! Threads in the queue are served first in, first out. Only the queue's head spins on the word, so
//! a hand-over costs a fixed number of transfers, however many threads wait. The lock is correct
//! only with these rules:
//!
//! - The head takes the lock only when `locked` *and* `pending` are clear, because the first waiter
//!   is older.
//! - A newcomer takes the lock, or becomes the first waiter, only if the word has no tail and no
//!   `pending`. If it comes between a release and the first waiter's acquisition, it waits for a
//!   while. [`try_lock`](LaneLock::try_lock) takes the lock only if the word is 0. So no thread
//!   overtakes the queue. (A compare-exchange sets `pending`, so the bit never appears only for a
//!   moment.)
//! - A thread that takes the lock by a store writes only bytes that no other thread writes, because
//!   the tail can change at any time.
//! - The last waiter's compare-exchange, which clears the tail, fails when another thread joins.
//!   The new thread then waits behind the head, and the head takes the lock as usual.
//! - The last read of a wait acquires the former holder's release. A relaxed read followed by a
//!   relaxed compare-exchange would acquire nothing from that release.
//!
//! The lock counts as held while any bit is set ([`Algorithm::is_held`]), even between a release
//! and the next acquisition. A lockref therefore does not change its count in that interval. A
//! thread that takes the lock after a wait finds the count that the former holder left.
//!
//! # Nodes
//!
//! A waiter that queues needs a node of its host
//! ([`Host::queue_node`](crate::platform::Host::queue_node)). The host has one node for each slot
//! and nesting level. A held lock needs no node, so a thread may hold any number of locks.
//!
//! A waiter has no node if its thread has no slot: the thread is being torn down, or more than
//! [`Host::SLOTS`](crate::platform::Host::SLOTS) threads wait. It also has none if more than
//! [`NEST_LEVELS`](crate::platform::NEST_LEVELS) waits are nested. In these cases the waiter spins
//! until the word is 0, and counts as [`Event::NoNode`]. It excludes other threads as any waiter
//! does, but it is not in the queue, and may be overtaken.
//!
//! A wait must run to its end on its thread. Each of these actions leaves a node in the queue for
//! ever, and blocks all waiters behind it:
//!
//! - switching fibres in the middle of a wait, to run another wait on the same thread;
//! - a `longjmp` out of a signal handler across the wait;
//! - ending the thread inside the wait.
//!
//! A signal handler also waits for ever if it takes a lock that its own thread holds or waits for.
//! After a `fork`, locks that other threads of the parent held or queued for are lost in the child.
//!
//! Sources:
//!
//! - The queue: J. Mellor-Crummey and M. Scott, *Algorithms for Scalable Synchronization on
//!   Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991, section 2.4.
//! - Four bytes suffice if the word holds the name of the last waiter's node instead of its
//!   address, and the first waiter needs no node: P. Zijlstra and W. Long (qspinlock, linux-kernel
//!   mailing list, 2014 and 2015).
//! - The simple store of [`StoreGrab`]: W. Long, *locking/qspinlock: Use a simple write to grab the
//!   lock*, 2015-04-24. Its measurements are the published table `qspinlock-loop`.
//!
//! This code was written from the descriptions, not from an implementation.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::queue::{self, Name};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, lower, upper};
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

const LOCKED: u64 = 1;
const PENDING: u64 = 1 << 8;
const TAIL_SHIFT: u32 = 16;

/// Number of failed compare-exchanges after which a newcomer joins the queue, and waits for its
/// turn.
///
/// In a lockref one lane compare-exchange may take several attempts, each lost to a change of the
/// count. Joining the queue cannot fail, because it is an exchange. After it the lock counts as
/// held, and no thread changes the count.
const MOST_TRIES: u32 = 4;

/// Number of polls before a newcomer goes to the queue, if it finds the lock between a release and
/// the first waiter's acquisition. A thread that releases the lock and immediately takes it again
/// arrives in that interval. After the interval it becomes the first waiter.
const HAND_OVER_POLLS: u32 = 32;

/// The way that the queue's head takes the lock when other threads wait behind it:
/// [`StoreGrab`] or [`CmpxchgGrab`]. Sealed.
pub trait Grab: sealed::Sealed + 'static {
    /// True if the head takes the lock by a store of the locked byte.
    const BY_STORE: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::StoreGrab {}
    impl Sealed for super::CmpxchgGrab {}
}

/// The head takes the lock by a store: when other threads wait behind it, only the head can take
/// the lock.
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
/// Uncontended: one locked compare-exchange, one plain store. On other processors than x86-64, and
/// with [`Portable`](crate::platform::Portable), the store is a locked subtraction.
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

/// Takes a lock that was not free. `seen` is the value of the lane.
#[cold]
#[inline(never)]
fn lock_slowly<G: Grab, H: HostWithSlots, L: Lane>(lane: L, seen: L::Bits) {
    H::count(Event::Slowpath);
    let mut seen = seen.to_u64();
    for _ in 0..MOST_TRIES {
        // In the first case acquire: pairs with the release store in `unlock`. The second case does
        // not take the lock; the wait that follows it acquires.
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

/// Waits for the holder as the first waiter, which owns the pending byte, and takes the lock.
fn wait_as_first<H: HostWithSlots, L: Lane>(lane: L) {
    // Acquire: pairs with the release store in `unlock`.
    lane.wait_until::<H>(Ordering::Acquire, |bits| bits.to_u64() & LOCKED == 0);
    // Both bytes of the lower half belong to this thread. Other threads cannot take a lock that is
    // pending, or clear the bits that this thread has set. Relaxed: taking the lock publishes
    // nothing, and its acquire is above.
    lane.store_lower(half::<L>(PENDING), half::<L>(LOCKED), Ordering::Relaxed);
    H::count(Event::Pending);
}

/// Waits as a later waiter, with its node: joins the queue, becomes its head, and takes the lock.
fn wait_in_queue<G: Grab, H: HostWithSlots, L: Lane>(lane: L, me: Name) {
    let node = me.node::<H>();
    // Relaxed: joining, and the store to the predecessor's `next`, publish these stores.
    node.next.store(0, Ordering::Relaxed);
    node.ready.store(0, Ordering::Relaxed);
    if let Some(predecessor) = queue::join(lane, me) {
        // Release: pairs with the acquire in `make_successor_head`. That function then writes to
        // `ready`.
        predecessor.node::<H>().next.store(me.to_bits() as u32, Ordering::Release);
        // Acquire: pairs with the release in `make_successor_head`. Without it the head could read
        // a word from before its predecessor's acquisition, and find the lock free.
        H::wait_until(&node.ready, Ordering::Acquire, |ready| ready != 0);
    }
    // Acquire: pairs with the release store in `unlock`.
    let free = |bits: L::Bits| bits.to_u64() & (LOCKED | PENDING) == 0;
    let mut seen = lane.wait_until::<H>(Ordering::Acquire, free);
    let alone = half::<L>(me.to_bits());
    loop {
        let is_last = upper(seen) == alone;
        if !is_last && G::BY_STORE {
            // Only the head takes a lock that has a tail, so this thread is the only writer of the
            // locked byte. Relaxed: as in `wait_as_first`. `make_successor_head` ensures that the
            // successor sees no older word.
            lane.store_lowest_byte(0, LOCKED as u8, Ordering::Relaxed);
            break;
        }
        let tail = if is_last { 0 } else { upper(seen).to_u64() << TAIL_SHIFT };
        // Relaxed: as above. The replaced value was read with acquire, or differs from such a value
        // only in its tail.
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
    // Acquire: pairs with the release store of the successor, which prepared its node before that
    // store.
    let next = H::wait_until(&me.node::<H>().next, Ordering::Acquire, |next| next != 0);
    if let Some(successor) = Name::from_bits(u64::from(next)) {
        // Release: pairs with the acquire of the successor's wait, so that the successor sees the
        // lock taken.
        successor.node::<H>().ready.store(1, Ordering::Release);
    }
}

/// Waits without a node, outside the queue.
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

// SAFETY: `locked` goes from 0 to 1 in three ways only. One is a compare-exchange from a word of 0.
// The second is by the one thread that set `pending`. The third is by the one head of the queue,
// when neither bit is set; the word then has a tail, so no newcomer takes the lock. There is one
// head: a waiter that joined an empty queue, or one that its predecessor made the head after taking
// the lock. Comments at each operation justify its ordering. Each operation changes the word by a
// read-modify-write, or by a store of a part, which counts as one because the thread is the part's
// only writer.
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

// SAFETY: `unlock_fair` is `LaneLock::unlock`.
unsafe impl<H: HostWithSlots, G: Grab> FairLock<H> for Queued<G> {}
