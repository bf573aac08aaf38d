//! Details of a simulated figure.

use super::costs::CostsDetail;
use super::range::Range;
use crate::fairness::{Fairness, Waits};
use serde::Serialize;

/// Details of a simulated figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SimulatedDetail {
    /// Hash of the simulated machine's numbers.
    pub machine_hash: Option<String>,
    /// Number of runs behind the figure; their seeds are 1, 2, and so on.
    pub seeds: Option<u64>,
    /// Number of simulated tasks, if the table has another number or none.
    pub tasks: Option<u64>,
    /// Simulated seconds of a sample.
    pub sample_seconds: Option<f64>,
    /// Operations per second.
    pub throughput: Option<f64>,
    /// Least and greatest figure of a run, in the row's unit.
    pub range: Option<Range>,
    /// Interval of the figure, in the row's unit: differences between seeds and the effect of inputs.
    pub interval: Option<Range>,
    /// Failed compare-exchanges for each that succeeded.
    pub failed_compare_exchanges_per_success: Option<f64>,
    /// Read-modify-writes for each time a core became a line's owner.
    pub rmws_per_ownership: Option<f64>,
    /// Transfers of lines within a socket, per operation.
    pub local_transfers_per_operation: Option<f64>,
    /// Transfers of lines between sockets, per operation.
    pub remote_transfers_per_operation: Option<f64>,
    /// Operations that exhausted their retries and took the lock.
    pub lock_fallbacks: Option<FallbacksDetail>,
    /// Operations of single threads.
    pub operations: Option<ThreadOperations>,
    /// Fairness among threads.
    pub fairness: Option<Fairness>,
    /// Waits of the steps that take a lock or a reference.
    pub waits: Option<Waits>,
    /// Cycles by cause.
    pub costs: Option<CostsDetail>,
    /// A run of several seconds, split at the first fallback, which changes its throughput.
    pub long_run: Option<LongRunDetail>,
    /// Figure while all tasks run, in the row's unit, if tasks are timed until each is done.
    pub while_all_go_on: Option<f64>,
    /// Agreement of the runs, which start in different orders.
    pub start_orders: Option<StartOrdersDetail>,
    /// Figure if the threads of a core share nothing of an ownership, in the row's unit.
    pub siblings_share_nothing: Option<f64>,
    /// Response of the figure to changed inputs.
    pub sensitivity: Option<SensitivityDetail>,
    /// Metric of the row that this row repeats in other terms.
    pub repeats: Option<String>,
    /// Reason why the published figure is doubtful.
    pub doubtful: Option<String>,
    /// Sentences for people, without a full stop.
    pub notes: Vec<String>,
}

impl SimulatedDetail {
    /// Removes the details in the terms of a script's own metric. They stand in the row of that
    /// metric, if there is one.
    pub fn remove_terms_of_the_metric(&mut self) {
        (self.range, self.siblings_share_nothing, self.while_all_go_on) = (None, None, None);
        if let Some(long) = &mut self.long_run {
            long.range_by_rate = None;
        }
    }
}

/// Operations that exhausted their retries and took the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FallbacksDetail {
    /// Number of them in all runs.
    pub count: u64,
    /// Expected number per second.
    pub per_second: f64,
    /// Range of the expected number per second with 95 % confidence.
    pub per_second_range: Option<Range>,
}

/// Operations of the slowest and of the fastest thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadOperations {
    /// Operations of the slowest thread.
    pub slowest_thread: u64,
    /// Operations of the fastest thread.
    pub fastest_thread: u64,
}

/// A run of several seconds, split at the first fallback, which changes its throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LongRunDetail {
    /// Length of the run in seconds.
    pub seconds: f64,
    /// Figure until the first fallback.
    pub until_a_lock_fallback: f64,
    /// Figure from the first fallback on.
    pub from_a_lock_fallback_on: f64,
    /// Mean share of the run before the first fallback.
    pub share_until_a_lock_fallback: f64,
    /// Range of the figure over the range of the rate of fallbacks.
    pub range_by_rate: Option<Range>,
}

/// Agreement of runs that start in different orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StartOrdersDetail {
    /// Highest figure of a run over the lowest, minus 1.
    pub spread: f64,
    /// True if the runs agree; `None` if it was not judged.
    pub agree: Option<bool>,
}

/// Response of a figure to changed inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SensitivityDetail {
    /// Range if every input may be wrong on its own.
    pub range: Range,
    /// Range if the one worst input is wrong.
    pub single: Range,
    /// Inputs without effect on the figure.
    pub unchanged: Vec<String>,
    /// Inputs that can only be changed in coarse steps.
    pub coarse: Vec<String>,
    /// Input to which the figure responds most.
    pub most_sensitive_to: Option<String>,
    /// Effect of each input, the greatest first.
    pub effects: Vec<EffectDetail>,
}

/// Effect of one input on a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectDetail {
    /// Name of the input.
    pub input: String,
    /// Change of the figure with less of the input.
    pub less: f64,
    /// Change of the figure with more of the input.
    pub more: f64,
}
