//! A scenario script: variants, placement, calibration, and facts about the published table.

use super::calibration::Calibration;
use super::metric::Metric;
use super::placement::Order;
use super::profile::Profile;
use super::published_run::PublishedRun;
use super::samples::Samples;
use super::variant::Variant;
use super::variant_pairs::VariantPair;

/// A metric of the published table that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The metric.
    pub metric: String,
    /// The reason.
    pub reason: String,
    /// `true` if the metric is left out because it is an input, not a result.
    pub input: bool,
}

/// Published cells that are reported separately because of a known fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubtful {
    /// The machine.
    pub machine: String,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// The reason.
    pub reason: String,
}

/// A scenario script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Name of the experiment in published tables.
    pub name: String,
    /// Title for display.
    pub title: String,
    /// Description of one operation, for display.
    pub operation: String,
    /// The metric, as in published tables.
    pub metric: Metric,
    /// Facts about the published run that are not in the table.
    pub run: PublishedRun,
    /// The samples of a run, if it has any.
    pub samples: Option<Samples>,
    /// Metrics of the published table that are not modelled.
    pub left_out: Vec<LeftOut>,
    /// The published profile, and the regions that its symbols stand for.
    pub profile: Profile,
    /// Published cells that are reported separately.
    pub doubtful: Vec<Doubtful>,
    /// Pairs of variants. For each pair, the change from the first to the second is compared with
    /// the published change.
    pub variant_pairs: Vec<VariantPair>,
    /// Variants of the scenario, at least one.
    pub variants: Vec<Variant>,
    /// The order in which tasks are placed, the same in each guest.
    pub order: Order,
    /// Socket whose memory has the objects. A machine with fewer sockets uses its last one.
    pub home: usize,
    /// The calibration cell, if there is one.
    pub calibration: Option<Calibration>,
}

impl Script {
    /// Returns the reason why published cells of `machine` with this number of threads are reported
    /// separately. Returns `None` if they are not.
    pub fn doubt(&self, machine: &str, threads: usize) -> Option<&str> {
        let found =
            self.doubtful.iter().find(|d| d.machine == machine && d.threads.contains(&threads));
        found.map(|doubtful| doubtful.reason.as_str())
    }

    /// Returns the number of tasks for published cells with this number of threads. Returns `None`
    /// if neither the cell nor the script gives a number.
    pub fn tasks(&self, threads: Option<usize>) -> Option<usize> {
        self.run.tasks.or(threads).or(self.run.tasks_unsaid)
    }

    /// Returns the variant with this name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|v| v.name == name)
    }
}
