//! Start times of simulated tasks: their effect on a queue across two sockets, and the notes in
//! rows.

use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::request::{self, PredictRequest};
use lockyard_predict::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, simulate};
use lockyard_results::details::StartOrdersDetail;
use lockyard_results::render::{self, Document, Screen};
use lockyard_results::row::Row;
use lockyard_scenarios::{Order, Script, Starts};
use lockyard_sim::Machine;

/// A queued lock around work that does not vary. If every task rejoins the queue each time, the
/// order of the queue never changes.
const COUNTER: &str = r#"
name = "counter"
title = "a counter behind a lock"
operation = "lock, add one, unlock, and some work outside"
metric = "throughput"
unit = "op/s"
work_varies = false

[[objects]]
name = "lock"
kind = "lock"
lock = "queued"
line = "lock"

[[objects]]
name = "count"
kind = "data"
line = "count"

[[steps]]
do = "lock"
object = "lock"

[[steps]]
do = "write"
object = "count"

[[steps]]
do = "unlock"
object = "lock"

[[steps]]
do = "work"
ns = 200.0

[[variants]]
name = "queued"
title = "first come, first served"

[placement]
order = "siblings-last"
"#;

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Simulates the script. With 48 tasks, each core of both sockets has one task; with 96, each
/// sibling too.
fn run(starts: Starts, tasks: usize, seeds: u64) -> Prediction {
    let mut script = Script::parse("counter.toml", COUNTER).expect("it is valid");
    script.variants[0].starts = starts;
    let placement = MachinePlacement::Order(Order::SiblingsLast);
    let effort = SimulationEffort { seeds, ..SimulationEffort::SEARCH };
    let machine = machine();
    let cell = CellSpec {
        machine: &machine,
        variant: &script.variants[0],
        placement: &placement,
        home: 0,
        threads: tasks,
        local_work: 0.0,
    };
    simulate(&cell, &RunPlan::of_windows(effort)).expect("it runs")
}

#[test]
fn a_queue_goes_between_sockets_and_siblings_that_join_do_not_make_it_faster() {
    let [random, together] =
        [Starts::Random, Starts::Together].map(|starts| [48, 96].map(|n| run(starts, n, 3)));
    for (random, together) in random.iter().zip(&together) {
        // An operation moves the lock's line, the count's line, and the nodes of two waiters.
        let [random, together] = [random, together].map(|run| run.remote_transfers);
        assert!(random > 3.0 && random > 2.0 * together, "{random}, {together}");
    }
    let gain = |runs: &[Prediction; 2]| runs[1].throughput / runs[0].throughput;
    assert!(gain(&together) > 1.2, "{}", gain(&together));
    assert!(gain(&random) < 1.1, "{}", gain(&random));
    assert!(random[0].orders.is_some());
    assert_eq!(together[0].orders, None, "they have one order, that of their distances");
}

#[test]
fn the_same_seeds_give_the_same_run_and_another_seed_another_order() {
    let first = run(Starts::Random, 8, 2);
    assert_eq!(first, run(Starts::Random, 8, 2));
    assert_ne!(first.runs[0], first.runs[1]);
    assert_eq!(first.runs[0], run(Starts::Random, 8, 1).runs[0]);
    assert_eq!(run(Starts::Random, 8, 1).orders, None, "one run has nothing to agree with");
}

/// Returns the row of `predict` with this number of tasks at these places.
fn row(places: &str, threads: usize) -> Row {
    let script = Script::parse("counter.toml", COUNTER).expect("it is valid");
    let request = PredictRequest {
        placement: Some(MachinePlacement::parse(places, &machine()).expect("it is valid")),
        ..PredictRequest::new(script, machine(), vec![threads])
    };
    let mut found = request::run(&request, &[], &|| ()).expect("it runs");
    found.rows.remove(0)
}

fn orders(row: &Row) -> Option<StartOrdersDetail> {
    row.details.simulated.as_ref().expect("it was simulated").start_orders
}

fn agree(row: &Row) -> (bool, f64) {
    let orders = orders(row).expect("there are orders");
    (orders.agree.expect("it was judged"), orders.spread)
}

#[test]
fn a_row_whose_start_orders_do_not_agree_says_so() {
    // Each socket runs two tasks. In a queue whose order never changes, the sockets either
    // alternate or they do not.
    let apart = row("0,1,24,25", 4);
    let (answer, spread) = agree(&apart);
    assert!(!answer, "{spread}");
    assert!(spread > 0.05, "{spread}");
    let document = Document { rows: vec![apart], ..Document::default() };
    let text = render::table(&document, &Screen::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("[1] the runs began in different orders and do not agree"), "{text}");
    // The row must refer to the note.
    let head = text.lines().position(|line| line.ends_with("notes")).expect("a column");
    assert!(text.lines().nth(head + 2).expect("a row").ends_with(" 1"), "{text}");
    assert!(render::markdown(&document).contains("predicted, order matters"));

    let alike = row("0,1,2,3", 4);
    let (answer, spread) = agree(&alike);
    assert!(answer, "{spread}");
    let text =
        render::table(&Document { rows: vec![alike], ..Document::default() }, &Screen::default());
    assert!(!text.contains("order"), "{text}");
}

#[test]
fn one_task_has_no_order() {
    assert_eq!(orders(&row("siblings-last", 1)), None);
}
