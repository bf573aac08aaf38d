//! Impossible predictions: they are refused in their rows, and facts of a recorded run are printed
//! nevertheless.

use crate::support::{optimised, text};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

/// A recording of a Python program with one thread that sleeps most of the time. The recording's
/// bursts come from the start of the run, and hardly show any sleep.
fn clones() -> String {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "tests/it/data/clones.recording"].iter().collect();
    path.to_string_lossy().into_owned()
}

fn json(output: &Output) -> Value {
    let error = || panic!("{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| error())
}

/// Checks that a row has a figure up to a bound, or no figure and this reason. Returns true if it
/// has a figure.
fn is_figure(row: &Value, most: f64, reason: &str) -> bool {
    match row["predicted"].as_f64() {
        Some(figure) => {
            assert!(figure <= most, "{most}: {row:#}");
            assert!(row["reason"].is_null(), "{row:#}");
            true
        }
        None => {
            assert_eq!(row["status"], "not-modelled", "{row:#}");
            assert!(row["reason"].as_str().is_some_and(|why| why.contains(reason)), "{row:#}");
            false
        }
    }
}

#[test]
fn clones_of_a_thread_do_at_most_their_number_times_what_it_does() {
    let clones = clones();
    let predict = ["predict", &clones, "-m", "cascade-lake-2s24c2t", "-t", "1,2,4,8"];
    let variants = ["-v", "recorded", "-v", "mutex", "-v", "ticket", "--format", "json"];
    let found = optimised(&[&predict[..], &variants].concat());
    let document = json(&found);
    // The whole run: 2,498 acquisitions in 1.036 s.
    let alone = 2_498.0 / 1.036;
    let mut refused = 0;
    for row in document["rows"].as_array().expect("a list") {
        let threads = row["threads"].as_f64().expect("a number");
        let most = 1.1 * threads * alone;
        refused += usize::from(!is_figure(row, most, "more than a closed loop can"));
    }
    assert!(refused > 0, "{document:#}");
    // The reason is beside the table.
    let shown = optimised(&["predict", &clones, "-m", "cascade-lake-2s24c2t", "-t", "1,4"]);
    let screen = text(&shown.stdout);
    assert!(screen.contains("more than a closed loop can: at most 2."), "{screen}");
}

#[test]
fn a_machine_that_is_given_takes_the_place_of_the_recording_s_host() {
    let clones = clones();
    let predict = ["predict", &clones, "-m", "host", "-t", "1", "--ungated", "--format", "json"];
    let own = json(&optimised(&predict));
    assert_eq!(own["environment"]["machine"], "recorded-host", "{own:#}");
    let given = ["--host-machine", "skylake-client-4c"];
    let given = json(&optimised(&[&predict[..], &given].concat()));
    assert_eq!(given["environment"]["machine"], "skylake-client-4c", "{given:#}");
    assert!(given["recorded"]["today"]["share_asleep"].as_f64() > Some(0.5), "{given:#}");
    let wrong = |scenario: &str, machine: &str| {
        let all = ["predict", scenario, "-m", "zen4-7840u", "-t", "2", "--host-machine", machine];
        let output = optimised(&all);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(wrong("open3", "zen4-7840u").contains("--host-machine: `open3` is no recording"));
    assert!(wrong(&clones, "no-such").contains("--host-machine: there is no machine `no-such`"));
}

/// Sixteen threads on four hardware threads, and one short lock.
const CROWD: &str = r#"
name = "crowd"
work_varies = false
[[objects]]
name = "a"
kind = "lock"
lock = "mutex"
[[steps]]
do = "lock"
object = "a"
[[steps]]
do = "unlock"
object = "a"
[[steps]]
do = "work"
ns = 500.0
[[variants]]
name = "mutex"
[[variants]]
name = "ticket"
set = [{ object = "a", lock = "ticket" }]
[guests]
count = 1
"#;

#[test]
fn locks_in_turn_are_refused_with_more_threads_than_cpus() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crowd.toml");
    std::fs::write(&path, CROWD).expect("there is room");
    let path = path.to_string_lossy();
    let predict = ["predict", &path, "-m", "skylake-client-4c", "--format", "json", "-t"];
    let found = optimised(&[&predict[..], &["4,16"]].concat());
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let document = json(&found);
    let rows = document["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 4, "{document:#}");
    for row in rows {
        let is_one = is_figure(row, 1e9, "more threads than CPUs");
        assert_eq!(is_one, row["variant"] == "mutex" || row["threads"] == 4, "{row:#}");
        if is_one {
            let slowest = &row["detail"]["simulated"]["fairness"]["minimum"];
            assert!(slowest.as_f64() > Some(0.0), "each thread ran: {row:#}");
        }
    }
    // Without any figure the command fails.
    let none = optimised(&[&predict[..], &["8", "-v", "ticket"]].concat());
    assert_eq!(none.status.code(), Some(1), "{}", text(&none.stderr));
    assert!(text(&none.stderr).contains("no figure: each is refused"), "{}", text(&none.stderr));
    assert!(json(&none)["rows"][0]["reason"].is_string(), "{}", text(&none.stdout));
}
