//! `lockyard measure`: the controls are caught, results are complete, bad input is refused. No test
//! here asserts a speed.

use crate::support::{complaints, lockyard, text};
use serde_json::Value;
use std::process::Output;

fn measure(arguments: &[&str]) -> Output {
    lockyard(&[&["measure"], arguments].concat())
}

/// Returns the exit code and standard error of a run that fails.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = measure(arguments);
    (output.status.code(), text(&output.stderr))
}

/// Returns the one line with which bad input is refused.
fn refusal(arguments: &[&str]) -> String {
    let output = measure(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "{arguments:?}");
    text(&output.stderr).lines().next().expect("it says why").to_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = measure(&[arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

const BRIEF: [&str; 4] = ["--seconds", "0.02", "--repeats", "3"];

#[test]
fn a_lock_that_does_not_exclude_is_caught() {
    // The run ends at the first lost update. If two threads run in parallel, that happens
    // immediately.
    let long = ["--seconds", "1", "--repeats", "30"];
    let arguments = ["controls", "--threads", "2", "--variant", "broken"];
    let (code, why) = failure(&[&arguments[..], &long[..]].concat());
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("updates were lost, so its lock did not exclude"), "{why}");
}

#[test]
fn a_lock_without_progress_is_stalled_and_not_a_hung_command() {
    let arguments = [
        "controls",
        "--threads",
        "2",
        "--variant",
        "stalls",
        "--seconds",
        "2",
        "--stalled-after",
        "1",
    ];
    let (code, why) = failure(&arguments);
    assert_eq!(code, Some(1), "{why}");
    assert!(
        why.contains("stalls on 2 threads of this host is stalled: no operation was finished for"),
        "{why}"
    );
}

/// One thread is enough to show the stall, because the word keeps every thread out.
#[test]
fn a_word_that_changes_its_kind_is_stalled_and_not_a_hung_command() {
    for (threads, in_words) in [("1", "1 thread"), ("2", "2 threads")] {
        let what = ["controls", "--threads", threads, "--variant", "ticket-as-queued"];
        let (code, why) =
            failure(&[&what[..], &["--seconds", "2", "--stalled-after", "1"]].concat());
        assert_eq!(code, Some(1), "{why}");
        let who = format!("ticket-as-queued on {in_words} of this host is stalled: ");
        assert!(why.contains(&who) && why.contains("no operation was finished for"), "{why}");
    }
}

/// The simulated machine detects that no thread can wake this one, and ends the run immediately.
#[test]
fn a_word_that_changes_its_kind_is_stuck_on_a_simulated_machine() {
    let what = ["predict", "controls", "--machine", "cascade-lake-2s24c2t", "--threads", "1"];
    let output = lockyard(&[&what[..], &["--variant", "ticket-as-queued"]].concat());
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("ticket-as-queued") && why.contains("stuck"), "{why}");
    assert!(why.contains(": 1 thread, seed 1: stuck: 1 thread waits forever"), "{why}");
}

#[test]
fn rows_that_were_finished_before_a_failure_are_printed() {
    let arguments = [
        "controls",
        "--threads",
        "1,2",
        "--variant",
        "stalls",
        "--stalled-after",
        "1",
        "--seconds",
    ];
    let output = measure(&[&arguments[..], &["1", "--repeats", "40", "--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let printed: Value =
        serde_json::from_slice(&output.stdout).expect("whole JSON, with what there is");
    assert!(printed["rows"].is_array());
    let stderr = text(&output.stderr);
    assert_eq!(complaints(&stderr).count(), 1, "but for warnings and notes: {stderr}");
}

#[test]
fn an_unfair_lock_is_seen_beside_a_fair_one() {
    let variants = ["--variant", "ticket", "--variant", "unfair"];
    let arguments = ["controls", "--threads", "2", "--seconds", "0.1", "--repeats", "7"];
    let document = json(&[&arguments[..], &variants[..]].concat());
    let index = |variant: &str| {
        let rows = document["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["variant"] == variant).expect("it is measured");
        row["detail"]["measured"]["fairness"]["jain"].as_f64().expect("it is a number")
    };
    let (ticket, unfair) = (index("ticket"), index("unfair"));
    assert!(unfair < 0.9 && unfair < ticket, "unfair {unfair}, ticket {ticket}");
}

#[test]
fn a_result_has_its_figures_its_threads_its_waits_and_its_environment() {
    let arguments = ["page-ref", "--threads", "1,2", "--variant", "locked-bit"];
    let document = json(&[&arguments[..], &BRIEF[..]].concat());
    for name in [
        "cpu",
        "cpus",
        "cpu_list",
        "kernel",
        "governor",
        "virtualised",
        "cgroup_cpu_quota",
        "load_at_start",
        "warnings",
        "placement",
        "seconds",
        "repeats",
    ] {
        assert!(document["environment"][name].is_string(), "{name}");
    }
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for (row, threads) in rows.iter().zip([1, 2]) {
        assert_eq!((&row["status"], &row["metric"]), (&"measured".into(), &"throughput".into()));
        assert_eq!(row["threads"], threads);
        assert_eq!(row["samples"], 3);
        let (low, high) = (row["ci_low"].as_f64(), row["ci_high"].as_f64());
        assert!(low <= row["measured"].as_f64() && row["measured"].as_f64() <= high);
        let detail = &row["detail"]["measured"];
        let operations =
            detail["operations_of_each_thread"].as_array().expect("one for each thread");
        assert_eq!(operations.len(), threads);
        for name in ["minimum", "maximum", "jain", "jain_least"] {
            assert!(detail["fairness"][name].is_f64(), "{name}: {detail}");
        }
        assert!(detail["clock_ns"].is_f64(), "{detail}");
        let waits: Vec<u64> = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "maximum_ns"]
            .iter()
            .filter_map(|name| detail["waits"][*name].as_u64())
            .collect();
        // Percentiles that would rest on too few waits are left out.
        assert!(waits.len() > 1 && waits.is_sorted(), "{waits:?}");
    }
}

#[test]
fn a_ratio_is_taken_round_by_round() {
    let variants =
        ["--variant", "qspinlock", "--variant", "qspinlock-portable", "--relative-to", "qspinlock"];
    let arguments = ["spin-loop/same-node/embedded", "--threads", "1"];
    // On a busy host a thread may get no CPU for tens of milliseconds. A round without operations
    // has no ratio.
    let rounds = ["--seconds", "0.3", "--repeats", "3"];
    let document = json(&[&arguments[..], &variants[..], &rounds[..]].concat());
    let ratio = |index: usize| &document["rows"][index]["detail"]["measured"]["ratio"];
    assert_eq!(ratio(0)["value"], 1.0, "of itself");
    let number = |name: &str| ratio(1)[name].as_f64().expect("it is a number");
    assert!(number("ci_low") <= number("value") && number("value") <= number("ci_high"));
}

#[test]
fn every_format_has_the_rows() {
    for (format, expected) in [
        ("csv", "controls,this-host,ticket,1,throughput,op/s"),
        ("markdown", "| ticket"),
        ("table", "ticket"),
    ] {
        let arguments = ["controls", "--threads", "1", "--variant", "ticket", "--format", format];
        let output = measure(&[&arguments[..], &BRIEF[..]].concat());
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains(expected), "{format}: {}", text(&output.stdout));
    }
}

#[test]
fn bad_input_is_refused_in_a_line() {
    let with = |more: &[&str]| refusal(&[&["controls", "--threads", "1"], more].concat());
    for (more, expected) in [
        (&["--seconds", "0"][..], "lockyard: --seconds is 0; allowed: 0.001 to 3600 seconds"),
        (&["--seconds", "nan"], "lockyard: --seconds is NaN; allowed: 0.001 to 3600 seconds"),
        (
            &["--seconds", "1e9"],
            "lockyard: --seconds is 1000000000; allowed: 0.001 to 3600 seconds",
        ),
        (&["--seconds", "-1"], "lockyard: --seconds is -1; allowed: 0.001 to 3600 seconds"),
        (&["--stalled-after", "0"], "lockyard: --stalled-after is 0; allowed: 0.1 to 3600 seconds"),
        (
            &["--variant", "brokne"],
            "lockyard: scenario `controls` has no variant `brokne`; did you mean `broken`?",
        ),
        (
            &["--variant", "ticket", "--relative-to", "broken"],
            "lockyard: --relative-to: `broken` is not a measured variant; there are: ticket",
        ),
    ] {
        assert_eq!(with(more), expected);
    }
    assert!(
        with(&["--placement", "spraed"]).starts_with(
            "lockyard: --placement: `spraed` is not a placement; did you mean `spread`?"
        )
    );
    assert!(
        with(&["--placement", "99999"])
            .starts_with("lockyard: --placement: this process may not use CPU 99999; it may use ")
    );
    assert!(with(&["--repeats", "0"]).contains("--repeats"));
    assert!(refusal(&["controls", "--threads", "0"]).contains("`0` is not a number of threads"));
    assert_eq!(
        refusal(&["controls", "--threads", "5000"]),
        "lockyard: --threads: 5000 threads; allowed: 1 to 4096"
    );
    assert!(
        refusal(&["contrlos", "--threads", "1"])
            .contains("there is no scenario `contrlos`; did you mean `controls`?")
    );
    assert!(
        refusal(&["no-such-file.toml", "--threads", "1"])
            .contains("no-such-file.toml: there is no such file")
    );
}
