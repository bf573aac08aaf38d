//! Specification of a simulation: a cell, and the plan of its runs.

use super::SimulationEffort;
use crate::placement::MachinePlacement;
use lockyard_scenarios::{PublishedRun, Samples, Variant};
use lockyard_sim::Machine;

/// One cell: a variant of a scenario on a machine, with its tasks.
#[derive(Clone, Copy, Debug)]
pub struct CellSpec<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The variant.
    pub variant: &'a Variant,
    /// Placement of the tasks; each guest has the same one.
    pub placement: &'a MachinePlacement,
    /// Socket that is the home of the objects; the last one on a machine that has fewer.
    pub home: usize,
    /// Number of tasks (of one guest).
    pub threads: usize,
    /// Local work of an operation, in nanoseconds.
    pub local_work: f64,
}

/// Plan of the runs of a cell.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan {
    /// Length of a run, and number of runs.
    pub effort: SimulationEffort,
    /// Time each task until it has done its operations, instead of counting while all go on.
    pub until_each_is_done: bool,
    /// Seconds of a run over which the figure is the mean; `None` for a figure of the moment.
    pub mean_over: Option<f64>,
    /// Samples to simulate beside the figure.
    pub samples: Option<Samples>,
    /// If a core has two tasks, simulate the cell once more, as if the threads of a core shared
    /// nothing of an ownership. How much they share is not settled; this is the other extreme.
    pub siblings_apart: bool,
}

impl RunPlan {
    /// Plan of runs while all tasks go on.
    pub fn of_windows(effort: SimulationEffort) -> RunPlan {
        RunPlan {
            effort,
            until_each_is_done: false,
            mean_over: None,
            samples: None,
            siblings_apart: false,
        }
    }

    /// Plan of the run that a script describes.
    pub fn of_run(effort: SimulationEffort, run: &PublishedRun) -> RunPlan {
        RunPlan {
            until_each_is_done: run.until_each_is_done,
            mean_over: run.mean_over,
            ..RunPlan::of_windows(effort)
        }
    }

    /// Plan of a script's run with full effort: its samples too, and the figure with siblings
    /// apart.
    pub fn full(cell: &CellSpec, run: &PublishedRun, samples: Option<Samples>) -> RunPlan {
        let effort = SimulationEffort::usual(cell.machine, cell.placement, cell.threads);
        RunPlan { samples, siblings_apart: true, ..RunPlan::of_run(effort, run) }
    }
}
