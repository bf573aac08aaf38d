//! Results of a cell's runs: the figure, and what is known beside it.

use super::starts::Orders;
use crate::explain::Costs;
use lockyard_results::fairness::{Fairness, Waits};
use lockyard_results::listing::Listing;
use lockyard_results::outcome::{CpuTime, Outcome, SampleFigures};
use lockyard_scenarios::Metric;

/// Result of the runs of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Operations a second, all threads together (of one guest, where guests share CPUs): the mean
    /// over the seeds.
    pub throughput: f64,
    /// The lowest and highest throughput of a seed; of a mean over a long run also of those of its
    /// other part.
    pub range: (f64, f64),
    /// The throughput of each seed; of a mean over a long run those of its longer part.
    pub runs: Vec<f64>,
    /// CPU time of all threads (of one guest) by region. Each has its hardware thread all the time,
    /// but where guests share CPUs, and is idle in steps of that region only.
    pub cpu: CpuTime,
    /// Operations of the slowest and of the fastest thread, over all seeds.
    pub per_thread: (u64, u64),
    /// Failed compare-exchanges per successful one.
    pub failed_per_success: f64,
    /// Read-modify-writes per ownership of a line.
    pub rmws_per_ownership: f64,
    /// Transfers from core to core of one complex, per operation.
    pub local_transfers: f64,
    /// Grants of a line to another complex, per operation.
    pub remote_transfers: f64,
    /// The throughput while all tasks go on; `None` if the throughput is that.
    pub while_all_go_on: Option<f64>,
    /// What the runs, each of which began in another order, say of that. `None` of one task, of one
    /// run, and of tasks whose places differ from run to run.
    pub orders: Option<Orders>,
    /// The throughput if threads of a core share nothing of an ownership; `None` if no core has
    /// two.
    pub siblings_apart: Option<f64>,
    /// How alike threads were served, in each run; the runs are rounds.
    pub fairness: Fairness,
    /// How long steps waited that take a lock, or take or drop a reference.
    pub waits: Option<Waits>,
    /// Where the cycles went.
    pub costs: Costs,
    /// The same, as a profiler's listing.
    pub listing: Listing,
    /// Lockref operations that gave up and took the lock, in all windows.
    pub locked: u64,
    /// How many are to be expected in a second of the machine's time, from how many
    /// compare-exchanges operations lose in a row; that is hardly ever often enough to be seen in a
    /// window.
    pub fallbacks_per_second: f64,
    /// Where that is with 95 % confidence, by how many were seen, or else by how the runs differ;
    /// `None` of too few runs.
    pub fallbacks_interval: Option<(f64, f64)>,
    /// Operations a second of the runs that had none; `None` if all had some.
    pub without_fallbacks: Option<f64>,
    /// What such a fallback makes of a run so long that one is to be expected; `None` if it is not
    /// so long.
    pub long: Option<LongRun>,
    /// The samples of runs that have them; empty if they have none.
    pub samples: Vec<SampleFigures>,
}

impl Prediction {
    /// Returns what the runs came to in a metric, as figures are made of it.
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

/// Why a cell could not be simulated.
#[derive(Clone, Debug)]
pub struct SimulationError(pub(super) String);

impl SimulationError {
    /// Says what went wrong.
    pub fn new(what: String) -> Self {
        SimulationError(what)
    }
}

impl std::fmt::Display for SimulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SimulationError {}

/// What a fallback makes of a long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRun {
    /// How long it is.
    pub seconds: f64,
    /// Fallbacks to be expected in a second, until the first one.
    pub fallbacks_per_second: f64,
    /// Operations a second until then.
    pub until: f64,
    /// Operations a second from then on.
    pub from_then: f64,
    /// The share of the run until then, on the average.
    pub share: f64,
    /// Operations a second, the mean over the run, if there are as many fallbacks a second as the
    /// greatest rate and the least rate of its interval say.
    pub by_rate: Option<(f64, f64)>,
}

impl LongRun {
    /// Of a run of so many seconds with so many fallbacks a second: a first one comes at an
    /// exponentially distributed time.
    pub(super) fn new(
        seconds: f64,
        fallbacks_per_second: f64,
        until: f64,
        from_then: f64,
    ) -> LongRun {
        let expected = seconds * fallbacks_per_second;
        let share = if expected > 0.0 { -(-expected).exp_m1() / expected } else { 1.0 };
        LongRun { seconds, fallbacks_per_second, until, from_then, share, by_rate: None }
    }

    /// The same run with the interval of its rate.
    pub(super) fn with_interval(self, rates: Option<(f64, f64)>) -> LongRun {
        let mean = |rate| LongRun::new(self.seconds, rate, self.until, self.from_then).mean();
        LongRun { by_rate: rates.map(|(least, greatest)| (mean(greatest), mean(least))), ..self }
    }

    /// Operations a second, the mean over the run.
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
        // The more often, the slower.
        let between = long(0.2).with_interval(Some((1e-6, 1e6))).by_rate.expect("it has one");
        assert!((between.0 - 2.0).abs() < 1e-4 && (between.1 - 8.0).abs() < 1e-4, "{between:?}");
        // One is to be expected: 63 % of a run, on the average, is before it.
        assert!((long(0.2).share - 0.632).abs() < 0.001);
    }
}
