//! The figures of a run that a published table may have beside the script's own metric, by name. Each is one rule; the lab
//! evaluates it on what a run came to. A rule that needs to know something of the published run, or a variant to compare with, is
//! there for scripts that say it.

use crate::file::{Result as Read, Source};
use crate::metric::Metric;
use crate::samples::OfTasks;
use crate::script::Script;
use lockyard::platform::Region;
use serde::Deserialize;
use toml::Spanned;

/// The regions whose CPU time tables have: `system-time` is everything but the other two.
const TIMED: [Region; 3] = [Region::System, Region::User, Region::Idle];

/// How long the published run was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Until all tasks together had done so many operations.
    Operations(f64),
    /// Until they had done so much of the metric's unit: so many jobs, or records.
    Amount(f64),
    /// So many seconds.
    Seconds(f64),
}

impl Length {
    /// How many seconds it takes with so many operations a second, each so much of the metric's unit.
    pub fn seconds(self, throughput: f64, per_operation: f64) -> f64 {
        match self {
            Length::Operations(operations) => operations / throughput,
            Length::Amount(amount) => amount / (throughput * per_operation),
            Length::Seconds(seconds) => seconds,
        }
    }
}

/// What there is to know of the published run that its table does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOf {
    /// How many tasks run, whatever number of threads the table has, if any.
    pub tasks: Option<usize>,
    /// How many tasks run for the cells of which the table says no number.
    pub tasks_unsaid: Option<usize>,
    /// How long it was.
    pub length: Option<Length>,
    /// Over how many seconds the metric is a mean. What is rare happens in a long run.
    pub mean_over: Option<f64>,
    /// Whether each task had as many operations to do, and was timed until it had done them.
    pub until_each_is_done: bool,
    /// Whether its CPU times are of one task, and not of all.
    pub times_of_one_task: bool,
    /// The machines in whose tables the time of an operation by the wall clock is divided by the number of tasks.
    pub time_divided_on: Vec<String>,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The script's own metric.
    Own,
    /// `stdev`: the standard deviation of the metric over runs, in per cent of their mean.
    Deviation,
    /// `real-time`: how long the published run takes, in seconds.
    RealTime(Length),
    /// `time`, beside `cpu`: nanoseconds of an operation by the wall clock. Tasks have their hardware threads all the time, so it is the same.
    Time {
        /// Divided by the number of tasks.
        divided: bool,
    },
    /// `user-time`, `system-time`: CPU time of all tasks in a region during it, in seconds.
    CpuTime(Region, Length),
    /// The same of one task, where the table has that.
    TaskTime(Region, Length),
    /// `throughput-min@sampleN`, `-max@`, `-total@`: operations a second of a task, or of all, in a sample.
    Sample {
        /// Which sample.
        index: usize,
        /// Whose operations.
        of: OfTasks,
    },
    /// `gap-to-...`: by how much the metric is above that of another variant, as a share of it.
    Gap {
        /// The other variant.
        reference: String,
        /// In per cent, not as a ratio.
        per_cent: bool,
    },
    /// `cpu-share:SYMBOL`: the share of regions and parts, by their names, in the CPU time, in per cent.
    CpuShare {
        /// The names.
        names: Vec<String>,
    },
    /// `samples:SYMBOL`: so many samples of a profiler, of regions and parts.
    SampleCount {
        /// The names.
        names: Vec<String>,
        /// How many it took in all; of the other variant, if one is named.
        total: f64,
        /// The variant with which it did the same operations, in as many samples for the same CPU time.
        work_of: Option<String>,
    },
    /// `softirq-cpu-...`: the CPU time that operations take at a rate, as a share of some CPUs' in per cent.
    CpuAtRate {
        /// Operations a second.
        rate: f64,
        /// The number of CPUs.
        cpus: usize,
    },
    /// `rate-ratio`, `throughput-ratio`, `throughput-change`: the metric over another variant's.
    Ratio {
        /// The other variant.
        reference: String,
        /// By how much it is above that, in per cent, and not how many times it is that.
        change: bool,
    },
    /// `user-cpu-saved`, `system-cpu-saved`: by how much less CPU time in a region an operation takes than in the variant with
    /// which the script pairs this one, in per cent.
    CpuSaved {
        /// The region.
        region: Region,
        /// The other variant.
        reference: String,
    },
}

/// What the units of directions begin with: the table says in words what the figure means.
pub const DIRECTION: &str = "direction: ";

impl Figure {
    /// The variant with which it compares.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Figure::Gap { reference, .. }
            | Figure::CpuSaved { reference, .. }
            | Figure::Ratio { reference, .. } => Some(reference),
            Figure::SampleCount { work_of, .. } => work_of.as_deref(),
            _ => None,
        }
    }

    /// Whether it says nothing that the script's own metric does not.
    pub fn is_the_metric(&self) -> bool {
        matches!(self, Figure::Own | Figure::RealTime(_) | Figure::Time { .. })
    }
}

impl RunOf {
    /// CPU time in a region, as the table has it.
    fn time(&self, region: Region, length: Length) -> Figure {
        if self.times_of_one_task {
            Figure::TaskTime(region, length)
        } else {
            Figure::CpuTime(region, length)
        }
    }
}

impl Script {
    /// The figures that runs of this script have beside its metric because it says more of the published run: metric, unit and rule.
    pub fn figures(&self) -> Vec<(String, &'static str, Figure)> {
        let mut figures = Vec::new();
        for index in 0..self.samples.map_or(0, |samples| samples.number) {
            for (name, of) in OfTasks::ALL {
                let metric = format!("throughput-{name}@sample{index}");
                figures.push((metric, "op/s", Figure::Sample { index, of }));
            }
        }
        if let Some(length) = self.run.length {
            figures.push(("real-time".to_owned(), "s", Figure::RealTime(length)));
            for region in TIMED {
                figures.push((
                    format!("{}-time", region.name()),
                    "s",
                    self.run.time(region, length),
                ));
            }
        }
        figures
    }

    /// The figure that a published table calls `metric`, of a variant on a machine.
    ///
    /// # Errors
    ///
    /// Why the script has no such figure, for people.
    pub fn figure(
        &self,
        machine: &str,
        variant: &str,
        metric: &str,
        unit: &str,
    ) -> Result<Figure, String> {
        let own = format!("{} in {}", self.metric.name(), self.metric.unit());
        if metric == self.metric.name() {
            let right = unit == self.metric.unit();
            return if right { Ok(Figure::Own) } else { Err(format!("the scenario gives {own}")) };
        }
        let in_units = |units: &[&str], figure: Figure| {
            if units.contains(&unit) {
                return Ok(figure);
            }
            Err(format!("the scenario gives {metric} in {}", units.join(" or ")))
        };
        let length = || {
            self.run.length.ok_or_else(|| {
                format!("the scenario does not say how long the run was whose {metric} it is")
            })
        };
        if let Some((index, of)) = sample(metric) {
            if self.samples.is_none_or(|samples| index >= samples.number) {
                return Err(format!("the scenario has no sample {index}"));
            }
            return in_units(&["op/s"], Figure::Sample { index, of });
        }
        if let Some(reference) = metric.strip_prefix("gap-to-") {
            if self.variant(reference).is_none() {
                return Err(format!("the scenario has no variant `{reference}`"));
            }
            let gap = Figure::Gap { reference: reference.to_owned(), per_cent: unit == "%" };
            return if unit.starts_with(DIRECTION) {
                Ok(gap)
            } else {
                in_units(&["ratio", "%"], gap)
            };
        }
        for region in TIMED {
            let name = region.name();
            if metric == format!("{name}-time") {
                return in_units(&["s"], self.run.time(region, length()?));
            }
            if metric == format!("{name}-cpu-saved") {
                let pair = self.pairs.iter().find(|pair| pair.second == variant);
                let Some(pair) = pair else {
                    return Err(format!("the scenario pairs no variant with `{variant}`"));
                };
                let reference = pair.first.clone();
                return in_units(&["%"], Figure::CpuSaved { region, reference });
            }
        }
        if let Some(figure) = self.profile.figure(self, variant, metric, unit) {
            return figure;
        }
        match metric {
            "stdev" => in_units(&["%"], Figure::Deviation),
            "time" if self.metric == Metric::Cpu => {
                let divided = self.run.time_divided_on.iter().any(|divided| divided == machine);
                in_units(&["ns"], Figure::Time { divided })
            }
            "real-time" => in_units(&["s"], Figure::RealTime(length()?)),
            _ => Err(format!("the scenario gives {own}")),
        }
    }
}

/// Which sample, and whose operations in it, a metric's name says.
fn sample(metric: &str) -> Option<(usize, OfTasks)> {
    let (of, index) = metric.strip_prefix("throughput-")?.split_once("@sample")?;
    let (_, of) = OfTasks::ALL.into_iter().find(|(name, _)| *name == of)?;
    Some((index.parse().ok()?, of))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEntry {
    tasks: Option<Spanned<u32>>,
    tasks_unsaid: Option<Spanned<u32>>,
    operations: Option<Spanned<f64>>,
    amount: Option<Spanned<f64>>,
    seconds: Option<Spanned<f64>>,
    mean_over: Option<Spanned<f64>>,
    until_each_is_done: Option<Spanned<bool>>,
    times_of: Option<Spanned<String>>,
    #[serde(default)]
    time_divided_on: Vec<String>,
}

/// The section `[run]` of a script with this metric; `plain` if it has neither guests nor samples.
pub(crate) fn run(
    source: &Source,
    entry: &RunEntry,
    (metric, plain): (Metric, bool),
) -> Read<RunOf> {
    let positive = |what: &str, found: &Option<Spanned<f64>>| match found {
        Some(found) if *found.get_ref() > 0.0 && *found.get_ref() <= 1e15 => {
            Ok(Some(*found.get_ref()))
        }
        Some(found) => {
            let message =
                format!("`{what}` is {}; allowed: above 0, at most 1e15", found.get_ref());
            Err(source.error(found.span(), message))
        }
        None => Ok(None),
    };
    let lengths = [
        positive("operations", &entry.operations)?.map(Length::Operations),
        positive("amount", &entry.amount)?.map(Length::Amount),
        positive("seconds", &entry.seconds)?.map(Length::Seconds),
    ];
    let mut lengths = lengths.into_iter().flatten();
    let length = lengths.next();
    if lengths.next().is_some() {
        let at = [&entry.seconds, &entry.amount].into_iter().flatten().next();
        return Err(source.error(
            at.map_or(0..0, Spanned::span),
            "a run ends after so many `operations`, so large an `amount` or so many `seconds`, not after two of them",
        ));
    }
    let count = |what: &str, tasks: &Option<Spanned<u32>>| match tasks {
        Some(tasks) if !(1..=4096).contains(tasks.get_ref()) => {
            let message = format!("`{what}` is {}; allowed: 1 to 4096", tasks.get_ref());
            Err(source.error(tasks.span(), message))
        }
        Some(tasks) => Ok(Some(*tasks.get_ref() as usize)),
        None => Ok(None),
    };
    let until_each_is_done =
        entry.until_each_is_done.as_ref().filter(|until| *until.get_ref()).map(Spanned::span);
    if let Some(at) = &until_each_is_done {
        if metric != Metric::Cpu || !plain {
            let message = "`until_each_is_done` is for scripts whose metric is `cpu`, without guests and samples";
            return Err(source.error(at.clone(), message));
        }
        if entry.mean_over.is_some() || length.is_some() {
            let message = "with `until_each_is_done` a run is as long as its tasks take: it has no `mean_over`, `operations`, `amount` or `seconds`";
            return Err(source.error(at.clone(), message));
        }
    }
    let times_of_one_task = match &entry.times_of {
        Some(found) => {
            source.choose("whose times", found, &[("all-tasks", false), ("one-task", true)])?
        }
        None => false,
    };
    Ok(RunOf {
        times_of_one_task,
        until_each_is_done: until_each_is_done.is_some(),
        time_divided_on: entry.time_divided_on.clone(),
        tasks: count("tasks", &entry.tasks)?,
        tasks_unsaid: count("tasks_unsaid", &entry.tasks_unsaid)?,
        length,
        mean_over: positive("mean_over", &entry.mean_over)?,
    })
}
