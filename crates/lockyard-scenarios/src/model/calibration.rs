//! The published cell that calibrates a scenario, and the inputs that it gives.

use lockyard::platform::Region;

/// Result of a calibration cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The local work of an operation.
    LocalWork,
    /// The machine's latencies. They are in its file.
    Latencies,
    /// Numbers that the script already contains.
    Numbers,
    /// The amount of the metric's unit per operation. Only ratios of figures count then.
    Unit,
    /// The local work and the unit. The unit comes from the script's metric. The local work comes
    /// from a second cell of the same run, the CPU time in a region.
    WorkAndUnit {
        /// The region of the second cell.
        region: Region,
    },
}

/// The published cell that gives the local work, the machine's latencies, or another input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The result of the cell.
    pub gives: Gives,
    /// The machines that have such a cell. Other machines use the result of the first one.
    pub machines: Vec<String>,
    /// The experiment of the cell; `None` means the script's own.
    pub experiment: Option<String>,
    /// The cell's number of threads, if the table has one.
    pub threads: Option<usize>,
    /// The cell's variant. With `None`, each variant has its own cell.
    pub variant: Option<String>,
    /// The cell's metric; `None` means the script's own. Any other metric is in operations a
    /// second.
    pub metric: Option<String>,
    /// Other metrics of the same run from which the script's numbers were taken. They are inputs,
    /// not predictions.
    pub also: Vec<String>,
}

impl Calibration {
    /// Returns true if the cell gives the amount of the metric's unit per operation.
    pub fn gives_unit(&self) -> bool {
        matches!(self.gives, Gives::Unit | Gives::WorkAndUnit { .. })
    }

    /// Returns true if the cell gives the local work of an operation.
    pub fn gives_local_work(&self) -> bool {
        matches!(self.gives, Gives::LocalWork | Gives::WorkAndUnit { .. })
    }
}
