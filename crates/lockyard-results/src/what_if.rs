//! Parts of the answer on a recorded program: changes and what they give, its throughput as it is,
//! and threads that wait for others.

use crate::details::Range;
use serde::Serialize;

/// A change of a recorded program on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIf {
    /// Machine.
    pub machine: String,
    /// Number of threads.
    pub threads: usize,
    /// Variant with the change.
    pub variant: String,
    /// Change in words.
    pub change: String,
    /// Locks that are changed; empty if all are.
    pub locks: Vec<String>,
    /// Operations a second with the change, if they were predicted.
    pub operations_per_s: Option<f64>,
    /// Gain, relative to the program as it is.
    pub gain_share: Option<f64>,
    /// Interval of the gain.
    pub gain_interval: Option<Range>,
    /// True if this is no change that a program can have, but the most that any can give.
    pub is_ceiling: bool,
    /// Reason for which there is no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Throughput of the program as it is, over threads, on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scaling {
    /// Machine.
    pub machine: String,
    /// Estimated number of threads from which more give little; `None` if the most still gain.
    pub saturates_at_threads: Option<Range>,
    /// Number of threads with the most operations a second.
    pub best_threads: usize,
    /// Operations a second with these.
    pub best_operations_per_s: f64,
    /// Largest number of threads.
    pub most_threads: usize,
    /// Operations a second with these.
    pub most_operations_per_s: f64,
}

/// Threads that wait for others: for a condition, a semaphore, or at a barrier.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitsFor {
    /// Mutex of the condition; empty for a semaphore or a barrier.
    pub lock: String,
    /// The condition, semaphore or barrier, if it is known.
    pub meeting: Option<String>,
    /// Kind of what they wait for: `condition`, `semaphore` or `barrier`.
    pub kind: &'static str,
    /// Signals a second, or units given to a semaphore, if they are recorded.
    pub signals_per_s: Option<f64>,
    /// Call site that waits.
    pub site: String,
    /// Mean number of threads in these waits.
    pub threads: f64,
    /// Threads that take locks.
    pub of_threads: usize,
    /// Waits a second.
    pub waits_per_s: f64,
    /// Mean wait in nanoseconds.
    pub waited_ns_each_time: f64,
    /// Call sites of the signals that end the waits, or, without signals, of the sections of the
    /// mutex after which they end, the most frequent first.
    pub ended_by: Vec<EndedBy>,
    /// Share of the waits of which neither is recorded.
    pub share_unknown: f64,
}

/// Signals by which waits end, or sections of a mutex after which waits for its condition do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EndedBy {
    /// Call site at which the sections begin.
    pub site: String,
    /// Share of the waits.
    pub share: f64,
}

/// A change that was tried here, beside what was predicted for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proof {
    /// Change in words.
    pub change: String,
    /// Number of rounds, each with one run of both.
    pub rounds: usize,
    /// True for rates that the program printed; false for the time of its runs.
    pub by_rate: bool,
    /// Predicted gain, if one was predicted.
    pub predicted_share: Option<f64>,
    /// Measured gain: the median of the rounds.
    pub measured_share: f64,
    /// Least gain of a round.
    pub measured_low_share: f64,
    /// Largest gain of a round.
    pub measured_high_share: f64,
}
