//! Waiting for the [mutex](super::adaptive): the spin, the sleep, the competition after a wake-up,
//! and giving up.

use super::adaptive_word::{
    ASLEEP, AWAKE, CALLED, DEMAND, GRANTED, HELD, NAPPING, NUDGED, Nudge, QUEUE_LOCK, QUEUED,
    SPINNER, WAITING, as_bits, is_free, lock_queue, newest, nudge, spinners, try_lock_queue,
    unlock_queue, unpark_nudged, with_newest,
};
use super::deadline::Deadline;
use super::patience::Patience;
use super::pv;
use super::queue::{self, Name};
use super::sleepers;
use crate::invariance::Invariant;
use crate::lane::Lane;
use crate::platform::{Event, HostWithSlots, Int, Ordering, Region, Word, during};
use core::marker::PhantomData;
use core::time::Duration;

/// Waits until the calling thread has the lock.
#[cold]
#[inline(never)]
pub(super) fn wait<P: Patience, H: HostWithSlots, L: Lane>(lane: L) {
    let took = Waiter::<P, H, L>::wait(lane, None);
    debug_assert!(took, "a wait without a deadline does not give up");
}

/// Waits until the calling thread has the lock, and returns true, or until the deadline has passed,
/// and returns false.
pub(super) fn wait_until<P: Patience, H: HostWithSlots, L: Lane>(
    lane: L,
    mut deadline: Deadline<H>,
) -> bool {
    // A wait without a deadline need not read the clock before it spins.
    let has_passed = !deadline.is_latest() && deadline.end_slice();
    !has_passed && Waiter::<P, H, L>::wait(lane, Some(deadline))
}

/// The end of a woken thread's competition for the lock.
enum Competition {
    Took,
    BackInQueue,
    GaveUp,
}

/// A nap ends when the time since the beginning of the first nap has grown by this factor.
const GROWTH: u32 = 16;
/// Factor by which a spinner polls less while others sleep: the holder may be preempted.
const SHORTER: u32 = 3;
/// A woken thread that has waited for this many times the first nap nudges the next in the queue,
/// if others spin.
const LONG: u32 = 50;

/// A thread that waits, with a node.
struct Waiter<P: Patience, H: HostWithSlots, L: Lane> {
    lane: L,
    me: Name,
    deadline: Option<Deadline<H>>,
    /// The host's time when it joined the queue.
    joined: Duration,
    /// The host's time when the first nap of the current series began.
    watches_since: Duration,
    /// Duration of its next nap. `None`: it sleeps until another thread calls or nudges it.
    nap: Option<Duration>,
    /// True if it knows that it is the oldest sleeper.
    is_oldest: bool,
    /// The oldest sleeper when it last looked.
    seen_oldest: Option<Name>,
    /// True after it was called and did not get the lock.
    was_woken_in_vain: bool,
    /// True once it has slept.
    has_napped: bool,
    _policy: Invariant<P>,
}

impl<P: Patience, H: HostWithSlots, L: Lane> Waiter<P, H, L> {
    /// Waits. Returns true if the thread has the lock, and false if its deadline has passed.
    fn wait(lane: L, deadline: Option<Deadline<H>>) -> bool {
        H::count(Event::Slowpath);
        // Without a clock a timeout can only be counted in polls, and a sleeper does not poll.
        let may_end = deadline.as_ref().is_some_and(|deadline| !deadline.is_latest());
        let has_no_timeouts = may_end && H::now().is_zero();
        if has_no_timeouts || !pv::may_park::<H>() {
            return wait_yielding::<H, L>(lane, deadline);
        }
        let Some(me) = queue::take::<H>() else {
            H::count(Event::NoNode);
            return wait_yielding::<H, L>(lane, deadline);
        };
        let took = match begin_spin::<P, L>(lane) {
            Begun::Took => true,
            Begun::Spins { others_sleep } => {
                let polls = if others_sleep { P::POLLS.div_ceil(SHORTER) } else { P::POLLS };
                poll::<P, H, L>(lane, SPINNER, polls)
                    || Self::wait_in_queue(lane, me, SPINNER, deadline)
            }
            Begun::DoesNotSpin => Self::wait_in_queue(lane, me, 0, deadline),
        };
        queue::give_back::<H>(me);
        took
    }

    /// Joins the queue and waits there. `mark` stands for the thread in the word until the thread
    /// joins.
    fn wait_in_queue(lane: L, me: Name, mark: u64, deadline: Option<Deadline<H>>) -> bool {
        let former_use = sleepers::former_use::<H>(me);
        let joined = H::now();
        let mut waiter = Waiter::<P, H, L> {
            lane,
            me,
            deadline,
            joined,
            watches_since: joined,
            nap: P::NAP,
            is_oldest: false,
            seen_oldest: None,
            was_woken_in_vain: false,
            has_napped: false,
            _policy: PhantomData,
        };
        let took = waiter.join(mark) || waiter.sleep_until_called();
        sleepers::restore::<H>(me, former_use);
        took
    }

    /// Joins the queue. Returns true if it took the lock instead, because the lock was free.
    fn join(&mut self, mark: u64) -> bool {
        // Relaxed: the compare-exchange publishes the node.
        self.me.node::<H>().ready.store(WAITING, Ordering::Relaxed);
        let mut seen = self.lane.load(Ordering::Relaxed);
        loop {
            let bits = seen.to_u64();
            let free = is_free(bits);
            let new = if free {
                (bits | HELD) - mark
            } else {
                sleepers::prepare::<H>(self.me, newest(bits));
                with_newest(bits, Some(self.me)) - mark
            };
            // Acquire: pairs with the release of the last holder. Release: publishes the node, to
            // the threads that take the queue lock.
            match self.lane.compare_exchange(seen, as_bits::<L>(new), Ordering::AcqRel) {
                Ok(_) => {
                    self.is_oldest = newest(bits).is_none();
                    return free;
                }
                Err(actual) => seen = actual,
            }
        }
    }

    /// Sleeps in the queue until another thread calls it, and competes for the lock if it must.
    /// Returns false if the deadline has passed.
    fn sleep_until_called(&mut self) -> bool {
        loop {
            let (timeout, expired) = self.next_nap();
            if expired {
                return self.leave();
            }
            match self.sleep(timeout) {
                GRANTED => return true,
                CALLED => match self.compete() {
                    Competition::Took => {
                        self.pass_watch_on();
                        return true;
                    }
                    Competition::BackInQueue => {
                        self.is_oldest = true;
                        self.begin_naps();
                    }
                    Competition::GaveUp => return false,
                },
                NUDGED => {
                    let ready = &self.me.node::<H>().ready;
                    // Relaxed: as in `sleep`.
                    let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
                    let _ = ready.compare_exchange(NUDGED, WAITING, of, to);
                    self.begin_naps();
                    self.look();
                }
                _ => self.look(),
            }
        }
    }

    /// Begins with short naps again.
    fn begin_naps(&mut self) {
        (self.watches_since, self.nap) = (H::now(), P::NAP);
    }

    /// Prepares the next nap. It ends when the time since the first nap began has grown by
    /// [`GROWTH`].
    fn nap_on(&mut self) {
        let now = H::now();
        let grown = match self.nap {
            Some(nap) if now.is_zero() => nap.saturating_mul(GROWTH),
            _ => now.saturating_sub(self.watches_since).saturating_mul(GROWTH - 1),
        };
        self.nap = P::NAP.map(|first| grown.min(P::LONGEST_NAP).max(first));
    }

    /// Returns the time to sleep, and true if the deadline has passed.
    fn next_nap(&self) -> (Option<Duration>, bool) {
        let Some(deadline) = &self.deadline else { return (self.nap, false) };
        // A host without a clock has no deadlines here: see `wait`. So a wait with no time left has
        // ended.
        let Some(left) = deadline.left() else { return (self.nap, true) };
        (Some(self.nap.map_or(left, |nap| nap.min(left))), false)
    }

    /// Sleeps for `timeout` at most. Returns the state of its node.
    fn sleep(&mut self, timeout: Option<Duration>) -> u32 {
        let ready = &self.me.node::<H>().ready;
        let asleep = if self.nap.is_some() { NAPPING } else { ASLEEP };
        // Relaxed, both: they order nothing, and the load below acquires.
        if ready.compare_exchange(WAITING, asleep, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            H::count(Event::Wait);
            during::<H, _>(Region::Idle, || H::park(ready, asleep, timeout));
            self.has_napped = true;
            let _ = ready.compare_exchange(asleep, WAITING, Ordering::Relaxed, Ordering::Relaxed);
        }
        // Acquire: pairs with the release of the thread that calls this one.
        ready.load(Ordering::Acquire)
    }

    /// Returns true if it has waited long enough to demand the lock.
    fn is_overdue(&self) -> bool {
        let Some(limit) = P::NAP else { return true };
        let now = H::now();
        if now.is_zero() { self.has_napped } else { now.saturating_sub(self.joined) >= limit }
    }

    /// Looks at the lock after a nap. If the lock is free and no thread is awake to take it, a
    /// release has missed the queue, and this thread wakes the oldest sleeper. If this thread is
    /// itself the oldest, knew that, and is overdue, it demands the lock. If another thread is the
    /// oldest and sleeps, this thread nudges that thread. Then this thread decides how to sleep.
    fn look(&mut self) {
        // A read-modify-write, because in the models a load may return an old value for ever.
        // Relaxed: it orders nothing.
        let seen = self.lane.fetch_or(as_bits::<L>(0), Ordering::Relaxed);
        let bits = seen.to_u64();
        if bits & QUEUE_LOCK != 0 {
            return self.nap_on();
        }
        if !is_free(bits) && bits & DEMAND != 0 {
            // The oldest has demanded the lock, so it naps.
            return self.decide_sleep(newest(bits));
        }
        // On failure the word has changed, and trying again after the next nap is soon enough.
        let Some(locked) = try_lock_queue::<L>(self.lane, seen) else { return self.nap_on() };
        let oldest = newest(locked).map(sleepers::oldest::<H>);
        let knew = self.is_oldest;
        self.is_oldest = oldest == Some(self.me);
        let demands = knew && self.is_oldest && self.is_overdue();
        let nudged = oldest.filter(|&oldest| {
            P::NAP.is_some() && oldest != self.me && nudge::<H>(oldest, Nudge::IfAsleep)
        });
        unlock_queue::<H, L>(self.lane, locked, 0, if demands { DEMAND } else { 0 });
        unpark_nudged::<H>(nudged);
        if demands {
            self.await_hand_over();
        }
        let moved = oldest != core::mem::replace(&mut self.seen_oldest, oldest);
        if moved && !(knew && self.is_oldest) {
            self.begin_naps();
        }
        self.decide_sleep(newest(locked));
    }

    /// Decides to nap, if this thread is the newest sleeper or knows that it is the oldest, or to
    /// sleep until another thread calls or nudges it.
    fn decide_sleep(&mut self, newest: Option<Name>) {
        if self.is_oldest || newest == Some(self.me) {
            self.nap_on();
        } else {
            self.nap = None;
        }
    }

    /// Nudges the oldest sleeper, after a long wait that another thread has ended, if spinners may
    /// keep the lock from the sleepers.
    fn pass_watch_on(&self) {
        let Some(nap) = P::NAP else { return };
        let seen = self.lane.load(Ordering::Relaxed);
        let bits = seen.to_u64();
        if bits & (QUEUED | QUEUE_LOCK) != QUEUED || spinners(bits) == 0 {
            return;
        }
        if H::now().saturating_sub(self.joined) < nap * LONG {
            return;
        }
        let Some(locked) = try_lock_queue::<L>(self.lane, seen) else { return };
        let nudged = self.nudge_oldest(locked, Nudge::IfAsleep);
        unlock_queue::<H, L>(self.lane, locked, 0, 0);
        unpark_nudged::<H>(nudged);
    }

    /// Nudges the oldest sleeper. The caller has the queue lock. `seen` is the word. The result is
    /// for [`unpark_nudged`].
    fn nudge_oldest(&self, seen: u64, which: Nudge) -> Option<Name> {
        P::NAP?;
        newest(seen).map(sleepers::oldest::<H>).filter(|&oldest| nudge::<H>(oldest, which))
    }

    /// Waits awake for a moment after the demand. Most holders release the lock in that time, and a
    /// hand-over to a running thread costs no wake-up.
    fn await_hand_over(&self) {
        let ready = &self.me.node::<H>().ready;
        let polls = P::POLLS.saturating_mul(P::LONGEST_GAP);
        // Relaxed: the next load acquires.
        let _ = H::wait_within(ready, Ordering::Relaxed, polls, |state| state != WAITING);
    }

    /// Competes for the lock after a wake-up. This thread is not in the queue, and `AWAKE` stands
    /// for it.
    fn compete(&mut self) -> Competition {
        // A thread that was woken in vain does not spin again: the holder may want to run on this
        // CPU.
        let polls = if self.was_woken_in_vain { 1 } else { P::POLLS };
        if poll::<P, H, L>(self.lane, AWAKE, polls) {
            return Competition::Took;
        }
        self.was_woken_in_vain = true;
        let demand = if self.is_overdue() { DEMAND } else { 0 };
        let expired = self.deadline.as_ref().is_some_and(|deadline| deadline.left().is_none());
        let mut seen = lock_queue::<H, L>(self.lane);
        // Relaxed: the queue lock publishes it.
        self.me.node::<H>().ready.store(WAITING, Ordering::Relaxed);
        loop {
            let free = is_free(seen);
            let new = if free {
                (seen | HELD) & !(AWAKE | QUEUE_LOCK)
            } else if expired {
                self.give_up_awake(seen);
                return Competition::GaveUp;
            } else if let Some(newest) = newest(seen) {
                sleepers::put_first::<H>(newest, self.me);
                unlock_queue::<H, L>(self.lane, seen, AWAKE, demand);
                break;
            } else {
                sleepers::prepare::<H>(self.me, None);
                with_newest(seen, Some(self.me)) & !(AWAKE | QUEUE_LOCK) | demand
            };
            let (old, new) = (as_bits::<L>(seen), as_bits::<L>(new));
            // Acquire: pairs with the release of the last holder. Release: gives the queue lock
            // back, and publishes the node.
            match self.lane.compare_exchange(old, new, Ordering::AcqRel) {
                Ok(_) if free => return Competition::Took,
                Ok(_) => break,
                // Acquire: pairs with the releases of threads that have joined.
                Err(_) => seen = self.lane.load(Ordering::Acquire).to_u64(),
            }
        }
        if demand != 0 {
            self.await_hand_over();
        }
        Competition::BackInQueue
    }

    /// Gives up as the thread that was called. A release that still counts on it may wake no
    /// thread, so the oldest sleeper must nap. The caller has the queue lock, and gives it back.
    fn give_up_awake(&self, seen: u64) {
        let nudged = self.nudge_oldest(seen, Nudge::Always);
        unlock_queue::<H, L>(self.lane, seen, AWAKE, 0);
        unpark_nudged::<H>(nudged);
    }

    /// Leaves the queue because the deadline has passed. Returns true if another thread has handed
    /// it the lock meanwhile.
    fn leave(&self) -> bool {
        let mut seen = lock_queue::<H, L>(self.lane);
        if sleepers::is_removed::<H>(self.me) {
            unlock_queue::<H, L>(self.lane, seen, 0, 0);
            let ready = &self.me.node::<H>().ready;
            // The thread that has removed this one is about to call it. Acquire: as in `sleep`.
            let called = |state| state == CALLED || state == GRANTED;
            if H::wait_yielding(ready, Ordering::Acquire, called) == GRANTED {
                return true;
            }
            seen = lock_queue::<H, L>(self.lane);
            self.give_up_awake(seen);
            return false;
        }
        let (mut demand, mut nudged) = (0, None);
        while let Some(newest) = newest(seen) {
            if sleepers::oldest::<H>(newest) == self.me {
                demand = DEMAND;
            }
            if newest != self.me {
                sleepers::remove::<H>(newest, self.me);
                if demand != 0 {
                    // This thread may have been the only one with a short nap: see `adaptive`.
                    nudged = self.nudge_oldest(seen, Nudge::Always);
                }
                break;
            }
            let older = sleepers::before_newest::<H>(newest);
            let new = with_newest(seen, older);
            let (old, new_bits) = (as_bits::<L>(seen), as_bits::<L>(new));
            // Relaxed: `unlock_queue` publishes it.
            match self.lane.compare_exchange(old, new_bits, Ordering::Relaxed) {
                Ok(_) => {
                    // From now on the next older sleeper is the newest, and must nap.
                    let older = older.filter(|_| P::NAP.is_some());
                    nudged = older.filter(|&older| nudge::<H>(older, Nudge::Always));
                    seen = new;
                    break;
                }
                // Acquire: pairs with the releases of threads that have joined.
                Err(_) => seen = self.lane.load(Ordering::Acquire).to_u64(),
            }
        }
        unlock_queue::<H, L>(self.lane, seen, demand, 0);
        unpark_nudged::<H>(nudged);
        false
    }
}

/// The result of registering as a spinner.
enum Begun {
    Took,
    Spins { others_sleep: bool },
    DoesNotSpin,
}

/// Takes the lock if it is free, or registers the caller as a spinner.
fn begin_spin<P: Patience, L: Lane>(lane: L) -> Begun {
    let mut seen = lane.load(Ordering::Relaxed);
    loop {
        let bits = seen.to_u64();
        let free = is_free(bits);
        let new = if free {
            bits | HELD
        } else if spinners(bits) < P::SPINNERS && bits & DEMAND == 0 {
            bits + SPINNER
        } else {
            return Begun::DoesNotSpin;
        };
        // Acquire: pairs with the release of the last holder.
        match lane.compare_exchange(seen, as_bits::<L>(new), Ordering::Acquire) {
            Ok(_) if free => return Begun::Took,
            Ok(_) => return Begun::Spins { others_sleep: bits & QUEUED != 0 },
            Err(actual) => seen = actual,
        }
    }
}

/// Polls the lock `polls` times, with growing gaps, and takes it when it is free. Removes `mark`,
/// which stands for the caller, from the word if it took the lock. Returns false if it did not.
fn poll<P: Patience, H: HostWithSlots, L: Lane>(lane: L, mark: u64, polls: u32) -> bool {
    let mut gap = P::FIRST_GAP;
    for _ in 0..polls {
        let mut seen = lane.load(Ordering::Relaxed);
        while is_free(seen.to_u64()) {
            let new = (seen.to_u64() | HELD) - mark;
            // Acquire: pairs with the release of the last holder.
            match lane.compare_exchange(seen, as_bits::<L>(new), Ordering::Acquire) {
                Ok(_) => return true,
                Err(actual) => seen = actual,
            }
        }
        for _ in 0..gap {
            H::relax();
        }
        gap = (gap * 2).min(P::LONGEST_GAP);
    }
    false
}

/// Waits without a place in the queue: yields, and takes the lock when it is free.
pub(super) fn wait_yielding<H: HostWithSlots, L: Lane>(
    lane: L,
    deadline: Option<Deadline<H>>,
) -> bool {
    // Acquire: pairs with the release of the last holder.
    let try_lock = || (lane.swap_lowest_byte(1, Ordering::Acquire) == 0).then_some(());
    if let Some(deadline) = deadline {
        return deadline.poll(lane, is_free, try_lock).is_some();
    }
    loop {
        // Relaxed: a hint.
        lane.wait_yielding::<H>(Ordering::Relaxed, is_free);
        if try_lock().is_some() {
            return true;
        }
    }
}
