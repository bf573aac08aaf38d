//! An open load: requests come from outside at a rate, in place of the recorded sleeps.
//!
//! A thread of the recording that sleeps outside of locks waits for input, and what it does until
//! its next sleep is a request. A recording of a closed loop has the sleeps of its own load. Here
//! all threads of a class take requests from one queue of the class. The classes share the rate in
//! proportion to their recorded sleeps.

use crate::model::{ClassModel, Model, VisitModel};
use lockyard_scenarios::{Step, Variant};

/// Name of the variant whose requests come from outside.
pub const OPEN: &str = "open";

/// Share of the threads' time that must be sleep for input.
pub const LEAST_SLEPT: f64 = 0.5;

/// Rates of the classes' requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Requests a second of each class; empty if threads sleep as recorded.
    per_second: Vec<f64>,
}

impl Requests {
    /// Returns the share of each class in a rate of all.
    pub(super) fn of(model: &Model, rate: Option<f64>) -> Requests {
        let Some(rate) = rate else { return Requests::default() };
        let sleeps: Vec<usize> = model.classes.iter().map(sleeps).collect();
        let all: usize = sleeps.iter().sum();
        let share = |of: usize| rate * of as f64 / all.max(1) as f64;
        Requests { per_second: sleeps.into_iter().map(share).collect() }
    }

    /// Returns the mean time between two requests of a class, in nanoseconds; `None` if it has
    /// none.
    pub(super) fn interval(&self, class: usize) -> Option<f64> {
        let rate = self.per_second.get(class).filter(|rate| **rate > 0.0)?;
        Some(1e9 / rate)
    }
}

/// Returns the number of recorded sleeps of a class outside of locks.
fn sleeps(class: &ClassModel) -> usize {
    let of_visit = |visit: &VisitModel| {
        let first = visit.segments.iter().filter_map(|segments| segments.first());
        first.filter(|segment| segment.slept > 0.0).count()
    };
    class.visits.iter().map(of_visit).sum()
}

/// Returns the requests a second that come for this many threads. A class of which no thread is
/// among them has none.
pub fn offered(variant: &Variant, threads: usize) -> f64 {
    let Some(Step::Walk { walk, .. }) = variant.steps.first() else { return 0.0 };
    let mut classes: Vec<usize> =
        walk.tasks.iter().copied().take(threads.min(walk.tasks.len())).collect();
    classes.sort_unstable();
    classes.dedup();
    let of_class = |class: &usize| {
        let steps = walk.classes[*class].iter().flat_map(|visit| &visit.steps);
        let mut intervals = steps.filter_map(|step| match step {
            Step::Arrival { interval, .. } => Some(*interval),
            _ => None,
        });
        intervals.next().map_or(0.0, |interval| 1e9 / interval)
    };
    classes.iter().map(of_class).sum()
}

/// Returns the reason why requests cannot come from outside.
pub(super) fn refusal(program: &str, model: &Model) -> Option<String> {
    let slept = model.today.slept;
    (slept < LEAST_SLEPT).then(|| {
        format!(
            "the threads of {} sleep for input for {} of their time; allowed: a recording in \
             which they do for at least {:.0} %",
            lockyard_support::printable(program),
            lockyard_support::share(slept),
            LEAST_SLEPT * 100.0
        )
    })
}

/// Returns the title of the variant.
pub(super) fn title(rate: f64) -> String {
    format!("as recorded, and {rate:.0} requests a second come from outside")
}
