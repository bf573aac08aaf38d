//! One cell on a simulated machine: a variant with a number of threads, simulated with several
//! seeds.
//!
//! | file | contents |
//! | --- | --- |
//! | `spec` | the cell, and the plan of its runs |
//! | `windows` | runs that are counted for a window while all tasks go on |
//! | `per_task` | runs in which each task is timed until it is done |
//! | `rare_events`, `fallbacks` | runs of seconds, of which a millisecond is simulated |
//! | `samples` | samples of a run, with disturbances |
//! | `effort` | length of a run, and number of runs |
//! | `starts` | start times of tasks, and whether their order matters |
//! | `traced`, `changes` | a run whose changes are kept, for a trace |
//! | `stage`, `locks` | the machine as a scenario sees it, and its records |
//! | `objects`, `failed` | a cell's objects in a simulation; reasons why a run failed |
//! | `prediction` | results |

mod changes;
mod effort;
mod failed;
mod fallbacks;
mod identity;
mod locks;
mod objects;
mod per_task;
mod prediction;
mod rare_events;
mod samples;
mod spec;
mod stage;
mod starts;
mod traced;
mod windows;

use crate::placement::MachinePlacement;
pub use changes::{Change, Changed, StepKind};
pub use effort::SimulationEffort;
pub use identity::identify;
use lockyard_sim::Machine;
pub use prediction::{LongRun, Prediction, SimulationError, range};
pub use samples::{SEEDS as SEEDS_OF_SAMPLES, samples};
pub use spec::{CellSpec, RunLength, RunPlan, Runs};
pub use starts::{NEAR, Orders};
pub use traced::{SEED as SEED_OF_TRACE, TracedRun, trace};

/// A sibling's turn, in cycles, that is longer than any ownership.
const APART: f64 = 500.0;

/// Simulates a cell according to its plan.
///
/// # Errors
///
/// If a run is stuck, a thread panics, or the objects are in a wrong state afterwards. Then a
/// primitive is broken, and the message describes the fault. Also if the machine has no hardware
/// thread for a disturbance of the samples.
///
/// # Panics
///
/// If the placement has no room for the threads.
pub fn simulate(cell: &CellSpec, plan: &RunPlan) -> Result<Prediction, SimulationError> {
    // A single task is equally fast in both types of run.
    let mut found = if plan.until_each_is_done && cell.threads > 1 {
        per_task::simulate(cell, plan.effort)?
    } else {
        rare_events::simulate(cell, plan.effort, plan.mean_over)?
    };
    if let Some(of) = plan.samples {
        found.samples = samples(cell, of)?;
    }
    if plan.siblings_apart
        && has_siblings(cell.machine, cell.placement, cell.threads)
        && let Some(apart) = siblings_apart(cell.machine)
    {
        let cell = CellSpec { machine: &apart, ..*cell };
        let plan = RunPlan { samples: None, siblings_apart: false, ..*plan };
        found.siblings_apart = Some(simulate(&cell, &plan)?.throughput);
    }
    Ok(found)
}

/// Returns the machine whose siblings share nothing of an ownership.
pub fn siblings_apart(machine: &Machine) -> Option<Machine> {
    machine.clone().with("cycles.sibling_turn", APART)
}

/// Returns `true` if two of a cell's tasks are siblings of a core.
pub(crate) fn has_siblings(
    machine: &Machine,
    placement: &MachinePlacement,
    threads: usize,
) -> bool {
    let places = placement.places(machine, threads, 1);
    let mut cores: Vec<usize> = places.into_iter().map(|place| machine.place(place).core).collect();
    cores.sort_unstable();
    cores.windows(2).any(|pair| pair[0] == pair[1])
}
