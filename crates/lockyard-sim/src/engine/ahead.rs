//! Work that a core does while an operation before it is not complete.
//!
//! A core executes out of order: work that does not need the result of a load or of a read-modify-write goes on while that
//! one waits for its line, as far as the core's reorder buffer reaches (`run_ahead`, in cycles of work; threads of one core
//! share it in equal parts while they are there). So a transfer hides behind the work that follows it, and the next
//! read-modify-write of the line finds its own work done.
//!
//! A compare-exchange, or a swap, is guessed to succeed (the swap: to find another value than its own); one that does not discards
//! what was done ahead. So do the end of a waiting loop, a pause, a fence, a park, and the way into the kernel or out of it: measured on
//! an Emerald Rapids, two CPUs that add to a word and then call the kernel take as long with a fence before the call as without.
//! Read-modify-writes themselves complete in order.
//!
//! Some cores (`exclusive_loads`) already ask for the line of a read-modify-write that is behind a load in the reorder buffer:
//! if it is the load's line, it comes exclusively, once, instead of shared and then again. A simulated core does not see
//! what its code will do next; it expects of a load what followed the last load at the same place in the code.
//!
//! On other cores (`early_loads`) a load of the line of a locked operation that is not complete executes all the same. Behind one that
//! does not fail, its value is the one of the moment in which that operation ends: also if the line goes then.

use super::threads::Activity;
use super::{Engine, Op};

/// How far a thread is ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// Cycles of work that the thread could have done under operations that are complete now.
    credit: u64,
    /// When the operation that is under way began.
    since: u64,
    /// The last read-modify-write that did not fail: its line, and when it was complete.
    rmw: Option<(u32, u64)>,
}

impl Engine {
    /// An operation that the thread can run ahead of begins.
    pub(super) fn runs_ahead(&mut self, thread: u32) {
        let now = self.now();
        self.threads[thread as usize].ahead.since = now;
    }

    /// It completes at `end`, and was not guessed wrongly.
    pub(super) fn ran_ahead(&mut self, thread: u32, end: u64) {
        let entry = &mut self.threads[thread as usize];
        let most = self.cores[entry.core as usize].reach;
        let ahead = &mut entry.ahead;
        ahead.credit = (ahead.credit + (end - ahead.since)).min(most);
    }

    /// A read-modify-write of `line` completes at `end`; it was guessed wrongly or not.
    pub(super) fn guessed(&mut self, thread: u32, line: u32, end: u64, wrongly: bool) {
        if wrongly {
            self.starts_over(thread);
        } else {
            self.threads[thread as usize].ahead.rmw = Some((line, end));
            self.ran_ahead(thread, end);
        }
    }

    /// Whether a load of `line`, which begins now, has executed before the read-modify-write in front of it was complete: then it has
    /// its value, whatever became of the line.
    pub(super) fn loaded_early(&self, thread: u32, line: u32) -> bool {
        let n = self.machine.numbers();
        let just = |&(of, end): &(u32, u64)| of == line && self.now() <= end + n.load;
        n.early_loads > 0 && self.threads[thread as usize].ahead.rmw.as_ref().is_some_and(just)
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
        ahead.credit = 0;
        ahead.rmw = None;
    }

    /// Of `cycles` of work those that are not done yet.
    pub(super) fn left_of(&mut self, thread: u32, cycles: u64) -> u64 {
        let ahead = &mut self.threads[thread as usize].ahead;
        let done = cycles.min(ahead.credit);
        ahead.credit -= done;
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
