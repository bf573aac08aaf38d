//! Traces of cells: the activity of each thread, the holder of each lock, and the core that has
//! each line.
//!
//! The size of a trace is bounded. All its cells share a number of changes, and only the busiest
//! lines of each cell are shown. The trace says what was left out.

mod events;
mod lock_track;
mod names;
mod process;
#[cfg(test)]
mod tests;
mod thread_track;

use crate::simulate::{SEED_OF_TRACE, TracedRun};
use lockyard_sim::Machine;
use lockyard_trace::Trace;
use names::Names;
use process::MOST_LINES;

/// Maximum number of changes with which a trace starts, for all cells together. Each change makes
/// at most two events. So the limit is 200,000 events, with some room for changes before the last
/// check.
const MOST_CHANGES: usize = 95_000;

/// The traced run of a cell.
#[derive(Clone, Debug)]
pub struct TracedCell {
    /// Name: the variant, and the number of threads.
    pub name: String,
    /// The traced run.
    pub run: TracedRun,
}

/// A trace for display. Each cell of which something is left out has a line that says so.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// The trace.
    pub trace: Trace,
    /// Omissions, one line for each cell.
    pub left_out: Vec<String>,
}

/// Returns the number of changes for the next one of `cells` cells, after the cells in `traced`.
pub(crate) fn share(traced: &[TracedCell], cells: usize) -> usize {
    let spent: usize = traced.iter().map(|cell| cell.run.changes_since_begin()).sum();
    let left = cells.saturating_sub(traced.len()).max(1);
    MOST_CHANGES.saturating_sub(spent) / left
}

/// Makes a trace of cells on `machine`. `about` has the first facts of the trace.
pub fn assemble(
    cells: &[TracedCell],
    machine: &Machine,
    about: Vec<(String, String)>,
) -> Assembled {
    let mut names = Names::default();
    let mut arrows = 0;
    let mut found = Assembled::default();
    found.trace.about = about;
    found.trace.about.push(("seed".to_owned(), SEED_OF_TRACE.to_string()));
    for cell in cells {
        let (process, lines) = process::of(&cell.name, &cell.run, machine, &mut names, &mut arrows);
        let missing = missing(cell, lines, machine);
        if !missing.is_empty() {
            found.left_out.push(format!("{}: {}", cell.name, missing.join("; ")));
        }
        found.trace.about.extend(facts(cell, &missing, machine));
        found.trace.processes.push(process);
    }
    found.trace.names = names.list();
    found
}

/// Describes what a cell's process leaves out. `lines` is the number of its lines.
fn missing(cell: &TracedCell, lines: usize, machine: &Machine) -> Vec<String> {
    let run = &cell.run;
    let mut missing = Vec::new();
    if run.end < run.begin + run.window {
        let (traced, window) = (run.end - run.begin, run.window);
        let of = |cycles| microseconds(machine.nanoseconds(cycles));
        missing.push(format!("first {} of {} us", of(traced), of(window)));
    }
    if lines > MOST_LINES {
        missing.push(format!("{MOST_LINES} busiest of {lines} lines"));
    }
    missing
}

/// Returns the facts about a cell's process.
fn facts(cell: &TracedCell, missing: &[String], machine: &Machine) -> Vec<(String, String)> {
    let run = &cell.run;
    let length = run.end - run.begin;
    let mut time = format!(
        "{} us of simulated time, after {} us of warm-up",
        microseconds(machine.nanoseconds(length)),
        microseconds(run.warm_up_ns)
    );
    if !missing.is_empty() {
        time.push_str(&format!("; left out: {}", missing.join("; ")));
    }
    let mut facts = vec![(cell.name.clone(), time)];
    for (name, lock) in run.objects.iter().zip(&run.locks).filter(|(_, lock)| lock.busy > 0) {
        let of_one = length.max(1) as f64 * run.guests as f64;
        let held = lock.occupied as f64 / of_one * 100.0;
        let what = format!("held {held:.1} % of the time, taken {} times", lock.acquired);
        facts.push((format!("{}: {name}", cell.name), what));
    }
    facts
}

/// Returns microseconds as text, with one decimal place if that matters.
fn microseconds(nanoseconds: f64) -> String {
    let us = nanoseconds / 1e3;
    if us < 100.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}
