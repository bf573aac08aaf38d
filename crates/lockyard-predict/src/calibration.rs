//! Calibration from a script's calibration cell. It gives the local work of an operation, or the
//! number of the metric's units per operation.

use crate::failure::Failure;
use crate::local_work::{self, LocalWork};
use crate::names;
use crate::placement::{MachinePlacement, check_threads};
use crate::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_results::cell_key::CellKey;
use lockyard_results::published::{PublishedCell, PublishedTable};
use lockyard_scenarios::{Calibration, Gives, Length, LockKinds, Metric, Region, Script, Variant};
use lockyard_support::{InputError, threads as in_words};

/// Returns the published cell that calibrates `variant` for `machine`, as the script's calibration
/// says. If there is no cell for this machine, uses the calibration's first machine.
pub fn calibration_cell<'t>(
    script: &Script,
    variant: &str,
    machine: &str,
    tables: &'t [PublishedTable],
) -> Option<&'t PublishedCell> {
    let calibration = script.calibration.as_ref().filter(|c| c.measured.is_none())?;
    let variant = calibration.variant.as_deref().unwrap_or(variant);
    let experiment = calibration.experiment.as_deref().unwrap_or(&script.name);
    let own = calibration.machines.iter().find(|name| *name == machine);
    let machine = own.or(calibration.machines.first())?;
    tables.iter().flat_map(|table| &table.cells).find(|cell| {
        cell.key.experiment == experiment
            && cell.key.machine == *machine
            && cell.key.threads == calibration.threads
            && cell.key.variant == variant
            && match &calibration.metric {
                None => {
                    cell.key.metric == script.metric.name() && cell.key.unit == script.metric.unit()
                }
                Some(metric) if calibration.gives == Gives::Numbers => cell.key.metric == *metric,
                Some(metric) => {
                    cell.key.metric == *metric && cell.key.unit == Metric::OPERATIONS.unit()
                }
            }
    })
}

/// Returns the throughput of a script's calibration cell in operations per second, from a metric.
/// Returns `None` if the number of tasks is unknown, or if the cell gave numbers of the script
/// instead of a figure of its metric.
pub fn calibration_throughput(
    script: &Script,
    metric: Metric,
    cell: &PublishedCell,
) -> Option<f64> {
    if script.calibration.as_ref().is_some_and(|c| c.gives == Gives::Numbers) {
        return None;
    }
    let tasks = script.tasks(cell.key.threads)?;
    let own = script.calibration.as_ref().is_none_or(|c| c.metric.is_none());
    Some(if own { metric.throughput(cell.value, tasks) } else { cell.value })
}

/// Result of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated {
    /// Local work of an operation, if the variant has calibrated work.
    pub work: Option<LocalWork>,
    /// The script's metric, with the number of its units per operation.
    pub metric: Metric,
}

impl Calibrated {
    /// Returns the local work of an operation, in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        self.work.map_or(0.0, |work| work.nanoseconds)
    }
}

/// Returns the calibration of a variant for a machine.
///
/// # Errors
///
/// If the cell or its machine does not exist, or a run fails.
pub fn calibrated(
    script: &Script,
    variant: &Variant,
    machine: &str,
    tables: &[PublishedTable],
) -> Result<Calibrated, Failure> {
    let work = local_work(script, variant, machine, tables)?;
    let metric = match (&script.calibration, script.metric) {
        (Some(calibration), Metric::Throughput(rate)) if calibration.gives_unit() => {
            let own =
                matches!(calibration.gives, Gives::WorkAndUnit { .. }).then_some(work).flatten();
            let per_operation = per_operation(script, calibration, variant, machine, own, tables)?;
            Metric::Throughput(rate.with_per_operation(per_operation))
        }
        (_, metric) => metric,
    };
    Ok(Calibrated { work, metric })
}

/// Returns the number of the metric's units per operation. It is the published figure of the
/// calibration cell divided by the figure simulated with one unit per operation. `own` is the local
/// work from the same calibration.
fn per_operation(
    script: &Script,
    calibration: &Calibration,
    variant: &Variant,
    machine: &str,
    own: Option<LocalWork>,
    tables: &[PublishedTable],
) -> Result<f64, Failure> {
    let cell = required_cell(script, calibration, variant, machine, tables)?;
    let of = calibrating(script, calibration)?;
    let Some(variant) = of.variant(calibration.variant.as_deref().unwrap_or(&variant.name)) else {
        return Err(no_variant(script, &of, &variant.name));
    };
    let machine = names::machine(&cell.key.machine)?;
    let Some(tasks) = of.tasks(cell.key.threads) else {
        return Err(Failure::Input(InputError(format!(
            "scenario `{}`: neither its calibration cell nor `tasks` in [run] says how many tasks \
             ran",
            of.name
        ))));
    };
    check_threads(&machine, tasks)?;
    let placement = MachinePlacement::Order(of.order);
    let effort = SimulationEffort::usual(&machine, &placement, tasks);
    // If this calibration gave no work, use that of the calibrating script, if there is one.
    let work = if own.is_some() {
        own
    } else if of.calibration.as_ref().is_some_and(Calibration::gives_local_work) {
        local_work(&of, variant, &cell.key.machine, tables)?
    } else {
        None
    };
    let work = work.map_or(0.0, |work| work.nanoseconds);
    let one = Metric::Throughput(match script.metric {
        Metric::Throughput(rate) => rate.with_per_operation(1.0),
        _ => unreachable!("the parser allows it for a throughput only"),
    });
    let spec = CellSpec {
        machine: &machine,
        variant,
        placement: &placement,
        home: of.home,
        threads: tasks,
        local_work: work,
    };
    simulate(&spec, &RunPlan::of_windows(effort))
        .map(|found| cell.value / one.figure(found.throughput, tasks))
        .map_err(|e| Failure::Run(format!("{}, {}: calibration: {e}", of.name, variant.name)))
}

/// Returns the script whose published cell calibrates `script`. This is `script` itself, or the
/// shipped script that its calibration names.
fn calibrating(script: &Script, calibration: &Calibration) -> Result<Script, Failure> {
    let own = |name: &&String| **name != script.name;
    let Some(name) = calibration.experiment.as_ref().filter(own) else {
        return Ok(script.clone());
    };
    let other = names::scenario(name, &LockKinds::default())?;
    let elsewhere = other.calibration.as_ref().and_then(|c| c.experiment.as_ref());
    if elsewhere.is_some_and(|experiment| *experiment != other.name) {
        return Err(Failure::Input(InputError(format!(
            "scenario `{}` is calibrated by `{name}`, which is itself calibrated by another \
             scenario",
            script.name
        ))));
    }
    Ok(other)
}

fn no_variant(script: &Script, of: &Script, variant: &str) -> Failure {
    Failure::Input(InputError(format!(
        "scenario `{}` is calibrated by `{}`, which has no variant `{variant}`",
        script.name, of.name
    )))
}

/// Returns the calibration cell, or an error if it does not exist. A figure that the user measured
/// is a cell of no table.
fn required_cell(
    script: &Script,
    calibration: &Calibration,
    variant: &Variant,
    machine: &str,
    tables: &[PublishedTable],
) -> Result<PublishedCell, Failure> {
    let of = calibration.variant.as_deref().unwrap_or(&variant.name);
    if let (Some(value), Some(machine)) = (calibration.measured, calibration.machines.first()) {
        let key = CellKey {
            experiment: script.name.clone(),
            machine: machine.clone(),
            variant: of.to_owned(),
            threads: calibration.threads,
            metric: script.metric.name().to_owned(),
            unit: script.metric.unit().to_owned(),
        };
        return Ok(PublishedCell { key, value });
    }
    calibration_cell(script, &variant.name, machine, tables).cloned().ok_or_else(|| {
        let threads = calibration.threads.map(|threads| format!(", {}", in_words(threads)));
        Failure::Input(InputError(format!(
            "scenario `{}`: no published table has its calibration cell ({}, {of}{})",
            script.name,
            calibration.machines.join(" or "),
            threads.unwrap_or_default()
        )))
    })
}

/// Returns the local work of a variant, from its calibration cell on the cell's machine. Returns
/// `None` if the variant has no calibrated work. `machine` is the machine of the prediction.
///
/// # Errors
///
/// If the cell or its machine does not exist, or a run fails.
pub fn local_work(
    script: &Script,
    variant: &Variant,
    machine: &str,
    tables: &[PublishedTable],
) -> Result<Option<LocalWork>, Failure> {
    let Some(calibration) = &script.calibration else { return Ok(None) };
    if !calibration.gives_local_work() || !variant.is_calibrated() {
        return Ok(None);
    }
    let of = calibration.variant.as_deref().unwrap_or(&variant.name);
    let by = calibrating(script, calibration)?;
    if by.name != script.name {
        let Some(variant) = by.variant(of) else {
            return Err(no_variant(script, &by, of));
        };
        return local_work(&by, variant, machine, tables);
    }
    let cell = required_cell(script, calibration, variant, machine, tables)?;
    let machine = names::machine(&cell.key.machine)?;
    let Some(variant) = script.variant(of) else {
        unreachable!("a script's calibration names one of its variants")
    };
    let (Some(tasks), Some(throughput)) =
        (script.tasks(cell.key.threads), calibration_throughput(script, script.metric, &cell))
    else {
        return Err(Failure::Input(InputError(format!(
            "scenario `{}`: neither its calibration cell nor `tasks` in [run] says how many tasks \
             ran",
            script.name
        ))));
    };
    check_threads(&machine, tasks)?;
    let order = MachinePlacement::Order(script.order);
    // With one thread, the mean time of an operation does not depend on how much operations differ.
    // Equal ones show it exactly.
    let equal = (calibration.measured.is_some() && tasks == 1)
        .then(|| Variant { work_varies: false, ..variant.clone() });
    let spec = CellSpec {
        machine: &machine,
        variant: equal.as_ref().unwrap_or(variant),
        placement: &order,
        home: script.home,
        threads: tasks,
        local_work: 0.0,
    };
    let solved = match calibration.gives {
        Gives::WorkAndUnit { region } => {
            let share = cpu_share(script, &cell, region, tables)?;
            local_work::solve_cpu_time(&spec, region, share)
        }
        _ => local_work::solve(&spec, throughput),
    };
    solved.map(Some).map_err(|e| Failure::Run(format!("{}, {of}: calibration: {e}", script.name)))
}

/// Returns the CPU time of all tasks in a region, in seconds per second, for the run of a
/// calibration cell. The time is in the second cell of the calibration.
fn cpu_share(
    script: &Script,
    cell: &PublishedCell,
    region: Region,
    tables: &[PublishedTable],
) -> Result<f64, Failure> {
    let wanted = format!("{}-time", region.name());
    let missing = |what: &str| {
        let message = format!("scenario `{}`: {what}", script.name);
        Failure::Input(InputError(message))
    };
    let second = tables.iter().flat_map(|table| &table.cells).find(|second| {
        second.key.metric == wanted
            && second.key.unit == "s"
            && (&second.key.experiment, &second.key.machine)
                == (&cell.key.experiment, &cell.key.machine)
            && (&second.key.variant, second.key.threads) == (&cell.key.variant, cell.key.threads)
    });
    let second = second.ok_or_else(|| {
        missing(&format!(
            "no published table has the second cell of its calibration ({wanted} in s)"
        ))
    })?;
    // Use the table's unit, so that the number of units per operation does not matter.
    let seconds = match (script.run.length, script.metric) {
        (Some(Length::Seconds(seconds)), _) => seconds,
        (Some(Length::Amount(amount)), Metric::Throughput(rate)) => {
            amount / Metric::Throughput(rate.with_per_operation(1.0)).throughput(cell.value, 1)
        }
        _ => {
            return Err(missing(
                "its calibration needs `seconds`, or the `amount`, of the run in [run]",
            ));
        }
    };
    Ok(second.value / seconds)
}
