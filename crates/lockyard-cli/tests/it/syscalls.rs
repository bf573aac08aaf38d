//! `lockyard syscalls`: results are complete, bad input is refused, and no process or file is left.
//! No test here asserts a speed.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.arg("syscalls").args(arguments);
    command
}

fn syscalls(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

/// Returns what the command prints if it succeeds.
fn printed(arguments: &[&str]) -> String {
    let output = syscalls(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns the one line with which bad input is refused.
fn refusal(arguments: &[&str]) -> String {
    let output = syscalls(arguments);
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {why}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    why.lines().next().expect("it says why").to_owned()
}

/// Directory of one test. The command creates its own directory in it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("syscalls-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        Place(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("it is text")
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).expect("it is there").next().is_none()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BRIEF: [&str; 4] = ["--seconds", "0.01", "--repeats", "2"];

#[test]
fn each_experiment_has_the_kernels_rows_and_ours_and_leaves_nothing() {
    for (experiment, ours) in [
        ("open3", ["lockref-pause", "lockref"]),
        ("fstat2", ["lockref-pause", "lockref"]),
        ("access2", ["access-patch+lockref-pause", "access-patch+lockref"]),
        ("stat2", ["lockref-pause", "lockref"]),
    ] {
        let place = Place::new(experiment);
        let arguments = [experiment, "--tasks", "1,3", "--as", "both", "--directory", place.path()];
        let more = ["--format", "json"];
        let json = printed(&[&arguments[..], &BRIEF[..], &more[..]].concat());
        assert!(place.is_empty(), "{experiment}: the temporary directory is removed");
        let document: Value = serde_json::from_str(&json).expect("it is JSON");
        let rows = document["rows"].as_array().expect("there are rows");
        let names: Vec<&str> = rows.iter().filter_map(|row| row["variant"].as_str()).collect();
        let mut expected = Vec::new();
        for variant in ["kernel-processes", "kernel-threads", ours[0], ours[1]] {
            expected.extend([variant, variant]);
        }
        assert_eq!(names, expected);
        for row in rows {
            assert_eq!(row["experiment"], experiment);
            assert_eq!((&row["metric"], &row["unit"]), (&"throughput".into(), &"op/s".into()));
            assert_eq!((&row["status"], &row["samples"]), (&"measured".into(), &2.into()));
            let of = |name: &str| {
                row["detail"]["measured"]["syscalls"][name]
                    .as_array()
                    .expect("it is a list")
                    .clone()
            };
            for sample in 0..2 {
                let number = |name: &str| of(name)[sample].as_u64().expect("it is a count");
                let (least, most) = (number("sample_minimum"), number("sample_maximum"));
                assert!(least <= most && most <= number("sample_total"), "{row}");
            }
            let total = of("sample_total").iter().filter_map(Value::as_u64).sum::<u64>();
            assert!(total > 0, "{row}");
        }
        assert!(document["environment"]["file_system"].is_string());
    }
}

#[test]
fn the_columns_of_will_it_scale_are_whole_numbers_and_shares() {
    let arguments = ["fstat2", "--tasks", "2,1", "--format", "will-it-scale"];
    let csv = printed(&[&arguments[..], &BRIEF[..]].concat());
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("tasks,processes,processes_idle,threads,threads_idle,linear"));
    assert_eq!(lines.next(), Some("0,0,100,0,100,0"));
    let mut linear = Vec::new();
    for (line, tasks) in lines.clone().zip(1u64..) {
        let fields: Vec<&str> = line.split(',').collect();
        let whole = |index: usize| fields[index].parse::<u64>().expect("it is a whole number");
        assert_eq!((fields.len(), whole(0)), (6, tasks), "{line}");
        assert!(whole(1) > 0 && whole(3) > 0, "{line}");
        for share in [fields[2], fields[4]] {
            // The share is empty if no tick of the kernel's clock fell into a window.
            assert!(share.is_empty() || (0.0..=100.0).contains(&share.parse().expect("a share")));
        }
        linear.push(whole(5));
    }
    assert_eq!(lines.count(), 2);
    assert_eq!(linear[1], 2 * linear[0]);
}

#[test]
fn every_format_has_the_rows() {
    for (format, expected) in [
        ("csv", "stat2,this-host,kernel-threads,1,throughput,op/s"),
        ("markdown", "| kernel-threads"),
        ("table", "min:"),
    ] {
        let arguments = ["stat2", "--tasks", "1", "--as", "threads", "--kernel-only", "--format"];
        let output = printed(&[&arguments[..], &[format], &BRIEF[..]].concat());
        assert!(output.contains(expected), "{format}: {output}");
        assert!(!output.contains("lockref-pause"), "{format}: the kernel only");
    }
}

#[test]
fn bad_input_is_refused_in_a_line() {
    for (arguments, expected) in [
        (
            &["open4", "--tasks", "1"][..],
            "lockyard: `open4` is not an experiment with system calls; did you mean `open3`?",
        ),
        (
            &["open3", "--tasks", "0"],
            "lockyard: --tasks: `0` is not a number of tasks; allowed: \
             whole numbers from 1, such as 1,2,4 or 1-4 or 16-96:16",
        ),
        (&["open3", "--tasks", "5000"], "lockyard: --tasks: 5000 tasks; allowed: 1 to 4096"),
        (
            &["open3", "--tasks", "1", "--seconds", "0"],
            "lockyard: --seconds is 0; allowed: 0.001 to 3600 seconds",
        ),
        (
            &["open3", "--tasks", "2", "--format", "will-it-scale"],
            "lockyard: --format will-it-scale: its column `linear` is a multiple of the figure of \
             one task; --tasks must contain 1",
        ),
        (
            &["open3", "--tasks", "1", "--format", "will-it-scale", "--as", "threads"],
            "lockyard: --format will-it-scale has columns of processes and of threads: omit --as, \
             or give --as both",
        ),
    ] {
        assert_eq!(refusal(arguments), expected);
    }
    let with = |more: &[&str]| refusal(&[&["open3", "--tasks", "1"], more].concat());
    assert!(
        with(&["--directory", "/proc"])
            .starts_with("lockyard: --directory: a directory cannot be made in /proc: ")
    );
    assert!(
        with(&["--placement", "99999"])
            .starts_with("lockyard: --placement: this process may not use CPU 99999; it may use ")
    );
    let unwritable = command(&["open3", "--tasks", "1"]).env("TMPDIR", "/proc").output();
    let unwritable = unwritable.expect("it runs");
    assert_eq!(unwritable.status.code(), Some(2));
    assert!(text(&unwritable.stderr).starts_with("lockyard: the temporary directory (TMPDIR; "));
}

#[test]
fn a_task_on_its_own_is_refused() {
    let mut task = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    let output = task.args(["syscalls-task", "open3", "/", "1", "1", "0", "-"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let why = text(&output.stderr);
    assert!(why.starts_with("lockyard: syscalls-task is for lockyard itself: "), "{why}");
}

/// Returns the processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux has it").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The state and the parent follow the name, which ends with the last parenthesis.
        let after = stat.rsplit(") ").next().unwrap_or_default();
        if after.split(' ').nth(1).and_then(|field| field.parse().ok()) == Some(parent) {
            children.push(id);
        }
    }
    children
}

/// Starts a long run, and waits until it has `count` tasks. Returns the run and its tasks.
fn begin(place: &Place, kind: &str, count: usize) -> (Child, Vec<u32>) {
    let arguments = ["open3", "--tasks", "3", "--seconds", "60", "--kernel-only", "--as", kind];
    let child =
        command(&[&arguments[..], &["--format", "csv", "--directory", place.path()]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
    let begin = Instant::now();
    let mut tasks = Vec::new();
    while tasks.len() != count && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
        tasks = children_of(child.id());
    }
    (child, tasks)
}

fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(status.expect("`kill` runs").success());
}

/// Returns true if the process is alive. A zombie is not alive.
fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|after| !after.is_empty() && !after.starts_with('Z'))
}

#[test]
fn an_interrupt_leaves_neither_tasks_nor_files() {
    for (kind, count) in [("processes", 3), ("threads", 1)] {
        let place = Place::new(&format!("interrupt-{kind}"));
        let (child, tasks) = begin(&place, kind, count);
        send("-INT", child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(tasks.len(), count);
        let why = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{why}");
        assert!(why.contains("lockyard: interrupted (SIGINT): "), "{why}");
        assert!(text(&output.stdout).starts_with("experiment,machine,"), "what is finished");
        assert!(place.is_empty(), "the temporary directory is removed");
        assert!(!tasks.into_iter().any(lives), "no task is left");
    }
}

#[test]
fn a_task_that_is_killed_is_reported_and_the_others_end() {
    let place = Place::new("killed");
    let (child, tasks) = begin(&place, "processes", 3);
    send("-KILL", *tasks.last().expect("there are tasks"));
    let output = child.wait_with_output().expect("it ends");
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    // The warnings about the host come first.
    let said = why.lines().last().unwrap_or_default();
    assert!(said.starts_with("lockyard: open3, 3 processes: a task ended "), "{why}");
    assert!(why.contains("signal: 9"), "{why}");
    assert!(place.is_empty());
    assert!(!tasks.into_iter().any(lives), "no task is left");
}

#[test]
fn tasks_end_with_the_process_that_measures() {
    let place = Place::new("orphans");
    let (mut child, tasks) = begin(&place, "processes", 3);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let begin = Instant::now();
    while tasks.iter().any(|&task| lives(task)) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the kernel ends them");
        std::thread::sleep(Duration::from_millis(10));
    }
}
