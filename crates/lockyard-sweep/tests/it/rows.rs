//! Rows: the same by every way of running, complete after any end, and errors as rows.

use crate::support::{Directory, merged, run};
use lockyard_sweep::merge::Format;
use lockyard_sweep::sweep::Shard;
use std::fs;

const PLAN: &str = "scenarios = \"small.toml\"\nvariants = [\"queued\", \"ticket\"]\n\
                    machines = [\"zen4-7840u\"]\nthreads = [1, 2, 3]\nruns = \"quick\"\n\
                    [parameters]\nsteps.held.ns = [10, 200]\n";

#[test]
fn one_process_and_four_shards_give_the_same_bytes() {
    let directory = Directory::new("shards");
    let plan = directory.plan(PLAN).expect("it is right");
    let (whole, parts) = (directory.path("whole"), directory.path("parts"));
    let swept = run(&plan, Shard::ALL, &whole, 2);
    assert_eq!((swept.cells, swept.present, swept.computed, swept.failed), (12, 0, 12, 0));
    for index in [2, 0, 3, 1] {
        assert_eq!(run(&plan, Shard { index, of: 4 }, &parts, 1).computed, 3);
    }
    for format in [Format::Json, Format::Csv] {
        let (whole, parts) = (merged(&whole, format), merged(&parts, format));
        assert!(whole.1.is_complete());
        assert_eq!(whole, parts);
    }
    for entry in fs::read_dir(whole.join("cells")).expect("it is there") {
        let name = entry.expect("it can be read").file_name();
        let read =
            |of: &std::path::Path| fs::read(of.join("cells").join(&name)).expect("it is there");
        assert_eq!(read(&whole), read(&parts));
    }
}

#[test]
fn rows_that_are_there_are_not_computed_again_and_damaged_ones_are() {
    let directory = Directory::new("again");
    let plan = directory.plan(PLAN).expect("it is right");
    let out = directory.path("out");
    run(&plan, Shard::ALL, &out, 1);
    let before = merged(&out, Format::Json);
    let again = run(&plan, Shard::ALL, &out, 1);
    assert_eq!((again.present, again.computed), (12, 0));
    // One row is lost, one ends early, and one has another figure.
    let file = |number| out.join(format!("cells/{}.json", plan.cell(number).id()));
    fs::remove_file(file(3)).expect("it is there");
    let text = fs::read_to_string(file(5)).expect("it is there");
    fs::write(file(5), &text[..text.len() / 2]).expect("it can be written");
    let text = fs::read_to_string(file(7)).expect("it is there");
    fs::write(file(7), text.replace("\"predicted\":", "\"predicted\":1")).expect("it can be");
    let (_, state) = merged(&out, Format::Json);
    assert_eq!((state.present, state.missing, state.damaged), (9, 1, 2));
    assert_eq!(
        state.missing_named,
        ["cell 3 (small on zen4-7840u, queued, 1 thread, steps.held.ns = 200)"]
    );
    let again = run(&plan, Shard::ALL, &out, 1);
    assert_eq!((again.present, again.computed), (9, 3));
    assert_eq!(merged(&out, Format::Json), before);
}

#[test]
fn a_larger_plan_goes_on_with_the_rows_of_a_smaller_one() {
    let directory = Directory::new("larger");
    let out = directory.path("out");
    let plan = directory.plan(PLAN).expect("it is right");
    run(&plan, Shard::ALL, &out, 1);
    let plan = directory.plan(&PLAN.replace("[1, 2, 3]", "[1, 2, 3, 4]")).expect("it is right");
    let swept = run(&plan, Shard::ALL, &out, 1);
    assert_eq!((swept.cells, swept.present, swept.computed), (16, 12, 4));
    let plan = directory.plan(&PLAN.replace("[1, 2, 3]", "[1, 2]")).expect("it is right");
    run(&plan, Shard::ALL, &out, 1);
    let (_, state) = merged(&out, Format::Csv);
    assert_eq!((state.present, state.others), (8, 8), "others stay, and are left out");
}

#[test]
fn a_cell_that_fails_is_a_row_and_the_sweep_goes_on() {
    let directory = Directory::new("fails");
    let text = PLAN.replace("[\"queued\", \"ticket\"]", "[\"stalls\", \"queued\"]");
    let plan = directory.plan(&text).expect("it is right");
    let out = directory.path("out");
    let swept = run(&plan, Shard::ALL, &out, 2);
    assert_eq!(swept.computed, 12);
    assert!(swept.failed > 0 && swept.failed <= 6, "{swept:?}");
    let (text, state) = merged(&out, Format::Json);
    assert!(state.is_complete());
    assert_eq!(state.failed, swept.failed);
    let file: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let failed = file["cells"].as_array().expect("it is a list").iter();
    let failed: Vec<_> = failed.filter(|cell| cell["error"].is_string()).collect();
    assert_eq!(failed.len() as u64, swept.failed);
    assert!(failed.iter().all(|cell| cell["inputs"]["variant"] == "stalls"));
}

#[test]
fn a_row_has_the_figure_of_predict() {
    use lockyard_predict::request::{PredictRequest, run as predict};
    use lockyard_results::published::shipped;
    use lockyard_scenarios::Script;
    use lockyard_sim::Machine;
    let directory = Directory::new("predict");
    let machine = "cascade-lake-2s24c2t";
    let text = format!(
        "scenarios = \"fstat2\"\nvariants = \"lockref\"\nmachines = \"{machine}\"\n\
         threads = [1, 4]\nintervals = true\n"
    );
    let plan = directory.plan(&text).expect("it is right");
    let out = directory.path("out");
    run(&plan, Shard::ALL, &out, 1);
    let (text, _) = merged(&out, Format::Json);
    let file: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let script = Script::shipped("fstat2").expect("it is shipped");
    let machine = Machine::shipped(machine).expect("it is shipped");
    let request = PredictRequest {
        variants: vec!["lockref".to_owned()],
        intervals: true,
        ..PredictRequest::new(script, machine, vec![1, 4])
    };
    let found = predict(&request, &shipped().expect("they are right"), &|| ()).expect("it runs");
    for (cell, row) in file["cells"].as_array().expect("a list").iter().zip(&found.rows) {
        assert_eq!(cell["row"]["predicted"].as_f64(), row.predicted);
        assert_eq!(cell["row"]["published"].as_f64(), row.published);
        let interval = row.details.simulated.as_ref().and_then(|detail| detail.interval);
        assert_eq!(cell["row"]["interval"]["low"].as_f64(), interval.map(|range| range.low));
    }
}

#[test]
fn a_seed_is_one_run() {
    let directory = Directory::new("seeds");
    let plan = directory
        .plan(&PLAN.replace("runs = \"quick\"\n", "runs = \"quick\"\nseeds = [1, 2, 3]\n"))
        .expect("it is right");
    let out = directory.path("out");
    run(&plan, Shard::ALL, &out, 2);
    let plan = directory.plan(PLAN).expect("it is right");
    let mean = directory.path("mean");
    run(&plan, Shard::ALL, &mean, 2);
    let figures = |out| {
        let (text, _) = merged(out, Format::Json);
        let file: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let cells = file["cells"].as_array().expect("a list").clone();
        cells.iter().map(|c| c["row"]["predicted"].as_f64().expect("a figure")).collect::<Vec<_>>()
    };
    // Quick runs are three, with the seeds 1 to 3.
    for (seeds, mean) in figures(&out).chunks(3).zip(figures(&mean)) {
        let of_seeds = seeds.iter().sum::<f64>() / 3.0;
        assert!((of_seeds / mean - 1.0).abs() < 1e-12, "{of_seeds} {mean}");
    }
}
