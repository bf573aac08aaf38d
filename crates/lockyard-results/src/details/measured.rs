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
    /// Figures of the rounds, in order, in the row's unit.
    pub rounds: Vec<f64>,
    /// Probability that the row's interval covers the median.
    pub ci_coverage: Option<f64>,
    /// Bootstrap interval of the median.
    pub bootstrap: Option<Range>,
    /// Ratio to the variant that the user named, or to the best other variant.
    pub ratio: Option<RatioDetail>,
    /// Operations of each thread, summed over all rounds.
    pub operations_of_each_thread: Vec<u64>,
    /// Number of CPUs in the placement.
    pub placement_cpus: Option<u64>,
    /// Known defect of the row: [`NOT_PINNED`].
    pub note: Option<String>,
    /// Warnings: sentences, each of which names a remedy.
    pub warnings: Vec<String>,
    /// Fairness among threads.
    pub fairness: Option<Fairness>,
    /// Waits of the steps that take a lock, or take or drop a reference.
    pub waits: Option<Waits>,
    /// Buckets of waits, each a list of three numbers: from, below, number of waits.
    pub wait_histogram_ns: Vec<Bucket>,
    /// Longest wait in each of many short windows.
    pub longest_wait: Option<LongestWaitDetail>,
    /// Nanoseconds of CPU time per operation.
    pub cpu_ns_per_operation: Option<f64>,
    /// Number of times that a thread slept (voluntary context switches) per operation.
    pub sleeps: Option<f64>,
    /// Failed compare-exchanges of the script's steps per operation.
    pub failed_compare_exchanges_per_operation: Option<f64>,
    /// Nanoseconds for one clock read. Each wait includes two reads.
    pub clock_ns: Option<f64>,
    /// Shares of time that the threads ran.
    pub presence: Option<PresenceDetail>,
    /// Hand-overs of locks by distance.
    pub handovers: Option<HandoversDetail>,
    /// Reason why hand-overs were not recorded.
    pub handovers_not_available: Option<String>,
    /// Values of the hardware performance counters.
    pub counters: Option<CountersDetail>,
    /// Reason why counter values are missing.
    pub counters_not_available: Option<String>,
    /// CPU time by phase.
    pub cpu_time: Option<CpuTimeDetail>,
    /// Project that a peer's lock comes from, and its description.
    pub peer: Option<String>,
    /// Details of a row about tables.
    pub tables: Option<TablesDetail>,
    /// Details of a row about system calls.
    pub syscalls: Option<SyscallsDetail>,
    /// Details of a row about the call path of a lock.
    pub call_path: Option<CallPathDetail>,
}

impl MeasuredDetail {
    /// Returns the details of a figure with a single round.
    pub fn once(value: f64) -> MeasuredDetail {
        MeasuredDetail { rounds: vec![value], ..MeasuredDetail::default() }
    }
}

/// Ratio of a figure to another one, taken round by round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RatioDetail {
    /// Variant of the other figure.
    pub to: String,
    /// Median of the ratios.
    pub value: f64,
    /// Lower end of the interval of the median.
    pub ci_low: f64,
    /// Upper end of the interval of the median.
    pub ci_high: f64,
    /// Bootstrap interval of the median.
    pub bootstrap: Option<Range>,
}

/// Longest waits in many short windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LongestWaitDetail {
    /// Number of windows.
    pub windows: u64,
    /// Median over the windows of the longest wait, in nanoseconds.
    pub ns: f64,
    /// Lower end of the interval of the median.
    pub ci_low: f64,
    /// Upper end of the interval of the median.
    pub ci_high: f64,
}

/// Shares of time that threads ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PresenceDetail {
    /// Lower bound of the share of time that all threads ran.
    pub all_threads_ran_least: f64,
    /// Upper bound of that share.
    pub all_threads_ran_most: f64,
    /// Share of time that a thread was ready but did not run.
    pub ready_and_not_running: Option<f64>,
    /// Number of pre-emptions of threads.
    pub preemptions: Option<u64>,
}

/// Hand-overs of locks: number, and shares by distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HandoversDetail {
    /// Number of acquisitions that had a predecessor.
    pub count: u64,
    /// Share that went to the thread that had held the lock before.
    pub same_thread: Option<f64>,
    /// Share that stayed on the CPU of the previous holder.
    pub same_cpu: Option<f64>,
    /// Share that went to another hardware thread of the previous holder's core.
    pub same_core: Option<f64>,
    /// Share that went to another core of the complex.
    pub same_complex: Option<f64>,
    /// Share that went to another complex of the socket.
    pub same_socket: Option<f64>,
    /// Share that went to another socket.
    pub remote: Option<f64>,
    /// Throughput lost to the recording, as a share.
    pub recording: Option<f64>,
}

/// Values of the hardware performance counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CountersDetail {
    /// Unhalted cycles.
    pub cycles_per_operation: Option<f64>,
    /// Retired instructions.
    pub instructions_per_operation: Option<f64>,
    /// Instructions divided by cycles.
    pub instructions_per_cycle: Option<f64>,
    /// References to the last-level cache.
    pub cache_references_per_operation: Option<f64>,
    /// References that missed the last-level cache.
    pub cache_misses_per_operation: Option<f64>,
    /// Retired branches.
    pub branches_per_operation: Option<f64>,
    /// Mispredicted branches.
    pub branch_misses_per_operation: Option<f64>,
    /// True if counters were multiplexed, so their values are extrapolated.
    pub extrapolated: bool,
}

/// CPU time by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuTimeDetail {
    /// Share of each phase.
    pub phases: Vec<PhaseShare>,
    /// Seconds of CPU time.
    pub seconds: f64,
    /// Number of samples.
    pub samples: u64,
    /// Effective number of samples: the number of independent, equally weighted samples with the
    /// same precision.
    pub samples_effective: f64,
    /// CPU time of the sampler divided by all CPU time that it saw.
    pub sampler_share: f64,
    /// CPU time per operation in this run, divided by that of runs without attribution.
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
