//! Reasons why a run of a cell failed.

use super::prediction::SimulationError;
use super::spec::CellSpec;
use super::stage::OnMachine;
use lockyard_scenarios::{Prepared, Stuck};
use lockyard_support::threads as in_words;
use std::fmt::Display;
use std::rc::Rc;

/// Reason why a run failed.
pub(super) enum Failed {
    /// The objects could not be laid out.
    Setup(&'static str),
    /// Failure during the run.
    Run(String),
    /// No operation finished.
    Stalled(String),
    /// Tasks wait for each other for ever.
    Stuck(Stuck),
    /// A step that no script may do, with its place in the script.
    Script(String),
}

impl Failed {
    /// Returns the reason why a run with these objects failed, which ended with `outcome`. If a
    /// step of the script was wrong, that is the reason: other tasks may have waited for its task.
    pub(super) fn during(objects: &[Rc<Prepared<OnMachine>>], outcome: &impl Display) -> Failed {
        if let Some(fault) = objects.iter().find_map(|objects| objects.fault()) {
            return Failed::Script(fault.to_string());
        }
        match Failed::stuck(objects) {
            Some(stuck) => stuck,
            None => Failed::Run(outcome.to_string()),
        }
    }

    /// Returns why a run has no figure if tasks wait for each other for ever.
    pub(super) fn stuck(objects: &[Rc<Prepared<OnMachine>>]) -> Option<Failed> {
        let stuck = objects.iter().find_map(|objects| objects.stuck())?;
        Some(Failed::Stuck(stuck.clone()))
    }

    /// Returns the reason why a run with these objects has no figure, in which no operation
    /// finished.
    pub(super) fn stalled(objects: &[Rc<Prepared<OnMachine>>], what: String) -> Failed {
        match Failed::during(objects, &what) {
            Failed::Run(what) => Failed::Stalled(what),
            fault => fault,
        }
    }

    /// Returns the error of the run `which` of a cell.
    pub(super) fn error(self, cell: &CellSpec, which: &str) -> SimulationError {
        let threads = in_words(cell.threads);
        match self {
            Failed::Setup(what) => SimulationError::Run(what.to_owned()),
            Failed::Run(what) => SimulationError::Run(format!("{threads}, {which}: {what}")),
            Failed::Stalled(what) => SimulationError::Stalled(format!("{which}: {what}")),
            Failed::Stuck(Stuck { what, meetings }) => {
                SimulationError::Stuck { what: format!("{which}: {what}"), meetings }
            }
            Failed::Script(what) => {
                let variant = &cell.variant.name;
                SimulationError::Script(format!("{what} ({variant}, {threads}, {which})"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::placement::MachinePlacement;
    use crate::simulate::{CellSpec, RunPlan, SimulationEffort, SimulationError, simulate, trace};
    use lockyard_scenarios::Script;
    use lockyard_sim::Machine;

    #[test]
    fn a_wrong_step_is_an_error_of_the_script_however_the_run_ends() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let script =
            Script::parse("bad.toml", lockyard_testing::WRONG_STEP).expect("it is a script");
        let placement = MachinePlacement::Order(script.order);
        for threads in [1, 2, 8] {
            let cell = CellSpec::first_of(&machine, &script, &placement, threads);
            let effort = SimulationEffort::SEARCH;
            let of_windows = RunPlan::of_windows(effort);
            for plan in [of_windows, RunPlan { until_each_is_done: true, ..of_windows }] {
                let Err(SimulationError::Script(what)) = simulate(&cell, &plan) else {
                    panic!("{threads} threads: not an error of the script")
                };
                let begins = "bad.toml:12: `slots` has 4 words, and a step used word 4; allowed: \
                              0 to 3 (v, ";
                assert!(what.starts_with(begins) && what.ends_with(", seed 1)"), "{what}");
            }
            let traced = trace(&cell, effort, None, 1 << 20);
            assert!(traced.is_ok() || matches!(traced, Err(SimulationError::Script(_))));
        }
    }
}
