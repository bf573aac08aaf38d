//! Figures of a run, computed by rules. A published table may hold several figures of one run, each
//! in a row of its own.
//!
//! The scenario crate defines the rules ([`Figure`]). This module evaluates them on the results of
//! simulated or measured runs.

use crate::listing::Listing;
use crate::row::Measured;
use crate::statistics;
use lockyard_scenarios::{Figure, Length, Metric, OfTasks, Region};

/// Results of the runs of a cell: everything that its figures depend on.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Metric, as calibrated.
    pub metric: Metric,
    /// Number of tasks.
    pub tasks: usize,
    /// Operations per second, all tasks together.
    pub throughput: f64,
    /// Operations per second of each run.
    pub runs: &'a [f64],
    /// CPU time of all tasks by region, in seconds per second; `None` if unknown.
    pub cpu: Option<CpuTime>,
    /// Listing of CPU time; `None` if unknown.
    pub listing: Option<&'a Listing>,
    /// Samples of a run; empty if unknown.
    pub samples: &'a [SampleFigures],
}

/// Operations per second in one sample of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleFigures {
    /// Figure of the slowest task.
    pub least: f64,
    /// Figure of the fastest task.
    pub most: f64,
    /// Figure of all tasks together.
    pub total: f64,
}

impl SampleFigures {
    /// Computes the figures of a sample from the operations of each task.
    pub fn of_counts(counts: &[u64], seconds: f64) -> SampleFigures {
        SampleFigures {
            least: counts.iter().copied().min().unwrap_or(0) as f64 / seconds,
            most: counts.iter().copied().max().unwrap_or(0) as f64 / seconds,
            total: counts.iter().sum::<u64>() as f64 / seconds,
        }
    }

    /// Returns one of the figures.
    pub fn of(&self, which: OfTasks) -> f64 {
        match which {
            OfTasks::Least => self.least,
            OfTasks::Most => self.most,
            OfTasks::Total => self.total,
        }
    }
}

/// CPU time of all tasks, in seconds per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// Time in region `user`.
    pub user: f64,
    /// Unused time: region `idle`.
    pub idle: f64,
    /// Time in all other regions.
    pub system: f64,
}

impl CpuTime {
    /// Returns the time in a region. All regions except `user` and `idle` count as system time.
    pub fn of(self, region: Region) -> f64 {
        match region {
            Region::User => self.user,
            Region::Idle => self.idle,
            _ => self.system,
        }
    }
}

impl<'a> Outcome<'a> {
    /// Returns the outcome of the trivial model, which predicts only a throughput.
    pub fn of_throughput(throughput: f64, metric: Metric, tasks: usize) -> Self {
        Outcome { metric, tasks, throughput, runs: &[], cpu: None, listing: None, samples: &[] }
    }

    fn seconds(&self, length: Length) -> f64 {
        length.seconds(self.throughput, self.metric.per_operation())
    }

    /// Returns the CPU time of an operation, in seconds.
    fn cpu_of_operation(&self) -> Option<f64> {
        let cpu = self.cpu?;
        Some((cpu.user + cpu.system) / self.throughput)
    }

    /// Computes the figure that a rule defines; `None` if the runs do not determine it. `reference`
    /// is the outcome of the variant with which the rule compares.
    pub fn figure(&self, figure: &Figure, reference: Option<&Outcome>) -> Option<f64> {
        let own = |of: &Outcome| of.metric.figure(of.throughput, of.tasks);
        match figure {
            Figure::Own => Some(own(self)),
            Figure::Deviation => deviation(self.runs),
            Figure::RealTime(length) => Some(self.seconds(*length)),
            Figure::Time { divided: false } => Some(own(self)),
            Figure::Time { divided: true } => Some(own(self) / self.tasks as f64),
            Figure::CpuTime(region, length) => Some(self.seconds(*length) * self.cpu?.of(*region)),
            Figure::TaskTime(region, length) => {
                Some(self.seconds(*length) * self.cpu?.of(*region) / self.tasks as f64)
            }
            Figure::Sample { index, of } => Some(self.samples.get(*index)?.of(*of)),
            Figure::Gap { per_cent, .. } => {
                let gap = own(self) / own(reference?) - 1.0;
                Some(if *per_cent { gap * 100.0 } else { gap })
            }
            Figure::CpuShare { names } => Some(self.listing?.share_of(names) * 100.0),
            Figure::SampleCount { names, total, work_of } => {
                let longer = match work_of {
                    Some(_) => self.cpu_of_operation()? / reference?.cpu_of_operation()?,
                    None => 1.0,
                };
                Some(total * longer * self.listing?.share_of(names))
            }
            Figure::CpuAtRate { rate, cpus } => {
                Some(self.cpu_of_operation()? * rate / *cpus as f64 * 100.0)
            }
            Figure::Ratio { change, .. } => {
                let ratio = own(self) / own(reference?);
                Some(if *change { (ratio - 1.0) * 100.0 } else { ratio })
            }
            Figure::CpuSaved { region, .. } => {
                let each = |of: &Outcome| Some(of.cpu?.of(*region) / of.throughput);
                Some((1.0 - each(self)? / each(reference?)?) * 100.0)
            }
        }
    }
}

/// Returns the standard deviation in per cent of the mean. `None` for fewer than two figures, or
/// for a mean of 0.
fn deviation(figures: &[f64]) -> Option<f64> {
    let mean = statistics::mean(figures)?;
    if figures.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    Some((squares / (figures.len() - 1) as f64).sqrt() / mean * 100.0)
}

/// Computes a figure from measurements on this host; `None` if they do not determine it. `own` is
/// the figure in the script's own metric, and `rounds` are its rounds.
///
/// The interval is that of the median over the rounds. For a deviation it comes from the bootstrap.
pub fn measured(
    figure: &Figure,
    own: Measured,
    rounds: &[f64],
    metric: Metric,
    tasks: usize,
) -> Option<Measured> {
    if *figure == Figure::Deviation {
        let mut drawn = Vec::new();
        statistics::resample(rounds.len(), 1000, |indices| {
            let drawn_rounds: Vec<f64> = indices.iter().map(|&index| rounds[index]).collect();
            drawn.extend(deviation(&drawn_rounds));
        });
        let (ci_low, ci_high) = statistics::percentiles(&drawn)?;
        let value = deviation(rounds)?;
        return Some(Measured { value, ci_low, ci_high, samples: rounds.len() });
    }
    if *figure == Figure::Own {
        return Some(own.in_metric(metric, tasks));
    }
    let at = |throughput| Outcome::of_throughput(throughput, metric, tasks).figure(figure, None);
    let Measured { value, ci_low, ci_high, samples } = own;
    let (a, b) = (at(ci_low)?, at(ci_high)?);
    Some(Measured { value: at(value)?, ci_low: a.min(b), ci_high: a.max(b), samples })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Rate;

    #[test]
    fn each_figure_of_a_run_is_one_rule() {
        let metric = Metric::Throughput(Rate::of("MB/s").unwrap().with_per_operation(0.5));
        let cpu = Some(CpuTime { user: 2.0, idle: 1.0, system: 6.0 });
        let runs = [90.0, 100.0, 110.0];
        let samples = [SampleFigures::of_counts(&[3, 5, 4], 0.5)];
        let times = [(Region::LookUp.into(), 1.0), (Region::Allocate.into(), 3.0)];
        let listed = Listing::new(times, &[]);
        let listing = Some(&listed);
        let names = || vec!["allocate".to_owned(), "free".to_owned()];
        let count = |work_of| Figure::SampleCount { names: names(), total: 1000.0, work_of };
        let ratio = |change| Figure::Ratio { reference: "other".into(), change };
        let of = Outcome {
            metric,
            tasks: 8,
            throughput: 100.0,
            runs: &runs,
            cpu,
            listing,
            samples: &samples,
        };
        let other = Outcome { throughput: 80.0, ..of };
        let operations = Length::Operations(1000.0);
        let reference = "other".to_owned();
        let gap = |per_cent| Figure::Gap { reference: "other".into(), per_cent };
        for (figure, expected) in [
            (Figure::Own, 50.0),
            (Figure::Deviation, 10.0),
            (Figure::RealTime(operations), 10.0),
            (Figure::RealTime(Length::Amount(1000.0)), 20.0),
            (Figure::Time { divided: false }, 50.0),
            (Figure::Time { divided: true }, 6.25),
            (Figure::CpuTime(Region::Idle, operations), 10.0),
            (Figure::CpuTime(Region::User, operations), 20.0),
            (Figure::CpuTime(Region::System, Length::Seconds(3.0)), 18.0),
            (Figure::TaskTime(Region::User, operations), 2.5),
            (Figure::Sample { index: 0, of: OfTasks::Least }, 6.0),
            (Figure::Sample { index: 0, of: OfTasks::Most }, 10.0),
            (Figure::Sample { index: 0, of: OfTasks::Total }, 24.0),
            (gap(false), 0.25),
            (gap(true), 25.0),
            // 0.06 s an operation instead of 0.075.
            (Figure::CpuSaved { region: Region::System, reference }, 20.0),
            (Figure::CpuShare { names: names() }, 75.0),
            (count(None), 750.0),
            // 0.08 s an operation instead of 0.1.
            (count(Some("other".into())), 600.0),
            (Figure::CpuAtRate { rate: 5.0, cpus: 2 }, 20.0),
            (ratio(false), 1.25),
            (ratio(true), 25.0),
        ] {
            let found = of.figure(&figure, Some(&other)).expect("the runs tell");
            assert!((found - expected).abs() < 1e-9, "{figure:?}: {found}");
        }
        assert_eq!(of.figure(&gap(true), None), None);
        assert_eq!(of.figure(&ratio(true), None), None);
        let trivial = Outcome::of_throughput(100.0, metric, 8);
        assert_eq!(trivial.figure(&Figure::RealTime(operations), None), Some(10.0));
        assert_eq!(trivial.figure(&Figure::Deviation, None), None);
        assert_eq!(trivial.figure(&Figure::CpuTime(Region::User, operations), None), None);
    }
}
