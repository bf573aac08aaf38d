//! Traces of real cells: slices nest, a lock has one holder at a time, and times equal those of
//! explanations.

use super::{Assembled, MOST_LINES, TracedCell, assemble};
use crate::placement::MachinePlacement;
use crate::simulate::{
    CellSpec, Changed, RunPlan, SimulationEffort, StepKind, TracedRun, simulate, trace,
};
use lockyard_scenarios::{Order, Script};
use lockyard_sim::Machine;
use lockyard_trace::{Kind, Process, What};
use std::path::Path;

const SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/memcached-cache-lock.toml");

const EFFORT: SimulationEffort = SimulationEffort {
    warm_up_ns: 50_000.0,
    window_ns: 400_000.0,
    seeds: 1,
    first_seed: 1,
    is_absolute: true,
};

/// Runs `with` on a cell of contended queued locks.
fn with_cell<R>(threads: usize, with: impl FnOnce(&CellSpec) -> R) -> R {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let script = Script::load(Path::new(SCRIPT)).expect("it is an example");
    let variant = script.variant("queued").expect("it has it");
    let placement = MachinePlacement::Order(Order::Spread);
    let cell = CellSpec {
        machine: &machine,
        variant,
        placement: &placement,
        home: 0,
        threads,
        local_work: 0.0,
    };
    with(&cell)
}

fn traced(threads: usize, most: usize) -> (TracedRun, Assembled) {
    with_cell(threads, |cell| {
        let run = trace(cell, EFFORT, None, most).expect("it runs");
        let traced = TracedCell { name: format!("{threads} threads"), run: run.clone() };
        (run, assemble(&[traced], cell.machine, Vec::new()))
    })
}

#[test]
fn the_lines_of_a_table_leave_room_for_changes() {
    let machine = Machine::shipped("nehalem-2s4c2t").expect("it is shipped");
    let script = Script::shipped("buffer-cache/16-way-create").expect("it is shipped");
    let placement = MachinePlacement::Order(script.order);
    let cell = CellSpec::first_of(&machine, &script, &placement, 8);
    let most = 1_000;
    let run = trace(&cell, EFFORT, None, most).expect("it runs");
    let at_begin = run.changes.len() - run.changes_since_begin();
    assert!(at_begin > most, "{at_begin} lines are in caches");
    assert!(run.changes_since_begin() >= most, "{}", run.changes_since_begin());
}

/// Returns the slices of a track: name, start, end.
fn slices(assembled: &Assembled, process: &Process, track: usize) -> Vec<(String, u64, u64)> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    let mut last = 0;
    for event in process.events.iter().filter(|event| event.track == track) {
        assert!(event.time >= last, "times go on");
        last = event.time;
        match event.what {
            What::Begin { name, .. } => open.push((name, event.time)),
            What::End => {
                let (name, begin) = open.pop().expect("an end has a beginning");
                found.push((assembled.trace.names[name].clone(), begin, event.time));
            }
            What::Count(_) => panic!("a counter is no slice"),
        }
    }
    assert!(open.is_empty(), "all slices end");
    found
}

fn track(process: &Process, name: &str) -> usize {
    process.tracks.iter().position(|track| track.name == name).expect("there is that track")
}

#[test]
fn slices_nest_and_a_lock_has_one_holder_whose_times_are_those_of_the_explanation() {
    let (run, assembled) = traced(8, usize::MAX);
    let process = &assembled.trace.processes[0];
    let held: u64 = run.locks.iter().map(|lock| lock.held).sum();
    assert!(held > 0 && run.end == run.begin + run.window);
    let mut in_threads = 0;
    let mut of_lock = 0;
    for (index, one) in process.tracks.iter().enumerate() {
        match one.kind {
            Kind::Group => assert!(process.events.iter().all(|event| event.track != index)),
            Kind::Counter => {
                let values = process.events.iter().filter(|event| event.track == index);
                let values = values.map(|event| match event.what {
                    What::Count(value) => value,
                    _ => panic!("a counter has values"),
                });
                let values: Vec<i64> = values.collect();
                assert!(values.iter().all(|value| (0..8).contains(value)), "{values:?}");
                assert!(values.iter().any(|&value| value > 1), "threads queue");
            }
            Kind::Thread | Kind::Slices => {
                let slices = slices(&assembled, process, index);
                if one.kind == Kind::Thread {
                    let holds = slices.iter().filter(|(name, ..)| name.starts_with("holds "));
                    in_threads += holds.map(|(_, begin, end)| end - begin).sum::<u64>();
                } else if one.name.starts_with("lock: ") {
                    // Nested slices would mean two holders at a time.
                    assert!(slices.windows(2).all(|pair| pair[0].2 <= pair[1].1));
                    of_lock += slices.iter().map(|(_, begin, end)| end - begin).sum::<u64>();
                }
            }
        }
    }
    assert_eq!(in_threads, of_lock);
    // Compare exactly, in cycles, before times are rounded.
    let mut since = vec![Vec::new(); run.places.len()];
    let mut exact = 0;
    for change in &run.changes {
        match change.what {
            Changed::Begins(step) => since[change.of as usize].push((step, change.time)),
            Changed::Ends => {
                let (step, begun) = since[change.of as usize].pop().expect("it has begun");
                exact += if is_hold(step) { change.time - begun } else { 0 };
            }
            _ => {}
        }
    }
    let open = since.iter().flatten().filter(|(step, _)| is_hold(*step));
    exact += open.map(|(_, begun)| run.end - begun).sum::<u64>();
    assert_eq!(exact, held);
    let taken: u64 = run.locks.iter().map(|lock| lock.acquired).sum();
    let nanoseconds = with_cell(8, |cell| cell.machine.nanoseconds(held));
    assert!((of_lock as f64 - nanoseconds).abs() <= (taken + 1) as f64, "{of_lock}");
}

fn is_hold(step: StepKind) -> bool {
    matches!(step, StepKind::Holds(_))
}

#[test]
fn an_arrow_goes_from_each_release_to_the_waiter_that_gets_the_lock() {
    let (run, assembled) = traced(8, usize::MAX);
    let process = &assembled.trace.processes[0];
    let mut arrows = std::collections::BTreeMap::new();
    let mut open = vec![Vec::new(); process.tracks.len()];
    for event in &process.events {
        match event.what {
            What::Begin { outgoing, incoming, .. } => {
                open[event.track].push(outgoing);
                if let Some(number) = incoming {
                    let (from, left) = arrows.remove(&number).expect("it has left before");
                    assert!(event.time >= left && from != event.track, "{event:?}");
                }
            }
            What::End => {
                if let Some(number) = open[event.track].pop().flatten() {
                    arrows.insert(number, (event.track, event.time));
                }
            }
            What::Count(_) => {}
        }
    }
    assert!(arrows.is_empty(), "each arrives: {arrows:?}");
    let many = process
        .events
        .iter()
        .filter(|event| matches!(event.what, What::Begin { incoming: Some(_), .. }));
    // With eight threads, all but the first one wait.
    let taken: u64 = run.locks.iter().map(|lock| lock.acquired).sum();
    assert!(many.count() as u64 > taken * 9 / 10, "{taken}");
}

#[test]
fn a_trace_changes_no_figure_and_is_of_the_run_that_a_figure_comes_from() {
    with_cell(4, |cell| {
        let plan = RunPlan::of_windows(EFFORT);
        let before = simulate(cell, &plan).expect("it runs");
        let first = trace(cell, EFFORT, None, usize::MAX).expect("it runs");
        assert_eq!(simulate(cell, &plan).expect("it runs"), before);
        // Cycles in which threads held the lock. The trace and the figure count them in the same
        // way.
        for (name, lock) in first.objects.iter().zip(&first.locks).filter(|(_, l)| l.busy > 0) {
            assert_eq!(before.costs.locks[name], *lock);
        }
        assert!(first.locks.iter().any(|lock| lock.held > 0));
    });
}

#[test]
fn a_trace_is_bounded_and_says_what_it_leaves_out() {
    let (run, assembled) = traced(48, 5_000);
    assert!(run.end < run.begin + run.window, "it does not fit");
    assert!((5_000..6_000).contains(&run.changes.len()), "{}", run.changes.len());
    assert!(assembled.trace.events() <= 2 * run.changes.len());
    let process = &assembled.trace.processes[0];
    let lines = process.tracks.iter().filter(|track| track.name.starts_with("line: "));
    assert_eq!(lines.count(), MOST_LINES);
    let [left_out] = &assembled.left_out[..] else { panic!("{:?}", assembled.left_out) };
    assert!(left_out.starts_with("48 threads: first "), "{left_out}");
    assert!(left_out.contains(" of 400 us; 16 busiest of "), "{left_out}");
    let about = &assembled.trace.about;
    assert!(about.iter().any(|(_, fact)| fact.contains("left out: first ")), "{about:?}");
    track(process, "locks");
}
