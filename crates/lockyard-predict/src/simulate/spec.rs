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
    /// Home socket of the objects. A machine with fewer sockets uses its last one.
    pub home: usize,
    /// Number of tasks (of one guest).
    pub threads: usize,
    /// Local work of an operation, in nanoseconds.
    pub local_work: f64,
}

impl CellSpec<'_> {
    /// Returns the largest number of a guest's tasks on one place.
    pub(crate) fn of_place(&self) -> usize {
        self.threads.div_ceil(self.placement.room(self.machine).max(1))
    }
}

#[cfg(test)]
impl<'a> CellSpec<'a> {
    /// Returns the cell of a script's first variant without local work, at home on socket 0.
    pub(crate) fn first_of(
        machine: &'a Machine,
        script: &'a lockyard_scenarios::Script,
        placement: &'a MachinePlacement,
        threads: usize,
    ) -> Self {
        let variant = &script.variants[0];
        CellSpec { machine, variant, placement, home: 0, threads, local_work: 0.0 }
    }
}

/// Length of the runs of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunLength {
    /// The length and number of runs for published tables.
    #[default]
    Full,
    /// Shorter and fewer runs, for many cells.
    Quick,
}

/// Choice of the runs of a cell. The default is the runs for published tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Length of a run.
    pub length: RunLength,
    /// Seed of the only run; `None` for several runs, whose seeds are 1, 2, ...
    pub seed: Option<u64>,
}

impl Runs {
    /// Returns the effort of these runs.
    fn effort(self, cell: &CellSpec) -> SimulationEffort {
        let effort = match self.length {
            RunLength::Full => SimulationEffort::usual(cell.machine, cell.placement, cell.threads),
            RunLength::Quick => SimulationEffort::SEARCH,
        };
        match self.seed {
            Some(first_seed) => SimulationEffort { seeds: 1, first_seed, ..effort },
            None => effort,
        }
    }

    /// Returns the plan of a script's run. With the default it is [`RunPlan::full`]. Otherwise it
    /// lacks the figure with siblings apart, which only intervals need.
    pub fn plan(self, cell: &CellSpec, run: &PublishedRun, samples: Option<Samples>) -> RunPlan {
        RunPlan {
            samples,
            siblings_apart: self == Runs::default(),
            ..RunPlan::of_run(self.effort(cell), run)
        }
    }
}

/// Plan of the runs of a cell.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan {
    /// Length of a run, and number of runs.
    pub effort: SimulationEffort,
    /// If `true`, time each task until its operations are done, instead of counting while all tasks
    /// run.
    pub until_each_is_done: bool,
    /// Length in seconds of the run over which the figure is the mean; `None` for a short-term
    /// figure.
    pub mean_over: Option<f64>,
    /// Samples to simulate in addition to the figure.
    pub samples: Option<Samples>,
    /// If `true`, and a core has two tasks, simulate the cell once more, as if the threads of a
    /// core shared nothing of an ownership. How much they share is not settled; this is the other
    /// extreme.
    pub siblings_apart: bool,
}

impl RunPlan {
    /// Returns the plan of runs that are counted while all tasks run.
    pub fn of_windows(effort: SimulationEffort) -> RunPlan {
        RunPlan {
            effort,
            until_each_is_done: false,
            mean_over: None,
            samples: None,
            siblings_apart: false,
        }
    }

    /// Returns the plan of the run that a script describes.
    pub fn of_run(effort: SimulationEffort, run: &PublishedRun) -> RunPlan {
        RunPlan {
            until_each_is_done: run.until_each_is_done,
            mean_over: run.mean_over,
            ..RunPlan::of_windows(effort)
        }
    }

    /// Returns the plan of a script's run with full effort. It includes the samples, and the figure
    /// with siblings apart.
    pub fn full(cell: &CellSpec, run: &PublishedRun, samples: Option<Samples>) -> RunPlan {
        Runs::default().plan(cell, run, samples)
    }
}
