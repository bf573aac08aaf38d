//! Results of a cell's runs: the figure, and its details.

use super::starts::Orders;
use crate::explain::Costs;
use lockyard_results::details::RequestsDetail;
use lockyard_results::fairness::{Fairness, Waits};
use lockyard_results::listing::Listing;
use lockyard_results::outcome::{CpuTime, Outcome, SampleFigures};
use lockyard_scenarios::Metric;

/// Result of the runs of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Operations per second of all threads (of one guest, if guests share CPUs): the mean over the
    /// seeds.
    pub throughput: f64,
    /// Lowest and highest throughput of a seed. For a mean over a long run, the range over both of
    /// its parts.
    pub range: (f64, f64),
    /// Throughput of each seed. For a mean over a long run, that of its longer part.
    pub runs: Vec<f64>,
    /// CPU time of all threads (of one guest) by region. A thread uses its hardware thread all the
    /// time, except in steps of the region `idle`. If guests share CPUs, a thread also waits for a
    /// CPU.
    pub cpu: CpuTime,
    /// Operations of the slowest and of the fastest thread, over all seeds.
    pub per_thread: (u64, u64),
    /// Failed compare-exchanges per successful one.
    pub failed_per_success: f64,
    /// Read-modify-writes per ownership of a line.
    pub rmws_per_ownership: f64,
    /// Transfers between cores of one complex, per operation.
    pub local_transfers: f64,
    /// Grants of a line to another complex, per operation.
    pub remote_transfers: f64,
    /// Sleeps of threads in the kernel, per operation.
    pub sleeps: f64,
    /// Throughput while all tasks run; `None` if that is what `throughput` says.
    pub while_all_go_on: Option<f64>,
    /// Agreement of the runs, which began in different orders. `None` with one task or one run, or
    /// if tasks have different places in each run.
    pub orders: Option<Orders>,
    /// Throughput if the threads of a core share nothing of an ownership; `None` if no core has
    /// two.
    pub siblings_apart: Option<f64>,
    /// Fairness among threads. Each run is a round.
    pub fairness: Fairness,
    /// Waits in the steps that take a lock, or take or drop a reference.
    pub waits: Option<Waits>,
    /// Requests from outside, in an open load.
    pub requests: Option<RequestsDetail>,
    /// Cycles by phase, activity, line and lock.
    pub costs: Costs,
    /// CPU time as a profiler's listing.
    pub listing: Listing,
    /// Number of lockref operations that exhausted their retries and took the lock, in all windows.
    pub locked: u64,
    /// Expected number of these fallbacks per second of the machine's time. Usually no window
    /// contains one. Then the number is extrapolated from the compare-exchanges lost in a row.
    pub fallbacks_per_second: f64,
    /// 95 % confidence interval of that number. It comes from the fallbacks that occurred, or else
    /// from the differences between runs. `None` with too few runs.
    pub fallbacks_interval: Option<(f64, f64)>,
    /// Operations per second of the runs without fallbacks; `None` if all runs had some.
    pub without_fallbacks: Option<f64>,
    /// Effect of a fallback, for a run that is long enough to expect one; `None` for a shorter run.
    pub long: Option<LongRun>,
    /// Samples of a run. Empty if the plan has none.
    pub samples: Vec<SampleFigures>,
}

impl Prediction {
    /// Returns the outcome of the runs in a metric. Figures are made from it.
    pub fn outcome(&self, metric: Metric, tasks: usize) -> Outcome<'_> {
        Outcome {
            metric,
            tasks,
            throughput: self.throughput,
            runs: &self.runs,
            cpu: Some(self.cpu),
            listing: Some(&self.listing),
            samples: &self.samples,
        }
    }
}

/// Reason why a cell could not be simulated.
#[derive(Clone, Debug)]
pub enum SimulationError {
    /// A run failed.
    Run(String),
    /// No operation finished in the longest time that is simulated: there is no figure.
    Stalled(String),
    /// Tasks wait for each other for ever: there is no figure.
    Stuck {
        /// Description for readers.
        what: String,
        /// Meetings where they wait, as places in the walk's list.
        meetings: Vec<usize>,
    },
    /// A step did what no script may do. The text begins with the step's place in the script.
    Script(String),
}

impl SimulationError {
    /// Describes a run that failed.
    pub fn new(what: String) -> Self {
        SimulationError::Run(what)
    }
}

impl std::fmt::Display for SimulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SimulationError::Run(what)
            | SimulationError::Stalled(what)
            | SimulationError::Stuck { what, .. }
            | SimulationError::Script(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for SimulationError {}

/// Effect of a fallback on a long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRun {
    /// Length of the run in seconds.
    pub seconds: f64,
    /// Expected number of fallbacks per second, until the first one.
    pub fallbacks_per_second: f64,
    /// Operations per second before the first fallback.
    pub until: f64,
    /// Operations per second after the first fallback.
    pub from_then: f64,
    /// Share of the run before the first fallback, on average.
    pub share: f64,
    /// Mean operations per second over the run, at the greatest and the least rate of fallbacks in
    /// the rate's interval.
    pub by_rate: Option<(f64, f64)>,
}

impl LongRun {
    /// Returns the effect on a run of `seconds` with this number of fallbacks per second. The first
    /// one comes after an exponentially distributed time.
    pub(super) fn new(
        seconds: f64,
        fallbacks_per_second: f64,
        until: f64,
        from_then: f64,
    ) -> LongRun {
        let expected = seconds * fallbacks_per_second;
        let share = if expected > 0.0 { -libm::expm1(-expected) / expected } else { 1.0 };
        LongRun { seconds, fallbacks_per_second, until, from_then, share, by_rate: None }
    }

    /// Adds the effect of the rate's interval.
    pub(super) fn with_interval(self, rates: Option<(f64, f64)>) -> LongRun {
        let mean = |rate| LongRun::new(self.seconds, rate, self.until, self.from_then).mean();
        LongRun { by_rate: rates.map(|(least, greatest)| (mean(greatest), mean(least))), ..self }
    }

    /// Mean operations per second over the run.
    pub(super) fn mean(&self) -> f64 {
        self.share * self.until + (1.0 - self.share) * self.from_then
    }
}

/// Returns the lowest and the highest value.
pub fn range(values: &[f64]) -> (f64, f64) {
    (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(0.0, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_what_it_is_until_the_first_fallback_and_then_the_other() {
        let long = |rate| LongRun::new(5.0, rate, 8.0, 2.0);
        assert_eq!(long(0.0).mean(), 8.0);
        assert!((long(1e-6).mean() - 8.0).abs() < 1e-4);
        assert!((long(1e6).mean() - 2.0).abs() < 1e-4);
        // A higher rate makes the run slower.
        let between = long(0.2).with_interval(Some((1e-6, 1e6))).by_rate.expect("it has one");
        assert!((between.0 - 2.0).abs() < 1e-4 && (between.1 - 8.0).abs() < 1e-4, "{between:?}");
        // With one expected fallback, on average 63 % of a run are before it.
        assert!((long(0.2).share - 0.632).abs() < 0.001);
    }
}
