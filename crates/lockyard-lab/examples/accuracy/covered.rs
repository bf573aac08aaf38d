//! A figure with its interval, and the published or measured figure: whether it is inside, and how
//! much wider the interval would have to be.
//!
//! The cells of training tables are not cells of a script, so their intervals are made here, from
//! the parts that `predict` uses (`crates/lockyard-predict/src/interval.rs`): the differences
//! between seeds; clock, latencies and local work that are 20 % less and more; the numbers that one
//! host decides; and the figure if siblings share nothing of an ownership.

use lockyard_predict::interval::varied::{self, Tasks};
use lockyard_predict::interval::{self, CHANGE, Spread};
use lockyard_predict::simulate;
use lockyard_results::statistics;
use lockyard_sim::Machine;

/// Seeds of the runs of an interval.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// A figure, its interval, and the published figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    pub(crate) figure: f64,
    pub(crate) ends: (f64, f64),
    /// The interval from only three inputs, where it is known.
    pub(crate) narrower: Option<(f64, f64)>,
    pub(crate) published: f64,
}

impl Covered {
    /// Returns `true` if the published figure is within these ends.
    pub(crate) fn is_within(self, (low, high): (f64, f64)) -> bool {
        (low..=high).contains(&self.published)
    }

    /// Returns the ends with both distances from the figure, as logarithms, times `factor`.
    pub(crate) fn wider(self, factor: f64) -> (f64, f64) {
        let wider = |end: f64| self.figure * (end / self.figure).powf(factor);
        (wider(self.ends.0), wider(self.ends.1))
    }

    /// Returns the factor for which one of these ends is the published figure.
    pub(crate) fn factor(self) -> f64 {
        let distance = |value: f64| (value / self.figure).ln();
        let end = if self.published < self.figure { self.ends.0 } else { self.ends.1 };
        match distance(end) {
            0.0 => f64::INFINITY,
            end => distance(self.published) / end,
        }
    }
}

/// Nanoseconds of an operation on a machine, for a factor on its local work and a seed.
pub(crate) type Run = Box<dyn Fn(&Machine, f64, u64) -> f64 + Send + Sync>;

/// A cell that belongs to no script.
pub(crate) struct Cell {
    pub(crate) run: Run,
    pub(crate) tasks: Tasks,
    /// Published nanoseconds of an operation.
    pub(crate) published: f64,
}

impl Cell {
    /// Simulates the cell, and changes its inputs like `predict`, but without the values that come
    /// from the host `left_out`. Returns `None` if no operation is done.
    pub(crate) fn cover(&self, machine: &Machine, left_out: Option<&str>) -> Option<Covered> {
        let runs = |machine: &Machine, work: f64| {
            // Throughput, as in the interval of a prediction.
            SEEDS.map(|seed| 1.0 / (self.run)(machine, work, seed)).collect::<Vec<f64>>()
        };
        let own = runs(machine, 1.0);
        let base = statistics::mean(&own).filter(|&base| base > 0.0)?;
        let mut spread = Spread::new(interval::by_seeds(&own)?);
        let relative = |machine: &Machine, work: f64| {
            statistics::mean(&runs(machine, work)).map_or(0.0, |mean| mean / base - 1.0)
        };
        let ends = [1.0 - CHANGE, 1.0 + CHANGE];
        spread.add(ends.map(|factor| relative(&interval::clock(machine, factor), 1.0)));
        spread.add(ends.map(|factor| relative(&interval::latencies(machine, factor), 1.0)));
        if self.tasks.work {
            spread.add(ends.map(|factor| relative(machine, factor)));
        }
        let around = |spread: Spread| {
            let (low, high) = spread.ends();
            (base * low, base * high)
        };
        let narrower = Some(around(spread));
        for (_, machines) in varied::changes(machine, &self.tasks, left_out) {
            spread.add(machines.iter().map(|machine| relative(machine, 1.0)));
        }
        let mut ends = around(spread);
        if self.tasks.on_siblings
            && let Some(apart) = simulate::siblings_apart(machine)
        {
            let other = base * (1.0 + relative(&apart, 1.0));
            ends = (ends.0.min(other), ends.1.max(other));
        }
        Some(Covered { figure: base, ends, narrower, published: 1.0 / self.published })
    }
}
