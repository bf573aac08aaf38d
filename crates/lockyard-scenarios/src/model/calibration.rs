//! The published cell that calibrates a scenario, and the inputs that it provides.

use lockyard::platform::Region;

/// Result of a calibration cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The local work of an operation.
    LocalWork,
    /// The machine's latencies, which are in its file.
    Latencies,
    /// Numbers that are already in the script.
    Numbers,
    /// The amount of the metric's unit per operation. Then only ratios of figures are meaningful.
    Unit,
    /// The local work and the unit. The script's metric determines the unit. A second cell of the
    /// same run, the CPU time in a region, determines the local work.
    WorkAndUnit {
        /// The region of the second cell.
        region: Region,
    },
}

/// A published cell, or a figure that the user measured, that gives the local work, the machine's
/// latencies, or another input.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The input that the cell gives.
    pub gives: Gives,
    /// Machines that have such a cell. All others use the result of the first of these.
    pub machines: Vec<String>,
    /// The figure, in the script's metric, if the user measured it and no table has it.
    pub measured: Option<f64>,
    /// Experiment of the cell; `None` means the script's.
    pub experiment: Option<String>,
    /// The cell's number of threads, if the table has one.
    pub threads: Option<usize>,
    /// Variant of the cell. With `None`, each variant has a separate cell.
    pub variant: Option<String>,
    /// Metric of the cell; `None` means the script's. Any other metric is in operations per second.
    pub metric: Option<String>,
    /// Other metrics of the same run from which the script's numbers were taken. They are inputs,
    /// not predictions.
    pub also: Vec<String>,
}

impl Calibration {
    /// Returns `true` if the cell gives the amount of the metric's unit per operation.
    pub fn gives_unit(&self) -> bool {
        matches!(self.gives, Gives::Unit | Gives::WorkAndUnit { .. })
    }

    /// Returns `true` if the cell gives the local work of an operation.
    pub fn gives_local_work(&self) -> bool {
        matches!(self.gives, Gives::LocalWork | Gives::WorkAndUnit { .. })
    }
}
