//! Explanation of a cell in a few sentences.

use super::bound::Bound;
use super::cause::Cause;
use super::cause::transfers;
use super::costs::Costs;
use super::ideal::LITTLE;
use super::lock_time::LockTime;
use lockyard_sim::CyclePhase;

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns a number of operations per second as text.
fn rate(per_second: f64) -> String {
    match per_second {
        millions if millions >= 1e6 => format!("{:.2} M op/s", millions / 1e6),
        thousands if thousands >= 1e3 => format!("{:.1} k op/s", thousands / 1e3),
        few => format!("{few:.1} op/s"),
    }
}

impl Costs {
    /// Returns the dominating cost, the bottleneck lock, and the effect of ideal locks, in words.
    pub fn sentence(&self) -> String {
        let (cause, name) = self.cause();
        let mut text = self.of_cause(cause, name);
        if let Some((lock, time)) = self.bottleneck()
            && cause != Cause::CriticalSection
        {
            text += &format!(
                " `{lock}` is the bottleneck: {}; {}.",
                self.shares_of(time),
                self.times_of(time)
            );
        }
        if let Some(failed) = self.failed_exchanges {
            text += &format!(" An operation has {failed:.2} failed compare-exchanges.");
        }
        text + &self.of_ideal(cause)
    }

    /// Returns the part of the threads' work that is not in the kernel.
    fn own_part(&self) -> f64 {
        let (work, calls) = self.work_and_calls();
        if calls > 0.0 { work / (work + calls) } else { 1.0 }
    }

    /// Returns a sentence about the dominating cost.
    fn of_cause(&self, cause: Cause, name: Option<&str>) -> String {
        let line = name.and_then(|name| self.lines.get(name)).copied().unwrap_or_default();
        let lock = name.and_then(|name| self.locks.get(name)).copied().unwrap_or_default();
        let name = name.unwrap_or_default();
        let per = |a: u64, b: u64| a as f64 / b.max(1) as f64;
        let (remote, all) = transfers(&line);
        let moving = percent(self.share_on_cpu(CyclePhase::Moving));
        let waiting = percent(self.share_on_cpu(CyclePhase::Waiting));
        let moving_or_waiting =
            percent(self.share_on_cpu(CyclePhase::Moving) + self.share_on_cpu(CyclePhase::Waiting));
        match cause {
            Cause::LocalWork => format!(
                "Local work dominates: threads spend {} of their cycles on their own work.",
                percent(self.share_on_cpu(CyclePhase::Working) * self.own_part())
            ),
            Cause::SystemCalls => format!(
                "System calls dominate: threads spend {} of their cycles in the kernel, which puts \
                 waiters to sleep and wakes them.",
                percent(self.share_on_cpu(CyclePhase::Working) * (1.0 - self.own_part()))
            ),
            Cause::StoreBuffer => format!(
                "Store-buffer drain dominates: {} of all cycles are spent waiting for earlier \
                 stores, mostly to `{name}`, to reach the cache.",
                percent(self.share_on_cpu(CyclePhase::Draining))
            ),
            Cause::Others => format!(
                "Waiting for answers dominates: {} of the cycles in which threads have a CPU go by \
                 until other processors have answered; threads are runnable without a CPU for {} \
                 of the time.",
                percent(self.share_on_cpu(CyclePhase::Answers)),
                percent(self.share(CyclePhase::OffCpu))
            ),
            Cause::CriticalSection => self.of_section(name, &lock),
            Cause::LateHolder => format!(
                "Late holders dominate: `{name}` is held for {} of the time, half of it or more \
                 by threads that do not run, and {waiting} of all cycles are spent waiting.",
                percent(self.held_share(&lock))
            ),
            Cause::Pauses => format!(
                "Pauses dominate: {} of all cycles are spent in pauses that wait for no line.",
                percent(self.paused() / self.nanoseconds.iter().sum::<f64>())
            ),
            Cause::WakeUpStorm => format!(
                "A wake-up storm dominates: each hand-over of `{name}` is followed by {:.1} \
                 re-reads by waiters, one after another, so it takes longer the more threads \
                 wait, and {waiting} of all cycles are spent waiting.",
                per(line.missed_polls, line.hand_overs.iter().sum())
            ),
            Cause::CacheMisses => format!(
                "Cache misses dominate: for {} of the moves of `{name}` no other thread had the \
                 line, so the data does not fit the caches, and {moving} of all cycles are spent \
                 on moving lines.",
                percent(per(line.moves.saturating_sub(all), line.moves))
            ),
            Cause::FalseSharing => format!(
                "False sharing dominates: {} of the moves of the line of `{name}` bring nothing \
                 that other threads wrote, and {moving} of all cycles are spent on moving lines; \
                 put each object of that line into a separate line.",
                percent(per(line.needless(), line.moves))
            ),
            Cause::FailedExchange => format!(
                "Failed compare-exchanges dominate: {:.1} on `{name}` fail for each that \
                 succeeds, and each takes the line all the same; {moving} of all cycles are spent \
                 on moving lines, {waiting} on waiting between attempts.",
                per(line.failed, line.exchanged)
            ),
            Cause::RemoteHandOver => format!(
                "Remote hand-overs dominate: {} of the transfers of `{name}` are from another \
                 socket, and {moving_or_waiting} of all cycles are spent waiting for lines.",
                percent(per(remote, all))
            ),
            Cause::HandOver => format!(
                "Hand-overs within a socket dominate: `{name}` comes from another thread {:.1} \
                 times an operation, and {moving_or_waiting} of all cycles are spent waiting for \
                 lines.",
                per(all, self.operations)
            ),
        }
    }

    /// Returns a sentence about a lock that is held for most of the time.
    fn of_section(&self, name: &str, lock: &LockTime) -> String {
        let stalls = if 10 * lock.stalled >= lock.held {
            let stalled = self.each_time(lock, lock.stalled);
            format!(" In a hold, {stalled:.0} ns are waits for lines.")
        } else {
            String::new()
        };
        format!(
            "The critical section of `{name}` dominates: the lock is {}; {}.{stalls}",
            self.shares_of(lock),
            self.times_of(lock)
        )
    }

    fn shares_of(&self, lock: &LockTime) -> String {
        let (held, handed) = (self.held_share(lock), self.handed_over_share(lock));
        format!(
            "held {} of the time, handed over for {}, free for {}",
            percent(held),
            percent(handed),
            percent((1.0 - held - handed).max(0.0))
        )
    }

    fn times_of(&self, lock: &LockTime) -> String {
        format!(
            "a hold takes {:.0} ns, a hand-over {:.0} ns",
            self.each_time(lock, lock.held),
            self.each_time(lock, lock.handed_over())
        )
    }

    /// Returns sentences about the bound, ideal locks, a shorter critical section and a second
    /// lock. Empty if their effect is unknown.
    fn of_ideal(&self, cause: Cause) -> String {
        let Some(ideal) = self.ideal() else { return String::new() };
        // A bound if operations are alike, an estimate if they differ.
        let gives = |bound: Bound| {
            format!("at most about {} (+{})", rate(bound.throughput), percent(bound.gain))
        };
        let locks = if self.locks.len() > 1 { "ideal locks" } else { "an ideal lock" };
        let mut figures = format!("{locks} would give {}", gives(ideal));
        if let Some(half) = self.half_section() {
            figures += &format!(", half of the section {}", gives(half));
        }
        if let Some(second) = self.second_lock() {
            figures += &format!(", a second lock for half of the operations {}", gives(second));
        }
        let bound = self.of_bound();
        if cause == Cause::CriticalSection && ideal.gain < LITTLE {
            return format!("{bound} A faster lock would change little: {figures}.");
        }
        // The first letter is ASCII.
        format!("{bound} {}{}.", figures[..1].to_ascii_uppercase(), &figures[1..])
    }

    /// Returns a sentence that compares the throughput with the bottleneck's bound. Empty without a
    /// bottleneck.
    fn of_bound(&self) -> String {
        let Some((bound, holds)) = self.hold_bound().zip(self.holds()) else {
            return String::new();
        };
        let of = match (holds - 1.0).abs() < 0.05 {
            true => "1 / hold time".to_owned(),
            false => format!("1 / the {holds:.1} holds of an operation"),
        };
        format!(
            " If it were held all the time, it would allow {} ({of}); this is {} of that.",
            rate(bound),
            percent(self.throughput() / bound)
        )
    }
}
