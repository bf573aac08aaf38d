//! Out-of-order execution: work that a core does while an earlier operation is not complete.
//!
//! Work that does not need the result of a load or of a read-modify-write goes on while that
//! operation waits for its line. It goes on as far as the core's reorder buffer reaches
//! (`run_ahead`, in cycles of work). The threads of one core share the buffer in equal parts while
//! they exist. So a transfer hides behind the work that follows it, and the next read-modify-write
//! of the line finds its own work done.
//!
//! The outcome of a compare-exchange, or of a swap, is predicted (`branch_prediction.rs`). A
//! misprediction discards the work that was done ahead. So do the end of a waiting loop, a pause, a
//! fence, a park, and an entry into the kernel or an exit from it. This was measured on an Emerald
//! Rapids: two CPUs that add to a word and then call the kernel take as long with a fence before
//! the call as without. Read-modify-writes themselves complete in order.
//!
//! Some cores (`exclusive_loads`) already request the line of a read-modify-write that stands
//! behind a load in the reorder buffer. If both use one line, it comes exclusively, once, instead
//! of shared and then again. A simulated core does not see what its code will do next. It expects
//! of a load what followed the last load at the same place in the code.
//!
//! On other cores (`early_loads`) a load executes although a locked operation on its line is not
//! complete. If that operation was not mispredicted, the next load of the line returns the value
//! that memory has when the load begins. That is at most a few cycles after the operation's end. It
//! does so even if the line has gone meanwhile.
//!
//! Some cores (`early_stores`) request the line of a store as soon as the store's address is known.
//! They do so beside earlier stores whose lines have not come, and under an earlier
//! compare-exchange that waits. The request is simulated when the thread comes to the store, with a
//! *head start* of the time that the compare-exchange took. There is no early request under a load
//! that waits, nor under another locked operation: what they bring may be the address. Stores reach
//! the cache in order all the same.

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
        // An operation that waited may have brought the address of the next store.
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

    /// Returns `true` if a load of `line`, which begins now, has executed before the
    /// read-modify-write in front of it was complete. Then the load has its value, even if the line
    /// has gone.
    pub(super) fn take_early_load(&mut self, thread: u32, line: u32) -> bool {
        let (now, n) = (self.now(), self.machine.numbers());
        let just = |rmw: &CompleteRmw| rmw.line == line && now <= rmw.end + n.load;
        // Only one load: later ones take their time.
        let rmw = &mut self.threads[thread as usize].ahead.rmw;
        n.early_loads > 0 && rmw.take_if(|rmw| just(rmw)).is_some()
    }

    /// Completes a compare-exchange of `line` at `end`. What the thread does after it was known
    /// before, unless it was mispredicted.
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
            // Operations further back have left the reorder buffer.
            let reach = self.cores[entry.core as usize].reach;
            entry.ahead.early = early.min(reach) + (end - since);
        }
    }

    /// Shares the core's reorder buffer among its threads, after threads have come or left.
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

    /// Spends the work done ahead on `cycles` of work. Returns the cycles that are left.
    pub(super) fn spend_run_ahead(&mut self, thread: u32, cycles: u64) -> u64 {
        let ahead = &mut self.threads[thread as usize].ahead;
        let done = ahead.spend(cycles);
        ahead.early = if done == cycles { ahead.early.saturating_sub(cycles) } else { 0 };
        cycles - done
    }

    /// Records whether the thread's last load is followed by a read-modify-write of the same line:
    /// the thread asks for its next operation.
    pub(super) fn learn_follower(&mut self, thread: u32) {
        let op = self.threads[thread as usize].op.get();
        let Some(last) = self.threads[thread as usize].last_load else { return };
        if matches!(op, Op::Work { .. }) {
            return;
        }
        self.threads[thread as usize].last_load = None;
        let by_rmw = match op {
            Op::Rmw { address, .. } => self.line_index(address) == last.line,
            _ => false,
        };
        self.followed[last.followed as usize].by_rmw = by_rmw;
    }

    /// Returns `true` if the thread's load of `line` is expected to fetch the line exclusively.
    pub(super) fn predict_exclusive(&mut self, thread: u32, line: u32) -> bool {
        let Some(location) = self.threads[thread as usize].location else { return false };
        let place =
            CodePlace { line: location.line(), column: location.column(), file: location.file() };
        let index = match self.followed.iter().position(|followed| followed.place == place) {
            Some(index) => index,
            None => {
                self.followed.push(Followed { place, by_rmw: false });
                self.followed.len() - 1
            }
        };
        self.threads[thread as usize].last_load = Some(LastLoad { followed: index as u32, line });
        self.followed[index].by_rmw
    }
}
