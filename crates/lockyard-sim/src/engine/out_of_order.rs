//! Out-of-order execution: work that a core does before an earlier operation is complete.
//!
//! Work in registers continues while a load or a read-modify-write, whose result the work does not
//! need, waits for its line. It continues as far as the core's reorder buffer reaches (`run_ahead`,
//! in cycles of work). The threads of a core divide the buffer equally while they exist. So a
//! transfer is hidden by the work that follows it, and the next read-modify-write of the line finds
//! its own work already done.
//!
//! The outcome of a compare-exchange, or of a swap, is predicted (`branch_prediction.rs`). A
//! misprediction discards the work that was done ahead. So do the end of a waiting loop, a pause, a
//! fence, a park, and a kernel entry or exit. The last was measured on an Emerald Rapids. Two CPUs
//! that add to a word and then call the kernel take equally long with and without a fence before
//! the call. Read-modify-writes themselves complete in order.
//!
//! Some cores (`exclusive_loads`) already request the line of a read-modify-write, or of a store,
//! that is behind a load in the reorder buffer. If both use one line, it arrives once, exclusive,
//! instead of first shared and then again. A simulated core cannot see what its code will do next.
//! It predicts that a load is followed by the same operation as the last load at this place in the
//! code.
//!
//! A load of the line that a locked operation has just changed takes `load_behind_lock` cycles. If
//! that is 0, the load executes before the operation is complete. It then returns the value that
//! memory has when the load begins, and it succeeds even if the line has left in the meantime. On
//! other cores such a load takes longer than other loads. This applies to the first load of the
//! line that begins at most a few cycles after an operation that was not mispredicted.
//!
//! Work in order (`Op::Work`) is not done ahead. It loads from memory, and loads wait until locked
//! operations are complete. Work behind a kernel entry or exit is also done in order.
//!
//! Some cores (`early_stores`) request the line of a store as soon as the store's address is known.
//! They do so even if lines of earlier stores have not arrived, or an earlier compare-exchange is
//! still waiting. The request is simulated when the thread reaches the store, with a *head start*
//! equal to the time that the compare-exchange took. There is no early request during a load that
//! waits, or during another locked operation: these operations may bring the store's address.
//! Stores still reach the cache in order.

use super::activity::Activity;
use super::reorder_buffer::{CodePlace, CompleteRmw, Followed, RunAhead};
use super::state::Engine;
use super::thread::LastLoad;
use crate::op::Op;
use lockyard::platform::Region;

impl Engine {
    /// Records that the operation, which was not mispredicted, completes at `end`.
    #[inline(always)]
    pub(super) fn earn_run_ahead(&mut self, thread: u32, end: u64) {
        let load = self.machine.numbers().load;
        let entry = &mut self.threads[thread as usize];
        let most = self.cores[entry.core as usize].reach;
        let lends = entry.doing.region == Region::LockWait;
        let ahead = &mut entry.ahead;
        let took = end - ahead.since;
        // An operation that waited may have brought the next store's address.
        let most_early = ahead.early.max(most);
        ahead.early = if took <= load { (ahead.early + took).min(most_early) } else { 0 };
        ahead.earn(took, most, lends);
    }

    /// Completes a read-modify-write of `line` at `end`.
    pub(super) fn complete_rmw(&mut self, thread: u32, line: u32, end: u64, mispredicted: bool) {
        if mispredicted {
            self.discard_run_ahead(thread);
        } else {
            self.earn_run_ahead(thread, end);
            self.threads[thread as usize].ahead.rmw = Some(CompleteRmw { line, end });
        }
    }

    /// Returns the cycles of a load of `line`, if it begins just behind a read-modify-write of that
    /// line. If the result is zero, the load executed before that operation was complete. Then the
    /// load has its value, even if the line has left.
    pub(super) fn take_load_behind_lock(&mut self, thread: u32, line: u32) -> Option<u64> {
        let (now, n) = (self.now(), self.machine.numbers());
        let just = |rmw: &CompleteRmw| rmw.line == line && now <= rmw.end + n.load;
        // This applies to one load only. Later loads take their full time.
        let rmw = &mut self.threads[thread as usize].ahead.rmw;
        rmw.take_if(|rmw| just(rmw)).map(|_| n.load_behind_lock)
    }

    /// Completes a compare-exchange of `line` at `end`. Unless it was mispredicted, the thread's
    /// next actions were known before `end`.
    pub(super) fn complete_compare_exchange(
        &mut self,
        thread: u32,
        line: u32,
        end: u64,
        mispredicted: bool,
    ) {
        let RunAhead { early, since, .. } = self.threads[thread as usize].ahead;
        self.complete_rmw(thread, line, end, mispredicted);
        if !mispredicted {
            let entry = &mut self.threads[thread as usize];
            // Operations further back have already left the reorder buffer.
            let reach = self.cores[entry.core as usize].reach;
            entry.ahead.early = early.min(reach) + (end - since);
        }
    }

    /// Divides the core's reorder buffer among its threads. Called when threads come or leave.
    pub(super) fn share_reorder_buffer(&mut self, core: u16) {
        let n = self.machine.numbers();
        let core = &mut self.cores[core as usize];
        let is_there = |t: &&u32| self.threads[**t as usize].activity != Activity::Finished;
        // If the core has more threads than hardware threads, they take turns.
        let there = core.threads.iter().filter(is_there).count() as u64;
        core.reach = n.run_ahead / there.clamp(1, n.threads);
    }

    /// Discards the work that was done ahead.
    pub(super) fn discard_run_ahead(&mut self, thread: u32) {
        self.threads[thread as usize].ahead.discard();
    }

    /// Uses work that was done ahead to shorten `cycles` of work. Returns the cycles that are left.
    pub(super) fn spend_run_ahead(&mut self, thread: u32, cycles: u64) -> u64 {
        let ahead = &mut self.threads[thread as usize].ahead;
        let done = ahead.spend(cycles);
        ahead.early = if done == cycles { ahead.early.saturating_sub(cycles) } else { 0 };
        cycles - done
    }

    /// Records whether the thread's last load is followed by a change of the same line.
    /// Called when the thread requests its next operation.
    pub(super) fn learn_follower(&mut self, thread: u32) {
        let op = self.threads[thread as usize].op.get();
        let Some(last) = self.threads[thread as usize].last_load else { return };
        if matches!(op, Op::Work { .. }) {
            return;
        }
        self.threads[thread as usize].last_load = None;
        let by_change = match op {
            Op::Rmw { address, .. } | Op::Store { address, .. } => {
                self.line_index(address) == last.line
            }
            _ => false,
        };
        self.followed[last.followed as usize].by_change = by_change;
    }

    /// Returns `true` if the thread's load of `line` is expected to fetch the line exclusively.
    pub(super) fn predict_exclusive(&mut self, thread: u32, line: u32) -> bool {
        let Some(location) = self.threads[thread as usize].location else { return false };
        let place =
            CodePlace { line: location.line(), column: location.column(), file: location.file() };
        let index = match self.followed.iter().position(|followed| followed.place == place) {
            Some(index) => index,
            None => {
                self.followed.push(Followed { place, by_change: false });
                self.followed.len() - 1
            }
        };
        self.threads[thread as usize].last_load = Some(LastLoad { followed: index as u32, line });
        self.followed[index].by_change
    }
}
