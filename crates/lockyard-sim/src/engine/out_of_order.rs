//! Work that a core does while an operation before it is not complete.
//!
//! A core executes out of order: work that does not need the result of a load or of a read-modify-write goes on while that
//! one waits for its line, as far as the core's reorder buffer reaches (`run_ahead`, in cycles of work; threads of one core
//! share it in equal parts while they are there). So a transfer hides behind the work that follows it, and the next
//! read-modify-write of the line finds its own work done.
//!
//! The outcome of a compare-exchange, or of a swap, is guessed (`branch_prediction.rs`); one that was guessed wrongly discards what was done ahead.
//! So do the end of a waiting loop, a pause, a fence, a park, and the way into the kernel or out of it: measured on
//! an Emerald Rapids, two CPUs that add to a word and then call the kernel take as long with a fence before the call as without.
//! Read-modify-writes themselves complete in order.
//!
//! Some cores (`exclusive_loads`) already ask for the line of a read-modify-write that is behind a load in the reorder buffer:
//! if it is the load's line, it comes exclusively, once, instead of shared and then again. A simulated core does not see
//! what its code will do next; it expects of a load what followed the last load at the same place in the code.
//!
//! On other cores (`early_loads`) a load of the line of a locked operation that is not complete executes all the same. Behind one that
//! was not guessed wrongly, the next load of the line has the value that memory has when the load comes, a few cycles after that
//! operation's end at the most: also if the line has gone meanwhile.
//!
//! Some cores (`early_stores`) ask for the line of a store as soon as the store's address is known, beside those of the stores before
//! it, whose lines have not come, and under a compare-exchange before it that waits: the request is simulated when the thread comes to
//! the store, with a *head start* of the time that the compare-exchange took. Not under a load that waits, nor under another locked
//! operation: what they bring may be the address. Stores are in the cache in order all the same.

use super::line::{Miss, State};
use super::threads::Activity;
use super::{Engine, Op};
use lockyard::platform::Region;

/// How far a thread is ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// Cycles of work that the thread could have done under operations that are complete now.
    credit: u64,
    /// The part of the credit that only waiting for locks has given.
    lent: u64,
    /// Cycles of work that were done on lent credit so far.
    hidden: u64,
    /// So many cycles ago the next store could have been executed, if early stores are.
    early: u64,
    /// When the operation that is under way began.
    since: u64,
    /// The last read-modify-write that was not guessed wrongly: its line, and when it was complete.
    rmw: Option<(u32, u64)>,
}

impl Ahead {
    /// An operation begins, which the thread may run ahead of.
    pub(super) fn begins(&mut self, now: u64) {
        self.since = now;
    }

    /// Adds credit of an operation that took `took` cycles; `lends`: of one that waited for a lock.
    #[inline(always)]
    fn earns(&mut self, took: u64, most: u64, lends: bool) {
        let own = (self.credit - self.lent + if lends { 0 } else { took }).min(most);
        self.credit = (self.credit + took).min(most);
        self.lent = self.credit.saturating_sub(own);
    }

    /// Spends credit on `cycles` of work, own credit first. Returns the cycles that are done.
    #[inline(always)]
    fn spends(&mut self, cycles: u64) -> u64 {
        let done = cycles.min(self.credit);
        let on_loan = done.saturating_sub(self.credit - self.lent);
        self.credit -= done;
        self.lent -= on_loan;
        self.hidden += on_loan;
        done
    }

    /// Cycles of work that the thread has done while it waited for locks, so far. With locks that
    /// are free at once it does this work afterwards.
    pub(super) fn hidden(&self) -> u64 {
        self.hidden
    }
}

impl Engine {
    /// The operation completes at `end`, and was not guessed wrongly.
    #[inline(always)]
    pub(super) fn ran_ahead(&mut self, thread: u32, end: u64) {
        let load = self.machine.numbers().load;
        let entry = &mut self.threads[thread as usize];
        let most = self.cores[entry.core as usize].reach;
        let lends = entry.doing.region == Region::LockWait;
        let ahead = &mut entry.ahead;
        let took = end - ahead.since;
        // What waited may have brought the address of the next store.
        let most_early = ahead.early.max(most);
        ahead.early = if took <= load { (ahead.early + took).min(most_early) } else { 0 };
        ahead.earns(took, most, lends);
    }

    /// A read-modify-write of `line` completes at `end`; it was guessed wrongly or not.
    pub(super) fn guessed(&mut self, thread: u32, line: u32, end: u64, wrongly: bool) {
        if wrongly {
            self.starts_over(thread);
        } else {
            self.ran_ahead(thread, end);
            self.threads[thread as usize].ahead.rmw = Some((line, end));
        }
    }

    /// Whether a load of `line`, which begins now, has executed before the read-modify-write in front of it was complete: then it has
    /// its value, whatever became of the line.
    pub(super) fn loaded_early(&mut self, thread: u32, line: u32) -> bool {
        let (now, n) = (self.now(), self.machine.numbers());
        let just = |&(of, end): &(u32, u64)| of == line && now <= end + n.load;
        // One load: those behind it take their time.
        let rmw = &mut self.threads[thread as usize].ahead.rmw;
        n.early_loads > 0 && rmw.take_if(|rmw| just(rmw)).is_some()
    }

    /// A compare-exchange of `line` completes at `end`; it was guessed wrongly or not. What the thread does after one that was not was
    /// known before.
    pub(super) fn exchanged(&mut self, thread: u32, line: u32, end: u64, wrongly: bool) {
        let Ahead { early, since, .. } = self.threads[thread as usize].ahead;
        self.guessed(thread, line, end, wrongly);
        if !wrongly {
            let entry = &mut self.threads[thread as usize];
            // What lies further back has left the reorder buffer.
            let reach = self.cores[entry.core as usize].reach;
            entry.ahead.early = early.min(reach) + (end - since);
        }
    }

    /// Threads have come to the core, or have left it: how far each can run ahead now, in cycles of work.
    pub(super) fn shares_reach(&mut self, core: u16) {
        let n = self.machine.numbers();
        let core = &mut self.cores[core as usize];
        let is_there = |t: &&u32| self.threads[**t as usize].activity != Activity::Finished;
        // More threads than the core has hardware threads take turns.
        let there = core.threads.iter().filter(is_there).count() as u64;
        core.reach = n.run_ahead / there.clamp(1, n.threads);
    }

    /// What was done ahead is void.
    pub(super) fn starts_over(&mut self, thread: u32) {
        let ahead = &mut self.threads[thread as usize].ahead;
        (ahead.credit, ahead.lent) = (0, 0);
        ahead.rmw = None;
        ahead.early = 0;
    }

    /// Of `cycles` of work those that are not done yet.
    pub(super) fn left_of(&mut self, thread: u32, cycles: u64) -> u64 {
        let ahead = &mut self.threads[thread as usize].ahead;
        let done = ahead.spends(cycles);
        ahead.early = if done == cycles { ahead.early.saturating_sub(cycles) } else { 0 };
        cycles - done
    }
}

/// A place in the code: line and column, which tell most places apart, and file. By its text: a place may have several addresses.
type Place = (u32, u32, &'static str);

/// What followed the loads at a place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    place: Place,
    by_rmw: bool,
}

impl Engine {
    /// The thread asks for an operation: was its last load followed by a read-modify-write of the same line?
    pub(super) fn follows(&mut self, thread: u32) {
        let op = self.threads[thread as usize].op.get();
        let Some((place, line)) = self.threads[thread as usize].last_load else { return };
        if matches!(op, Op::Work { .. }) {
            return;
        }
        self.threads[thread as usize].last_load = None;
        let by_rmw = match op {
            Op::Rmw { address, .. } => self.line_index(address) == line,
            _ => false,
        };
        self.followed[place as usize].by_rmw = by_rmw;
    }

    /// The thread loads `line`: whether it fetches the line exclusively.
    pub(super) fn fetches_exclusively(&mut self, thread: u32, line: u32) -> bool {
        let Some(location) = self.threads[thread as usize].location else { return false };
        let place = (location.line(), location.column(), location.file());
        let index = match self.followed.iter().position(|followed| followed.place == place) {
            Some(index) => index,
            None => {
                self.followed.push(Followed { place, by_rmw: false });
                self.followed.len() - 1
            }
        };
        self.threads[thread as usize].last_load = Some((index as u32, line));
        self.followed[index].by_rmw
    }
}

impl Engine {
    /// A store to `address` enters the buffer: its line is asked for, as if when the store could have been executed. Another core may take
    /// it before the store's turn has come; then it is asked for again.
    pub(super) fn asks_early(&mut self, thread: u32, address: usize) {
        let now = self.now();
        let entry = &self.threads[thread as usize];
        let (core, early) = (entry.core, entry.ahead.early);
        let line = self.line_index(address);
        let view = self.view(line, core);
        let cache = &self.views[view as usize];
        if cache.state == State::Modified || cache.miss != Miss::None {
            return;
        }
        // As long as the line was here, or was on its way, there was nothing to ask for.
        let head_start = early.min(now - cache.changed_at);
        self.issue(view, true, head_start);
    }
}
