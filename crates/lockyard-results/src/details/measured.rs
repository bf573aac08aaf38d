//! Details of a measured figure.

use super::native::{CallPathDetail, SyscallsDetail, TablesDetail};
use super::range::Range;
use crate::fairness::{Fairness, Waits};
use crate::histogram::Bucket;
use serde::Serialize;

/// Note of a measured row whose threads could not be pinned.
pub const NOT_PINNED: &str = "threads could not be pinned";

/// Details of a measured figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredDetail {
    /// Figure of each round, in order, in the row's unit.
    pub rounds: Vec<f64>,
    /// Probability with which the row's interval covers the median.
    pub ci_coverage: Option<f64>,
    /// Interval of the median by the bootstrap.
    pub bootstrap: Option<Range>,
    /// Ratio to the variant that the user named, or to the best of the others.
    pub ratio: Option<RatioDetail>,
    /// Operations of each thread, all rounds together.
    pub operations_of_each_thread: Vec<u64>,
    /// Number of CPUs in the placement.
    pub placement_cpus: Option<u64>,
    /// Defect of the row: [`NOT_PINNED`].
    pub note: Option<String>,
    /// Warnings: sentences, each with a remedy.
    pub warnings: Vec<String>,
    /// Fairness among threads.
    pub fairness: Option<Fairness>,
    /// Waits of the steps that take a lock or a reference.
    pub waits: Option<Waits>,
    /// Waits as lists of three: from, below, number of waits.
    pub wait_histogram_ns: Vec<Bucket>,
    /// Longest waits of many short windows.
    pub longest_wait: Option<LongestWaitDetail>,
    /// Nanoseconds of CPU time per operation.
    pub cpu_ns_per_operation: Option<f64>,
    /// Nanoseconds to read the clock. Each wait includes this time twice.
    pub clock_ns: Option<f64>,
    /// Shares of time in which threads ran.
    pub presence: Option<PresenceDetail>,
    /// Hand-overs of locks by distance.
    pub handovers: Option<HandoversDetail>,
    /// Reason why hand-overs were not recorded.
    pub handovers_not_available: Option<String>,
    /// The processor's counters.
    pub counters: Option<CountersDetail>,
    /// Reason why counters are missing.
    pub counters_not_available: Option<String>,
    /// CPU time by phase.
    pub cpu_time: Option<CpuTimeDetail>,
    /// Origin and description of a peer's lock.
    pub peer: Option<String>,
    /// Details of a row about tables.
    pub tables: Option<TablesDetail>,
    /// Details of a row about system calls.
    pub syscalls: Option<SyscallsDetail>,
    /// Details of a row about the call path of a lock.
    pub call_path: Option<CallPathDetail>,
}

impl MeasuredDetail {
    /// Returns the details of a figure that was measured once.
    pub fn once(value: f64) -> MeasuredDetail {
        MeasuredDetail { rounds: vec![value], ..MeasuredDetail::default() }
    }
}

/// Ratio of a figure to another one, round by round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RatioDetail {
    /// Variant of the other figure.
    pub to: String,
    /// Median of the ratios.
    pub value: f64,
    /// Lower end of its interval.
    pub ci_low: f64,
    /// Upper end of its interval.
    pub ci_high: f64,
    /// Interval of the median by the bootstrap.
    pub bootstrap: Option<Range>,
}

/// Longest waits of many short windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LongestWaitDetail {
    /// Number of windows.
    pub windows: u64,
    /// Median over the windows of the longest wait in each, in nanoseconds.
    pub ns: f64,
    /// Lower end of its interval.
    pub ci_low: f64,
    /// Upper end of its interval.
    pub ci_high: f64,
}

/// Shares of time in which threads ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PresenceDetail {
    /// Lower bound of the share of time in which all threads ran.
    pub all_threads_ran_least: f64,
    /// Upper bound of that share.
    pub all_threads_ran_most: f64,
    /// Share of time in which a thread was ready and did not run.
    pub ready_and_not_running: Option<f64>,
    /// Number of times threads were pre-empted.
    pub preemptions: Option<u64>,
}

/// Hand-overs of locks: number, and shares by distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HandoversDetail {
    /// Number of acquisitions that followed another one.
    pub count: u64,
    /// Share that went to the thread that held the lock before.
    pub same_thread: Option<f64>,
    /// Share that stayed on the CPU of the previous holder.
    pub same_cpu: Option<f64>,
    /// Share that went to another hardware thread of its core.
    pub same_core: Option<f64>,
    /// Share that went to another core of its complex.
    pub same_complex: Option<f64>,
    /// Share that went to another complex of its socket.
    pub same_socket: Option<f64>,
    /// Share that went to another socket.
    pub remote: Option<f64>,
    /// Loss of throughput by recording them, as a share.
    pub recording: Option<f64>,
}

/// The processor's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CountersDetail {
    /// Unhalted cycles.
    pub cycles_per_operation: Option<f64>,
    /// Retired instructions.
    pub instructions_per_operation: Option<f64>,
    /// Instructions over cycles.
    pub instructions_per_cycle: Option<f64>,
    /// References to the last-level cache.
    pub cache_references_per_operation: Option<f64>,
    /// References that missed the last-level cache.
    pub cache_misses_per_operation: Option<f64>,
    /// Retired branches.
    pub branches_per_operation: Option<f64>,
    /// Mispredicted branches.
    pub branch_misses_per_operation: Option<f64>,
    /// True if counters counted only for some of the time, and are extrapolated.
    pub extrapolated: bool,
}

/// CPU time by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuTimeDetail {
    /// Shares of the CPU time.
    pub phases: Vec<PhaseShare>,
    /// Seconds of CPU time.
    pub seconds: f64,
    /// Number of samples.
    pub samples: u64,
    /// Number of independent samples with the same weight.
    pub samples_effective: f64,
    /// CPU time of the sampler over all CPU time that it saw.
    pub sampler_share: f64,
    /// CPU time per operation in this run, over that of runs without attribution.
    pub cost_ratio: Option<f64>,
}

/// Share of the CPU time in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhaseShare {
    /// Name of the phase.
    pub phase: &'static str,
    /// Share of the CPU time.
    pub share: f64,
    /// Half the width of its interval.
    pub half_width: f64,
}
