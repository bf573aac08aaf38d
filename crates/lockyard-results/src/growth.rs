//! Growth of costs with the number of threads, from several recordings of one program; and the gate
//! of its predictions: the largest recorded number of threads, predicted from the smaller ones.

use lockyard_support::{grouped, threads as in_words};
use serde::Serialize;

/// Share of an operation's time below which a part is not named.
const NAMED: f64 = 0.05;

/// Growth of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Growth {
    /// Unit of the rates: `operations/s` if there are rates without the recorder, otherwise
    /// `acquisitions/s`.
    pub unit: &'static str,
    /// Recorded numbers of threads, with their rates and replays.
    pub recorded: Vec<RecordedRate>,
    /// Law by which the part that is not explained grows beyond the largest recorded number.
    pub law: Law,
    /// Time of an operation in its thread with the largest recorded number, in nanoseconds.
    pub operation_ns: f64,
    /// Part of this time that the replay does not explain. It is negative if the replay of that
    /// number is too slow.
    pub not_explained_ns: f64,
    /// The same by place.
    pub parts: Vec<GrowthPart>,
    /// The gate; `None` with one recording.
    pub gate: Option<GrowthGate>,
    /// Recorded numbers of threads whose rate is that of the recording.
    pub without_rate: Vec<usize>,
}

/// Rate of a recorded number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RecordedRate {
    /// Number of threads.
    pub threads: usize,
    /// Measured rate.
    pub measured_per_s: f64,
    /// Acquisitions a second of the replay of the smallest number's recording with these threads.
    pub replayed_acquisitions_per_s: f64,
    /// Growth that the replay does not explain: time of an operation, relative to the replay's,
    /// less 1. That of the smallest number is 0.
    pub not_explained_share: f64,
}

/// Law of growth beyond the largest recorded number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// Stays as it is.
    #[default]
    Constant,
    /// In proportion to the running threads, less one.
    Threads,
    /// In proportion to the pairs of running threads.
    Pairs,
}

impl Law {
    /// Returns the law in words.
    pub fn words(self) -> &'static str {
        match self {
            Law::Constant => "stays as it is with more threads",
            Law::Threads => "grows with the number of running threads",
            Law::Pairs => "grows with the pairs of running threads",
        }
    }
}

/// Time of an operation in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GrowthPart {
    /// The lock; `None` outside of locks.
    pub lock: Option<String>,
    /// Call sites that take the lock, the most frequent first.
    pub sites: Vec<String>,
    /// Time with the smallest recorded number of threads, in nanoseconds.
    pub from_ns: f64,
    /// Time with the largest one.
    pub to_ns: f64,
    /// Part of the growth that the replay explains.
    pub explained_ns: f64,
    /// Part that it does not explain.
    pub not_explained_ns: f64,
    /// Law by which that part grows.
    pub law: Law,
}

/// Prediction of the largest recorded number of threads from the smaller ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GrowthGate {
    /// Numbers of threads from which it is predicted.
    pub from: Vec<usize>,
    /// Number of threads that is predicted.
    pub to: usize,
    /// Predicted rate.
    pub predicted_per_s: f64,
    /// Measured rate.
    pub measured_per_s: f64,
    /// Difference, relative to the measured rate.
    pub error: f64,
    /// Largest difference that the gate allows.
    pub allowed: f64,
    /// True if the gate passed.
    pub passed: bool,
}

impl GrowthGate {
    /// Returns the error in a few words.
    pub fn words(&self) -> String {
        let GrowthGate { to, error, .. } = self;
        format!("{} from {}: {:+.0} %", in_words(*to), listed(&self.from), error * 100.0)
    }

    /// Returns the result in a sentence.
    pub fn sentence(&self, unit: &str) -> String {
        let rate = |rate: f64| grouped(rate.round() as u64);
        format!(
            "Gate: {}. {} ({} predicted, {} {unit} measured; allowed: {:.0} %).",
            if self.passed { "passed" } else { "refused" },
            self.words(),
            rate(self.predicted_per_s),
            rate(self.measured_per_s),
            self.allowed * 100.0
        )
    }
}

/// Returns numbers as words between which stand commas, and `and` before the last.
fn listed(numbers: &[usize]) -> String {
    match numbers {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

impl Growth {
    /// Returns the findings in sentences, the gate first.
    pub fn sentences(&self) -> Vec<String> {
        let mut all: Vec<String> = self.gate.iter().map(|gate| gate.sentence(self.unit)).collect();
        let (Some(first), Some(last)) = (self.recorded.first(), self.recorded.last()) else {
            return all;
        };
        let (from, to) = (first.threads, in_words(last.threads));
        let share = self.not_explained_ns / self.operation_ns.max(f64::MIN_POSITIVE);
        let named = |part: &&GrowthPart| part.not_explained_ns > NAMED * self.operation_ns;
        let parts = self.parts.iter().filter(named).map(|part| part.sentence(from, &to));
        all.extend(parts);
        if share < -NAMED {
            all.push(format!(
                "With {to} the program does {:.0} % more than its replay, in which threads wait \
                 too long.",
                -share * 100.0
            ));
        } else if all.len() <= 1 && share.abs() <= NAMED {
            all.push(format!(
                "What grows from {from} to {to} is explained by locks, within {:.0} %.",
                NAMED * 100.0
            ));
        }
        if !self.without_rate.is_empty() {
            all.push(format!(
                "No rate without the recorder for {} threads: that between the windows of the \
                 recording is taken.",
                listed(&self.without_rate)
            ));
        }
        all
    }
}

impl GrowthPart {
    fn sentence(&self, from: usize, to: &str) -> String {
        let more = self.not_explained_ns / self.from_ns.max(1.0) * 100.0;
        let law = self.law.words();
        match &self.lock {
            None => format!(
                "outside of locks: {more:+.0} % from {from} to {to}, not explained by locks: \
                 caches, memory or waits in user space; it {law}."
            ),
            Some(lock) => {
                let at = self.sites.first().map_or_else(String::new, |site| format!(" at {site}"));
                format!(
                    "under {lock}{at}: {more:+.0} % from {from} to {to}, not explained by the \
                     transfer of the lock: data that it protects; it {law}."
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(not_explained_ns: f64) -> Growth {
        let rate = |threads, measured_per_s| RecordedRate {
            threads,
            measured_per_s,
            ..RecordedRate::default()
        };
        Growth {
            unit: "operations/s",
            recorded: vec![rate(1, 1e6), rate(2, 1.8e6), rate(4, 2.5e6)],
            law: Law::Threads,
            operation_ns: 1600.0,
            not_explained_ns,
            parts: vec![GrowthPart {
                from_ns: 900.0,
                to_ns: 1300.0,
                not_explained_ns: not_explained_ns.max(0.0),
                law: Law::Threads,
                ..GrowthPart::default()
            }],
            gate: Some(GrowthGate {
                from: vec![1, 2],
                to: 4,
                predicted_per_s: 2.35e6,
                measured_per_s: 2.5e6,
                error: -0.06,
                allowed: 0.15,
                passed: true,
            }),
            without_rate: Vec::new(),
        }
    }

    #[test]
    fn the_gate_and_what_grows_are_said() {
        assert_eq!(
            growth(342.0).sentences(),
            [
                "Gate: passed. 4 threads from 1 and 2: -6 % (2,350,000 predicted, 2,500,000 \
                 operations/s measured; allowed: 15 %).",
                "outside of locks: +38 % from 1 to 4 threads, not explained by locks: caches, \
                 memory or waits in user space; it grows with the number of running threads.",
            ]
        );
        let mut of_lock = growth(342.0);
        of_lock.parts[0].lock = Some("m".to_owned());
        of_lock.parts[0].sites = vec!["put (a.c:7)".to_owned()];
        of_lock.without_rate = vec![1, 2];
        let said = of_lock.sentences();
        assert!(
            said[1].starts_with("under m at put (a.c:7): +38 % from 1 to 4 threads"),
            "{said:?}"
        );
        assert!(said[2].starts_with("No rate without the recorder for 1 and 2 threads"));
    }

    #[test]
    fn what_is_explained_and_a_replay_that_is_too_slow_are_said() {
        let said = growth(30.0).sentences();
        assert_eq!(
            said[1..],
            ["What grows from 1 to 4 threads is explained by locks, within 5 %."]
        );
        let said = growth(-400.0).sentences();
        assert_eq!(
            said[1..],
            ["With 4 threads the program does 25 % more than its replay, in which threads \
                 wait too long."]
        );
    }
}
