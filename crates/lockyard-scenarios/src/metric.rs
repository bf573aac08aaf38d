//! What published figures of an experiment measure. Everything is run as operations a second; a metric says what that is in
//! the table's terms.

/// A metric, with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Operations a second, all tasks together.
    Throughput,
    /// Milliseconds until every task has done so many operations.
    Elapsed {
        /// Operations of each task.
        operations: u64,
    },
    /// Nanoseconds of processor time for an operation of one task.
    Cpu,
}

impl Metric {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::Elapsed { .. } => "elapsed",
            Metric::Cpu => "cpu",
        }
    }

    /// Its unit in tables.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Throughput => "op/s",
            Metric::Elapsed { .. } => "ms",
            Metric::Cpu => "ns",
        }
    }

    /// The figure of `threads` tasks that do `throughput` operations a second together. With tasks that are not served
    /// alike, [`Elapsed`](Self::Elapsed) is their mean, not the last one's.
    pub fn figure(self, throughput: f64, threads: usize) -> f64 {
        match self {
            Metric::Throughput => throughput,
            Metric::Elapsed { operations } => operations as f64 * threads as f64 / throughput * 1e3,
            Metric::Cpu => threads as f64 / throughput * 1e9,
        }
    }

    /// Operations a second, all tasks together, of `threads` tasks with this figure.
    pub fn throughput(self, figure: f64, threads: usize) -> f64 {
        // Each metric is its own inverse, but for the first.
        match self {
            Metric::Throughput => figure,
            _ => self.figure(figure, threads),
        }
    }

    /// The figures of two throughputs, the lower figure first.
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
        // 3 tasks, a hand-over of 154.9 ns.
        assert!((elapsed.figure(1e9 / 154.9, 3) - 2323.5).abs() < 0.1);
        assert!((Metric::Cpu.figure(1e9 / 10.0, 4) - 40.0).abs() < 1e-9);
        for metric in [Metric::Throughput, elapsed, Metric::Cpu] {
            for threads in [1, 3, 128] {
                let throughput = metric.throughput(metric.figure(1.25e6, threads), threads);
                assert!((throughput / 1.25e6 - 1.0).abs() < 1e-12, "{metric:?}");
            }
        }
        assert_eq!(Metric::Cpu.range((1e9, 2e9), 2), (1.0, 2.0));
    }
}
