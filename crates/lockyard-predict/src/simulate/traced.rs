//! A run of a cell that keeps its changes, for a trace.
//!
//! The run repeats the cell's run with the first seed, from the same start, but ends sooner. So a
//! trace changes no figure, and shows a run from which the figure comes.

use super::SimulationEffort;
use super::changes::{Change, Changes, Follower};
use super::failed::Failed;
use super::prediction::{LongRun, SimulationError};
use super::spec::CellSpec;
use super::windows::Run;
use crate::explain::LockTime;
use lockyard_scenarios::Starts;
use lockyard_sim::RunEnd;
use std::rc::Rc;

/// Seed of a traced run: the first one of every cell.
pub const SEED: u64 = 1;

/// Simulated nanoseconds between two checks of the number of changes.
const BETWEEN_LOOKS_NS: f64 = 100.0;

/// The first part of a run's window, with its changes.
#[derive(Clone, Debug)]
pub struct TracedRun {
    /// Cycle at which the trace begins, which is the start of the window.
    pub begin: u64,
    /// Cycle at which the trace ends.
    pub end: u64,
    /// Length of the whole window, in cycles.
    pub window: u64,
    /// Warm-up before the window, in simulated nanoseconds.
    pub warm_up_ns: f64,
    /// Changes, in the order of time.
    pub changes: Vec<Change>,
    /// Hardware thread on which each task begins, guest by guest.
    pub places: Vec<usize>,
    /// `true` if tasks share CPUs, and move between them.
    pub shares_cpus: bool,
    /// Number of guests.
    pub guests: usize,
    /// Names of the variant's objects.
    pub objects: Vec<String>,
    /// Names of lines, by number.
    pub lines: Vec<String>,
    /// Use of each object's lock within the trace, summed over all guests.
    pub locks: Vec<LockTime>,
    /// Hash of the run up to the end of the trace.
    pub hash: u64,
}

impl TracedRun {
    /// Returns the number of changes after the beginning. The state at the beginning is left out,
    /// because tables have many lines that nothing touches afterwards.
    pub fn changes_since_begin(&self) -> usize {
        self.changes.iter().filter(|change| change.time > self.begin).count()
    }
}

/// Simulates the first part of a cell's first window. The trace ends soon after `most` changes
/// since its beginning, or with the window. `long` is the effect of a fallback on the figure, if
/// there is one. Then the run is that of the part that is longer on average.
///
/// # Errors
///
/// Those of [`simulate`](super::simulate). Also after an interrupt.
///
/// # Panics
///
/// Those of [`simulate`](super::simulate).
pub fn trace(
    cell: &CellSpec,
    effort: SimulationEffort,
    long: Option<LongRun>,
    most: usize,
) -> Result<TracedRun, SimulationError> {
    let guests = cell.variant.guests.unwrap_or(1);
    let effort = effort.for_guests(guests).for_tables(cell.variant);
    let long = long.filter(|long| long.share < 0.5);
    let effort = long.map_or(effort, |long| effort.for_fallen(cell.threads, long.until));
    let starts = if long.is_some() { Starts::Random } else { cell.variant.starts };
    let run = Run::begin(cell, SEED, starts, long.is_some());
    run.and_then(|run| follow(run, effort, most)).map_err(|failed| failed.error(cell, "traced"))
}

fn follow(mut run: Run, effort: SimulationEffort, most: usize) -> Result<TracedRun, Failed> {
    let cell = run.cell;
    let begin = run.all_there + cell.machine.cycles(effort.warm_up_ns);
    let window = cell.machine.cycles(effort.window_ns);
    let recording = run.record();
    recording.keep_steps();
    run_until(&mut run, begin)?;
    recording.begin_window(begin);
    let changes = Changes::default();
    recording.begin_changes(begin, Rc::clone(&changes));
    run.simulation.observe(Box::new(Follower { changes: Rc::clone(&changes), begin }));
    let at_begin = changes.borrow().len();
    let step = cell.machine.cycles(BETWEEN_LOOKS_NS).max(1);
    let mut end = begin;
    while end < begin + window && changes.borrow().len() - at_begin < most {
        end = (end + step).min(begin + window);
        run_until(&mut run, end)?;
    }
    let hash = run.simulation.hash();
    let record = recording.end(end);
    let places = cell.placement.places(cell.machine, cell.threads, SEED);
    let guests = run.objects.len();
    Ok(TracedRun {
        begin,
        end,
        window,
        warm_up_ns: effort.warm_up_ns,
        changes: changes.take(),
        places: places.repeat(guests),
        shares_cpus: cell.variant.guests.is_some(),
        guests,
        objects: run.objects[0].places().map(|(name, ..)| name.to_owned()).collect(),
        lines: run.simulation.line_names(),
        locks: record.locks,
        hash,
    })
}

fn run_until(run: &mut Run, cycle: u64) -> Result<(), Failed> {
    match run.simulation.run_until(cycle) {
        RunEnd::TimeOver => Ok(()),
        outcome => Err(Failed::during(&run.objects, &outcome)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use lockyard_scenarios::{Order, Script};
    use lockyard_sim::Machine;

    #[test]
    fn a_traced_run_is_the_same_run() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        for (script, threads) in [("fstat2", 24), ("access2", 8), ("dbench/overcommit-2x", 8)] {
            let script = Script::shipped(script).expect("it is shipped");
            let placement = MachinePlacement::Order(Order::Fill);
            let cell = CellSpec {
                machine: &machine,
                variant: &script.variants[0],
                placement: &placement,
                home: 0,
                threads,
                local_work: 100.0,
            };
            let effort = SimulationEffort {
                warm_up_ns: 1e5,
                window_ns: 2e5,
                seeds: 1,
                first_seed: 1,
                is_absolute: true,
            };
            let found = trace(&cell, effort, None, 20_000).expect("it runs");
            assert!(found.changes.len() > 1000, "{}", found.changes.len());
            assert!(found.changes.is_sorted_by_key(|change| change.time));
            let run = Run::begin(&cell, SEED, cell.variant.starts, false);
            let mut run =
                run.unwrap_or_else(|failed| panic!("{}", failed.error(&cell, "traced again")));
            assert!(run_until(&mut run, found.end).is_ok());
            assert_eq!(run.simulation.hash(), found.hash);
        }
    }
}
