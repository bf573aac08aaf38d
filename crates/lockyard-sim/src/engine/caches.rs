//! The cores' caches: misses, fills, snoops, and the threads that wait for a line.
//!
//! Rules of the model. Without any one of them, some predicted curve is wrong:
//! - A snoop that arrives before the data is parked. The first operation of the fill always
//!   completes before the snoop is answered.
//! - At the end of a locked operation, a parked snoop has priority over everything else on that
//!   core.
//! - While a locked operation holds the line, a sibling's loads of it also wait. Read-modify-writes
//!   that wait for a fill go before loads.
//! - Between the locked operations of two threads of a core there are `sibling_turn` cycles. The
//!   first thread's store has to be in the cache before the second thread may load it. Meanwhile
//!   the first thread may continue, and snoops are answered.
//! - There is one miss per line and core: misses of siblings merge. If a read-modify-write waits at
//!   a shared fill, the core sends a second request, as an upgrade.
//! - If an invalidation overtakes a shared fill, the data is used once and then dropped.
//! - A waiting thread sleeps until its line is taken away or changed. It polls again after the rest
//!   of the pause that was in progress, which is uniform from 0 to the pause's length.

use super::event::Event;
use super::line::{Miss, Request, State, Waiter};
use super::state::Engine;
use crate::op::Op;

impl Engine {
    /// Makes `thread` wait for the line at its core. Starts a miss if none is under way.
    pub(super) fn attach(&mut self, thread: u32, core_line: u32, exclusive: bool, store: bool) {
        let cache = &mut self.core_lines[core_line as usize];
        let line = cache.line;
        cache.waiters.push(Waiter { thread, store });
        if cache.miss == Miss::None {
            self.issue(core_line, exclusive, 0);
        }
        if !store {
            self.wait_for_line(thread, line);
        }
    }

    /// Sends a request for the line to the domain's agent, as if it had been sent `head_start`
    /// cycles ago.
    #[inline(always)]
    pub(super) fn issue(&mut self, core_line: u32, exclusive: bool, head_start: u64) {
        let n = self.machine.numbers();
        let delay = n.miss + n.leg;
        let delay = delay + self.jitter();
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        self.ledger.count().upgrades += u64::from(exclusive && cache.state == State::Shared);
        cache.miss = if exclusive { Miss::Exclusive } else { Miss::Shared };
        cache.head_start = head_start.saturating_sub(delay);
        let arrives = now + delay.saturating_sub(head_start);
        cache.asked_at = arrives;
        let (line, domain) = (cache.line, self.places.domain_of(cache.core));
        let request = Request::Core { core_line, exclusive };
        self.at(arrives, Event::Arrive { line, domain, request });
    }

    fn wants_exclusive(&self, waiter: Waiter) -> bool {
        waiter.store
            || matches!(self.threads[waiter.thread as usize].pending(), Some(Op::Rmw { .. }))
    }

    /// Sends a new request for the remaining waiters, if none is under way.
    #[inline(always)]
    pub(super) fn issue_again(&mut self, core_line: u32) {
        if !self.core_lines[core_line as usize].waiters.is_empty() {
            self.issue_for_waiters(core_line);
        }
    }

    fn issue_for_waiters(&mut self, core_line: u32) {
        let cache = &self.core_lines[core_line as usize];
        if cache.miss != Miss::None || cache.state == State::Modified {
            return;
        }
        let exclusive = if cache.state == State::Shared {
            if !cache.waiters.iter().any(|&w| self.wants_exclusive(w)) {
                return;
            }
            true
        } else {
            self.wants_exclusive(cache.waiters[0])
        };
        self.issue(core_line, exclusive, 0);
    }

    /// Handles the arrival of a miss's data.
    pub(super) fn fill(&mut self, core_line: u32, exclusive: bool) {
        let now = self.now();
        if cfg!(debug_assertions) {
            self.check_answer(core_line);
            if exclusive {
                self.check_owner(core_line);
            }
        }
        self.make_room(core_line);
        let cache = &mut self.core_lines[core_line as usize];
        let line = cache.line;
        cache.miss = Miss::None;
        cache.last_thread = None;
        cache.turn_at = 0;
        cache.changed_at = now;
        cache.state = if exclusive { State::Modified } else { State::Shared };
        let drop_fill = std::mem::take(&mut cache.drop_fill);
        if self.observer.is_some() {
            self.tell_line_of(core_line);
        }
        if exclusive {
            self.directory.line_mut(line).make_dirty();
        }
        self.ledger.fill(line, exclusive);
        if cfg!(debug_assertions) && !drop_fill {
            self.check_sharers(line);
        }
        self.run_waiters(core_line);
        let cache = &mut self.core_lines[core_line as usize];
        if drop_fill && cache.state == State::Shared {
            cache.state = State::Invalid;
            cache.changed_at = now;
            self.wake_sleepers(core_line, None);
            self.issue_again(core_line);
        }
        let cache = &mut self.core_lines[core_line as usize];
        if cache.state == State::Modified && now >= cache.locked_until {
            // The first operation was a load or a store, so none has locked the line: answer at
            // once.
            if let Some(exclusive) = cache.parked_snoop.take() {
                self.answer_snoop(core_line, exclusive);
            }
        }
    }

    /// Handles a snoop that reaches a core that has, or will have, the line modified.
    pub(super) fn deliver_snoop(&mut self, core_line: u32, exclusive: bool) {
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        if cache.state != State::Modified || now < cache.locked_until {
            debug_assert!(cache.parked_snoop.is_none(), "an agent serves one request at a time");
            cache.parked_snoop = Some(exclusive);
        } else {
            self.answer_snoop(core_line, exclusive);
        }
    }

    /// Serves a line after a locked operation has released it, or after a turn has ended.
    pub(super) fn serve_freed_line(&mut self, core_line: u32) {
        let now = self.now();
        let cache = &mut self.core_lines[core_line as usize];
        if cache.state != State::Modified || now < cache.locked_until {
            return;
        }
        match cache.parked_snoop.take() {
            Some(exclusive) => self.answer_snoop(core_line, exclusive),
            None => self.run_waiters(core_line),
        }
    }

    /// Returns `true` if a locked operation keeps `thread` from the line, which its core has. The
    /// operation is in progress, or it was a sibling's operation whose turn is not over. In the
    /// second case, the end of that turn is scheduled.
    #[inline(always)]
    pub(super) fn defer_to_holder(&mut self, thread: u32, core_line: u32, now: u64) -> bool {
        let turn = self.machine.numbers().sibling_turn;
        let cache = &mut self.core_lines[core_line as usize];
        // Every store to a shared copy is already in the cache.
        let siblings = turn > 0
            && cache.state == State::Modified
            && cache.last_thread.is_some_and(|last| last != thread);
        if siblings && cache.turn_at == 0 && now < cache.locked_until + turn {
            cache.turn_at = cache.locked_until + turn;
            let turn_at = cache.turn_at;
            self.at(turn_at, Event::TurnEnd { core_line });
            return true;
        }
        now < cache.locked_until || (siblings && now < cache.turn_at)
    }

    /// Continues every waiting operation of the core that can now continue.
    #[inline]
    pub(super) fn run_waiters(&mut self, core_line: u32) {
        let cache = &mut self.core_lines[core_line as usize];
        if cache.waiters.len() > 1 {
            self.run_all(core_line);
        } else if let Some(waiter) = cache.waiters.pop() {
            self.run_waiter(core_line, waiter);
            self.issue_again(core_line);
        }
    }

    /// Continues the waiting operations that can continue, when there are several.
    fn run_all(&mut self, core_line: u32) {
        if let [first, second] = self.core_lines[core_line as usize].waiters[..] {
            // The common case: the operations of two siblings.
            self.core_lines[core_line as usize].waiters.clear();
            let in_order = self.rank(first) <= self.rank(second);
            let (first, second) = if in_order { (first, second) } else { (second, first) };
            for waiter in [first, second] {
                self.run_waiter(core_line, waiter);
            }
            self.issue_again(core_line);
        } else {
            self.run_many(core_line);
        }
    }

    /// Order of waiters: the core's stores, then its read-modify-writes, then loads.
    fn rank(&self, waiter: Waiter) -> u8 {
        2 * u8::from(!waiter.store) + u8::from(!self.wants_exclusive(waiter))
    }

    fn run_many(&mut self, core_line: u32) {
        let cache = &mut self.core_lines[core_line as usize];
        let spare = std::mem::take(&mut self.spare_waiters);
        let mut waiters = std::mem::replace(&mut cache.waiters, spare);
        // The sort is stable.
        waiters.sort_by_key(|&waiter| self.rank(waiter));
        for waiter in waiters.drain(..) {
            self.run_waiter(core_line, waiter);
        }
        self.spare_waiters = waiters;
        self.issue_again(core_line);
    }

    /// Continues a waiting operation, or leaves it waiting.
    #[inline(always)]
    fn run_waiter(&mut self, core_line: u32, waiter: Waiter) {
        let now = self.now();
        let state = self.core_lines[core_line as usize].state;
        let locked = state != State::Invalid && self.defer_to_holder(waiter.thread, core_line, now);
        let exclusive = self.wants_exclusive(waiter);
        let goes_on =
            !locked && if exclusive { state == State::Modified } else { state != State::Invalid };
        let thread = waiter.thread as usize;
        if !goes_on {
            self.core_lines[core_line as usize].waiters.push(waiter);
        } else if waiter.store {
            self.threads[thread].store_waits = false;
            self.drain(waiter.thread);
        } else if std::mem::take(&mut self.threads[thread].pending) {
            if exclusive {
                self.do_rmw(waiter.thread, core_line);
            } else {
                self.execute(waiter.thread);
            }
        }
    }

    /// Wakes the threads that spin on the line at this core, after the line was taken away or a
    /// sibling changed it.
    #[inline(always)]
    pub(super) fn wake_sleepers(&mut self, core_line: u32, except: Option<u32>) {
        if !self.core_lines[core_line as usize].sleepers.is_empty() {
            self.wake_all(core_line, except);
        }
    }

    fn wake_all(&mut self, core_line: u32, except: Option<u32>) {
        let cache = &mut self.core_lines[core_line as usize];
        let spare = std::mem::take(&mut self.spare_sleepers);
        let mut sleepers = std::mem::replace(&mut cache.sleepers, spare);
        let n = self.machine.numbers();
        let period = n.pause + n.poll;
        let now = self.now();
        for thread in sleepers.drain(..) {
            if Some(thread) == except {
                self.core_lines[core_line as usize].sleepers.push(thread);
                continue;
            }
            let generation = self.threads[thread as usize].generation;
            let rest = self.random.below(period + 1);
            self.at(now + rest, Event::Wake { thread, generation });
        }
        self.spare_sleepers = sleepers;
    }
}
