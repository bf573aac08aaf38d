//! Rules for the figures of a run, one for each figure. The lab applies them to the results of a
//! run.

use super::published_run::Length;
use super::samples::OfTasks;
use lockyard::platform::Region;

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The script's metric itself.
    Own,
    /// `stdev`: standard deviation of the metric over runs, in per cent of their mean.
    Deviation,
    /// `real-time`: duration of the published run, in seconds.
    RealTime(Length),
    /// `time`, a table's column next to `cpu`: wall-clock nanoseconds per operation. A task always
    /// has its hardware thread, so the two are equal.
    Time {
        /// `true` if the time is divided by the number of tasks.
        divided: bool,
    },
    /// `user-time`, `system-time`: CPU time of all tasks in a region during the run, in seconds.
    CpuTime(Region, Length),
    /// CPU time of one task, if the table has that.
    TaskTime(Region, Length),
    /// `throughput-min@sampleN`, `-max@`, `-total@`: operations per second in a sample, of one task
    /// or of all tasks.
    Sample {
        /// Index of the sample.
        index: usize,
        /// The tasks whose operations count.
        of: OfTasks,
    },
    /// `gap-to-...`: relative excess of the metric over another variant's.
    Gap {
        /// The other variant.
        reference: String,
        /// `true` if the gap is in per cent, `false` if it is a ratio.
        per_cent: bool,
    },
    /// `cpu-share:SYMBOL`: share of the CPU time in regions and their parts, in per cent.
    CpuShare {
        /// Names of the regions and parts.
        names: Vec<String>,
    },
    /// `samples:SYMBOL`: number of samples that a profiler takes in regions and parts.
    SampleCount {
        /// Names of the regions and parts.
        names: Vec<String>,
        /// Total number of samples. It belongs to variant `work_of`, if that is given.
        total: f64,
        /// A variant that did the same operations. Its profiler took the same number of samples per
        /// CPU time.
        work_of: Option<String>,
    },
    /// `softirq-cpu-...`: CPU time of operations at a given rate, in per cent of the time of `cpus`
    /// CPUs.
    CpuAtRate {
        /// Operations per second.
        rate: f64,
        /// Number of CPUs.
        cpus: usize,
    },
    /// `rate-ratio`, `throughput-ratio`, `throughput-change`: the metric divided by another
    /// variant's.
    Ratio {
        /// The other variant.
        reference: String,
        /// `true` if the figure is the excess over the other variant in per cent, `false` if it is
        /// the ratio.
        change: bool,
    },
    /// `user-cpu-saved`, `system-cpu-saved`: CPU time in a region that an operation saves compared
    /// with another variant, in per cent. The script pairs the two variants.
    CpuSaved {
        /// The region.
        region: Region,
        /// The other variant.
        reference: String,
    },
}

/// Prefix of the units of directions. The rest of the unit says in words what the figure means.
pub const DIRECTION_PREFIX: &str = "direction: ";

impl Figure {
    /// The variant with which the figure compares.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Figure::Gap { reference, .. }
            | Figure::CpuSaved { reference, .. }
            | Figure::Ratio { reference, .. } => Some(reference),
            Figure::SampleCount { work_of, .. } => work_of.as_deref(),
            _ => None,
        }
    }

    /// Returns `true` if the figure follows from the script's metric without other inputs.
    pub fn is_the_metric(&self) -> bool {
        matches!(self, Figure::Own | Figure::RealTime(_) | Figure::Time { .. })
    }
}
