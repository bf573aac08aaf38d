//! Keys of cells: they join rows, published figures and figures of result files.

use lockyard_support::threads as in_words;
use std::fmt;

/// Name for this host in the machine field of a key.
pub const HERE: &str = "this-host";

/// Key of one figure of a cell. Figures with equal keys can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellKey {
    /// Experiment: the scenario, or a group of tables.
    pub experiment: String,
    /// Machine, or [`HERE`] for this host.
    pub machine: String,
    /// Variant of the scenario.
    pub variant: String,
    /// Number of threads; `None` if the published table does not state it.
    pub threads: Option<usize>,
    /// Kind of figure, for example `throughput`.
    pub metric: String,
    /// Unit of the figure.
    pub unit: String,
}

impl CellKey {
    /// Returns the key of a figure measured on this host.
    pub fn here(
        experiment: &str,
        variant: &str,
        threads: usize,
        metric: &str,
        unit: &str,
    ) -> CellKey {
        CellKey {
            experiment: experiment.to_owned(),
            machine: HERE.to_owned(),
            variant: variant.to_owned(),
            threads: Some(threads),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
        }
    }

    /// Returns the key of a throughput measured on this host, in operations per second.
    pub fn throughput_here(experiment: &str, variant: &str, threads: usize) -> CellKey {
        CellKey::here(experiment, variant, threads, "throughput", "op/s")
    }

    /// Returns true if both keys belong to the same run. Their metrics may differ.
    pub fn is_of_run(&self, other: &CellKey) -> bool {
        self.run() == other.run()
    }

    /// Returns the parts of the key that identify the run, without metric and unit.
    pub(crate) fn run(&self) -> (&str, &str, &str, Option<usize>) {
        (&self.experiment, &self.machine, &self.variant, self.threads)
    }

    /// Returns the number of threads as text; empty if it is not stated.
    pub fn threads_text(&self) -> String {
        self.threads.map(|threads| threads.to_string()).unwrap_or_default()
    }

    /// Returns the number of threads in words, for example `2 threads`.
    pub fn threads_in_words(&self) -> String {
        match self.threads {
            Some(threads) => in_words(threads),
            None => "threads not stated".to_owned(),
        }
    }
}

impl fmt::Display for CellKey {
    /// Writes the key of the run as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}, {}", self.experiment, self.machine, self.variant)?;
        match self.threads {
            Some(_) => write!(f, ", {}", self.threads_in_words()),
            None => Ok(()),
        }
    }
}
