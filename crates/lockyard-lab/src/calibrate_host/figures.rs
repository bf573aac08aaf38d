//! Test of the derived machine: compares its figures with the host's figures.
//!
//! A figure that determined a number of the file is an input. Its agreement is shown but does not
//! count. The single-task figure of a contended scenario is also an input, because it determines
//! the local work.

use super::contended::{self, Performed};
use super::solve::place_at;
use super::{
    Alone, Calibrated, Contended, LineDistance, Measurements, Pair, draft, layout, steady,
};
use lockyard_measure::kernel::{Cost, Costs};
use lockyard_predict::machine::known_figures;
use lockyard_results::render::{Extent, Partial};
use lockyard_results::row::Measured;
use lockyard_results::statistics;
use lockyard_scenarios::Variant;
use lockyard_sim::Machine;
use lockyard_sim::machine::Value;
use lockyard_support::jobs;
use std::collections::BTreeMap;

/// Threshold in cycles. If the second sibling waits longer than this, the siblings share nothing
/// during an ownership.
const APART: f64 = 500.0;

/// Role of a figure in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureRole {
    /// The figure determined a number in the file.
    Input,
    /// The machine predicts the figure.
    Predicted,
    /// The file has no number for the figure.
    Shown,
}

impl FigureRole {
    /// Returns the name of the role in results.
    pub fn name(self) -> &'static str {
        match self {
            FigureRole::Input => "input",
            FigureRole::Predicted => "predicted",
            FigureRole::Shown => "shown",
        }
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationRow {
    /// Name of the figure.
    pub figure: String,
    /// Number of threads.
    pub threads: usize,
    /// Unit of the figure.
    pub unit: &'static str,
    /// Measured figure.
    pub measured: Measured,
    /// Predicted figure.
    pub predicted: Option<f64>,
    /// Role of the figure in the file.
    pub role: FigureRole,
}

impl CalibrationRow {
    /// Returns `predicted / measured - 1`.
    pub fn error(&self) -> Option<f64> {
        self.predicted.map(|predicted| predicted / self.measured.value - 1.0)
    }
}

/// All figures, and their summary.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The figures.
    pub rows: Vec<CalibrationRow>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Notes of the machine file, which every command that uses the file repeats.
    pub machine_notes: Vec<String>,
    /// Family whose constants the file uses, if it belongs to another vendor.
    pub borrowed_family: Option<String>,
    /// Missing part after an interrupt; `None` if the figures are complete.
    pub partial: Option<Partial>,
}

impl Figures {
    /// Records that, after an interrupt, this many of all requested items are finished.
    pub fn interrupted(&mut self, finished: usize, asked: usize, things: &'static str) {
        let extent = Extent { finished, asked, things };
        self.partial = Some(Partial { why: "interrupted", extent });
    }

    /// Returns the absolute errors of the predicted figures.
    pub fn errors(&self) -> Vec<f64> {
        let predicted = self.rows.iter().filter(|row| row.role == FigureRole::Predicted);
        predicted.filter_map(CalibrationRow::error).map(f64::abs).collect()
    }

    /// Returns the median absolute error.
    pub fn median_error(&self) -> Option<f64> {
        statistics::median(&self.errors())
    }
}

/// Compares measured figures with the machine's figures. Simulates `jobs` cells in parallel, and
/// calls `done` after each. An interrupt ends this early. Figures that were not simulated then have
/// no prediction.
///
/// # Errors
///
/// If a simulated run fails.
pub fn compare(
    measurements: &Measurements,
    calibrated: &Calibrated,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Figures, String> {
    let machine = &calibrated.machine;
    let mut figures = Figures {
        rows: alone(measurements, machine),
        machine_notes: machine.notes().to_vec(),
        borrowed_family: calibrated.borrowed.as_ref().map(|(family, _)| family.clone()),
        ..Figures::default()
    };
    figures.rows.extend(kernel(&measurements.kernel, Some(machine)));
    figures.rows.extend(of_file(measurements, machine));
    figures.rows.extend(farther(measurements, machine));
    match scenarios(measurements, machine, jobs, done) {
        Err(_) if jobs::interrupted() => {}
        rows => figures.rows.extend(rows?),
    }
    figures.notes.extend(missing(measurements));
    match siblings(measurements, machine) {
        Err(_) if jobs::interrupted() => {}
        note => figures.notes.extend(note?),
    }
    if jobs::interrupted() {
        // Figures without a prediction are still shown as measured.
        for row in measured(measurements).rows {
            let is_there = |other: &CalibrationRow| {
                (&other.figure, other.threads) == (&row.figure, row.threads)
            };
            if !figures.rows.iter().any(is_there) {
                figures.rows.push(row);
            }
        }
        let predicted = figures.rows.iter().filter(|row| row.predicted.is_some()).count();
        let all = figures.rows.len();
        figures.interrupted(predicted, all, "figures predicted");
    }
    let layout = &measurements.layout;
    let shares_a_core = |found: &Contended| {
        found.tasks.iter().any(|&a| {
            found.tasks.iter().any(|&b| a < b && layout.distance(a, b) == LineDistance::Core)
        })
    };
    let first = measurements.contended.iter().filter(|found| shares_a_core(found));
    if let Some(threads) = first.map(|found| found.tasks.len()).min() {
        figures.notes.push(format!(
            "from {threads} threads on, scenarios have two tasks on a core. How siblings share a \
             line is not settled (docs/evidence/assumptions.md); predictions use the file's \
             `sibling_turn`"
        ));
    }
    if measurements.lost > 0.0 {
        figures.notes.push(format!(
            "{:.1} % of the trials with pairs and scenarios are not counted, \
             because a thread did not have its CPU all the time",
            measurements.lost * 100.0
        ));
    }
    if measurements.processor.virtualised {
        figures.notes.push(
            "this is a virtual machine: its CPUs may share cores without the system knowing, \
             and CPU time that the hypervisor takes is not seen"
                .to_owned(),
        );
    }
    figures.notes.extend(measurements.notes.iter().cloned());
    figures.notes.extend(calibrated.notes.iter().cloned());
    Ok(figures)
}

/// Returns the measured figures, without predictions.
pub fn measured(measurements: &Measurements) -> Figures {
    let row = |figure: &str, threads, unit, measured| CalibrationRow {
        figure: figure.to_owned(),
        threads,
        unit,
        measured,
        predicted: None,
        role: FigureRole::Shown,
    };
    let alone = measurements.alone.iter().filter(|(what, _)| *what != Alone::FetchAdd);
    let mut rows: Vec<CalibrationRow> =
        alone.map(|&(what, figure)| row(what.name(), 1, what.unit(), figure)).collect();
    rows.extend(kernel(&measurements.kernel, None));
    for (name, figure) in draft::figures(measurements) {
        let threads = if name.ends_with("_uncontended") { 1 } else { 2 };
        rows.push(row(&name, threads, "ns", figure));
    }
    for found in &measurements.contended {
        rows.push(row(&found.variant, found.tasks.len(), "op/s", found.figure));
    }
    let mut notes = steady::steadiness(measurements).notes;
    notes.extend(measurements.notes.iter().cloned());
    Figures { rows, notes, ..Figures::default() }
}

/// Returns the number of contended cells to simulate.
pub fn cells(measurements: &Measurements) -> usize {
    measurements.contended.len()
}

/// Returns the costs of system calls. They are inputs of the machine, if there is a machine.
fn kernel(costs: &Costs, machine: Option<&Machine>) -> Vec<CalibrationRow> {
    let row = |&(what, measured): &(Cost, Measured)| {
        let predicted = machine.and_then(|m| m.number(&format!("kernel.{}", what.name())));
        let role = if predicted.is_some() { FigureRole::Input } else { FigureRole::Shown };
        let figure = format!("kernel_{}", what.name());
        CalibrationRow { figure, threads: what.threads(), unit: "ns", measured, predicted, role }
    };
    costs.iter().map(row).collect()
}

/// Returns the single-CPU figures. Figures with a number in the file are inputs.
fn alone(measurements: &Measurements, machine: &Machine) -> Vec<CalibrationRow> {
    let number = |name: &str| {
        let value = machine.parameters().iter().find(|p| p.name == name).map(|p| &p.value);
        match value {
            Some(Value::Whole(value)) => Some(machine.nanoseconds(*value)),
            Some(Value::Real(value)) => Some(*value),
            _ => None,
        }
    };
    let row = |what: Alone, measured: Measured| {
        let predicted = match what {
            Alone::Clock => number("clock.ghz"),
            Alone::Load => number("cycles.load"),
            Alone::Pause => number("cycles.pause"),
            // The addition is already one of the file's checks.
            Alone::FetchAdd => return None,
            Alone::Store | Alone::CompareExchange | Alone::Swap | Alone::Fence => None,
        };
        let role = if predicted.is_some() { FigureRole::Input } else { FigureRole::Shown };
        let figure = what.name().to_owned();
        Some(CalibrationRow { figure, threads: 1, unit: what.unit(), measured, predicted, role })
    };
    measurements.alone.iter().filter_map(|&(what, measured)| row(what, measured)).collect()
}

/// Returns the figures in the file's checks.
fn of_file(measurements: &Measurements, machine: &Machine) -> Vec<CalibrationRow> {
    let measured: BTreeMap<String, Measured> = draft::figures(measurements).into_iter().collect();
    let row = |checked: known_figures::Checked| {
        Some(CalibrationRow {
            threads: if checked.name.ends_with("_uncontended") { 1 } else { 2 },
            unit: "ns",
            measured: *measured.get(&checked.name)?,
            predicted: checked.simulated,
            role: match (checked.is_input, checked.simulated) {
                (true, _) => FigureRole::Input,
                (false, Some(_)) => FigureRole::Predicted,
                (false, None) => FigureRole::Shown,
            },
            figure: checked.name,
        })
    };
    known_figures::check(machine).into_iter().filter_map(row).collect()
}

/// Returns the figures of two CPUs at distances without a name in `[checks]`.
fn farther(measurements: &Measurements, machine: &Machine) -> Vec<CalibrationRow> {
    let mut rows = Vec::new();
    for distance in [LineDistance::Core, LineDistance::Socket, LineDistance::Remote] {
        let Some(place) = place_at(machine, distance) else { continue };
        for what in [Pair::Add, Pair::CompareExchange, Pair::LoadHomedReader] {
            let predicted = match what {
                // These are already among the checks, which also name the home.
                Pair::LoadHomedReader if distance == LineDistance::Remote => continue,
                Pair::LoadHomedReader => known_figures::load(machine, place, 0),
                _ => known_figures::rate(machine, place, what == Pair::CompareExchange),
            };
            let Some(measured) = measurements.pair(what, distance) else { continue };
            if jobs::interrupted() {
                return rows;
            }
            let name = if what == Pair::LoadHomedReader { "load_modified" } else { what.name() };
            rows.push(CalibrationRow {
                figure: format!("{name}_{}", layout::name(distance)),
                threads: 2,
                unit: "ns",
                measured,
                predicted: Some(predicted),
                role: FigureRole::Predicted,
            });
        }
    }
    rows
}

/// Returns the figures of the contended scenarios.
fn scenarios(
    measurements: &Measurements,
    machine: &Machine,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Vec<CalibrationRow>, String> {
    let mut cells: Vec<(Performed, &Contended)> = Vec::new();
    for variant in contended::variants() {
        let Some(alone) = measurements.contended(&variant.name, 1) else { continue };
        for found in measurements.contended.iter().filter(|c| c.variant == variant.name) {
            cells.push((performed(machine, &variant, alone)?, found));
        }
    }
    let simulated = jobs::run(
        &cells,
        jobs,
        |(performed, found)| performed.predict(machine, places(measurements, found)),
        done,
    );
    let mut rows = Vec::new();
    for ((_, found), simulated) in cells.iter().zip(simulated) {
        let threads = found.tasks.len();
        let predicted = simulated.transpose().map_err(|e| format!("{}: {e}", found.variant))?;
        rows.push(CalibrationRow {
            figure: found.variant.clone(),
            threads,
            unit: "op/s",
            measured: found.figure,
            predicted,
            role: match (threads, predicted) {
                (_, None) => FigureRole::Shown,
                (1, _) => FigureRole::Input,
                _ => FigureRole::Predicted,
            },
        });
    }
    Ok(rows)
}

fn performed(machine: &Machine, variant: &Variant, alone: Measured) -> Result<Performed, String> {
    Performed::new(machine, variant, alone.value).map_err(|e| format!("{}: {e}", variant.name))
}

fn places(measurements: &Measurements, found: &Contended) -> Vec<usize> {
    found.tasks.iter().map(|&task| measurements.layout.place(task)).collect()
}

/// Returns notes on figures that could not be measured. They are missing both in the file and here.
fn missing(measurements: &Measurements) -> Vec<String> {
    let mut notes = Vec::new();
    if measurements.layout.cpus().len() == 1 {
        notes.push(
            "the process may use one CPU: hand-overs, loads of lines modified elsewhere and \
             everything contended cannot be measured here, and no figure is a prediction"
                .to_owned(),
        );
    }
    for distance in measurements.layout.pairs().into_keys() {
        if measurements.pair(Pair::HandOver, distance).is_none() {
            notes.push(format!(
                "hand-overs between {} could not be measured: \
                 the threads hardly ever had their CPUs at the same time",
                layout::describe(distance)
            ));
        }
    }
    notes
}

/// Returns notes on the experiment on siblings, if it was made.
fn siblings(measurements: &Measurements, machine: &Machine) -> Result<Option<String>, String> {
    let find = |tasks: usize, shared: bool| {
        measurements.siblings.iter().find(|cell| {
            let layout = &measurements.layout;
            let with_siblings = cell.tasks.iter().any(|a| {
                cell.tasks.iter().any(|b| a != b && layout.distance(*a, *b) == LineDistance::Core)
            });
            cell.tasks.len() == tasks && with_siblings == shared
        })
    };
    let (Some(alone), Some(three)) = (find(1, false), find(6, true)) else { return Ok(None) };
    let performed = performed(machine, &contended::siblings_variant(), alone.figure)?;
    let predict = |machine: &Machine, cell: &Contended| {
        performed.predict(machine, places(measurements, cell)).map_err(|e| e.to_string())
    };
    let apart = machine.clone().with("cycles.sibling_turn", APART).ok_or("no sibling_turn")?;
    let (sharing, nothing) = (predict(machine, three)?, predict(&apart, three)?);
    let measured = three.figure.value;
    // Compare by ratio: half and double are equally far off.
    let far = |predicted: f64| (predicted / measured).ln().abs();
    let verdict = if (sharing / nothing).ln().abs() < 0.1 {
        "the two predictions are too close to tell"
    } else if far(sharing) < far(nothing) {
        "nearer to siblings that share an ownership"
    } else {
        "nearer to siblings that share nothing of an ownership"
    };
    let millions = |value: f64| format!("{:.2} M op/s", value / 1e6);
    let mut text = format!(
        "how siblings share a line (fstat2, lockref-pause, three cores with their siblings): \
         measured {}, {} to {}; predicted {} if they share an ownership, {} if not: {verdict}",
        millions(measured),
        millions(three.figure.ci_low),
        millions(three.figure.ci_high),
        millions(sharing),
        millions(nothing),
    );
    if let Some(six) = find(6, false) {
        let predicted = predict(machine, six)?;
        text.push_str(&format!(
            "; on six cores measured {}, predicted {}",
            millions(six.figure.value),
            millions(predicted)
        ));
    }
    Ok(Some(text))
}
