//! Details of a simulated figure.

use super::costs::CostsDetail;
use super::range::Range;
use crate::fairness::{Fairness, Waits};
use serde::Serialize;

/// Details of a simulated figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SimulatedDetail {
    /// Hash of the numbers that describe the simulated machine.
    pub machine_hash: Option<String>,
    /// Number of runs behind the figure. Their seeds are 1, 2, and so on.
    pub seeds: Option<u64>,
    /// Number of simulated tasks, if the table states another number or none.
    pub tasks: Option<u64>,
    /// Length of a sample in simulated seconds.
    pub sample_seconds: Option<f64>,
    /// Operations per second.
    pub throughput: Option<f64>,
    /// Lowest and highest figure of any run, in the row's unit.
    pub range: Option<Range>,
    /// Interval of the figure, in the row's unit. It covers the differences between seeds and the
    /// effect of inputs.
    pub interval: Option<Range>,
    /// Errors of predictions for published cells of the same kind.
    pub evidence: Option<EvidenceDetail>,
    /// Failed compare-exchanges per successful one.
    pub failed_compare_exchanges_per_success: Option<f64>,
    /// Failed compare-exchanges of the script's steps per operation.
    pub failed_compare_exchanges_per_operation: Option<f64>,
    /// Read-modify-writes per ownership of a line by a core.
    pub rmws_per_ownership: Option<f64>,
    /// Transfers of lines within a socket, per operation.
    pub local_transfers_per_operation: Option<f64>,
    /// Transfers of lines between sockets, per operation.
    pub remote_transfers_per_operation: Option<f64>,
    /// Sleeps of threads in the kernel (voluntary context switches), per operation.
    pub sleeps: Option<f64>,
    /// Operations that exhausted their retries and took the lock.
    pub lock_fallbacks: Option<FallbacksDetail>,
    /// Operations of the slowest and of the fastest thread.
    pub operations: Option<ThreadOperations>,
    /// Fairness among threads.
    pub fairness: Option<Fairness>,
    /// Waits of the steps that take a lock, or take or drop a reference.
    pub waits: Option<Waits>,
    /// Requests that come from outside at random times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestsDetail>,
    /// Cycles by cause.
    pub costs: Option<CostsDetail>,
    /// A run of several seconds, split at the first fallback, because the throughput changes there.
    pub long_run: Option<LongRunDetail>,
    /// Figure while all tasks still run, in the row's unit. Set only if each task is timed until it
    /// is done.
    pub while_all_go_on: Option<f64>,
    /// Agreement between runs that start in different orders.
    pub start_orders: Option<StartOrdersDetail>,
    /// Figure if the siblings of a core share nothing during an ownership, in the row's unit.
    pub siblings_share_nothing: Option<f64>,
    /// Response of the figure to changed inputs.
    pub sensitivity: Option<SensitivityDetail>,
    /// Metric of another row that shows the same result in another unit.
    pub repeats: Option<String>,
    /// Reason why the published figure is doubtful.
    pub doubtful: Option<String>,
    /// Notes for the reader: sentences without a full stop.
    pub notes: Vec<String>,
}

/// Errors of predictions on published tables that were not used to fit the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EvidenceDetail {
    /// Kind of the cells.
    pub kind: String,
    /// Number of published cells of this kind.
    pub cells: u64,
    /// Median of the absolute errors; `None` without a cell.
    pub median_abs_error: Option<f64>,
    /// 90th percentile of the absolute errors.
    pub p90_abs_error: Option<f64>,
}

impl SimulatedDetail {
    /// Removes details that are expressed in the script's own metric. The row of that metric has
    /// them, if there is such a row.
    pub fn remove_terms_of_the_metric(&mut self) {
        (self.range, self.siblings_share_nothing, self.while_all_go_on) = (None, None, None);
        self.interval = None;
        if let Some(long) = &mut self.long_run {
            long.range_by_rate = None;
        }
    }
}

/// Operations that exhausted their retries and took the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FallbacksDetail {
    /// Number of fallbacks in all runs.
    pub count: u64,
    /// Expected number per second.
    pub per_second: f64,
    /// Range of the expected number per second, at 95 % confidence.
    pub per_second_range: Option<Range>,
}

/// Requests that come from outside at random times, however many threads wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestsDetail {
    /// Requests that threads began, per second.
    pub begun_per_s: f64,
    /// Share of the threads' time without waits for a request.
    pub share_busy: f64,
    /// Waits of the requests until a thread begins them.
    pub waits: Waits,
}

/// Operations of the slowest and of the fastest thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadOperations {
    /// Operations of the slowest thread.
    pub slowest_thread: u64,
    /// Operations of the fastest thread.
    pub fastest_thread: u64,
}

/// A run of several seconds, split at the first fallback, because the throughput changes there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LongRunDetail {
    /// Length of the run in seconds.
    pub seconds: f64,
    /// Figure before the first fallback.
    pub until_a_lock_fallback: f64,
    /// Figure after the first fallback.
    pub from_a_lock_fallback_on: f64,
    /// Mean share of the run before the first fallback.
    pub share_until_a_lock_fallback: f64,
    /// Range of the figure, computed from the range of the fallback rate.
    pub range_by_rate: Option<Range>,
}

/// Agreement between runs that start in different orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StartOrdersDetail {
    /// Highest figure of any run divided by the lowest, minus 1.
    pub spread: f64,
    /// True if the runs agree; `None` if this was not judged.
    pub agree: Option<bool>,
}

/// Response of a figure to changed inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SensitivityDetail {
    /// Range if every input may be off independently.
    pub range: Range,
    /// Range if only the worst input is off.
    pub single: Range,
    /// Inputs without effect on the figure.
    pub unchanged: Vec<String>,
    /// Inputs that can only be changed in coarse steps.
    pub coarse: Vec<String>,
    /// Input with the greatest effect on the figure.
    pub most_sensitive_to: Option<String>,
    /// Effect of each input, greatest first.
    pub effects: Vec<EffectDetail>,
}

/// Effect of one input on a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectDetail {
    /// Name of the input.
    pub input: String,
    /// Change of the figure if the input is reduced.
    pub less: f64,
    /// Change of the figure if the input is increased.
    pub more: f64,
}
