//! Signals: the command ends soon, with the signal's exit code. Finished rows are printed and
//! written, and marked as partial. No temporary file is left.

#![cfg(target_os = "linux")]

use crate::support::folders::{directory, names};
use crate::support::{command, lockyard};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// A command that runs longer than this hangs. The limit is long because the host may be busy.
const HANGS: Duration = Duration::from_secs(60);

/// Signals, their names and their exit codes.
const SIGNALS: [(i32, &str, i32); 3] =
    [(libc::SIGINT, "SIGINT", 130), (libc::SIGTERM, "SIGTERM", 143), (libc::SIGHUP, "SIGHUP", 129)];

/// A running command, with its own temporary directory.
struct Running {
    child: Child,
    temporary: PathBuf,
}

impl Running {
    /// Begins a command, and waits until it handles signals.
    fn begin(name: &str, arguments: &[&str]) -> Running {
        let temporary = directory("interrupted", &format!("tmp-{name}"));
        let child = command(arguments)
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let status = format!("/proc/{}/status", child.id());
        let begin = Instant::now();
        loop {
            let text = std::fs::read_to_string(&status).expect("it runs");
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("Linux");
            let caught = u64::from_str_radix(caught.trim(), 16).expect("a mask");
            if SIGNALS.iter().all(|(signal, ..)| caught >> (signal - 1) & 1 == 1) {
                break;
            }
            assert!(begin.elapsed() < HANGS, "it never handles signals");
            std::thread::sleep(Duration::from_millis(2));
        }
        Running { child, temporary }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the call signals a process that was started here and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Waits until the command has read this many bytes from files.
    fn wait_until_read(&self, bytes: u64) {
        let io = format!("/proc/{}/io", self.child.id());
        let begin = Instant::now();
        loop {
            let text = std::fs::read_to_string(&io).expect("it runs");
            let read = text.lines().find_map(|line| line.strip_prefix("rchar:")).expect("Linux");
            if read.trim().parse::<u64>().expect("a number") >= bytes {
                break;
            }
            assert!(begin.elapsed() < HANGS, "it never reads {bytes} bytes");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end, and asserts that the temporary directory is empty.
    fn end(mut self) -> Output {
        // Read the pipes on other threads: a read would never return if the command hangs.
        let process = self.child.id() as i32;
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.expect("piped").read_to_end(&mut bytes).expect("it can be read");
                bytes
            })
        };
        let stdout = read(stdout.map(|pipe| Box::new(pipe) as _));
        let stderr = read(stderr.map(|pipe| Box::new(pipe) as _));
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it was started here") {
                break status;
            }
            if begin.elapsed() > HANGS {
                // SAFETY: as in `signal`.
                unsafe { libc::kill(process, libc::SIGKILL) };
                panic!("it does not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(names(&self.temporary), [""; 0], "nothing temporary is left");
        let (stdout, stderr) = (stdout.join(), stderr.join());
        Output { status, stdout: stdout.expect("text"), stderr: stderr.expect("text") }
    }
}

/// Returns the last line that the command wrote to standard error.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).expect("it is text");
    text.lines().last().unwrap_or_default().to_owned()
}

/// Returns the printed document, which is complete JSON and marked as partial.
fn partial(output: &Output) -> Value {
    let document: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
    assert_eq!(document["partial"], true);
    assert_eq!(document["environment"]["incomplete"], "interrupted");
    let number = |name: &str| document[name].as_u64().expect("a number");
    assert!(number("finished") <= number("asked"), "{} of {}", number("finished"), number("asked"));
    document
}

/// A measurement that takes longer than any test.
const MEASURE: &[&str] = &[
    "measure",
    "controls",
    "--threads",
    "1,2",
    "--variant",
    "ticket",
    "--seconds",
    "0.02",
    "--repeats",
    "1000",
];

/// A simulation that takes minutes.
const PREDICT: &[&str] = &[
    "predict",
    "fstat2",
    "--machine",
    "cascade-lake-2s24c2t",
    "--threads",
    "1,2,4,8,16,24,48,96",
    "--sensitivity",
    "--jobs",
    "1",
];

/// Every long-running command, with more work than it can finish before the signal.
const LONG: [(&str, &[&str]); 7] = [
    ("reproduce", &["reproduce", "--no-measure", "--jobs", "1"]),
    ("training", &["reproduce", "--training", "--jobs", "1"]),
    ("predict", PREDICT),
    ("measure", MEASURE),
    ("syscalls", &["syscalls", "fstat2", "--tasks", "1,2", "--seconds", "60"]),
    ("call-path", &["lock-call-path", "--seconds", "20", "--repeats", "1000"]),
    ("calibrate", &["machines", "calibrate", "--seconds", "3600"]),
];

#[test]
fn a_signal_ends_every_long_command_by_its_code_with_what_is_finished() {
    for (index, (name, arguments)) in LONG.into_iter().enumerate() {
        // SIGHUP is sent immediately, the other signals after a while. Reproduce, predict and
        // measure get all three signals; each other command gets one signal.
        let all = ["reproduce", "predict", "measure"].contains(&name);
        let (first, count) = if all { (0, 3) } else { (index % 3, 1) };
        for (signal, signal_name, code) in SIGNALS.into_iter().cycle().skip(first).take(count) {
            let running = Running::begin(name, &[arguments, &["--format", "json"]].concat());
            if signal != libc::SIGHUP {
                std::thread::sleep(Duration::from_millis(700));
            }
            running.signal(signal);
            let output = running.end();
            let said = last_line(&output);
            assert_eq!(output.status.code(), Some(code), "{name}: {said}");
            let begin = format!("lockyard: interrupted ({signal_name}): ");
            assert!(said.starts_with(&begin), "{name}: {said}");
            assert!(said.contains(" of "), "how many of how many: {name}: {said}");
            partial(&output);
        }
    }
}

#[test]
fn figures_of_machines_are_partial_too() {
    let running = Running::begin("check", &["machines", "check", "--format", "json"]);
    running.signal(libc::SIGTERM);
    let output = running.end();
    assert_eq!(output.status.code(), Some(143), "{}", last_line(&output));
    let document = partial(&output);
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(document["finished"], rows.len());
}

#[test]
fn finished_rows_are_printed_for_people_and_for_spreadsheets() {
    for format in ["csv", "table", "markdown"] {
        let arguments = [&["reproduce", "--no-measure", "--jobs", "1"][..], &["--format", format]];
        let running = Running::begin(&format!("format-{format}"), &arguments.concat());
        std::thread::sleep(Duration::from_millis(500));
        running.signal(libc::SIGTERM);
        let output = running.end();
        assert_eq!(output.status.code(), Some(143));
        let text = String::from_utf8(output.stdout).expect("it is text");
        if format == "csv" {
            // The reader refuses rows of different lengths.
            let mut rows = csv::Reader::from_reader(text.as_bytes());
            let last =
                rows.headers().expect("there are headers").iter().next_back().map(str::to_owned);
            assert_eq!(last.as_deref(), Some("partial"));
            for row in rows.records() {
                assert_eq!(row.expect("a whole row").iter().next_back(), Some("true"));
            }
        } else {
            assert!(text.starts_with("Partial: interrupted, with "), "{text}");
        }
    }
}

#[test]
fn the_files_of_a_part_are_whole_files_and_never_replace_whole_results() {
    let out = directory("interrupted", "out");
    let path = out.to_str().expect("the path is text");
    let run = || {
        let arguments = ["reproduce", "--no-measure", "--jobs", "1", "--out", path];
        let running = Running::begin("out", &arguments);
        std::thread::sleep(Duration::from_millis(300));
        running.signal(libc::SIGTERM);
        let output = running.end();
        assert_eq!(output.status.code(), Some(143), "{}", last_line(&output));
        last_line(&output)
    };
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it is there");
    let is_partial = |name: &str| {
        let document: Value = serde_json::from_str(&read(name)).expect("whole JSON");
        document["partial"] == true
    };
    // The directory is empty at first, and then has partial results.
    for _ in 0..2 {
        let said = run();
        assert!(said.contains("results.json"), "{said}");
        assert_eq!(names(&out), ["results.csv", "results.json", "results.md"]);
        assert!(is_partial("results.json"));
        assert!(read("results.md").starts_with("Partial: interrupted, with "));
        assert!(read("results.csv").lines().next().is_some_and(|line| line.ends_with(",partial")));
    }
    // Now the directory has complete results.
    let whole = json!({ "schema": "lockyard-results-2", "rows": [] }).to_string();
    std::fs::write(out.join("results.json"), &whole).expect("there is room");
    std::fs::write(out.join("results.csv"), "old").expect("there is room");
    let said = run();
    assert!(said.contains("results.partial.json"), "{said}");
    assert_eq!((read("results.json"), read("results.csv")), (whole, "old".to_owned()));
    assert!(is_partial("results.partial.json"));
    assert_eq!(names(&out).len(), 6, "{:?}", names(&out));
}

#[test]
fn the_same_signal_twice_at_once_is_one() {
    // Send the signal twice, as `timeout` does: to its child, and to the process group of both.
    let running = Running::begin("twice", &[MEASURE, &["--format", "json"]].concat());
    std::thread::sleep(Duration::from_millis(300));
    running.signal(libc::SIGTERM);
    running.signal(libc::SIGTERM);
    let output = running.end();
    assert_eq!(output.status.code(), Some(143), "{}", last_line(&output));
    partial(&output);
}

#[test]
fn a_second_signal_ends_it_by_the_code_of_the_first() {
    let running =
        Running::begin("second", &["syscalls", "open3", "--tasks", "2", "--seconds", "60"]);
    std::thread::sleep(Duration::from_millis(500));
    running.signal(libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(150));
    running.signal(libc::SIGINT);
    let output = running.end();
    assert_eq!(output.status.code(), Some(143), "{}", last_line(&output));
}

/// Writes a file of results with `rows` rows, all of one speed. Returns its name and its bytes.
fn results(path: &Path, rows: usize, speed: f64) -> (String, u64) {
    let rounds: Vec<f64> = (0..100).map(|round| speed + f64::from(round % 7)).collect();
    let row = |index: usize| {
        json!({
            "experiment": "e", "machine": "this-host", "variant": format!("v{index}"), "threads": 1,
            "metric": "throughput", "unit": "op/s", "published": null, "predicted": null,
            "trivial": null, "measured": speed + 3.0, "ci_low": speed, "ci_high": speed + 6.0,
            "samples": 100, "status": "measured", "error": null,
            "detail": { "measured": { "rounds": rounds } },
        })
    };
    let rows: Vec<Value> = (0..rows).map(row).collect();
    let document = json!({ "schema": "lockyard-results-2", "environment": {}, "rows": rows });
    let text = document.to_string();
    std::fs::write(path, &text).expect("there is room");
    (path.to_str().expect("it is text").to_owned(), text.len() as u64)
}

/// Number of rows with which a comparison takes seconds on any host. More rows would exceed the
/// maximum number of rounds in a file.
const ROWS_FOR_SECONDS: usize = 2_000;

#[test]
fn a_comparison_that_is_interrupted_never_says_slower() {
    let place = directory("interrupted", "compare");
    let files = |rows: usize| {
        let (a, a_bytes) = results(&place.join(format!("a{rows}.json")), rows, 1000.0);
        let (b, b_bytes) = results(&place.join(format!("b{rows}.json")), rows, 500.0);
        ([a, b], a_bytes + b_bytes)
    };
    let ([a, b], _) = files(2);
    let whole = lockyard(&["compare", &a, &b]);
    assert_eq!(whole.status.code(), Some(1), "all rows are slower: {}", last_line(&whole));

    let ([a, b], bytes) = files(ROWS_FOR_SECONDS);
    for (signal, signal_name, code) in SIGNALS {
        let running = Running::begin("compare", &["compare", &a, &b]);
        running.wait_until_read(bytes);
        running.signal(signal);
        let output = running.end();
        let said = last_line(&output);
        assert_eq!(output.status.code(), Some(code), "{signal_name}: {said}");
        assert!(output.stdout.is_empty(), "no half comparison");
        assert!(said.starts_with(&format!("lockyard: interrupted ({signal_name}): ")), "{said}");
    }
}
