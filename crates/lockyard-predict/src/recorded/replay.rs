//! Replays of a recorded program, and numbers of its host.

use crate::placement::MachinePlacement;
use crate::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_recording::recording::Costs;
use lockyard_recording::script::HostNumbers;
use lockyard_scenarios::{Order, Script, Step, Variant};
use lockyard_sim::Machine;

/// Number of lines by which the cost of a line is found.
const LINES: usize = 4;

/// Returns a variant for this many threads of a machine: under its scheduler, if there are more
/// than it has hardware threads.
pub fn on(machine: &Machine, variant: Variant, threads: usize) -> Variant {
    let guests = if threads > machine.hardware_threads() { Some(1) } else { variant.guests };
    Variant { guests, ..variant }
}

/// Returns a recording's host with the times of the kernel's calls that were measured for the
/// recording, in place of those that the machine's file assumes.
pub(super) fn with_calls(machine: Machine, costs: Costs) -> Machine {
    let deep = machine.number("kernel.deep_wakeup");
    let numbers = [
        ("kernel.wait_changed", costs.park),
        ("kernel.wake_nobody", costs.wake_nobody),
        ("kernel.wake", costs.wake),
        ("kernel.wakeup", costs.wakeup),
        ("kernel.deep_wakeup", deep.unwrap_or(0.0).max(costs.wakeup)),
    ];
    let is_assumed =
        |name: &str| machine.parameter(name).is_none_or(|parameter| parameter.assumed.is_some());
    let measured = numbers.into_iter().filter(|(name, time)| *time > 0.0 && is_assumed(name));
    measured.fold(machine.clone(), |machine, (name, time)| {
        machine.clone().with(name, time).unwrap_or(machine)
    })
}

/// Measures numbers of a machine by simulation.
pub(super) fn numbers(host: &Machine, plain: f64) -> Result<HostNumbers, SimulationError> {
    let time = |lines: usize, threads: usize| -> Result<f64, SimulationError> {
        let variant = loop_of(lines, threads)?;
        Ok(threads as f64 / throughput(host, &variant, threads)? * 1e9)
    };
    let call = (plain - time(0, 1)?).max(0.0);
    if host.hardware_threads() < 2 {
        return Ok(HostNumbers { call, line: 0.0 });
    }
    // Two threads in turn: the time of both is that of two hand-overs.
    let line = (time(LINES, 2)? - time(0, 2)?) / (2 * LINES) as f64;
    Ok(HostNumbers { call, line: line.max(1.0) })
}

/// Returns a loop that takes a lock, touches lines of data, and releases it. One thread alone uses
/// a lock of the C library's kind; several threads have a ticket lock, which they take in turn.
fn loop_of(lines: usize, threads: usize) -> Result<Variant, SimulationError> {
    let mut text = String::from(
        "name = \"loop\"\nwork_varies = false\n[[objects]]\nname = \"lock\"\nkind = \"lock\"\n\
         lock = \"pthread-like-mutex\"\n",
    );
    for line in 0..lines {
        text.push_str(&format!("[[objects]]\nname = \"data-{line}\"\nkind = \"word\"\n"));
    }
    text.push_str(
        "[[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"unlock\"\n\
         object = \"lock\"\n[[variants]]\nname = \"one\"\n[[variants]]\nname = \"turns\"\n\
         set = [{ object = \"lock\", lock = \"ticket\" }]\n",
    );
    let fail = |error: &dyn std::fmt::Display| SimulationError::new(error.to_string());
    let script = Script::parse("loop", &text).map_err(|error| fail(&error))?;
    // One thread has nobody to take turns with.
    let number = usize::from(threads > 1);
    let mut variant = script.variants.into_iter().nth(number).ok_or_else(|| fail(&"no variant"))?;
    if let Some(Step::Locked { steps, .. }) = variant.steps.first_mut() {
        steps.extend((1..=lines).map(|object| Step::Touch { object }));
    }
    Ok(variant)
}

/// Returns the simulated operations a second.
pub(super) fn throughput(
    machine: &Machine,
    variant: &Variant,
    threads: usize,
) -> Result<f64, SimulationError> {
    Ok(replay(machine, variant, threads)?.throughput)
}

/// Simulates a variant.
pub(super) fn replay(
    machine: &Machine,
    variant: &Variant,
    threads: usize,
) -> Result<Prediction, SimulationError> {
    let placement = MachinePlacement::Order(Order::default());
    let cell =
        CellSpec { machine, variant, placement: &placement, home: 0, threads, local_work: 0.0 };
    let effort = SimulationEffort::usual(machine, &placement, threads);
    simulate(&cell, &RunPlan::of_windows(effort))
}

/// Simulates the first variant of a recording's script as a request for its rows does.
pub(super) fn replay_as_row(
    machine: &Machine,
    script: &Script,
    threads: usize,
) -> Result<Prediction, SimulationError> {
    let variant = script.variants.first();
    let variant = variant.ok_or_else(|| SimulationError::new("there is no variant".to_owned()))?;
    let (variant, placement) =
        (on(machine, variant.clone(), threads), MachinePlacement::Order(script.order));
    let (variant, placement, home) = (&variant, &placement, script.home);
    let cell = CellSpec { machine, variant, placement, home, threads, local_work: 0.0 };
    let plan = RunPlan { siblings_apart: false, ..RunPlan::full(&cell, &script.run, None) };
    simulate(&cell, &plan)
}
