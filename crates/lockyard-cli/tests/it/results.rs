//! Results, through the real command: a row for each published figure, and the same bytes on any
//! host.

use crate::support::{lockyard, optimised_file};
use lockyard_lab::reproduce;
use lockyard_predict::evidence::{self, Kind, System};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

/// Returns the results of all tables: from the file that `LOCKYARD_RESULTS` names, or new results.
fn all_results() -> serde_json::Value {
    let text = match std::env::var_os("LOCKYARD_RESULTS") {
        Some(file) => std::fs::read_to_string(file).expect("the file is there"),
        None => printed(&mut reproduction(&optimised_file(), &[])),
    };
    serde_json::from_str(&text).expect("it is JSON")
}

/// Returns the command that prints predictions only, as JSON.
fn reproduction(program: &OsStr, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(["reproduce", "--no-measure", "--format", "json"]).args(arguments);
    command
}

fn printed(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

fn reproduced(arguments: &[&str]) -> String {
    printed(&mut reproduction(env!("CARGO_BIN_EXE_lockyard").as_ref(), arguments))
}

#[test]
#[ignore = "simulates all tables: .ci/run runs it with the optimised command"]
fn every_published_cell_has_one_row_with_one_status() {
    let json = all_results();
    assert_eq!(json["schema"], "lockyard-results-2");
    let rows = json["rows"].as_array().expect("there are rows");
    let (mut cells, mut inputs) = (0, 0);
    let mut not_modelled: BTreeMap<String, u32> = BTreeMap::new();
    let tables = lockyard_results::published::shipped().expect("the tables are valid");
    let profiles = tables.iter().find(|table| table.name == "profiles").expect("it is shipped");
    for table in &tables {
        for cell in &table.cells {
            let matching: Vec<_> = rows
                .iter()
                .filter(|row| {
                    row["experiment"] == cell.key.experiment.as_str()
                        && row["machine"] == cell.key.machine.as_str()
                        && row["variant"] == cell.key.variant.as_str()
                        && row["threads"] == serde_json::json!(cell.key.threads)
                        && row["metric"] == cell.key.metric.as_str()
                })
                .collect();
            assert_eq!(matching.len(), 1, "rows of {cell:?}");
            let row = matching[0];
            assert_eq!(row["published"], cell.value);
            let status = row["status"].as_str().expect("it has a status");
            match status {
                // By definition, all other figures of the table are percentages of this one.
                "calibration" if cell.key.experiment == "lock-call-path" => {
                    assert!(row["predicted"].is_null() && cell.value == 100.0);
                }
                // An input that the table states, so that the simulation need not find it, such as
                // the duration of a benchmark.
                "calibration" if row["reason"].is_string() => {
                    inputs += 1;
                    assert!(row["predicted"].is_null() && row["error"].is_null());
                }
                "calibration" => assert!(row["predicted"].is_f64() && row["error"].is_null()),
                "predicted" => {
                    let predicted = row["predicted"].as_f64().expect("it is predicted");
                    if cell.value == 0.0 {
                        assert!(row["error"].is_null(), "nothing is relative to zero");
                    } else {
                        let error = row["error"].as_f64().expect("it has an error");
                        assert!((error - (predicted / cell.value - 1.0)).abs() < 1e-9);
                    }
                }
                // A measured figure of a published table without a model.
                "measured" if cell.key.experiment == "lock-call-path" => {
                    *not_modelled.entry(table.name.clone()).or_insert(0) += 1;
                }
                "not-modelled" => {
                    assert!(row["reason"].is_string());
                    *not_modelled.entry(table.name.clone()).or_insert(0) += 1;
                }
                other => panic!("a row without a measurement is not `{other}`"),
            }
            cells += 1;
        }
    }
    assert_eq!(rows.len(), cells, "no row without a published cell");
    assert_eq!(
        inputs,
        2 + 30,
        "how long ebizzy runs, how many iterations page-ref's benchmark chose"
    );
    assert_eq!(
        not_modelled.remove("lock-call-path"),
        Some(20),
        "all that is not 100 by definition"
    );
    let symbols = not_modelled.remove("profiles").expect("functions that are in no model");
    assert!(symbols < 93 && not_modelled.is_empty(), "{symbols}, {not_modelled:?}");
    the_summary_counts(&json, &profiles.experiments());
}

#[test]
#[ignore = "simulates all tables: .ci/run runs it with the optimised command"]
fn the_summary_of_all_tables_is_one_screen() {
    let mut command = Command::new(optimised_file());
    command.args(["reproduce", "--no-measure"]).env("COLUMNS", "80").env("LC_ALL", "C.UTF-8");
    let text = printed(command.env_remove("TERM"));
    assert!(text.lines().count() <= 60, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("lockref-will-it-scale ") && text.contains("--cells"), "{text}");
    assert!(!text.contains("threads \u{2502}"), "no cells: {text}");
}

/// Checks the calibrations, and the cells that the summary counts.
fn the_summary_counts(json: &serde_json::Value, profiles: &[&str]) {
    let rows = json["rows"].as_array().expect("there are rows");
    let own = |row: &&serde_json::Value| {
        let of_profiles = profiles.iter().any(|experiment| row["experiment"] == *experiment);
        row["status"] == "calibration" && row["reason"].is_null() && !of_profiles
    };
    let calibrations = rows.iter().filter(own).count();
    assert_eq!(
        calibrations,
        13 + 6 + 11 + 1 + 1 + 10 + 3,
        "two of open3, two of fstat2, one of access2, one for each placement of the lock's loop, \
         three for each machine of page-ref, whose `time` says the same; the ticket lock's of \
         applications, one of dbench, one of lockref-degradation; ten figures of lock-call-path; \
         times of the timers without a lock"
    );
    let summary = json["summary"].as_array().expect("there is a summary");
    let all = summary.iter().find(|s| s["table"] == "all").expect("over all");
    let of_profiles = summary.iter().find(|s| s["table"] == "profiles").expect("it is a table");
    let cells = |s: &serde_json::Value| s["cells"].as_u64().expect("a number");
    assert_eq!(cells(all) - cells(of_profiles), 22 + 30 + 18 + 11 + 14 + 16 + 4);
    let apart = summary.iter().find(|s| s["table"] == "page-ref: doubtful rows");
    assert_eq!(apart.expect("its author doubts some rows")["cells"], 6);
    for name in ["median_abs_error", "p90_abs_error", "winners_right", "winners_total"] {
        assert!(all[name].is_number() && all["trivial"][name].is_number(), "{name}");
    }
}

/// Tables that together use every mechanism: all kinds of objects, placements that depend on the
/// seed, samples, guests that share CPUs, varying work. (All guests of all tables would take longer
/// than the rest of the tests.)
const WITH_ALL_MECHANISMS: [&str; 6] = [
    "lockref-will-it-scale",
    "qspinlock-loop",
    "page-ref",
    "lockref-degradation",
    "dbench/loaded-guest",
    "ebizzy-m",
];

/// Returns the errors of predictions by kind of scenario, from the results of all tables.
fn errors_by_kind(json: &serde_json::Value) -> Vec<(Kind, f64)> {
    let rows = json["rows"].as_array().expect("there are rows");
    let mut errors = Vec::new();
    for row in rows {
        let text = |name: &str| row[name].as_str().expect("it is text");
        let simulated = &row["detail"]["simulated"];
        let counts = simulated["repeats"].is_null() && simulated["doubtful"].is_null();
        let Some(error) = row["error"].as_f64().filter(|_| counts) else { continue };
        let threads = row["threads"].as_u64().map(|threads| threads as usize);
        let kind =
            Kind::of_published(text("experiment"), text("machine"), text("variant"), threads);
        let kind = kind.expect("a published cell is one of a shipped script");
        let is_primitive = reproduce::PRIMITIVES.contains(&text("table"));
        assert_eq!(kind.system == System::Program, !is_primitive, "{row}");
        if text("table") != reproduce::FLAT {
            errors.push((kind, error));
        }
    }
    errors
}

#[test]
#[ignore = "simulates all tables: .ci/run runs it with the optimised command"]
fn the_errors_that_predict_states_are_those_of_all_tables() {
    let errors = errors_by_kind(&all_results());
    let text = evidence::file(&errors);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lockyard-predict/data/evidence.csv");
    if std::env::var_os("LOCKYARD_BLESS").is_some() {
        std::fs::write(path, &text).expect("it can be written");
    }
    let committed = std::fs::read_to_string(path).expect("it is there");
    assert_eq!(committed, text, "LOCKYARD_BLESS=1 writes it; CONTRIBUTING.md has the command");
}

#[test]
#[ignore = "simulates all mechanisms twice: .ci/run runs it with the optimised command"]
fn results_are_the_same_bytes_whatever_the_host_does() {
    let arguments = |jobs| [&WITH_ALL_MECHANISMS[..], &["--jobs", jobs]].concat();
    let one = printed(&mut reproduction(&optimised_file(), &arguments("1")));
    // Switch off address randomisation where the system allows it.
    let fixed = Command::new("setarch").args(["-R", "true"]).status();
    let mut other = match fixed {
        Ok(status) if status.success() => {
            let mut command = Command::new("setarch");
            command.arg("-R").arg(optimised_file());
            command.args(["reproduce", "--no-measure", "--format", "json"]);
            command.args(arguments("2"));
            command
        }
        _ => {
            lockyard_testing::skip!("address randomisation cannot be switched off here");
            reproduction(&optimised_file(), &arguments("2"))
        }
    };
    // Imitate another allocator: fill freed and new memory, and map small blocks.
    other.env("MALLOC_PERTURB_", "165").env("MALLOC_MMAP_THRESHOLD_", "128");
    other.env("MALLOC_ARENA_MAX", "1");
    assert!(one == printed(&mut other), "two jobs, another heap, other addresses: other results");
}

#[test]
fn written_results_are_what_is_printed() {
    let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("results");
    let out = directory.to_str().expect("the path is text");
    let printed = reproduced(&["fstat2", "--out", out]);
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("it was written");
    assert_eq!(read("results.json"), printed);
    assert_eq!(read("results.csv").lines().count(), 1 + 12);
    assert!(read("results.md").contains("### fstat2 on cascade-lake-2s24c2t"));
}

#[test]
fn predictions_of_any_number_of_threads_are_joined_by_name() {
    let machine = ["--machine", "cascade-lake-2s24c2t", "--threads", "3,5"];
    let which = ["--variant", "lockref", "--format", "csv"];
    let output = lockyard(&[&["predict", "fstat2"], &machine[..], &which].concat());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("it is text");
    let begins: Vec<&str> =
        text.lines().map(|l| l.split(",throughput").next().unwrap_or(l)).collect();
    assert_eq!(begins[1], "fstat2,cascade-lake-2s24c2t,lockref,3");
    assert_eq!(begins[2], "fstat2,cascade-lake-2s24c2t,lockref,5");
}
