//! Sensitivity of the predicted ratio to facts that the table `qspinlock-applications` does not
//! state. Each shipped script is run with one of its assumptions replaced. It is calibrated again
//! on the ticket lock's row, and then predicts the ratio.
//!
//! ```text
//! cargo study applications [-- MACHINE]
//! ```
//!
//! Prints for each assumption:
//!
//! - nanoseconds of work between two visits to the lock
//! - visits per unit of the table (job, record)
//! - the predicted ratio of the queued lock's throughput to the ticket lock's
//! - the dominating cost with the ticket lock

use lockyard_predict::calibration;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_results::published;
use lockyard_scenarios::{ObjectKind, Region, Script, Step};
use lockyard_sim::Machine;
use lockyard_support::jobs;
use std::process::ExitCode;

const EXPERIMENTS: [&str; 3] = ["aim7-disk/xfs", "aim7-disk/ext4", "ebizzy-m"];

/// Assumption that replaces one of the script's.
#[derive(Clone, Copy)]
enum Instead {
    AsStated,
    /// All operations have the same local work.
    ConstantWork,
    /// System work outside the lock, as a share of the system time in the ticket lock's row.
    SystemWork(f64),
    /// The head of the list has its own line.
    Standalone,
    /// The lock protects only its own line, without the neighbouring entry.
    NoNeighbour,
    /// The holder works this many nanoseconds longer.
    Hold(f64),
    /// Number of locks, visited in turn.
    Locks(usize),
}

impl Instead {
    const ALL: [Instead; 15] = [
        Instead::AsStated,
        Instead::SystemWork(0.0),
        Instead::SystemWork(0.1),
        Instead::SystemWork(0.2),
        Instead::SystemWork(0.4),
        Instead::SystemWork(0.6),
        Instead::SystemWork(0.8),
        Instead::SystemWork(0.95),
        Instead::Standalone,
        Instead::NoNeighbour,
        Instead::Hold(200.0),
        Instead::Hold(1000.0),
        Instead::Locks(2),
        Instead::Locks(4),
        Instead::ConstantWork,
    ];

    fn describe(self) -> String {
        match self {
            Instead::AsStated => "as the script states".to_owned(),
            Instead::ConstantWork => "all operations take the same work".to_owned(),
            Instead::SystemWork(share) => {
                format!("{:.0} % of the system time outside the lock", share * 100.0)
            }
            Instead::Standalone => "the list's head in a line of its own".to_owned(),
            Instead::NoNeighbour => "no neighbouring entry".to_owned(),
            Instead::Hold(nanoseconds) => format!("{nanoseconds} ns more under the lock"),
            Instead::Locks(count) => format!("{count} locks"),
        }
    }

    /// Applies the assumption. `system` is the published ratio of system time to user time with the
    /// ticket lock.
    fn apply(self, script: &mut Script, system: f64) {
        for variant in &mut script.variants {
            match self {
                Instead::AsStated => {}
                Instead::ConstantWork => variant.work_varies = false,
                Instead::SystemWork(share) => set_system_work(&mut variant.steps, share * system),
                Instead::Standalone => {
                    let line = variant.objects.len();
                    variant.objects[1].line = line;
                }
                Instead::NoNeighbour => {
                    if let Some(Step::Locked { steps, .. }) = variant.steps.first_mut() {
                        steps.retain(|step| !matches!(step, Step::Write { object: 2 }));
                    }
                }
                Instead::Hold(nanoseconds) => {
                    if let Some(Step::Locked { steps, .. }) = variant.steps.first_mut() {
                        steps.push(Step::Work {
                            nanoseconds,
                            activity: Region::System.into(),
                            ahead: false,
                        });
                    }
                }
                Instead::Locks(count) => {
                    let (objects, steps) = (variant.objects.clone(), variant.steps.clone());
                    let lines = objects.iter().map(|object| object.line + 1).max().unwrap_or(0);
                    (variant.objects, variant.steps) = (Vec::new(), Vec::new());
                    for lock in 0..count {
                        variant.objects.extend(objects.iter().cloned().map(|mut object| {
                            object.name = format!("{} {lock}", object.name);
                            object.line += lock * lines;
                            object
                        }));
                        let mut visit = steps.clone();
                        for step in &mut visit {
                            move_to(step, lock * objects.len(), count);
                        }
                        variant.steps.extend(visit);
                    }
                }
            }
        }
    }
}

/// Sets the system work outside the lock to `system` times the user work. Then rescales all shares
/// to add up to 1.
fn set_system_work(steps: &mut [Step], system: f64) {
    let user = steps.iter().find_map(|step| match step {
        Step::CalibratedWork { share, activity, .. } if activity.region == Region::User => {
            Some(*share)
        }
        _ => None,
    });
    let user = user.unwrap_or(0.0);
    let mut total = 0.0;
    for step in &mut *steps {
        if let Step::CalibratedWork { share, activity, .. } = step {
            if activity.region == Region::System {
                *share = user * system;
            }
            total += *share;
        }
    }
    for step in steps {
        if let Step::CalibratedWork { share, .. } = step {
            *share /= total;
        }
    }
}

/// Returns the same step for the objects `offset` places later. The step becomes one of `count`
/// visits in an operation.
fn move_to(step: &mut Step, offset: usize, count: usize) {
    match step {
        Step::Locked { object, steps, .. } => {
            *object += offset;
            steps.iter_mut().for_each(|step| move_to(step, offset, count));
        }
        Step::Write { object } => *object += offset,
        Step::CalibratedWork { share, .. } => *share /= count as f64,
        _ => {}
    }
}

fn row(name: &str, instead: Instead, machine: &str) -> Result<String, String> {
    let tables = published::shipped().map_err(|e| e.to_string())?;
    let figure = |metric: &str| {
        let cell = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            (&*cell.key.experiment, &*cell.key.variant, &*cell.key.metric)
                == (name, "ticket", metric)
        });
        cell.map(|cell| cell.value).ok_or_else(|| format!("{name} has no {metric}"))
    };
    let mut script = Script::shipped(name).ok_or_else(|| format!("there is no {name}"))?;
    instead.apply(&mut script, figure("system-time")? / figure("user-time")?);
    let visits = script.variants[0]
        .objects
        .iter()
        .filter(|object| matches!(object.kind, ObjectKind::Lock { .. }))
        .count();
    let on = Machine::shipped(machine).ok_or_else(|| format!("there is no machine {machine}"))?;
    let ticket = script.variant("ticket").ok_or("no ticket lock")?;
    let calibrated =
        calibration::calibrated(&script, ticket, machine, &tables).map_err(|e| e.to_string())?;
    let tasks = script.tasks(None).ok_or("no number of tasks")?.min(on.hardware_threads());
    let order = MachinePlacement::Order(script.order);
    let run = |variant: &str| {
        let variant = script.variant(variant).ok_or("no such variant")?;
        let cell = CellSpec {
            machine: &on,
            variant,
            placement: &order,
            home: script.home,
            threads: tasks,
            local_work: calibrated.nanoseconds(),
        };
        simulate(&cell, &RunPlan::of_windows(SimulationEffort::usual(&on, &order, tasks)))
            .map_err(|e| e.to_string())
    };
    let (ticket, queued) = (run("ticket")?, run("qspinlock")?);
    let miss = calibrated.work.map_or(0.0, |work| work.miss);
    Ok(format!(
        "  {:<44} {:>8.0} {:>8.1} {:>7.3}  {}{}",
        instead.describe(),
        calibrated.nanoseconds() / visits as f64,
        visits as f64 / calibrated.metric.per_operation(),
        queued.throughput / ticket.throughput,
        ticket.costs.cause().0.name(),
        if miss.abs() > 0.01 {
            format!(" (misses the system time by {:+.1} %)", miss * 100.0)
        } else {
            String::new()
        }
    ))
}

fn main() -> ExitCode {
    let machine = std::env::args().nth(1).unwrap_or_else(|| "westmere-ex-4s10c".to_owned());
    for name in EXPERIMENTS {
        println!("{name} on {machine}");
        println!("  {:<44} {:>8} {:>8} {:>7}  dominates", "", "work, ns", "visits", "ratio");
        let rows = jobs::run(&Instead::ALL, 2, |&instead| row(name, instead, &machine), || {});
        for row in rows.into_iter().flatten() {
            match row {
                Ok(row) => println!("{row}"),
                Err(what) => {
                    eprintln!("applications: {what}");
                    return ExitCode::from(2);
                }
            }
        }
    }
    ExitCode::SUCCESS
}
