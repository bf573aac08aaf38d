//! The numbers of a cell that explanations name, as text.

use super::costs::Costs;
use super::lock_time::LockTime;
use lockyard_sim::{CyclePhase, LineCounts, LineDistance};

/// Returns a share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns the number of a line's transfers from another socket, and of all its transfers.
pub(super) fn transfers(line: &LineCounts) -> (u64, u64) {
    let remote = LineDistance::Remote as usize;
    let all = line.hand_overs.iter().chain(&line.reads).sum();
    (line.hand_overs[remote] + line.reads[remote], all)
}

fn per(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

/// Costs of a cell, and the line or lock that dominates them.
pub(super) struct Facts<'a> {
    costs: &'a Costs,
    /// Name of the line or lock.
    pub(super) name: &'a str,
    line: LineCounts,
    lock: LockTime,
}

impl<'a> Facts<'a> {
    pub(super) fn new(costs: &'a Costs, name: Option<&'a str>) -> Self {
        let line = name.and_then(|name| costs.lines.get(name)).copied().unwrap_or_default();
        let lock = name.and_then(|name| costs.locks.get(name)).copied().unwrap_or_default();
        Facts { costs, name: name.unwrap_or_default(), line, lock }
    }

    /// Share of a phase in the cycles in which threads have a CPU.
    pub(super) fn on_cpu(&self, phase: CyclePhase) -> String {
        percent(self.costs.share_on_cpu(phase))
    }

    /// Share of the time that threads spend waiting for lines.
    pub(super) fn moving_or_waiting(&self) -> String {
        let [moving, waiting] =
            [CyclePhase::Moving, CyclePhase::Waiting].map(|phase| self.costs.share_on_cpu(phase));
        percent(moving + waiting)
    }

    /// Share of the time in which threads are runnable without a CPU.
    pub(super) fn off_cpu(&self) -> String {
        percent(self.costs.share(CyclePhase::OffCpu))
    }

    /// Share of the threads' own work.
    pub(super) fn own_work(&self) -> String {
        percent(self.costs.share_on_cpu(CyclePhase::Working) * self.costs.own_part())
    }

    /// Share of the kernel's calls.
    pub(super) fn calls(&self) -> String {
        percent(self.costs.share_on_cpu(CyclePhase::Working) * (1.0 - self.costs.own_part()))
    }

    /// Share of the time in which the lock is held.
    pub(super) fn held(&self) -> String {
        percent(self.costs.held_share(&self.lock))
    }

    /// Share of pauses that wait for no line.
    pub(super) fn paused(&self) -> String {
        percent(self.costs.paused() / self.costs.nanoseconds.iter().sum::<f64>())
    }

    /// Number of re-reads by waiters for each hand-over.
    pub(super) fn re_reads(&self) -> f64 {
        per(self.line.missed_polls, self.line.hand_overs.iter().sum())
    }

    /// Share of the line's moves for which no other thread had it.
    pub(super) fn misses(&self) -> String {
        let (_, all) = transfers(&self.line);
        percent(per(self.line.moves.saturating_sub(all), self.line.moves))
    }

    /// Share of the line's moves that bring nothing new.
    pub(super) fn needless(&self) -> String {
        percent(per(self.line.needless(), self.line.moves))
    }

    /// Number of failed compare-exchanges for each that succeeds.
    pub(super) fn failures(&self) -> f64 {
        per(self.line.failed, self.line.exchanged)
    }

    /// Share of the line's transfers that are from another socket.
    pub(super) fn remote(&self) -> String {
        let (remote, all) = transfers(&self.line);
        percent(per(remote, all))
    }

    /// Number of the line's transfers per operation.
    pub(super) fn transfers(&self) -> f64 {
        per(transfers(&self.line).1, self.costs.operations)
    }

    /// Shares of the time in which the lock is held, handed over and free.
    pub(super) fn shares(&self) -> String {
        self.costs.shares_of(&self.lock)
    }

    /// Times of a hold and of a hand-over.
    pub(super) fn times(&self) -> String {
        self.costs.times_of(&self.lock)
    }

    /// Sentence about a holder's waits for lines, if they are a tenth of the hold or more.
    pub(super) fn stalls(&self) -> String {
        if 10 * self.lock.stalled < self.lock.held {
            return String::new();
        }
        let stalled = self.costs.each_time(&self.lock, self.lock.stalled);
        format!(" In a hold, {stalled:.0} ns are waits for lines.")
    }
}

impl Costs {
    /// Returns the part of the threads' work that is not in the kernel.
    fn own_part(&self) -> f64 {
        let (work, calls) = self.work_and_calls();
        if calls > 0.0 { work / (work + calls) } else { 1.0 }
    }

    pub(super) fn shares_of(&self, lock: &LockTime) -> String {
        let (held, handed) = (self.held_share(lock), self.handed_over_share(lock));
        format!(
            "held {} of the time, handed over for {}, free for {}",
            percent(held),
            percent(handed),
            percent((1.0 - held - handed).max(0.0))
        )
    }

    pub(super) fn times_of(&self, lock: &LockTime) -> String {
        format!(
            "a hold takes {:.0} ns, a hand-over {:.0} ns",
            self.each_time(lock, lock.held),
            self.each_time(lock, lock.handed_over())
        )
    }
}
