//! Timed waits for the [queued lock whose waiters park](super::pv_queued). Timed waiters also park.
//!
//! A waiter cannot give up a place in the queue, so a timed waiter stays outside the queue. It
//! takes the lock when a newcomer may, and any number of threads may pass it. Between two attempts
//! it parks, until another thread releases the lock or its deadline has passed.
//!
//! # Wake-ups
//!
//! A release finds a timed waiter in the same way as the first in the queue: by an announcement in
//! the host's table ([`pv`]), and by the bit `parked` of the lock's word. The timed waiter takes
//! these steps:
//!
//! 1. It marks its node as one to be kicked, and announces itself.
//! 2. It sets `parked` by a compare-exchange, with release, and only in a locked word.
//! 3. It parks, with a timeout.
//!
//! A release that sees the bit leaves it in the word, and kicks all waiters that are announced at
//! that time. The bit is cleared in two cases, each after such a kick:
//!
//! - A thief takes the lock and clears it. The previous release saw the bit and kicks, and the
//!   thief's own release also kicks.
//! - The first in the queue takes the lock and clears it. The previous release saw the bit and
//!   kicks.
//!
//! So a waiter that has set the bit is kicked after the next release at the latest. All changes of
//! the word are read-modify-writes, so each later one continues the release sequence of that
//! setting. A thread that sees the bit with acquire therefore sees the announcement. A waiter that
//! is kicked and does not get the lock repeats all three steps.
//!
//! # What is left behind
//!
//! A waiter withdraws its announcement and gives its node back. If it gives up, it does not clear
//! the bit. Another waiter may also have set it, and a thread that cleared it would have to wake
//! that waiter. The next acquisition clears the bit, on its slow path.
//!
//! In the word of a free lock, `is_held` ignores the bit, and `try_lock` still takes the lock. A
//! release that sees the bit without an announcement searches one line of the table in vain. A late
//! kick may find the node unused, or in use for something else. Every waiter tolerates that.
//!
//! # Where it does not park
//!
//! A timed waiter polls and yields in an interruption, without a node, on a host without a clock,
//! and if its line of the table is full. (Half of each line is reserved for the next waiters in a
//! queue.) It also yields while the lock is free and the first in the queue is about to take it.

use super::algorithm::{LaneLock, TimedLock};
use super::deadline::Deadline;
use super::pv::{self, Announced, Hooks};
use super::pv_queued::{LOCKED, PARKED, PvQueued, assert_bound, bits, may_steal, steal};
use super::queue::{self, Name};
use crate::invariance::Invariant;
use crate::lane::Lane;
use crate::platform::{Event, HostWithSlots, Instant, Int, Ordering};
use core::marker::PhantomData;

/// A timed waiter.
struct Timed<P, H: HostWithSlots, L> {
    lane: L,
    /// Its node and its word in the table, once it has parked.
    place: Option<(Name, Announced<H>)>,
    /// True if it found no free node when it first asked. It does not ask again.
    has_no_node: bool,
    _policy: Invariant<P>,
}

impl<P: Hooks, H: HostWithSlots, L: Lane> Timed<P, H, L> {
    fn lock_address(&self) -> usize {
        core::ptr::from_ref(self.lane.word()).addr()
    }

    /// Waits until it has the lock, and returns the token. Returns `None` once its deadline has
    /// passed.
    fn wait(mut self, mut deadline: Deadline<H>) -> Option<u32> {
        let mut token = self.steal();
        if token.is_none() {
            H::count(Event::Slowpath);
        }
        while token.is_none() && !deadline.end_slice() {
            let polls = Deadline::<H>::POLLS;
            // Relaxed: a hint.
            let free = self.lane.wait_within::<H>(Ordering::Relaxed, polls, may_steal::<P>);
            if free.is_none() && !self.park(&deadline) {
                H::yield_now();
            }
            token = self.steal();
        }
        self.leave();
        token
    }

    /// Takes the lock if a newcomer may.
    fn steal(&self) -> Option<u32> {
        // Relaxed: only the compare-exchange takes the lock.
        let seen = self.lane.load(Ordering::Relaxed);
        if may_steal::<P>(seen.to_u64()) { steal::<H, L>(self.lane, seen).ok() } else { None }
    }

    /// Parks until the lock is released, or the deadline has passed. Returns `false` if the thread
    /// cannot park, or if the lock is free and another thread is next.
    fn park(&mut self, deadline: &Deadline<H>) -> bool {
        let Some(left) = deadline.left().filter(|_| pv::may_park::<H>()) else {
            return false;
        };
        if self.place.is_none() && !self.has_no_node {
            self.place = self.announce();
        }
        let Some((me, _)) = self.place else { return false };
        // The setting of `parked` in the lane publishes this.
        pv::prepare::<H>(me);
        let mut seen = self.lane.load(Ordering::Relaxed);
        while seen.to_u64() & LOCKED != 0 {
            let parked = bits::<L>(seen.to_u64() | PARKED);
            // Release: pairs with the acquire of the thread that finds `parked` set and kicks.
            match self.lane.compare_exchange(seen, parked, Ordering::Release) {
                Ok(_) => {
                    pv::park::<H>(me, Some(left));
                    return true;
                }
                Err(actual) => seen = actual,
            }
        }
        may_steal::<P>(seen.to_u64())
    }

    /// Takes a node and announces it. Gives the node back if the table has no room.
    fn announce(&mut self) -> Option<(Name, Announced<H>)> {
        let Some(me) = queue::take::<H>() else {
            H::count(Event::NoNode);
            self.has_no_node = true;
            return None;
        };
        // The setting of `parked` in the lane publishes this.
        pv::prepare::<H>(me);
        let announced = pv::announce_beside::<H>(self.lock_address(), me);
        if announced.is_none() {
            queue::give_back::<H>(me);
        }
        announced.map(|announced| (me, announced))
    }

    /// Withdraws everything by which others could find this waiter, except `parked`.
    fn leave(self) {
        let Some((me, announced)) = self.place else { return };
        announced.withdraw();
        queue::give_back::<H>(me);
    }
}

// SAFETY: this takes the lock as any newcomer does. The other changes of the word are
// read-modify-writes that change only `parked`, and `is_held` ignores `parked`. With `Hooks::PARK`
// false all code is that of `Queued`.
unsafe impl<H: HostWithSlots, P: Hooks> TimedLock<H> for PvQueued<P> {
    #[cold]
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<u32> {
        let deadline = Deadline::new(until);
        if P::PARK {
            const { queue::assert_names_fit::<H, L>() }
            const { assert_bound::<P>() }
            let timed =
                Timed::<P, H, L> { lane, place: None, has_no_node: false, _policy: PhantomData };
            return timed.wait(deadline);
        }
        // SAFETY: the caller's promise.
        deadline.poll(lane, |bits| bits == 0, || unsafe { <Self as LaneLock<H>>::try_lock(lane) })
    }
}
