//! The published cell that calibrates a scenario, and what it gives.

use lockyard::platform::Region;

/// Result of a calibration cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The local work of an operation.
    LocalWork,
    /// The machine's latencies. They are in its file.
    Latencies,
    /// Numbers of the script, which stand there.
    Numbers,
    /// The amount of the metric's unit that one operation is. Then only ratios of figures count.
    Unit,
    /// Both. The unit is from the script's metric. The local work is from a second cell of the same
    /// run: CPU time in a region.
    WorkAndUnit {
        /// The region whose CPU time the second cell is.
        region: Region,
    },
}

/// The published cell that gives the local work, the machine's latencies, or another input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The result of the cell.
    pub gives: Gives,
    /// The machines that have such a cell. Other machines take over the result of the first one.
    pub machines: Vec<String>,
    /// The experiment of the cell; `None` is the script's own.
    pub experiment: Option<String>,
    /// Its number of threads, if the table has one.
    pub threads: Option<usize>,
    /// Its variant; with `None` each variant has its own cell.
    pub variant: Option<String>,
    /// Its metric; `None` is the script's own. Any other one is in operations a second.
    pub metric: Option<String>,
    /// Other metrics of the same run from which the script's numbers were taken. They are inputs,
    /// and no predictions.
    pub also: Vec<String>,
}

impl Calibration {
    /// Returns true if the cell gives the amount of the metric's unit that one operation is.
    pub fn gives_unit(&self) -> bool {
        matches!(self.gives, Gives::Unit | Gives::WorkAndUnit { .. })
    }

    /// Returns true if the cell gives the local work of an operation.
    pub fn gives_local_work(&self) -> bool {
        matches!(self.gives, Gives::LocalWork | Gives::WorkAndUnit { .. })
    }
}
