//! Waits with a time for the [queued lock whose waiters park](super::pv_queued): they park too.
//!
//! A place in the queue cannot be given up, so a waiter with a time stays beside it. It takes the lock when a newcomer may,
//! and is passed any number of times. Between two tries it parks, until somebody releases the lock or its time is over.
//!
//! # Who wakes it
//!
//! It is found as the first in the queue is: by an announcement in the host's table ([`pv`]), and by the bit `parked` of the
//! lock's word. In one order:
//!
//! 1. It makes its node one that is to be kicked, and announces itself.
//! 2. It sets `parked` by a compare-exchange, with release, and only in a word that is locked.
//! 3. It parks, with a timeout.
//!
//! A release that sees the bit leaves it in the word, and kicks all that are announced then. The bit is cleared in two
//! ways, and each comes after such a kick:
//!
//! - A thief takes the lock and clears it. The release before has seen it and kicks; and the thief's own does.
//! - The first in the queue takes the lock and clears it. The release before has seen it and kicks.
//!
//! So whoever has set the bit is kicked after the next release, or before. All changes of the word are read-modify-writes,
//! so each that follows the setting continues its release sequence, and whoever sees the bit with acquire sees the
//! announcement. A waiter that is kicked and does not get the lock does all three steps again.
//!
//! # What is left behind
//!
//! A waiter withdraws its announcement and gives its node back. If it gives up it leaves the bit: another waiter may have
//! set it too, and whoever cleared it would have to wake that one. The next acquisition clears it, on its slow path. In a free
//! lock's word the bit does not count as held, and `try_lock` takes the lock all the same. A release that sees the bit and
//! finds nobody announced has looked at one line of the table for nothing. A kick that comes too late meets a node that is
//! used for something else, or nothing: every waiter is prepared for it.
//!
//! # Where it does not park
//!
//! In an interruption, without a node, on a host without a clock, and where the table's line is full, it polls and yields. One
//! half of each line is left to those that are next in a queue. It also yields while the lock is free and the first in
//! the queue is about to take it.

use super::pv::{self, Announced, Hooks};
use super::pv_queued::{LOCKED, PARKED, PvQueued, assert_bound, bits, may_steal, steal};
use super::queue::{self, Name};
use super::{Deadline, LaneLock, TimedLock};
use crate::invariance::Invariant;
use crate::lane::Lane;
use crate::platform::{HostWithSlots, Instant, Int, Ordering};
use core::marker::PhantomData;

/// A waiter with a time.
struct Timed<P, H: HostWithSlots, L> {
    lane: L,
    /// Its node, and its word in the table, once it has parked.
    place: Option<(Name, Announced<H>)>,
    /// No node was left when it first asked. It does not ask again.
    has_no_node: bool,
    _policy: Invariant<P>,
}

impl<P: Hooks, H: HostWithSlots, L: Lane> Timed<P, H, L> {
    fn lock_address(&self) -> usize {
        core::ptr::from_ref(self.lane.word()).addr()
    }

    /// Waits until it has the lock, and returns the token; or until its time is over.
    fn wait(mut self, mut deadline: Deadline<H>) -> Option<u32> {
        loop {
            // Relaxed: only the compare-exchange takes the lock.
            let seen = self.lane.load(Ordering::Relaxed);
            if may_steal::<P>(seen.to_u64())
                && let Ok(token) = steal::<H, L>(self.lane, seen)
            {
                self.leave();
                return Some(token);
            }
            if deadline.is_over() {
                self.leave();
                return None;
            }
            let polls = Deadline::<H>::POLLS;
            // Relaxed: a hint.
            let free = self.lane.wait_within::<H>(Ordering::Relaxed, polls, may_steal::<P>);
            if free.is_none() && !self.park(&deadline) {
                H::yield_now();
            }
        }
    }

    /// Parks until the lock is released, or the time is over. Returns `false` if it cannot park, or the
    /// lock is free and somebody else is next.
    fn park(&mut self, deadline: &Deadline<H>) -> bool {
        let Some(left) = deadline.left().filter(|_| pv::may_park::<H>()) else {
            return false;
        };
        if self.place.is_none() && !self.has_no_node {
            self.place = self.announce();
        }
        let Some((me, _)) = self.place else { return false };
        // Published by the setting of `parked`.
        pv::prepare::<H>(me);
        let mut seen = self.lane.load(Ordering::Relaxed);
        while seen.to_u64() & LOCKED != 0 {
            let parked = bits::<L>(seen.to_u64() | PARKED);
            // Release: pairs with the acquire of whoever finds it set and kicks.
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

    /// Takes a node and announces it; gives it back if there is no room.
    fn announce(&mut self) -> Option<(Name, Announced<H>)> {
        let Some(me) = queue::take::<H>() else {
            self.has_no_node = true;
            return None;
        };
        // Published by the setting of `parked`.
        pv::prepare::<H>(me);
        let announced = pv::announce_beside::<H>(self.lock_address(), me);
        if announced.is_none() {
            queue::give_back::<H>(me);
        }
        announced.map(|announced| (me, announced))
    }

    /// Takes back what others could find, but for `parked`.
    fn leave(self) {
        let Some((me, announced)) = self.place else { return };
        announced.withdraw();
        queue::give_back::<H>(me);
    }
}

// SAFETY: the lock is taken as by any newcomer. What else is done to the word leaves all but `parked` as it is, by
// read-modify-writes; `is_held` does not look at `parked`. With `Hooks::PARK` false everything is `Queued`'s.
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
