//! Waiting for the [reader-writer lock](super): the spin, the sleep, the attempts of the head, and
//! giving up.

use super::queue::{come_first, leave_inside, leave_outside};
use super::word::{
    ADMITTED, CLOSED, INTENT, Mode, POKED, QUEUE_LOCK, SPINNER, WRITER, entered, head, is_queued,
    may_enter, newest, poke, readers, spinners, with_queue,
};
use crate::invariance::Invariant;
use crate::lock::adaptive::Patience;
use crate::lock::queue::{self, Name};
use crate::lock::{Deadline, pv, sleepers};
use crate::platform::{Event, Host, HostWithSlots, Ordering, Region, U64, Word, during};
use core::marker::PhantomData;
use core::time::Duration;

/// A nap lasts this many times as long as the one before.
const GROWTH: u32 = 4;

/// Waits until the calling thread is inside, and returns true, or until the deadline has passed,
/// and returns false.
#[cold]
#[inline(never)]
pub(super) fn wait<P: Patience, H: HostWithSlots>(
    word: &U64<H>,
    mode: Mode,
    deadline: Option<Deadline<H>>,
) -> bool {
    H::count(Event::Slowpath);
    // Without a clock a timeout can only be counted in polls, and a sleeper does not poll.
    let may_end = deadline.as_ref().is_some_and(|deadline| !deadline.is_latest());
    let has_no_timeouts = may_end && H::now().is_zero();
    if has_no_timeouts || !pv::may_park::<H>() {
        return wait_yielding::<H>(word, mode, deadline);
    }
    let Some(me) = queue::take::<H>() else {
        H::count(Event::NoNode);
        return wait_yielding::<H>(word, mode, deadline);
    };
    let took = match spin::<P, H>(word, mode) {
        Spin::Entered => true,
        Spin::Ended { mark } => {
            let former_use = sleepers::former_use::<H>(me);
            let waiter = Waiter::<P, H>::new(word, me, mode, deadline);
            let took = waiter.wait_in_queue(mark);
            sleepers::restore::<H>(me, former_use);
            took
        }
    };
    queue::give_back::<H>(me);
    took
}

/// Enters if the lock admits the caller, which must not be in the queue. `mark` stands for the
/// caller in the word `seen`, and is removed. Returns the word's value if it has changed.
fn enter<H: HostWithSlots>(word: &U64<H>, mode: Mode, seen: u64, mark: u64) -> Result<(), u64> {
    // Acquire: pairs with the releases of the threads that have left.
    let new = entered(mode, seen) - mark;
    word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed)?;
    // Other threads that may now enter may still sleep, because a release counted on this thread.
    if mode.is_shared()
        && mark != 0
        && let Some(head) = head(seen)
    {
        poke::<H>(head);
    }
    Ok(())
}

/// Enters if the lock admits the caller, which must not be in the queue. Otherwise returns the last
/// value of the word.
#[inline(always)]
pub(super) fn try_enter<H: Host>(word: &U64<H>, mode: Mode) -> Result<(), u64> {
    // Relaxed: the compare-exchange decides.
    let mut seen = word.load(Ordering::Relaxed);
    while may_enter(mode, seen, false) {
        // Acquire: pairs with the releases of the threads that have left.
        let new = entered(mode, seen);
        match word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(actual) => seen = actual,
        }
    }
    Err(seen)
}

/// The result of a spin.
enum Spin {
    Entered,
    /// The thread is not inside. `mark` stands for it in the word.
    Ended {
        mark: u64,
    },
}

/// Waits awake for a short time, if few other threads spin. A writer that finds readers inside asks
/// others to stay out meanwhile.
fn spin<P: Patience, H: HostWithSlots>(word: &U64<H>, mode: Mode) -> Spin {
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        if may_enter(mode, seen, false) {
            match enter::<H>(word, mode, seen, 0) {
                Ok(()) => return Spin::Entered,
                Err(actual) => seen = actual,
            }
        } else if spinners(seen) >= P::SPINNERS || seen & CLOSED != 0 {
            return Spin::Ended { mark: 0 };
        } else {
            // Relaxed, both: the mark orders nothing.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            match word.compare_exchange(seen, seen + SPINNER, of, to) {
                Ok(_) => break,
                Err(actual) => seen = actual,
            }
        }
    }
    let mut mark = SPINNER;
    let mut gap = P::FIRST_GAP;
    for _ in 0..P::POLLS {
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            if may_enter(mode, seen, false) {
                match enter::<H>(word, mode, seen, mark) {
                    Ok(()) => return Spin::Entered,
                    Err(actual) => seen = actual,
                }
                continue;
            }
            let only_readers = !mode.is_shared() && seen & WRITER == 0 && readers(seen) > 0;
            if !only_readers || seen & (INTENT | CLOSED) != 0 {
                break;
            }
            // Relaxed, both: as above.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            match word.compare_exchange(seen, seen | INTENT, of, to) {
                Ok(_) => {
                    mark |= INTENT;
                    break;
                }
                Err(actual) => seen = actual,
            }
        }
        if seen & CLOSED != 0 {
            break;
        }
        for _ in 0..gap {
            H::relax();
        }
        gap = (gap * 2).min(P::LONGEST_GAP);
    }
    Spin::Ended { mark }
}

/// A thread that waits, with a node.
struct Waiter<'a, P: Patience, H: HostWithSlots> {
    word: &'a U64<H>,
    me: Name,
    mode: Mode,
    deadline: Option<Deadline<H>>,
    /// True if it knows that it is the head.
    is_head: bool,
    /// The host's time when it joined the queue, or when it found that it is the head.
    since: Duration,
    /// Duration of its next nap. `None`: it sleeps until it is poked.
    nap: Option<Duration>,
    /// True once it has slept.
    has_slept: bool,
    _policy: Invariant<P>,
}

impl<'a, P: Patience, H: HostWithSlots> Waiter<'a, P, H> {
    fn new(word: &'a U64<H>, me: Name, mode: Mode, deadline: Option<Deadline<H>>) -> Self {
        let _policy = PhantomData;
        let (since, nap) = (H::now(), P::NAP);
        Waiter { word, me, mode, deadline, is_head: false, since, nap, has_slept: false, _policy }
    }

    /// Joins the queue and waits there. `mark` stands for the thread in the word until the thread
    /// joins.
    fn wait_in_queue(mut self, mark: u64) -> bool {
        // Relaxed: the change of the word that joins the queue publishes the node.
        self.me.node::<H>().ready.store(self.mode.asleep(), Ordering::Relaxed);
        if self.mode == Mode::Upgrade {
            come_first::<H>(self.word, self.me, mark);
            // The last reader may have left before that change.
            self.is_head = true;
            return self.look() || self.sleep_until_inside();
        }
        // Without naps it closes the lock at once: readers that come and go may leave no thread to
        // poke it.
        self.join(mark)
            || P::NAP.is_none() && self.is_head && self.look()
            || self.sleep_until_inside()
    }

    /// Joins the queue. Returns true if it entered instead, because the lock admits it.
    fn join(&mut self, mark: u64) -> bool {
        let mut seen = self.word.load(Ordering::Relaxed);
        let mut closes;
        loop {
            if may_enter(self.mode, seen, false) {
                match enter::<H>(self.word, self.mode, seen, mark) {
                    Ok(()) => return true,
                    Err(actual) => seen = actual,
                }
                continue;
            }
            sleepers::prepare::<H>(self.me, newest(seen));
            // A writer that waits only for readers: newly arriving readers would keep it waiting.
            closes = if self.mode == Mode::Write && seen & WRITER == 0 { CLOSED } else { 0 };
            let new = with_queue(seen, Some(self.me), head(seen).or(Some(self.me))) - mark;
            let new = new | closes;
            // Release: publishes the node, to the threads that poke it, and to those that take the
            // queue lock. Acquire: pairs with the release of the thread that is poked below.
            match self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(actual) => seen = actual,
            }
        }
        self.is_head = !is_queued(seen);
        // Poke the head, for one of three reasons. This thread's intent may have kept the head out.
        // Or the head may now enter, because others no longer may. Or a release has counted on this
        // spinner, although the head may enter beside threads that keep the spinner out. A writer
        // inside pokes the head itself, because the spinner is gone by then.
        let counted_on = mark != 0 && seen & WRITER == 0;
        if ((mark & INTENT | closes) != 0 || counted_on)
            && let Some(head) = head(seen)
        {
            poke::<H>(head);
        }
        false
    }

    /// Sleeps in the queue until it is inside. Returns false if the deadline has passed.
    fn sleep_until_inside(&mut self) -> bool {
        let ready = &self.me.node::<H>().ready;
        loop {
            let (timeout, expired) = self.next_nap();
            if expired {
                return self.give_up();
            }
            H::count(Event::Wait);
            let asleep = self.mode.asleep();
            during::<H, _>(Region::Idle, || H::park(ready, asleep, timeout));
            // Acquire: pairs with the release of the thread that admits this one.
            if ready.load(Ordering::Acquire) == ADMITTED || self.look() {
                return true;
            }
            self.has_slept = true;
        }
    }

    /// Returns the time to sleep, and true if the deadline has passed.
    fn next_nap(&self) -> (Option<Duration>, bool) {
        let Some(deadline) = &self.deadline else { return (self.nap, false) };
        // A host without a clock has no deadlines here: see `wait`. So a wait with no time left has
        // ended.
        let Some(left) = deadline.left() else { return (self.nap, true) };
        (Some(self.nap.map_or(left, |nap| nap.min(left))), false)
    }

    /// Leaves the queue because the deadline has passed. Returns true if it was admitted meanwhile.
    fn give_up(&self) -> bool {
        if leave_outside::<H>(self.word, self.me, self.mode) {
            return false;
        }
        let is_admitted = |state| state == ADMITTED;
        // Acquire: pairs with the release of the thread that admits this one.
        H::wait_yielding(&self.me.node::<H>().ready, Ordering::Acquire, is_admitted);
        true
    }

    /// Looks at the lock, awake. If this thread is the head, it enters if the lock admits it, or
    /// closes the lock if that is due. Returns true if the thread is inside. Otherwise it may
    /// sleep: a poke that comes from now on ends its sleep.
    fn look(&mut self) -> bool {
        let ready = &self.me.node::<H>().ready;
        let (asleep, poked) = (self.mode.asleep(), self.mode.asleep() + POKED);
        // Relaxed, all: the changes of the word order them.
        let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
        let mut polls = if self.has_slept { 1 } else { P::POLLS };
        loop {
            // It is awake, so no thread need wake it.
            let _ = ready.compare_exchange(asleep, poked, of, to);
            if self.poll(polls) {
                return true;
            }
            // Acquire: pairs with the release of the thread that admits this one.
            let slept = ready.compare_exchange(poked, asleep, of, Ordering::Acquire);
            if slept == Err(ADMITTED) {
                return true;
            }
            let (seen, has_closed) = self.arm();
            let is_head = head(seen) == Some(self.me);
            let may_enter = is_head && may_enter(self.mode, seen, true);
            if !has_closed && !may_enter {
                self.note(is_head, seen & CLOSED != 0);
                return false;
            }
            // The holder may leave in a moment.
            polls = if has_closed { P::POLLS } else { 1 };
        }
    }

    /// Polls the word as the head, with growing gaps, and enters when the lock admits it.
    fn poll(&self, polls: u32) -> bool {
        let mut gap = P::FIRST_GAP;
        for poll in 0..polls {
            if poll > 0 {
                for _ in 0..gap {
                    H::relax();
                }
                gap = (gap * 2).min(P::LONGEST_GAP);
            }
            let mut seen = self.word.load(Ordering::Relaxed);
            loop {
                if head(seen) != Some(self.me) {
                    return false;
                }
                if !may_enter(self.mode, seen, true) {
                    break;
                }
                if seen & QUEUE_LOCK != 0 {
                    let is_free = |bits| bits & QUEUE_LOCK == 0;
                    seen = H::wait_yielding(self.word, Ordering::Relaxed, is_free);
                    continue;
                }
                let new = entered(self.mode, seen) | QUEUE_LOCK;
                // Acquire: pairs with the releases of the threads that have left, and of the
                // threads that have joined.
                let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
                match self.word.compare_exchange(seen, new, of, to) {
                    Ok(_) => {
                        leave_inside::<H>(self.word, new, self.me, self.mode, P::NAP.is_none());
                        return true;
                    }
                    Err(actual) => seen = actual,
                }
            }
        }
        false
    }

    /// Changes the word, so that a thread that leaves the lock after this finds the sleeper asleep.
    /// Closes the lock, if this thread is the head and overdue. Returns the word, and true if it
    /// has closed the lock.
    fn arm(&self) -> (u64, bool) {
        let mut seen = self.word.load(Ordering::Relaxed);
        while self.is_overdue()
            && head(seen) == Some(self.me)
            && seen & CLOSED == 0
            && !may_enter(self.mode, seen, true)
        {
            let new = seen | CLOSED;
            // Relaxed, both: the thread looks again, and arms, before it sleeps.
            let (of, to) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.word.compare_exchange(seen, new, of, to) {
                Ok(_) => return (new, true),
                Err(actual) => seen = actual,
            }
        }
        // Release: pairs with the acquire of a thread that leaves the lock, which finds the node
        // asleep. Otherwise relaxed: the value found only decides whether to look again.
        (self.word.fetch_or(0, Ordering::Release), false)
    }

    /// Returns true if it is the head, knows that, and has waited for long enough to close the
    /// lock.
    fn is_overdue(&self) -> bool {
        let Some(limit) = P::NAP else { return true };
        let now = H::now();
        let is_late = now.saturating_sub(self.since) >= limit;
        self.is_head && if now.is_zero() { self.has_slept } else { is_late }
    }

    /// Decides how long to nap, before it sleeps again.
    fn note(&mut self, is_head: bool, is_closed: bool) {
        let Some(first) = P::NAP else { return };
        let knew = core::mem::replace(&mut self.is_head, is_head);
        if is_head && !knew {
            self.since = H::now();
        }
        self.nap = if is_head && !is_closed {
            Some(first)
        } else {
            self.nap.map(|nap| nap.saturating_mul(GROWTH).min(P::LONGEST_NAP))
        };
    }
}

/// Waits without a place in the queue: yields, and enters when the lock admits it.
fn wait_yielding<H: HostWithSlots>(
    word: &U64<H>,
    mode: Mode,
    mut deadline: Option<Deadline<H>>,
) -> bool {
    loop {
        if try_enter::<H>(word, mode).is_ok() {
            return true;
        }
        let may_enter = |bits| may_enter(mode, bits, false);
        let Some(deadline) = &mut deadline else {
            // Relaxed: a hint.
            H::wait_yielding(word, Ordering::Relaxed, may_enter);
            continue;
        };
        if deadline.end_slice() {
            return false;
        }
        let polls = Deadline::<H>::POLLS;
        if H::wait_within(word, Ordering::Relaxed, polls, may_enter).is_err() {
            H::yield_now();
        }
    }
}
