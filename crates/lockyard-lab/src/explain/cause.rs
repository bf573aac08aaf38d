//! The cost that dominates, and the sentence that says so: rules over what was counted, so that each can be argued with.

use super::{Costs, LockTime};
use lockyard_sim::{Distance, LineCounts, Phase};

/// What dominates. The rules, in this order; shares are of the cycles in which threads had a CPU:
///
/// 1. At least 60 % are the threads' own work: *local work*.
/// 2. Of the rest the largest share decides. *Waiting for answers*: of other processors. *Draining stores*: operations wait for the store buffer.
/// 3. *Waiting*: at least half of it for locks, each held for at least half of the time by holders that mostly work:
///    *late holders*. More in pauses than on any line: *failed compare-exchanges* if that is what is between the pauses (at
///    least one for each that succeeds), else *pauses*. At least three re-reads by waiters for each hand-over of the line:
///    *wake-up storm*. Else the hand-over.
/// 4. *Moving lines*: at least a third of the moves of the line brought nothing that others had done: *false sharing*. At least one failed compare-exchange for each that succeeds: *failed compare-exchanges*. Else the hand-over.
/// 5. A hand-over is *remote* if at least half of the line's transfers (hand-overs, and loads that missed) are from another
///    socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The threads' own work.
    LocalWork,
    /// Operations that wait until the store buffer is empty.
    StoreBuffer,
    /// Threads wait for other processors that answer late, or that were not running.
    Others,
    /// Waiters wait for holders that work, or that were not running.
    LateHolder,
    /// Pauses between operations, on nothing in particular.
    Pauses,
    /// Waiters re-read a line whenever it changes.
    WakeUpStorm,
    /// A line moves for what stands beside it.
    FalseSharing,
    /// Compare-exchanges that fail, and are repeated.
    FailedExchange,
    /// Lines that move between sockets.
    RemoteHandOver,
    /// Lines that move within a socket.
    HandOver,
}

impl Cause {
    /// For results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::LocalWork => "local work",
            Cause::StoreBuffer => "store-buffer drain",
            Cause::Others => "waiting for answers",
            Cause::LateHolder => "late holder",
            Cause::Pauses => "pauses",
            Cause::WakeUpStorm => "wake-up storm",
            Cause::FalseSharing => "false sharing",
            Cause::FailedExchange => "failed compare-exchange",
            Cause::RemoteHandOver => "remote hand-over",
            Cause::HandOver => "hand-over",
        }
    }
}

/// Transfers of a line from another socket, and all.
fn transfers(line: &LineCounts) -> (u64, u64) {
    let remote = Distance::Remote as usize;
    let all = line.hand_overs.iter().chain(&line.reads).sum();
    (line.hand_overs[remote] + line.reads[remote], all)
}

/// Compare-exchanges of the line fail at least as often as they succeed.
fn mostly_fails(line: &LineCounts) -> bool {
    line.failed >= line.exchanged.max(1)
}

impl Costs {
    /// The line on which threads lost most in a phase.
    fn worst_in(&self, phase: Phase) -> Option<(&str, &LineCounts)> {
        self.lines
            .iter()
            .map(|(name, counts)| (name.as_str(), counts))
            .max_by_key(|(_, counts)| counts.cycles[phase as usize])
            .filter(|(_, counts)| counts.cycles[phase as usize] > 0)
    }

    /// The lock on which threads waited longest of those that are held long by holders that work, if such locks are what
    /// threads mostly wait for.
    fn late_lock(&self) -> Option<&str> {
        let is_late =
            |lock: &LockTime| self.held_share(lock) >= 0.5 && 2 * lock.stalled < lock.held;
        let late = || self.locks.iter().filter(|(_, lock)| is_late(lock));
        let waited = late().map(|(_, lock)| lock.waited as f64 * self.cycle).sum::<f64>();
        let longest = late().max_by_key(|(_, lock)| lock.waited).map(|(name, _)| name.as_str());
        longest.filter(|_| 2.0 * waited >= self.nanoseconds[Phase::Waiting as usize])
    }

    /// Nanoseconds of waiting that are for no line: pauses.
    fn paused(&self) -> f64 {
        let waiting = Phase::Waiting as usize;
        let lines: u64 = self.lines.values().map(|line| line.cycles[waiting]).sum();
        self.nanoseconds[waiting] - lines as f64 * self.cycle
    }

    /// What dominates, and the line, or the late holders' lock, on which it shows.
    pub fn cause(&self) -> (Cause, Option<&str>) {
        if self.share_on_cpu(Phase::Working) >= 0.6 {
            return (Cause::LocalWork, None);
        }
        let lost = [Phase::Moving, Phase::Draining, Phase::Waiting, Phase::Answers];
        let most =
            lost.into_iter().max_by(|&a, &b| self.share_on_cpu(a).total_cmp(&self.share_on_cpu(b)));
        let phase = most.unwrap_or(Phase::Moving);
        if phase == Phase::Answers && self.share(phase) > 0.0 {
            return (Cause::Others, None);
        }
        let worst = self.worst_in(phase);
        if phase == Phase::Waiting {
            if let Some(lock) = self.late_lock() {
                return (Cause::LateHolder, Some(lock));
            }
            let on_line = worst.map_or(0, |(_, line)| line.cycles[Phase::Waiting as usize]);
            if self.paused() > on_line as f64 * self.cycle {
                let failing = self.lines.iter().filter(|(_, line)| mostly_fails(line));
                return match failing.max_by_key(|(_, line)| line.failed) {
                    Some((name, _)) => (Cause::FailedExchange, Some(name)),
                    None => (Cause::Pauses, None),
                };
            }
        }
        // Nothing was counted.
        let Some((name, line)) = worst else { return (Cause::LocalWork, None) };
        let hand_overs = line.hand_overs.iter().sum::<u64>().max(1);
        let (remote, all) = transfers(line);
        let hand_over =
            if 2 * remote >= all.max(1) { Cause::RemoteHandOver } else { Cause::HandOver };
        let cause = match phase {
            Phase::Draining => Cause::StoreBuffer,
            Phase::Waiting if line.missed_polls >= 3 * hand_overs => Cause::WakeUpStorm,
            Phase::Waiting => hand_over,
            _ if 3 * line.needless() >= line.moves.max(1) => Cause::FalseSharing,
            _ if mostly_fails(line) => Cause::FailedExchange,
            _ => hand_over,
        };
        (cause, Some(name))
    }

    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let (cause, name) = self.cause();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let line = name.and_then(|name| self.lines.get(name)).copied().unwrap_or_default();
        let lock = name.and_then(|name| self.locks.get(name)).copied().unwrap_or_default();
        let name = name.unwrap_or_default();
        let per = |a: u64, b: u64| a as f64 / b.max(1) as f64;
        let (remote, all) = transfers(&line);
        let moving = percent(self.share_on_cpu(Phase::Moving));
        let waiting = percent(self.share_on_cpu(Phase::Waiting));
        let moving_or_waiting =
            percent(self.share_on_cpu(Phase::Moving) + self.share_on_cpu(Phase::Waiting));
        match cause {
            Cause::LocalWork => format!(
                "Local work dominates: threads spend {} of their cycles on work of their own.",
                percent(self.share_on_cpu(Phase::Working))
            ),
            Cause::StoreBuffer => format!(
                "Store-buffer drain dominates: {} of all cycles go by while operations wait until earlier stores, most to \
                 `{name}`, are in the cache.",
                percent(self.share_on_cpu(Phase::Draining))
            ),
            Cause::Others => format!(
                "Waiting for answers dominates: {} of the cycles in which threads have a CPU go by until other processors have \
                 answered; threads could run and have no CPU for {} of the time.",
                percent(self.share_on_cpu(Phase::Answers)),
                percent(self.share(Phase::OffCpu))
            ),
            Cause::LateHolder => format!(
                "Late holders dominate: `{name}` is held for {} of the time by threads that do their own work (or do not run), \
                 and {waiting} of all cycles are spent waiting; a faster lock would change little.",
                percent(self.held_share(&lock))
            ),
            Cause::Pauses => format!(
                "Pauses dominate: {} of all cycles are spent in pauses that wait for no line.",
                percent(self.paused() / self.nanoseconds.iter().sum::<f64>())
            ),
            Cause::WakeUpStorm => format!(
                "A wake-up storm dominates: each hand-over of `{name}` is followed by {:.1} re-reads by waiters, one after \
                 another, so that it takes the longer the more wait, and {waiting} of all cycles are spent waiting.",
                per(line.missed_polls, line.hand_overs.iter().sum())
            ),
            Cause::FalseSharing => format!(
                "False sharing dominates: {} of the moves of the line of `{name}` bring nothing that others \
                 have done, and {moving} of all cycles are spent on moving lines; put what is in the line into lines of its own.",
                percent(per(line.needless(), line.moves))
            ),
            Cause::FailedExchange => format!(
                "Failed compare-exchanges dominate: {:.1} on `{name}` fail for each that succeeds, and each takes the line all \
                 the same; {moving} of all cycles are spent on moving lines, {waiting} on waiting between attempts.",
                per(line.failed, line.exchanged)
            ),
            Cause::RemoteHandOver => format!(
                "Remote hand-overs dominate: {} of the transfers of `{name}` are from another socket, and {moving_or_waiting} of \
                 all cycles are spent waiting for lines.",
                percent(per(remote, all))
            ),
            Cause::HandOver => format!(
                "Hand-overs within a socket dominate: `{name}` comes from another thread {:.1} times an operation, and \
                 {moving_or_waiting} of all cycles are spent waiting for lines.",
                per(all, self.operations)
            ),
        }
    }
}
