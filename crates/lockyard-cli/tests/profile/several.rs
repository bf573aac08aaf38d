//! `lockyard record --threads`: runs with several numbers of threads in one file.

use crate::support::{build, fresh};
use lockyard_recording::runs::{self, Run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn works() -> Option<PathBuf> {
    build("cc", "works.c", &["-O1", "-g"])
}

fn record(options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.args(["record", "--no-host"]).args(options).arg("--").args(program);
    command.output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_program_is_recorded_once_for_each_number_of_threads() {
    let Some(program) = works() else { return };
    let (file, program) = (fresh("works.recording"), program.to_string_lossy());
    let path = file.to_string_lossy();
    let options = ["--threads", "2,1", "--rate-from", "rate: ([0-9]+)", "--out", &path];
    let output = record(&options, &[&program, "one", "{threads}", "250"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let made = runs::load(Path::new(&*path)).expect("it is one");
    let found: Vec<usize> = made.runs.iter().map(|run| run.threads).collect();
    assert_eq!(found, [1, 2]);
    assert!(made.runs.iter().all(|run| run.rate().is_some_and(|rate| rate > 1.0)), "{found:?}");
    let threads = |run: &Run| run.recording.threads_at_a_time();
    assert_eq!(made.runs.iter().map(threads).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(made.command[2], "{threads}");
    assert_eq!(made.runs[0].recording.about.command[2], "1");
    // The program's output is passed on, including the output of the run without the recorder.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("2 threads, rate: ").count(), 2, "{text}");
    assert_eq!(text.matches("1 threads, rate: ").count(), 2, "{text}");
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&*program));
}

#[test]
fn the_number_may_be_in_the_environment() {
    let Some(program) = works() else { return };
    let (file, program) = (fresh("variable.recording"), program.to_string_lossy());
    let path = file.to_string_lossy();
    let options = ["--threads", "2", "--set", "WORKS_THREADS={threads}", "--out", &path];
    let output = record(&options, &[&program, "variable", "7", "200"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let made = runs::load(Path::new(&*path)).expect("it is one");
    assert_eq!(made.runs[0].recording.threads_at_a_time(), 2);
    assert!(made.runs[0].rates.is_empty());
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&*program));
}

#[test]
fn wrong_options_and_a_program_that_fails_are_told() {
    let Some(program) = works() else { return };
    let (file, program) = (fresh("wrong.recording"), program.to_string_lossy());
    let path = file.to_string_lossy();
    let one = [&*program, "one", "{threads}", "50"];
    let wrong = |options: &[&str], words: &[&str], code: i32, why: &str| {
        let output = record(&[&["--out", &path], options].concat(), words);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.lines().any(|line| line.contains(why)), "{why}: {text}");
        assert!(!file.exists(), "{why}");
    };
    wrong(&["--threads", "1,2"], &[&program, "one", "2"], 2, "no argument and no --set has");
    wrong(&["--threads", "1,1"], &one, 2, "1 is given twice; allowed: each number once");
    wrong(&["--threads", "0"], &one, 2, "`0` is not a number of threads");
    wrong(&["--threads", "1", "--set", "=3"], &one, 2, "--set: `=3` is no variable");
    wrong(&["--rate-from", "(x)"], &one, 2, "the program runs once; allowed: with --threads");
    wrong(&["--threads", "1", "--rate-from", "rate"], &one, 2, "`rate` has 0 groups");
    let none = ["--threads", "1", "--rate-from", "speed: ([0-9]+)"];
    wrong(&none, &one, 2, "no number above 0 in the program's output matches `speed");
    wrong(&["--threads", "1"], &[&program, "fails", "{threads}", "100"], 3, "failed with 1 thread");
    let _ = std::fs::remove_file(&*program);
}
