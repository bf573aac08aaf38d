//! Plan for reproducing published cells: calibrations and runs. Each run is simulated once for all
//! cells that use it.

use lockyard_measure::call_path;
use lockyard_predict::calibration::{self, Calibrated};
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, Prediction, RunPlan, simulate};
use lockyard_results::outcome::Outcome;
use lockyard_results::published::{PublishedCell, PublishedTable};
use lockyard_scenarios::{Figure, Metric, OfTasks, Script, Variant};
use lockyard_sim::Machine;

/// Runs and calibrations, without duplicates.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) runs: Vec<Run>,
    pub(super) calibrations: Vec<Calibration>,
}

/// A run: a variant of a script with this number of tasks on a machine.
pub(super) struct Run {
    pub(super) script: Script,
    pub(super) variant: Variant,
    pub(super) machine: Machine,
    pub(super) tasks: usize,
    /// Index into the calibrations.
    pub(super) calibration: usize,
    /// Number of published cells that use the run.
    pub(super) cells: usize,
}

/// A calibration: a variant of a script, for a machine.
pub(super) struct Calibration {
    pub(super) script: Script,
    pub(super) variant: Variant,
    pub(super) machine: String,
}

/// Reason why a cell has no model.
pub(super) struct NoModel {
    pub(super) reason: String,
    /// True if the cell is an input rather than a result.
    pub(super) input: bool,
}

impl From<String> for NoModel {
    fn from(reason: String) -> Self {
        NoModel { reason, input: false }
    }
}

/// Returns the machine for a published machine's name: the shipped one, or the replacement that a
/// script names.
fn machine(script: &Script, published: &str) -> Option<Machine> {
    let other = || Machine::shipped(script.profile.machine.as_deref()?);
    Machine::shipped(published).or_else(other)
}

/// Derivation of a published cell from runs.
pub(super) struct Model {
    /// Index into the runs.
    pub(super) run: usize,
    /// Figure of the run that the cell reports.
    pub(super) figure: Figure,
    /// Index of the run with which the cell is compared.
    pub(super) reference: Option<usize>,
    /// True if the model uses this cell as an input, or another cell that states the same.
    pub(super) is_calibration: bool,
    /// Calibration cell.
    calibrated_by: Option<PublishedCell>,
}

impl Run {
    /// Simulates the run.
    ///
    /// # Errors
    ///
    /// If the simulation fails.
    pub(super) fn simulate(&self, calibrated: Calibrated) -> Result<Prediction, String> {
        let order = MachinePlacement::Order(self.script.order);
        let spec = CellSpec {
            machine: &self.machine,
            variant: &self.variant,
            placement: &order,
            home: self.script.home,
            threads: self.tasks,
            local_work: calibrated.nanoseconds(),
        };
        simulate(&spec, &RunPlan::full(&spec, &self.script.run, self.script.samples))
            .map_err(|e| format!("{}, {}: {e}", self.script.name, self.variant.name))
    }
}

impl Model {
    /// Returns the figure of the trivial model, which holds the cost of an operation in the
    /// calibration cell constant.
    pub(super) fn trivial(&self, run: &Run, metric: Metric) -> Option<f64> {
        let cell = self.calibrated_by.as_ref()?;
        let throughput = calibration::calibration_throughput(&run.script, metric, cell)?;
        if let Figure::Sample { of, .. } = self.figure {
            // The trivial model assumes that all samples equal the first one.
            return Some(match of {
                OfTasks::Total => throughput,
                OfTasks::Least | OfTasks::Most => throughput / run.tasks as f64,
            });
        }
        Outcome::of_throughput(throughput, metric, run.tasks).figure(&self.figure, None)
    }
}

impl Plan {
    /// Returns the model of a cell, or the reason why it has none.
    pub(super) fn model(
        &mut self,
        cell: &PublishedCell,
        tables: &[PublishedTable],
    ) -> Result<Model, NoModel> {
        if let Some(reason) = call_path::without_measurement(&cell.key.experiment) {
            return Err(reason.into());
        }
        let script = Script::shipped(&cell.key.experiment)
            .ok_or_else(|| format!("there is no scenario `{}`", cell.key.experiment))?;
        if let Some(left_out) = script.left_out.iter().find(|l| l.metric == cell.key.metric) {
            return Err(NoModel { reason: left_out.reason.clone(), input: left_out.input });
        }
        if let Some(reason) = script.profile.left_out(&cell.key.metric) {
            return Err(reason.to_owned().into());
        }
        let machine = machine(&script, &cell.key.machine)
            .ok_or_else(|| format!("there is no machine file for `{}`", cell.key.machine))?;
        let figure = script.figure(
            &cell.key.machine,
            &cell.key.variant,
            &cell.key.metric,
            &cell.key.unit,
        )?;
        let no_variant = |name: &str| format!("the scenario has no variant `{name}`");
        let variant = script.variant(&cell.key.variant).cloned();
        let variant = variant.ok_or_else(|| no_variant(&cell.key.variant))?;
        let Some(tasks) = script.tasks(cell.key.threads) else {
            let reason = "neither the table nor the scenario says how many tasks ran";
            return Err(reason.to_owned().into());
        };
        if tasks > machine.hardware_threads() {
            let all = machine.hardware_threads();
            return Err(format!("the machine has {all} hardware threads").into());
        }
        let by =
            calibration::calibration_cell(&script, &cell.key.variant, &cell.key.machine, tables);
        let gave = by.is_some_and(|by| {
            let also = |c: &lockyard_scenarios::Calibration| c.also.contains(&cell.key.metric);
            let says_it = figure.is_the_metric() && by.key.metric == script.metric.name();
            by == cell
                || by.key.is_of_run(&cell.key)
                    && (says_it || script.calibration.as_ref().is_some_and(also))
        });
        let gave = gave || script.profile.is_input(&cell.key.variant, &cell.key.metric);
        let reference = match figure.reference() {
            Some(name) => Some(script.variant(name).cloned().ok_or_else(|| no_variant(name))?),
            None => None,
        };
        let run = self.run(&script, variant, &machine, tasks);
        self.runs[run].cells += 1;
        Ok(Model {
            run,
            figure,
            reference: reference.map(|variant| self.run(&script, variant, &machine, tasks)),
            is_calibration: gave,
            calibrated_by: by.cloned(),
        })
    }

    /// Returns the index of a run, which is added if it is new.
    fn run(&mut self, script: &Script, variant: Variant, machine: &Machine, tasks: usize) -> usize {
        let same = |known: &Run| {
            known.script.name == script.name
                && known.variant.name == variant.name
                && known.machine.name() == machine.name()
                && known.tasks == tasks
        };
        if let Some(run) = self.runs.iter().position(same) {
            return run;
        }
        let calibration = self.calibration(script, &variant, machine.name());
        self.runs.push(Run {
            script: script.clone(),
            variant,
            machine: machine.clone(),
            tasks,
            calibration,
            cells: 0,
        });
        self.runs.len() - 1
    }

    /// Returns the index of a calibration. If a script names a variant for its calibration, all its
    /// variants share one.
    fn calibration(&mut self, script: &Script, variant: &Variant, machine: &str) -> usize {
        let shared = script.calibration.as_ref().is_some_and(|c| c.variant.is_some());
        let same = |known: &Calibration| {
            known.script.name == script.name
                && known.machine == machine
                && (shared || known.variant.name == variant.name)
        };
        self.calibrations.iter().position(same).unwrap_or_else(|| {
            let (script, variant) = (script.clone(), variant.clone());
            self.calibrations.push(Calibration { script, variant, machine: machine.to_owned() });
            self.calibrations.len() - 1
        })
    }
}
