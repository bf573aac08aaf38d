//! Replays of a recorded program, and numbers of its host.

use crate::placement::MachinePlacement;
use crate::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_recording::model::Model;
use lockyard_recording::recording::{Costs, Kind};
use lockyard_recording::script::HostNumbers;
use lockyard_scenarios::{Access, LockKind, Order, Script, Step, Variant};
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
pub(super) fn numbers(
    host: &Machine,
    plain: f64,
    model: &Model,
) -> Result<HostNumbers, SimulationError> {
    let time = |lines: usize, of: Loop| -> Result<f64, SimulationError> {
        let variant = loop_of(lines, of)?;
        Ok(of.threads as f64 / throughput(host, &variant, of.threads)? * 1e9)
    };
    let call = (plain - time(0, MUTEX)?).max(0.0);
    let mut numbers = HostNumbers { call, ..HostNumbers::default() };
    if model.groups.iter().any(|group| group.kind == Kind::RwLock) {
        // The costs that are taken off a recorded time are those of a mutex, so that these have
        // what the plain reader-writer lock needs beyond it.
        let own = |access| time(0, access).map(|time| plain - time);
        numbers.read_write_calls = [own(WRITE)?, own(READ)?];
    }
    if host.hardware_threads() < 2 {
        return Ok(numbers);
    }
    // Two threads in turn: the time of both is that of two hand-overs.
    let line = (time(LINES, TURNS)? - time(0, TURNS)?) / (2 * LINES) as f64;
    numbers.line = line.max(1.0);
    Ok(numbers)
}

/// Loops whose time tells a number of a machine: lock, access, threads. One thread alone uses a
/// lock of the C library's kind; two have a ticket lock, which they take in turn.
#[derive(Clone, Copy)]
struct Loop {
    lock: LockKind,
    access: Access,
    threads: usize,
}

const MUTEX: Loop = Loop { lock: LockKind::PthreadLike, access: Access::Exclusive, threads: 1 };
const WRITE: Loop = Loop { lock: LockKind::PthreadReadWrite, ..MUTEX };
const READ: Loop = Loop { access: Access::Shared, ..WRITE };
const TURNS: Loop = Loop { lock: LockKind::Ticket, threads: 2, ..MUTEX };

/// Returns a loop that takes a lock, touches lines of data, and releases it.
fn loop_of(lines: usize, of: Loop) -> Result<Variant, SimulationError> {
    let mut text = format!(
        "name = \"loop\"\nwork_varies = false\n[[objects]]\nname = \"lock\"\nkind = \"lock\"\n\
         lock = \"{}\"\n",
        of.lock.name()
    );
    for line in 0..lines {
        text.push_str(&format!("[[objects]]\nname = \"data-{line}\"\nkind = \"word\"\n"));
    }
    let shared = if of.access == Access::Shared { "-shared" } else { "" };
    for action in ["lock", "unlock"] {
        text.push_str(&format!("[[steps]]\ndo = \"{action}{shared}\"\nobject = \"lock\"\n"));
    }
    text.push_str("[[variants]]\nname = \"one\"\n");
    let fail = |error: &dyn std::fmt::Display| SimulationError::new(error.to_string());
    let script = Script::parse("loop", &text).map_err(|error| fail(&error))?;
    let variant = script.variants.into_iter().next();
    let mut variant = variant.ok_or_else(|| fail(&"no variant"))?;
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
