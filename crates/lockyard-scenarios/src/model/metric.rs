//! Metrics of published figures. Every run is measured in operations per second. A metric converts
//! that to the unit of the table.

/// Units of throughput, each with its time base in seconds.
const RATES: [(&str, f64); 6] = [
    ("op/s", 1.0),
    ("MB/s", 1.0),
    ("jobs/s", 1.0),
    ("jobs/min", 60.0),
    ("records/s", 1.0),
    ("transactions/s", 1.0),
];

/// A unit of throughput, and the amount of it per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    unit: &'static str,
    seconds: f64,
    per_operation: f64,
}

impl Rate {
    /// Operations per second.
    pub const OPERATIONS: Rate = Rate { unit: "op/s", seconds: 1.0, per_operation: 1.0 };

    /// Returns the rate in `unit`, with an amount of 1 per operation. Returns `None` if no
    /// throughput has that unit.
    pub fn of(unit: &str) -> Option<Rate> {
        let (unit, seconds) = RATES.into_iter().find(|(name, _)| *name == unit)?;
        Some(Rate { unit, seconds, per_operation: 1.0 })
    }

    /// Returns the rate with the same unit, and an amount of `per_operation` per operation.
    #[must_use]
    pub fn with_per_operation(self, per_operation: f64) -> Rate {
        Rate { per_operation, ..self }
    }

    /// All units.
    pub fn units() -> impl Iterator<Item = &'static str> {
        RATES.into_iter().map(|(unit, _)| unit)
    }

    /// Unit in tables.
    pub fn unit(self) -> &'static str {
        self.unit
    }

    /// Amount of the unit per operation.
    pub fn per_operation(self) -> f64 {
        self.per_operation
    }
}

/// A metric, with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Operations per second of all tasks together, or the equivalent in another unit.
    Throughput(Rate),
    /// Milliseconds until every task has finished its operations.
    Elapsed {
        /// Number of operations of each task.
        operations: u64,
    },
    /// Nanoseconds of processor time per operation of one task.
    Cpu,
}

impl Metric {
    /// Operations per second.
    pub const OPERATIONS: Metric = Metric::Throughput(Rate::OPERATIONS);

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput(_) => "throughput",
            Metric::Elapsed { .. } => "elapsed",
            Metric::Cpu => "cpu",
        }
    }

    /// Unit in tables.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Throughput(rate) => rate.unit,
            Metric::Elapsed { .. } => "ms",
            Metric::Cpu => "ns",
        }
    }

    /// Returns the figure of `threads` tasks that together do `throughput` operations per second.
    /// If some tasks are faster than others, [`Elapsed`](Self::Elapsed) is the mean over tasks, not
    /// the time of the last one.
    pub fn figure(self, throughput: f64, threads: usize) -> f64 {
        match self {
            Metric::Throughput(rate) => throughput * rate.per_operation * rate.seconds,
            Metric::Elapsed { operations } => operations as f64 * threads as f64 / throughput * 1e3,
            Metric::Cpu => threads as f64 / throughput * 1e9,
        }
    }

    /// Returns how many operations per second `threads` tasks with this figure do together.
    pub fn throughput(self, figure: f64, threads: usize) -> f64 {
        match self {
            Metric::Throughput(rate) => figure / rate.seconds / rate.per_operation,
            // These conversions are their own inverse.
            Metric::Elapsed { .. } | Metric::Cpu => self.figure(figure, threads),
        }
    }

    /// Returns the amount of the metric's unit per operation.
    pub fn per_operation(self) -> f64 {
        match self {
            Metric::Throughput(rate) => rate.per_operation(),
            Metric::Elapsed { .. } | Metric::Cpu => 1.0,
        }
    }

    /// Returns the figures of two throughputs, the lower figure first.
    pub fn range(self, (low, high): (f64, f64), threads: usize) -> (f64, f64) {
        let (a, b) = (self.figure(low, threads), self.figure(high, threads));
        (a.min(b), a.max(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_and_its_throughput_are_each_other_s_inverse() {
        let elapsed = Metric::Elapsed { operations: 5_000_000 };
        // 3 tasks and a hand-over of 154.9 ns.
        assert!((elapsed.figure(1e9 / 154.9, 3) - 2323.5).abs() < 0.1);
        assert!((Metric::Cpu.figure(1e9 / 10.0, 4) - 40.0).abs() < 1e-9);
        let jobs = Metric::Throughput(Rate::of("jobs/min").unwrap().with_per_operation(0.5));
        for metric in [Metric::OPERATIONS, jobs, elapsed, Metric::Cpu] {
            for threads in [1, 3, 128] {
                let throughput = metric.throughput(metric.figure(1.25e6, threads), threads);
                assert!((throughput / 1.25e6 - 1.0).abs() < 1e-12, "{metric:?}");
            }
        }
        assert_eq!(Metric::Cpu.range((1e9, 2e9), 2), (1.0, 2.0));
    }

    #[test]
    fn a_rate_says_how_much_of_its_unit_an_operation_is_and_in_which_time() {
        // Two jobs per operation and 100 operations per second.
        let rate = Rate::of("jobs/min").unwrap().with_per_operation(2.0);
        let metric = Metric::Throughput(rate);
        assert_eq!((metric.figure(100.0, 7), metric.unit()), (12_000.0, "jobs/min"));
        assert_eq!(Rate::of("op/s"), Some(Rate::OPERATIONS));
        assert_eq!(Rate::of("furlongs"), None);
    }
}
