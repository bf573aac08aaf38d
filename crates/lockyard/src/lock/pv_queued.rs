//! The queued spinlock whose waiters park. While they sleep, newcomers may steal the lock, within a
//! bound.
//!
//! ```text
//!    31                      16 15  13   12    11          2   1        0
//!   +--------------------------+------+--------+------------+--------+--------+
//!   | tail: the last waiter    | 0    | closed | passes     | parked | locked |   free  <=>  0
//!   +--------------------------+------+--------+------------+--------+--------+
//!
//!   tail     joined by a swap
//!   closed   the first in the queue is next
//!   passes   times that the first was passed
//!   parked   a waiter has announced that it parks: the first in the queue, or a timed one
//!
//!   (tail, closed, passes, parked, locked)
//!   (0, 0, 0, 0, 0) --lock, compare-exchange--> (0, 0, 0, 0, 1)
//!        uncontended
//!   (t, 0, n, k, 0) --newcomer, compare-exchange--> (t, 0, n+1, 0, 1)
//!        steals, if n is below the bound; owes the kick if k
//!   (t, c, n, k, l) --later waiter w, swap of the upper half--> (w, c, n, k, l)
//!        waits on its own node, and parks there
//!   (t, c, n, k, l) --first, awake, fetch-or--> (t, 1, n, k, l)
//!        no thread steals while it spins
//!   (t, 1, n, k, 1) --first, compare-exchange--> (t, o, n, 1, 1)
//!        parks; o: its time is over, and the lock stays closed
//!   (w, 1, n, k, 0) --first w, the last one: compare-exchange--> (0, 0, 0, 0, 1)
//!        takes the lock, empties the queue
//!   (t, 1, n, k, 0) --first, others behind it: compare-exchange--> (t, 0, 0, 0, 1)
//!        takes the lock; the next waiter is first
//!   (t, c, n, k, 1) --unlock, fetch-and-sub--> (t, c, n, k, 0)
//!        and kicks the waiters that are parked
//!   (t, c, n, k, 1) --timed waiter, compare-exchange--> (t, c, n, 1, 1)
//!        parks beside the queue ([`pv_timed`](super::pv_timed))
//!
//!   a waiter's node, `ready`:
//!   QUEUED --parks--> QUEUED_PARKED
//!   QUEUED --its predecessor has the lock--> KICKED
//!        it is the first, and awake
//!   QUEUED_PARKED --its predecessor has the lock--> PARKED
//!        it is the first, and parked; the predecessor's release kicks it
//!   PARKED --kick--> KICKED
//!   KICKED --the first parks again--> PARKED
//! ```
//!
//! A woken waiter needs time before it runs. With more threads than CPUs, a strict order would make
//! all threads wait for it at each hand-over. Here a newcomer may take a free lock while the first
//! in the queue sleeps and wakes up. Once the first in the queue runs, it is next.
//!
//! Two bounds limit how long newcomers may pass the first in the queue. The bound that is reached
//! first applies:
//!
//! - Number of passes: at most a thousand ([`Hooks::MOST_PASSES`]). The threads that pass it count
//!   in the word.
//! - Time: no passes later than a millisecond after it joined the queue
//!   ([`Hooks::LONGEST_PASSED`]). It closes the lock as soon as it is the first and runs, and it
//!   parks only until that moment.
//!
//! On a host without a clock, only the passes and the polls of the first waiter count. Within the
//! queue no waiter passes another.
//!
//! The bounds apply to each waiter while it is the first. So a waiter with *n* waiters before it is
//! passed by at most 1000 (*n* + 1) newcomers. It also waits for up to *n* wake-ups.
//!
//! Where other threads take the lock without a pause, a waiter is usually passed up to the bound,
//! because the others continue during its wake-up. `cargo run --release -p lockyard --example
//! waits` counts the passes. In this table one thread comes from time to time, and the others do
//! nothing but take the lock (an AMD EPYC, a virtual machine of 2 CPUs, under a load of 20):
//!
//! | others | passes, median | most |
//! | ---: | ---: | ---: |
//! | 1 | 0 | 1,001 |
//! | 3 | 0 | 3,003 |
//! | 15 | 12,013 | 15,015 |
//!
//! [`PvTicket`](super::PvTicket) serves in strict order instead, and pays a wake-up for each
//! hand-over.
//!
//! # Why no wake-up is lost
//!
//! All decisions depend on one word, and so on its single modification order.
//!
//! - The first in the queue parks only if the lock was held when it set `parked`. So the release
//!   comes later, and sees the bit.
//! - A thief that takes the lock while `parked` is set clears the bit. It then owes the kick, and
//!   carries this duty in its token.
//! - A waiter may become the first while it is parked. Its predecessor makes it the first, so the
//!   predecessor knows the waiter's name. The predecessor kicks the waiter when it releases the
//!   lock. A kick after the acquisition would lengthen the critical section by the wake-up.
//!
//! After the releasing read-modify-write, the thread uses only the word's address, to find the
//! waiters to kick ([`pv`]).
//!
//! The release is a read-modify-write. That cost is wasted if no thread ever parks.
//! [`Spins`](pv::Spins) compiles everything without the hooks, and the lock is then [`Queued`]
//! itself.
//!
//! Nodes, and threads that abandon a wait, are as with [`Queued`]. A waiter without a node is not
//! in the queue: it spins and yields, and takes the lock when a newcomer may. Two kinds of waiters
//! do not park: interruption code, and a waiter that finds the table full. Newcomers also cannot
//! pass them while they are the first in the queue.
//!
//! Sources:
//!
//! - Parking in the queue, the kick deferred to the release, and stealing while the queue's head
//!   sleeps: W. Long, *locking/pvqspinlock*, linux-kernel mailing list, 2015.
//! - The node's hand-over by one exchange is that of a futex lock: U. Drepper, *Futexes Are
//!   Tricky*, 2011.
//!
//! The bound is original to this crate. This code was written from the descriptions, not from an
//! implementation.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::pv::{self, Announced, Hooks, Parks};
use super::queue::{self, Name};
use super::queued::Queued;
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, upper};
use crate::platform::{
    Event, HostWithSlots, Int, Ordering, QueueNode, RELEASE_ACQUIRE_LATE, Region, Word,
    acquire_late, during,
};
use core::marker::PhantomData;
use core::time::Duration;

/// The queued spinlock whose waiters park. See the [module documentation](self).
///
/// Uncontended: one locked compare-exchange, one locked subtraction. With [`Spins`](pv::Spins) the
/// lock is [`Queued`] itself.
#[derive(Debug)]
pub struct PvQueued<P: Hooks = Parks>(Invariant<P>);

pub(super) const LOCKED: u64 = 1;
pub(super) const PARKED: u64 = 2;
const PASS: u64 = 4;
const PASSES: u64 = 0x3ff * PASS;
const CLOSED: u64 = 1 << 12;
const TAIL_SHIFT: u32 = 16;

/// Value of a waiter's `ready`: the waiter is in the queue, but not the first.
const QUEUED: u32 = 0;
/// Value of a waiter's `ready`: in the queue, not the first, and parked or about to park.
const QUEUED_PARKED: u32 = 2;
/// Value of a waiter's `ready`: the waiter is the first, and awake.
const FIRST: u32 = pv::KICKED;

/// Bit of a token: kick the first in the queue if it has announced itself. Without this bit a token
/// is the name of a waiter to kick, or 0.
const KICK_ANNOUNCED: u32 = 1 << 16;

/// Number of failed compare-exchanges after which a newcomer goes to the queue.
const MOST_TRIES: u32 = 4;

/// Number of polls that replaces [`Hooks::LONGEST_PASSED`] on a host without a clock.
const POLLS_WITHOUT_CLOCK: u32 = 1 << 16;

#[inline(always)]
pub(super) fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

pub(super) const fn assert_bound<P: Hooks>() {
    assert!(
        P::MOST_PASSES >= 1 && P::MOST_PASSES <= 1000,
        "a waiter is passed at least once and at most a thousand times"
    );
}

/// Returns true if the lock is closed: only the first in the queue may take it.
#[inline(always)]
fn is_closed<P: Hooks>(bits: u64) -> bool {
    bits & CLOSED != 0 || bits & PASSES >= u64::from(P::MOST_PASSES) * PASS
}

/// Returns true if a newcomer may take the lock.
#[inline(always)]
pub(super) fn may_steal<P: Hooks>(bits: u64) -> bool {
    bits & LOCKED == 0 && !is_closed::<P>(bits)
}

/// Takes the lock as a newcomer, from a lane for which [`may_steal`] is true. Returns its token, or
/// the current lane on failure.
#[inline(always)]
pub(super) fn steal<H: HostWithSlots, L: Lane>(lane: L, seen: L::Bits) -> Result<u32, L::Bits> {
    let before = seen.to_u64();
    let waited_for = before >> TAIL_SHIFT != 0;
    let pass = if waited_for { PASS } else { 0 };
    let taken = (before & !PARKED | LOCKED) + pass;
    // Acquire: pairs with the release in `unlock`. It also pairs with the release that set the
    // `parked` bit, which this exchange clears.
    lane.compare_exchange_bounded(seen, bits::<L>(taken), Ordering::Acquire)?;
    if waited_for {
        H::count(Event::Steal);
    }
    Ok(if before & PARKED != 0 { KICK_ANNOUNCED } else { 0 })
}

/// Takes a lock that was not free. `seen` is the value of the lane.
#[cold]
#[inline(never)]
fn lock_slowly<P: Hooks, H: HostWithSlots, L: Lane>(lane: L, mut seen: L::Bits) -> u32 {
    H::count(Event::Slowpath);
    for _ in 0..MOST_TRIES {
        if !may_steal::<P>(seen.to_u64()) {
            // Relaxed: a hint.
            let over = |bits| may_steal::<P>(bits) || is_closed::<P>(bits);
            let free = lane.wait_within::<H>(Ordering::Relaxed, P::NEWCOMER_SPINS, over);
            let Some(free) = free.filter(|free| may_steal::<P>(free.to_u64())) else { break };
            seen = free;
        }
        match steal::<H, L>(lane, seen) {
            Ok(token) => return token,
            Err(actual) => seen = actual,
        }
    }
    let Some(me) = queue::take::<H>() else { return wait_without_node::<P, H, L>(lane) };
    let token = wait_in_queue::<P, H, L>(lane, me);
    queue::give_back::<H>(me);
    token
}

/// Waits without a node, outside the queue.
#[cold]
fn wait_without_node<P: Hooks, H: HostWithSlots, L: Lane>(lane: L) -> u32 {
    H::count(Event::NoNode);
    loop {
        // Relaxed: only the compare-exchange takes the lock.
        let seen = lane.wait_yielding::<H>(Ordering::Relaxed, may_steal::<P>);
        if let Ok(token) = steal::<H, L>(lane, seen) {
            return token;
        }
    }
}

/// Waits with a node: joins the queue, becomes the first, takes the lock, and makes its successor
/// the first.
fn wait_in_queue<P: Hooks, H: HostWithSlots, L: Lane>(lane: L, me: Name) -> u32 {
    let node = me.node::<H>();
    // Relaxed: joining, and the store to the predecessor's `next`, publish these stores.
    node.next.store(0, Ordering::Relaxed);
    node.ready.store(QUEUED, Ordering::Relaxed);
    let joined = H::now();
    if let Some(predecessor) = queue::join(lane, me) {
        // Relaxed: once the predecessor has read, with acquire, a tail other than its own, it also
        // sees this node's preparation.
        predecessor.node::<H>().next.store(me.to_bits() as u32, Ordering::Relaxed);
        wait_to_be_first::<P, H>(node, predecessor);
    }
    let is_last = First::<P, H, L>::new(lane, me, joined).wait();
    if is_last { 0 } else { make_first::<H>(node) }
}

/// Waits, parked, until the predecessor has the lock.
fn wait_to_be_first<P: Hooks, H: HostWithSlots>(
    node: &'static QueueNode<H::Atomics>,
    predecessor: Name,
) {
    let is_first = |ready| ready != QUEUED && ready != QUEUED_PARKED;
    // Behind a parked waiter the wait is long. Relaxed: a hint.
    let ahead = predecessor.node::<H>().ready.load(Ordering::Relaxed);
    let spins = if ahead == QUEUED_PARKED || ahead == pv::PARKED { 1 } else { P::SPINS };
    // Relaxed, here and below. The first in the queue must see its predecessor's acquisition. It
    // does, because the acquisition changed the lock word, and the first changes that word too
    // before it reads it (`First::close`).
    if H::wait_within(&node.ready, Ordering::Relaxed, spins, is_first).is_ok() {
        return;
    }
    if !pv::may_park::<H>() {
        H::wait_yielding(&node.ready, Ordering::Relaxed, is_first);
        return;
    }
    let parks =
        node.ready.compare_exchange(QUEUED, QUEUED_PARKED, Ordering::Relaxed, Ordering::Relaxed);
    if parks.is_ok() {
        loop {
            H::count(Event::Wait);
            during::<H, _>(Region::Idle, || H::park(&node.ready, QUEUED_PARKED, None));
            if is_first(node.ready.load(Ordering::Relaxed)) {
                return;
            }
        }
    }
}

/// The first in the queue.
struct First<P, H: HostWithSlots, L> {
    lane: L,
    me: Name,
    /// Time when it joined the queue; zero without a clock.
    joined: Duration,
    /// Number of its polls.
    polls: u32,
    /// True if it has set `closed` in the lane, so that no newcomer steals.
    closed: bool,
    /// True if newcomers may no longer pass this waiter, so the lane stays closed.
    over: bool,
    announced: Option<Announced<H>>,
    _policy: PhantomData<P>,
}

impl<P: Hooks, H: HostWithSlots, L: Lane> First<P, H, L> {
    fn new(lane: L, me: Name, joined: Duration) -> Self {
        First {
            lane,
            me,
            joined,
            polls: 0,
            closed: false,
            over: false,
            announced: None,
            _policy: PhantomData,
        }
    }

    /// Waits until it has the lock. Returns true if it was the last in the queue.
    fn wait(mut self) -> bool {
        let is_last = loop {
            // This waiter runs now, so it is the next holder until it parks.
            self.close();
            let is_free = |bits: u64| bits & LOCKED == 0;
            // Acquire: pairs with the release in `unlock`.
            match self.lane.wait_within::<H>(Ordering::Acquire, P::SPINS, is_free) {
                Some(seen) => {
                    if let Some(is_last) = self.take(seen) {
                        break is_last;
                    }
                }
                None => {
                    self.polls = self.polls.saturating_add(P::SPINS);
                    if !self.park() {
                        // Relaxed: the next round looks again.
                        self.lane.wait_yielding::<H>(Ordering::Relaxed, is_free);
                    }
                }
            }
        };
        if let Some(announced) = self.announced {
            announced.withdraw();
        }
        is_last
    }

    /// Takes the lock from a lane that was free. Returns `Some(true)` if no thread waits behind,
    /// and `None` if the lane has changed.
    fn take(&self, seen: L::Bits) -> Option<bool> {
        let is_last = upper(seen).to_u64() == self.me.to_bits();
        let tail = if is_last { 0 } else { upper(seen).to_u64() << TAIL_SHIFT };
        // Relaxed: the replaced value was read with acquire. (A newer value cannot look the same: a
        // thread that takes the lock before the first adds a pass to the word.)
        let taken = self.lane.compare_exchange(seen, bits::<L>(tail | LOCKED), Ordering::Relaxed);
        taken.ok().map(|_| is_last)
    }

    /// Returns the remaining time in which newcomers may pass this waiter. `None` if there is no
    /// time limit.
    fn left(&self) -> Option<Duration> {
        if self.over || self.joined.is_zero() {
            return None;
        }
        Some(P::LONGEST_PASSED.saturating_sub(H::now().saturating_sub(self.joined)))
    }

    /// Closes the lock: from here on newcomers cannot steal it.
    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            // Relaxed: it publishes nothing.
            self.lane.fetch_or(bits::<L>(CLOSED), Ordering::Relaxed);
        }
    }

    /// Parks until the lock is released, or until newcomers may no longer pass this waiter. Returns
    /// `false` if the thread cannot park.
    fn park(&mut self) -> bool {
        let left = self.left().filter(|left| !left.is_zero());
        self.over |= match self.joined.is_zero() {
            true => self.polls >= POLLS_WITHOUT_CLOCK,
            false => left.is_none(),
        };
        if !pv::may_park::<H>() {
            return false;
        }
        // The setting of `parked` in the lane publishes this.
        pv::prepare::<H>(self.me);
        if self.announced.is_none() {
            let lock = core::ptr::from_ref(self.lane.word()).addr();
            self.announced = pv::announce::<H>(lock, 0, self.me);
        }
        if self.announced.is_none() {
            return false;
        }
        let closed = if self.over { CLOSED } else { 0 };
        let mut seen = self.lane.load(Ordering::Relaxed);
        while seen.to_u64() & LOCKED != 0 {
            let parked = bits::<L>(seen.to_u64() & !CLOSED | PARKED | closed);
            // Release: pairs with the acquire of the thread that finds the bit set and kicks.
            match self.lane.compare_exchange(seen, parked, Ordering::Release) {
                Ok(_) => {
                    self.closed = self.over;
                    pv::park::<H>(self.me, left);
                    break;
                }
                Err(actual) => seen = actual,
            }
        }
        true
    }
}

/// Makes the waiter behind `node` the first. The thread of `node` has the lock. Returns the token:
/// the waiter's name if it is parked, otherwise 0.
fn make_first<H: HostWithSlots>(node: &QueueNode<H::Atomics>) -> u32 {
    // Relaxed, here and below. The tail was read with acquire, so the successor's preparation of
    // its node is visible. All that the successor must see is in the lock's word, which it reads
    // with acquire.
    //
    // Both exchanges come before the node's next use. The successor continues only after it has
    // read the value of the first exchange (or, if it was parked, of the second). So its later
    // stores to this word come later in the word's modification order. The code below touches
    // nothing else of the node.
    let next = H::wait_yielding(&node.next, Ordering::Relaxed, |next| next != 0);
    let Some(successor) = Name::from_bits(u64::from(next)) else { return 0 };
    let ready = &successor.node::<H>().ready;
    if ready.compare_exchange(QUEUED, FIRST, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        return 0;
    }
    ready.swap(pv::PARKED, Ordering::Relaxed);
    next
}

/// Kicks the parked waiters of the lock at address `lock`. The lock is released, and may have been
/// freed. Either `token` names a waiter, or the release saw `parked` set for the first.
#[cold]
#[inline(never)]
fn kick<H: HostWithSlots>(lock: usize, token: u32, parked: bool) {
    if let Some(name) = Name::from_bits(u64::from(token & (KICK_ANNOUNCED - 1))) {
        pv::kick::<H>(name);
    }
    if parked || token & KICK_ANNOUNCED != 0 {
        // Acquire: pairs with the release that set `parked`, so that this thread sees the
        // announcement.
        acquire_late::<H::Atomics>();
        pv::kick_announced::<H>(lock, 0);
    }
}

impl<P: Hooks> PvQueued<P> {
    /// Performs the kicks that `token` owes, so that the holder of the lock at address `lock` can
    /// forget `token`: the holder's token is then 0. For holders that have no room for a token.
    ///
    /// A waiter that is kicked early finds the lock held, and parks again. So the kicks may be
    /// wasted, but none is lost: the waiter announces itself again before it parks.
    #[inline]
    pub fn settle<H: HostWithSlots>(lock: usize, token: u32) {
        if P::PARK && token != 0 {
            kick::<H>(lock, token, false);
        }
    }
}

impl<P: Hooks> Algorithm for PvQueued<P> {
    type Token = u32;
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        if !P::PARK {
            return <Queued>::is_held(bits);
        }
        // If `parked` is the only bit set, it belongs to a timed waiter, which is not in the queue
        // and may go away.
        bits.to_u64() & !PARKED != 0
    }
}

// SAFETY: `locked` goes from 0 to 1 only by a compare-exchange, of a newcomer or of the first in
// the queue. Only the holder subtracts `locked`. Each operation is a read-modify-write of the word,
// and a comment there justifies its ordering. After the subtraction, `unlock` uses only the address
// of the word. With `Hooks::PARK` false all code is that of `Queued`.
unsafe impl<H: HostWithSlots, P: Hooks> LaneLock<H> for PvQueued<P> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) -> u32 {
        if !P::PARK {
            // SAFETY: the caller's promise; with this policy `Queued` also makes all other changes.
            unsafe { <Queued as LaneLock<H>>::lock(lane) };
            return 0;
        }
        const { queue::assert_names_fit::<H, L>() }
        const { assert_bound::<P>() }
        // Acquire: pairs with the release in `unlock`.
        let free =
            lane.compare_exchange_bounded(bits::<L>(0), bits::<L>(LOCKED), Ordering::Acquire);
        match free {
            Ok(_) => 0,
            Err(seen) => lock_slowly::<P, H, L>(lane, seen),
        }
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u32> {
        if !P::PARK {
            // SAFETY: as in `lock`.
            return unsafe { <Queued as LaneLock<H>>::try_lock(lane) }.map(|()| 0);
        }
        const { queue::assert_names_fit::<H, L>() }
        let seen = lane.load(Ordering::Relaxed);
        if may_steal::<P>(seen.to_u64()) { steal::<H, L>(lane, seen).ok() } else { None }
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, token: u32) {
        if !P::PARK {
            // SAFETY: the caller's promise.
            return unsafe { <Queued as LaneLock<H>>::unlock(lane, ()) };
        }
        let lock = core::ptr::from_ref(lane.word()).addr();
        // Release: pairs with the acquire of the next holder.
        let before = lane.fetch_add(bits::<L>(LOCKED.wrapping_neg()), RELEASE_ACQUIRE_LATE);
        let parked = before.to_u64() & PARKED != 0;
        if parked || token != 0 {
            kick::<H>(lock, token, parked);
        }
    }
}

// SAFETY: the release is one compare-exchange that keeps the bits that others have set. It also
// closes the lock, so that newcomers no longer pass the first in the queue. The first clears that
// bit when it takes the lock.
unsafe impl<H: HostWithSlots, P: Hooks> FairLock<H> for PvQueued<P> {
    #[inline]
    unsafe fn unlock_fair<L: Lane>(lane: L, token: u32) {
        if !P::PARK {
            // SAFETY: the caller's promise.
            return unsafe { <Queued as FairLock<H>>::unlock_fair(lane, ()) };
        }
        let lock = core::ptr::from_ref(lane.word()).addr();
        let mut seen = lane.load(Ordering::Relaxed);
        loop {
            let before = seen.to_u64();
            let closed = if before >> TAIL_SHIFT != 0 { CLOSED } else { 0 };
            let released = bits::<L>(before & !LOCKED | closed);
            // Release: pairs with the acquire of the next holder.
            match lane.compare_exchange(seen, released, RELEASE_ACQUIRE_LATE) {
                Ok(_) => break,
                Err(actual) => seen = actual,
            }
        }
        let parked = seen.to_u64() & PARKED != 0;
        if parked || token != 0 {
            kick::<H>(lock, token, parked);
        }
    }
}
