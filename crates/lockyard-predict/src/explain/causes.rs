//! The table of causes: the names that results have, and the sentences that explain them.
//!
//! Each sentence stands here and nowhere else: tests compare its figures.

use super::facts::Facts;
use lockyard_sim::CyclePhase;

macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident = $name:literal, $sentence:expr;)*) => {
        /// Dominating cost of a cell. [`Costs::cause`](super::Costs::cause) decides, by rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Cause { $($(#[$doc])* $cause,)* }

        impl Cause {
            /// All causes.
            #[cfg(test)]
            const ALL: &[Cause] = &[$(Cause::$cause),*];

            /// Returns the name for results.
            pub fn name(self) -> &'static str {
                match self { $(Cause::$cause => $name,)* }
            }

            /// Returns a sentence about the cause in a cell.
            pub(super) fn sentence(self, cell: &Facts) -> String {
                let sentence: fn(&Facts) -> String = match self {
                    $(Cause::$cause => $sentence,)*
                };
                sentence(cell)
            }
        }
    };
}

causes! {
    /// The threads' own work.
    LocalWork = "local work", |cell| format!(
        "Local work dominates: threads spend {} of their cycles on their own work.",
        cell.own_work()
    );
    /// Threads put each other to sleep, and wake each other.
    SystemCalls = "system calls", |cell| format!(
        "System calls dominate: threads spend {} of their cycles in the kernel, which puts \
         waiters to sleep and wakes them.",
        cell.calls()
    );
    /// Operations wait until the store buffer is empty.
    StoreBuffer = "store-buffer drain", |cell| format!(
        "Store-buffer drain dominates: {} of all cycles are spent waiting for earlier \
         stores, mostly to `{}`, to reach the cache.",
        cell.on_cpu(CyclePhase::Draining),
        cell.name
    );
    /// Threads wait for other processors that answer late, or that were not running.
    Others = "waiting for answers", |cell| format!(
        "Waiting for answers dominates: {} of the cycles in which threads have a CPU go by \
         until other processors have answered; threads are runnable without a CPU for {} \
         of the time.",
        cell.on_cpu(CyclePhase::Answers),
        cell.off_cpu()
    );
    /// A lock is held for most of the time.
    CriticalSection = "critical section", |cell| format!(
        "The critical section of `{}` dominates: the lock is {}; {}.{}",
        cell.name,
        cell.shares(),
        cell.times(),
        cell.stalls()
    );
    /// A lock is held for most of the time, by threads that were not running.
    LateHolder = "late holder", |cell| format!(
        "Late holders dominate: `{}` is held for {} of the time, half of it or more \
         by threads that do not run, and {} of all cycles are spent waiting.",
        cell.name,
        cell.held(),
        cell.on_cpu(CyclePhase::Waiting)
    );
    /// Threads pause between operations, and do not wait for a line.
    Pauses = "pauses", |cell| format!(
        "Pauses dominate: {} of all cycles are spent in pauses that wait for no line.",
        cell.paused()
    );
    /// Waiters re-read a line whenever it changes.
    WakeUpStorm = "wake-up storm", |cell| format!(
        "A wake-up storm dominates: each hand-over of `{}` is followed by {:.1} \
         re-reads by waiters, one after another, so it takes longer the more threads \
         wait, and {} of all cycles are spent waiting.",
        cell.name,
        cell.re_reads(),
        cell.on_cpu(CyclePhase::Waiting)
    );
    /// Data does not stay in the caches, and no other thread took it.
    CacheMisses = "cache misses", |cell| format!(
        "Cache misses dominate: for {} of the moves of `{}` no other thread had the \
         line, so the data does not fit the caches, and {} of all cycles are spent \
         on moving lines.",
        cell.misses(),
        cell.name,
        cell.on_cpu(CyclePhase::Moving)
    );
    /// A line moves because of other data on it.
    FalseSharing = "false sharing", |cell| format!(
        "False sharing dominates: {} of the moves of the line of `{}` bring nothing \
         that other threads wrote, and {} of all cycles are spent on moving lines; \
         put each object of that line into a separate line.",
        cell.needless(),
        cell.name,
        cell.on_cpu(CyclePhase::Moving)
    );
    /// Compare-exchanges fail and are retried.
    FailedExchange = "failed compare-exchange", |cell| format!(
        "Failed compare-exchanges dominate: {:.1} on `{}` fail for each that \
         succeeds, and each takes the line all the same; {} of all cycles are spent \
         on moving lines, {} on waiting between attempts.",
        cell.failures(),
        cell.name,
        cell.on_cpu(CyclePhase::Moving),
        cell.on_cpu(CyclePhase::Waiting)
    );
    /// Lines move between sockets.
    RemoteHandOver = "remote hand-over", |cell| format!(
        "Remote hand-overs dominate: {} of the transfers of `{}` are from another \
         socket, and {} of all cycles are spent waiting for lines.",
        cell.remote(),
        cell.name,
        cell.moving_or_waiting()
    );
    /// Lines move within a socket.
    HandOver = "hand-over", |cell| format!(
        "Hand-overs within a socket dominate: `{}` comes from another thread {:.1} \
         times an operation, and {} of all cycles are spent waiting for \
         lines.",
        cell.name,
        cell.transfers(),
        cell.moving_or_waiting()
    );
}

#[cfg(test)]
mod tests {
    use super::super::costs::Costs;
    use super::super::lock_time::LockTime;
    use super::{Cause, Facts};
    use lockyard_sim::LineCounts;
    use std::collections::HashSet;

    /// Returns a cell of which each sentence has other numbers.
    fn costs() -> Costs {
        let mut costs = Costs { window: 1e4, operations: 100, cycle: 0.5, ..Costs::default() };
        for (number, nanoseconds) in costs.nanoseconds.iter_mut().enumerate() {
            *nanoseconds = 1000.0 + 300.0 * number as f64;
        }
        costs.system_calls = 200.0;
        let mut line = LineCounts { moves: 90, failed: 70, exchanged: 20, ..LineCounts::default() };
        line.missed_polls = 120;
        line.hand_overs.iter_mut().zip([3, 5, 7, 11]).for_each(|(count, of)| *count = of);
        costs.lines.insert("line".to_owned(), line);
        let lock = LockTime {
            acquired: 100,
            held: 9000,
            occupied: 9000,
            busy: 12_000,
            serial: 12_000,
            stalled: 4000,
            ..LockTime::default()
        };
        costs.locks.insert("line".to_owned(), lock);
        costs
    }

    #[test]
    fn each_sentence_has_the_figures_of_its_cause() {
        let figures = [
            (Cause::LocalWork, "10 %"),
            (Cause::SystemCalls, "3 %"),
            (Cause::StoreBuffer, "20 %"),
            (Cause::Others, "28 % 24 %"),
            (Cause::CriticalSection, "45 % 15 % 40 % 45 15 20"),
            (Cause::LateHolder, "45 % 24 %"),
            (Cause::Pauses, "18 %"),
            (Cause::WakeUpStorm, "4.6 24 %"),
            (Cause::CacheMisses, "71 % 16 %"),
            (Cause::FalseSharing, "100 % 16 %"),
            (Cause::FailedExchange, "3.5 16 % 24 %"),
            (Cause::RemoteHandOver, "42 % 40 %"),
            (Cause::HandOver, "0.3 40 %"),
        ];
        let costs = costs();
        let facts = Facts::new(&costs, Some("line"));
        let found = Cause::ALL.iter().map(|&cause| (cause, figures_of(&cause.sentence(&facts))));
        let found: Vec<(Cause, String)> = found.collect();
        assert_eq!(found, figures.map(|(cause, text)| (cause, text.to_owned())));
    }

    /// Returns the figures of a sentence.
    fn figures_of(sentence: &str) -> String {
        let words = sentence.split(' ').map(|word| word.trim_end_matches([',', ';', '.']));
        let figures = words.filter(|word| *word == "%" || word.parse::<f64>().is_ok());
        figures.collect::<Vec<&str>>().join(" ")
    }

    #[test]
    fn each_sentence_is_one_with_a_name_of_its_own() {
        let costs = costs();
        let facts = Facts::new(&costs, Some("line"));
        let mut names = HashSet::new();
        for cause in Cause::ALL {
            let sentence = cause.sentence(&facts);
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
            assert!(names.insert(cause.name()), "{} is named twice", cause.name());
        }
    }
}
