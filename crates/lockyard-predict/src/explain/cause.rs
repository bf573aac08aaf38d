//! The dominating cost. It is determined by rules on counted values, so that readers can check each
//! step.

use super::causes::Cause;
use super::costs::Costs;
use super::facts::transfers;
use super::lock_time::LockTime;
use lockyard_sim::{CyclePhase, LineCounts};

/// Returns `true` if compare-exchanges of the line fail at least as often as they succeed.
fn mostly_fails(line: &LineCounts) -> bool {
    line.failed >= line.exchanged.max(1)
}

impl Costs {
    /// Returns the line on which threads lost most in a phase, among lines that `of` accepts.
    fn worst_in(
        &self,
        phase: CyclePhase,
        of: impl Fn(&str) -> bool,
    ) -> Option<(&str, &LineCounts)> {
        self.lines
            .iter()
            .map(|(name, counts)| (name.as_str(), counts))
            .filter(|(name, counts)| counts.cycles[phase as usize] > 0 && of(name))
            .max_by_key(|(_, counts)| counts.cycles[phase as usize])
    }

    /// Returns the time spent in pauses, in nanoseconds: the waiting that involves no line.
    pub(super) fn paused(&self) -> f64 {
        let waiting = CyclePhase::Waiting as usize;
        let lines: u64 = self.lines.values().map(|line| line.cycles[waiting]).sum();
        self.nanoseconds[waiting] - lines as f64 * self.cycle
    }

    /// Returns the dominating cost, and the line that shows it. For a critical section, it is the
    /// lock.
    ///
    /// These rules decide, in this order. Shares are shares of the cycles in which threads had a
    /// CPU.
    ///
    /// 1. A lock is the [bottleneck](Costs::bottleneck), no matter how much its holder or other
    ///    threads work. The lock is busy while it is held or handed over. If it is held for at
    ///    least half of its busy time, the cause is *critical section*. It is *late holder* if the
    ///    holders had no CPU for at least half of the held time. Otherwise the cause is the
    ///    hand-over: rules 4 to 6 for the lock's lines.
    /// 2. *Local work*: the threads' own work takes at least 60 %; or, with the kernel's calls, it
    ///    does so, and is the larger part. If the calls are: *system calls*.
    /// 3. Otherwise the largest share of the rest decides. *Waiting for answers*: threads wait for
    ///    other processors to answer. *Draining stores*: operations wait for the store buffer.
    /// 4. *Waiting*, with more time in pauses than on any line. The cause is *failed
    ///    compare-exchanges* if those happen between the pauses (at least one for each that
    ///    succeeds), otherwise *pauses*. With less time in pauses: *wake-up storm* if waiters
    ///    re-read a line at least three times for each hand-over, otherwise the hand-over.
    /// 5. *Moving lines*: *cache misses* if for at least half of the line's moves no other thread
    ///    had the line exclusively since it was last here. *False sharing* if at least a third of
    ///    the line's moves brought nothing that other threads had changed. *Failed
    ///    compare-exchanges* if at least one fails for each that succeeds. Otherwise the hand-over.
    /// 6. A hand-over is *remote* if at least half of the line's transfers (hand-overs, and loads
    ///    that missed) come from another socket.
    pub fn cause(&self) -> (Cause, Option<&str>) {
        if let Some((name, lock)) = self.bottleneck() {
            return self.cause_of(name, lock);
        }
        if self.share_on_cpu(CyclePhase::Working) >= 0.6 {
            let (work, calls) = self.work_and_calls();
            let cause = if work >= calls { Cause::LocalWork } else { Cause::SystemCalls };
            return (cause, None);
        }
        let lost =
            [CyclePhase::Moving, CyclePhase::Draining, CyclePhase::Waiting, CyclePhase::Answers];
        let most =
            lost.into_iter().max_by(|&a, &b| self.share_on_cpu(a).total_cmp(&self.share_on_cpu(b)));
        let phase = most.unwrap_or(CyclePhase::Moving);
        if phase == CyclePhase::Answers && self.share(phase) > 0.0 {
            return (Cause::Others, None);
        }
        let worst = self.worst_in(phase, |_| true);
        if phase == CyclePhase::Waiting {
            let on_line = worst.map_or(0, |(_, line)| line.cycles[CyclePhase::Waiting as usize]);
            if self.paused() > on_line as f64 * self.cycle {
                return match self.failing(|_| true) {
                    Some(name) => (Cause::FailedExchange, Some(name)),
                    None => (Cause::Pauses, None),
                };
            }
        }
        // No cycles were counted.
        let Some((name, line)) = worst else { return (Cause::LocalWork, None) };
        (cause_on(line, phase), Some(name))
    }

    /// Returns the dominating cost, given that a lock is the bottleneck.
    fn cause_of<'s>(&'s self, name: &'s str, lock: &LockTime) -> (Cause, Option<&'s str>) {
        if 2 * lock.held >= lock.busy {
            let cause = if 2 * lock.off_cpu >= lock.held {
                Cause::LateHolder
            } else {
                Cause::CriticalSection
            };
            return (cause, Some(name));
        }
        // The name of a line lists all objects on it.
        let of_lock =
            |line: &str| line == "queue nodes" || line.split(" and ").any(|object| object == name);
        let on_lines = |phase: CyclePhase| {
            let lines = self.lines.iter().filter(|(line, _)| of_lock(line));
            lines.map(|(_, counts)| counts.cycles[phase as usize]).sum::<u64>()
        };
        let lost = [CyclePhase::Moving, CyclePhase::Draining, CyclePhase::Waiting];
        let phase =
            lost.into_iter().max_by_key(|&phase| on_lines(phase)).unwrap_or(CyclePhase::Waiting);
        if self.paused() > on_lines(phase) as f64 * self.cycle
            && let Some(line) = self.failing(of_lock)
        {
            return (Cause::FailedExchange, Some(line));
        }
        match self.worst_in(phase, of_lock) {
            Some((line, counts)) => (cause_on(counts, phase), Some(line)),
            // Sleeping waiters wait for no line.
            None => (Cause::HandOver, Some(name)),
        }
    }

    /// Returns the line with the most failed compare-exchanges, among lines that `of` accepts.
    /// Ignores lines on which fewer fail than succeed.
    fn failing(&self, of: impl Fn(&str) -> bool) -> Option<&str> {
        let failing = self.lines.iter().filter(|(name, line)| of(name) && mostly_fails(line));
        failing.max_by_key(|(_, line)| line.failed).map(|(name, _)| name.as_str())
    }
}

/// Returns the dominating cost if threads lose most in `phase`, on `line`.
fn cause_on(line: &LineCounts, phase: CyclePhase) -> Cause {
    let hand_overs = line.hand_overs.iter().sum::<u64>().max(1);
    let (remote, all) = transfers(line);
    let hand_over = if 2 * remote >= all.max(1) { Cause::RemoteHandOver } else { Cause::HandOver };
    match phase {
        CyclePhase::Draining => Cause::StoreBuffer,
        CyclePhase::Waiting if line.missed_polls >= 3 * hand_overs => Cause::WakeUpStorm,
        CyclePhase::Waiting => hand_over,
        _ if 2 * line.moves.saturating_sub(all) >= line.moves.max(1) => Cause::CacheMisses,
        _ if 3 * line.needless() >= line.moves.max(1) => Cause::FalseSharing,
        _ if mostly_fails(line) => Cause::FailedExchange,
        _ => hand_over,
    }
}
