//! The queued spinlock: four bytes, one compare-exchange when it is free, and waiters that spin each on
//! a line of its own.
//!
//! ```text
//!    31                       16 15        8 7         0
//!   +---------------------------+-----------+-----------+
//!   | tail: the last waiter     | pending   | locked    |     free  <=>  all bits 0
//!   +---------------------------+-----------+-----------+
//!         ^ joins by a swap           ^           ^ 1 while it is held; the holder alone writes 0
//!                                     the first waiter, who spins on the word
//!
//!   (tail, pending, locked)
//!   (0, 0, 0) --lock, compare-exchange--> (0, 0, 1)                         uncontended
//!   (0, 0, 1) --first waiter, compare-exchange--> (0, 1, 1)                 spins on the word
//!   (t, 1, 0) --first waiter, store of the lower half--> (t, 0, 1)          takes the lock
//!   (t, p, l) --later waiter w, swap of the upper half--> (w, p, l)         spins on its own node
//!   (w, 0, 0) --head w, the last one: compare-exchange--> (0, 0, 1)         takes the lock, empties the queue
//!   (t, 0, 0) --head w, others behind it: store of the byte--> (t, 0, 1)    takes the lock
//!   (t, p, 1) --unlock, store of the byte--> (t, p, 0)
//! ```
//!
//! It is first in, first out from the queue on. Only the queue's head spins on the word, so a hand-over
//! costs a fixed number of transfers, whoever waits. The rules without which it is wrong:
//!
//! - The head takes the lock only when `locked` *and* `pending` are clear: the first waiter is older.
//! - A newcomer takes the lock, or becomes the first waiter, only from a word that has no tail and no
//!   `pending` (in the moment between a release and the first waiter's acquisition it waits for a while);
//!   [`try_lock`](LaneLock::try_lock) only from a word that is 0. So nobody overtakes the queue.
//!   (`pending` is set by a compare-exchange, so it does not appear for a moment and go away again.)
//! - Whoever takes the lock by a store writes the bytes that are his, and nothing else: the tail changes
//!   meanwhile.
//! - The last waiter's compare-exchange, which clears the tail, fails when someone joins; then someone
//!   waits behind the head, and it takes the lock as the others do.
//! - Wherever the lock is taken after a wait, the wait's last read is an acquire of the former holder's
//!   release. A relaxed read followed by a relaxed compare-exchange would acquire nothing from it.
//!
//! As long as any bit is set the lock counts as held ([`Algorithm::is_held`]): also in the moment
//! between a release and the next acquisition. A lockref therefore leaves its count alone in that
//! moment, and whoever takes the lock after a wait finds the count that the former holder left.
//!
//! # Nodes
//!
//! A waiter that queues needs a node of its host's
//! ([`Host::queue_node`](crate::platform::Host::queue_node)): one for each slot and nesting level.
//! A held lock needs none, so any number may be held. A waiter that has none, because it has no
//! slot (the thread is being torn down, or more than [`Host::SLOTS`](crate::platform::Host::SLOTS)
//! threads wait) or because more than [`NEST_LEVELS`](crate::platform::NEST_LEVELS) waits are
//! nested, spins on the word until it is 0, and is counted as [`Event::NoNode`]: it excludes as the
//! others do, but it is not in the queue, and may be overtaken.
//!
//! While a thread waits it must not be left: a switch of fibres that runs another wait on the same
//! thread, a `longjmp` out of a signal handler over the wait, or the end of the thread inside it leave a
//! node in the queue that nobody will take out, and all waiters behind it wait for ever. A signal handler
//! that takes a lock for which its own thread waits, or which it holds, waits for ever too. After a `fork`
//! the locks that other threads of the parent held or queued for are lost in the child.
//!
//! Source: the queue is that of J. Mellor-Crummey and M. Scott, *Algorithms for Scalable Synchronization
//! on Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991, section 2.4. That four bytes suffice, with a
//! name of the last waiter's node instead of its address, and that the first waiter needs no node, is due to
//! P. Zijlstra and W. Long (qspinlock, linux-kernel mailing list, 2014 and 2015); the simple store of
//! [`StoreGrab`] to W. Long, *locking/qspinlock: Use a simple write to grab the lock*, 2015-04-24, whose
//! measurements are the published table `qspinlock-loop`. Written from the description, not from an
//! implementation.

use super::queue::{self, Name};
use super::{Algorithm, LaneLock};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, lower, upper};
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

const LOCKED: u64 = 1;
const PENDING: u64 = 1 << 8;
const TAIL_SHIFT: u32 = 16;

/// A newcomer whose compare-exchange lost so many times goes to the queue, where its turn comes. (In a lockref a
/// compare-exchange is several, each lost to a change of the count. In the queue there is none to lose: joining it is an
/// exchange, from which on the lock counts as held and the count stands still.)
const MOST_TRIES: u32 = 4;

/// A newcomer that finds the lock between a release and the first waiter's acquisition polls so often for the
/// acquisition, before it goes to the queue: whoever releases the lock and wants it again at once comes in this
/// moment, and is the first waiter when it is over.
const HAND_OVER_POLLS: u32 = 32;

/// How the queue's head takes the lock when others wait behind it: [`StoreGrab`] or [`CmpxchgGrab`].
/// Sealed.
pub trait Grab: sealed::Sealed + 'static {
    /// Whether by a store of the locked byte.
    const BY_STORE: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::StoreGrab {}
    impl Sealed for super::CmpxchgGrab {}
}

/// The head takes the lock by a store: when others wait behind it, nobody else can take it.
#[derive(Debug)]
pub struct StoreGrab;
impl Grab for StoreGrab {
    const BY_STORE: bool = true;
}

/// The head takes the lock by a compare-exchange, always. To compare with.
#[derive(Debug)]
pub struct CmpxchgGrab;
impl Grab for CmpxchgGrab {
    const BY_STORE: bool = false;
}

/// The queued spinlock. See the [module documentation](self).
///
/// Uncontended: one locked compare-exchange; one plain store (on x86-64; elsewhere, and over
/// [`Portable`](crate::platform::Portable), one locked subtraction).
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

/// The lock was not free: `seen` is what the lane held.
#[cold]
#[inline(never)]
fn lock_slowly<G: Grab, H: HostWithSlots, L: Lane>(lane: L, seen: L::Bits) {
    H::count(Event::Slowpath);
    let mut seen = seen.to_u64();
    for _ in 0..MOST_TRIES {
        // Acquire, of the first: pairs with the release store in `unlock`. The second takes nothing; its
        // acquisition is the wait that follows.
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

/// The first waiter, whose the pending byte is: waits for the holder, and takes the lock.
fn wait_as_first<H: HostWithSlots, L: Lane>(lane: L) {
    // Acquire: pairs with the release store in `unlock`.
    lane.wait_until::<H>(Ordering::Acquire, |bits| bits.to_u64() & LOCKED == 0);
    // Both bytes of the lower half are this thread's: nobody else takes a lock that is pending, and
    // nobody else clears what it has set. Relaxed: taking the lock publishes nothing; its acquire is above.
    lane.store_lower(half::<L>(PENDING), half::<L>(LOCKED), Ordering::Relaxed);
    H::count(Event::Pending);
}

/// A later waiter, with its node: joins the queue, waits to be its head, and takes the lock.
fn wait_in_queue<G: Grab, H: HostWithSlots, L: Lane>(lane: L, me: Name) {
    let node = me.node::<H>();
    // Relaxed: published by joining, and by the store to the predecessor's `next`.
    node.next.store(0, Ordering::Relaxed);
    node.ready.store(0, Ordering::Relaxed);
    if let Some(predecessor) = queue::join(lane, me) {
        // Release: pairs with the acquire in `make_successor_head`, whose thread then writes to `ready`.
        predecessor.node::<H>().next.store(me.to_bits() as u32, Ordering::Release);
        // Acquire: pairs with the release in `make_successor_head`. Without it the head could read a word
        // that is older than its predecessor's acquisition, and find it free.
        H::wait_until(&node.ready, Ordering::Acquire, |ready| ready != 0);
    }
    // Acquire: pairs with the release store in `unlock`.
    let free = |bits: L::Bits| bits.to_u64() & (LOCKED | PENDING) == 0;
    let mut seen = lane.wait_until::<H>(Ordering::Acquire, free);
    let alone = half::<L>(me.to_bits());
    loop {
        let is_last = upper(seen) == alone;
        if !is_last && G::BY_STORE {
            // Nobody but the head takes a lock that has a tail, so the byte is its own. Relaxed: as in
            // `wait_as_first`; that the successor does not see an older word is `make_successor_head`'s.
            lane.store_lowest_byte(0, LOCKED as u8, Ordering::Relaxed);
            break;
        }
        let tail = if is_last { 0 } else { upper(seen).to_u64() << TAIL_SHIFT };
        // Relaxed: as above. What it replaces was read with acquire, or only its tail is newer.
        match lane.compare_exchange(seen, bits::<L>(tail | LOCKED), Ordering::Relaxed) {
            Ok(_) if is_last => return,
            Ok(_) => break,
            Err(actual) => seen = actual,
        }
        debug_assert!(lower(seen).to_u64() == 0, "the head of a queue was overtaken");
    }
    make_successor_head::<H>(me);
}

/// Somebody waits behind the node `me`: he is the head now.
fn make_successor_head<H: HostWithSlots>(me: Name) {
    // Acquire: pairs with the release store of the successor, who has prepared his node before.
    let next = H::wait_until(&me.node::<H>().next, Ordering::Acquire, |next| next != 0);
    if let Some(successor) = Name::from_bits(u64::from(next)) {
        // Release: pairs with the acquire of the successor's wait, who must see that the lock is taken.
        successor.node::<H>().ready.store(1, Ordering::Release);
    }
}

/// A waiter that cannot queue.
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

// SAFETY: `locked` goes from 0 to 1 by a compare-exchange from a word of 0; by the one thread that
// set `pending`; or by the one head of the queue, when neither is set, and from a word with a tail,
// from which no newcomer takes the lock. There is one head: a waiter is it if it joined an empty
// queue, or when its predecessor, having taken the lock, made it so. The orderings are argued at
// each operation; each changes the word by a read-modify-write, or by a store of a part, which
// stands for one, and of which the thread is the only writer.
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
        // Release: pairs with the acquire of the next holder. While the lock is held nobody else writes
        // the byte.
        lane.store_lowest_byte(LOCKED as u8, 0, Ordering::Release);
    }
}
