//! `lockyard why`: the verdict comes first, facts come even without a prediction, and faults are
//! reported in one line.

use crate::support::{build, fresh};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn works() -> Option<PathBuf> {
    build("cc", "works.c", &["-O1", "-g"])
}

fn why(options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.arg("why").args(options).arg("--").args(program);
    command.env("LC_ALL", "C.UTF-8").env("COLUMNS", "80").env_remove("TERM");
    command.output().expect("it runs")
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the lines of a screen as one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn facts_come_first_and_a_refused_gate_withholds_predictions_only() {
    let Some(program) = works() else { return };
    let program = program.to_string_lossy();
    let (json, page) = (fresh("why.json"), fresh("why.html"));
    let (json_path, page_path) = (json.to_string_lossy(), page.to_string_lossy());
    let options = ["--no-host", "-m", "skylake-client-4c", "--json", &json_path];
    let output = why(&options, &[&program, "one", "2", "300"]);
    let [answer, steps] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{steps}");
    let name = program.rsplit('/').next().expect("a name");
    assert!(answer.starts_with(&format!("{name}: ")), "{answer}");
    assert!(words(&answer).contains("of its threads' time is waiting"), "{answer}");
    assert!(answer.contains("first"), "{answer}");
    assert!(answer.contains("No prediction: "), "{answer}");
    assert!(answer.contains("Where the time goes today"), "{answer}");
    assert!(!answer.contains("What helps"), "{answer}");
    assert!(answer.lines().count() <= 24, "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    // The program's own output is no part of the answer.
    assert!(steps.contains("2 threads, rate: ") && !answer.contains("rate: "), "{steps}");
    let value: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("it is there")).expect("it is JSON");
    assert_eq!(value["rows"].as_array().map(Vec::len), Some(0), "{value:#}");
    assert!(value["recorded"]["today"]["locks"][0]["lock"] == "first", "{value:#}");
    for name in ["what_if", "waits_for"] {
        assert!(value[name].is_array(), "{name}: {value:#}");
    }
    // The same output with figures, and a page.
    let options =
        ["--no-host", "--ungated", "-m", "skylake-client-4c", "--at", "1,2,4,12", "--force"];
    let files = ["--json", &json_path, "--html", &page_path];
    let output = why(&[&options[..], &files].concat(), &[&program, "one", "2", "300"]);
    let [answer, steps] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{steps}");
    let value: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("it is there")).expect("it is JSON");
    let changes = value["what_if"].as_array().expect("a list");
    let variants: Vec<&str> = changes.iter().filter_map(|of| of["variant"].as_str()).collect();
    for variant in ["hold-halved", "split-4", "split-16", "batch-8", "without", "mutex"] {
        assert!(variants.contains(&variant), "{variants:?}");
        assert!(!variant.starts_with("recorded"));
    }
    assert!(changes.iter().all(|of| of["threads"] == 4), "{changes:?}");
    if changes.iter().any(|of| of["gain_share"].is_null()) {
        lockyard_testing::skip!("the host is too busy for figures: {changes:?}");
        return;
    }
    let gain = |variant: &str| {
        let found = changes.iter().find(|of| of["variant"] == variant).expect("it is there");
        found["gain_share"].as_f64().expect("a number")
    };
    // One lock holds the program back: no change gains more than removing it.
    assert!(gain("without") > 0.5 && gain("split-4") > 0.2, "{changes:#?}");
    assert!(gain("without") >= gain("hold-halved"), "{changes:#?}");
    assert!(answer.contains("What helps at 4 threads: "), "{answer}");
    assert!(answer.contains("skylake-client-4c"), "{answer}");
    let html = std::fs::read_to_string(&page).expect("there is a page");
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
    let sections = ["of its threads&#39; time is waiting", "id=\"what-helps\"", "id=\"today\""];
    let places = sections.map(place);
    assert!(places.is_sorted(), "the verdict is first, then the changes: {places:?}");
    let _ = (std::fs::remove_file(&json), std::fs::remove_file(&page));
    let _ = std::fs::remove_file(&*program);
}

#[test]
fn of_two_locks_in_a_row_both_must_go() {
    let Some(program) = works() else { return };
    let program = program.to_string_lossy();
    let json = fresh("two.json");
    let path = json.to_string_lossy();
    let options = ["--no-host", "--ungated", "-m", "zen3-5950x", "--at", "16", "--json", &path];
    let output = why(&options, &[&program, "two", "2", "300"]);
    let [answer, steps] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{steps}");
    let value: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("it is there")).expect("it is JSON");
    let changes = value["what_if"].as_array().expect("a list");
    if changes.iter().any(|of| of["gain_share"].is_null()) {
        lockyard_testing::skip!("the host is too busy for figures: {changes:?}");
        return;
    }
    // Times of a program that hardly runs depend on the host.
    if value["recorded"]["refused"].as_str().is_some_and(|why| why.contains("this host gave")) {
        lockyard_testing::skip!("the host is too busy: {}", value["recorded"]["refused"]);
        return;
    }
    // Where the threads were not always beside each other, one of the locks alone decides.
    let gain = |variant: &str| {
        let found = changes.iter().find(|of| of["variant"] == variant);
        found.and_then(|of| of["gain_share"].as_f64())
    };
    let alone = ["without", "without-2"].map(|variant| gain(variant).unwrap_or(0.0));
    let together = gain("without-all").unwrap_or(0.0);
    if together < alone[0].max(alone[1]) + 0.2 {
        lockyard_testing::skip!("both locks together give {together:+.2}, alone {alone:?}");
        return;
    }
    let both = words(&answer);
    let named = both.contains("Both first and second must go")
        || both.contains("Both second and first must go");
    assert!(named, "{answer}");
    let _ = (std::fs::remove_file(&json), std::fs::remove_file(&*program));
}

#[test]
fn waits_for_a_condition_are_named_as_such() {
    let Some(program) = works() else { return };
    let program = program.to_string_lossy();
    let json = fresh("queue.json");
    let path = json.to_string_lossy();
    let options = ["--no-host", "-m", "skylake-client-4c", "--json", &path];
    let output = why(&options, &[&program, "queue", "3", "300"]);
    let [answer, steps] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{steps}");
    let value: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("it is there")).expect("it is JSON");
    let chain = &value["waits_for"][0];
    assert_eq!(chain["lock"], "q", "{value:#}");
    assert!(chain["site"].as_str().is_some_and(|site| site.starts_with("works.c:")), "{chain:#}");
    assert!(chain["threads"].as_f64().is_some_and(|threads| threads > 1.5), "{chain:#}");
    let answer = words(&answer);
    assert!(answer.contains("is waits for conditions"), "{answer}");
    // Windows of a short run may lie beside all waits. Then only the mutex is known.
    let condition = match chain["meeting"].as_str() {
        Some(name) => format!("the condition {name} of q"),
        None => "a condition of q".to_owned(),
    };
    assert!(["the condition filled of q", "a condition of q"].contains(&condition.as_str()));
    assert!(answer.contains(&format!("threads wait for {condition} at works.c:")), "{answer}");
    let _ = (std::fs::remove_file(&json), std::fs::remove_file(&*program));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let Some(program) = works() else { return };
    let program = program.to_string_lossy();
    let wrong = |options: &[&str], code: i32, why_not: &str| {
        let output = why(&[&["--no-host"], options].concat(), &[&program, "one", "2", "50"]);
        let [answer, steps] = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{steps}");
        assert!(answer.is_empty() && steps.contains(why_not), "{why_not}: {steps}");
    };
    wrong(&["-m", "no-such"], 2, "there is no machine `no-such`");
    wrong(&["-m", "zen4-7840u,zen4-7840u"], 2, "`zen4-7840u` is given twice");
    wrong(&["--at", "0"], 2, "--at: `0` is not a number of threads");
    wrong(&["--threads", "1,2"], 2, "no argument and no --set has {threads}");
    wrong(&["--rate-from", "x"], 2, "`x` has 0 groups");
    wrong(&["--prove", "--mutex-library", "/no/such.so"], 2, "there is no file /no/such.so");
    let same = fresh("same");
    let same = same.to_string_lossy();
    wrong(&["--json", &same, "--recording", &same], 2, "name the same file");
    let failed = why(&["--no-host", "-m", "zen4-7840u"], &[&program, "fails", "2", "50"]);
    let [answer, steps] = texts(&failed);
    assert_eq!(failed.status.code(), Some(3), "{steps}");
    assert!(answer.is_empty() && steps.contains("the program failed: exit code 3"), "{steps}");
    let _ = std::fs::remove_file(&*program);
}
