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
    /// True if it is left out because it is an input, not a result.
    pub input: bool,
}

/// Published cells that are reported separately, because of a known fault in them.
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
    /// Its name: the experiment, in published tables.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// Description of one operation, for people.
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
    /// Pairs of variants. The change from first to second is compared with the published change.
    pub variant_pairs: Vec<VariantPair>,
    /// Its variants, at least one.
    pub variants: Vec<Variant>,
    /// The order in which tasks are placed, the same in each guest.
    pub order: Order,
    /// The socket whose memory the objects are in. A machine with fewer sockets uses its last one.
    pub home: usize,
    /// The calibration cell, if there is one.
    pub calibration: Option<Calibration>,
}

impl Script {
    /// Returns the reason why the published cells of `machine` at `threads` threads are reported
    /// separately. `None` if they are not.
    pub fn doubt(&self, machine: &str, threads: usize) -> Option<&str> {
        let found =
            self.doubtful.iter().find(|d| d.machine == machine && d.threads.contains(&threads));
        found.map(|doubtful| doubtful.reason.as_str())
    }

    /// Returns the number of tasks for published cells of `threads` threads. `None` if neither the
    /// cell nor the script gives a number.
    pub fn tasks(&self, threads: Option<usize>) -> Option<usize> {
        self.run.tasks.or(threads).or(self.run.tasks_unsaid)
    }

    /// Returns the variant with this name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|v| v.name == name)
    }
}
