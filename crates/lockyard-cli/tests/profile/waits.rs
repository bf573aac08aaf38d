//! Waits are counted exactly, and timed by a sample where they are frequent. How often the clock is
//! read is counted here, in a program whose every acquisition waits.

use crate::support::{build, fresh, lock, locks, process, profile};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Number of waits of a lock that are all timed.
const FIRST: u64 = 1024;

/// Returns a program, and a library with which each of its acquisitions waits.
fn waiting() -> Option<(PathBuf, PathBuf)> {
    let options = ["-O1", "-shared", "-fPIC", "-w", "-ldl"];
    Some((locks()?, build("cc", "never_free.c", &options)?))
}

/// Runs a program with such a library, and options of the command. Returns its profile.
fn run(more: &[&str], program: &Path, library: &Path, arguments: &[&str]) -> Value {
    let out = fresh("waits.json");
    let options =
        [&["--format", "json", "--out", out.to_str().expect("it is text")], more].concat();
    let mut command = profile(&options, program, arguments);
    let output = command.env("LD_PRELOAD", library).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&out).expect("it is there");
    let _ = std::fs::remove_file(&out);
    serde_json::from_str(&text).expect("it is JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn few_waits_are_all_timed() {
    let Some((program, library)) = waiting() else { return };
    // Three threads, and as many waits of each lock as are timed in any case.
    let profile = run(&[], &program, &library, &["counts", "2", "3", "341"]);
    for name in ["locks", "locks+40"] {
        let lock = lock(process(&profile), name);
        assert_eq!((&lock["acquisitions"], &lock["contended"]), (&1023.into(), &1023.into()));
        let wait = &lock["wait"];
        assert_eq!((&wait["count"], &wait["timed"]), (&1023.into(), &1023.into()), "{wait:#}");
        assert_eq!(wait["total_error_ns"], 0.0, "{wait:#}");
        assert!(wait["max_ns"].as_f64() > Some(0.0), "{wait:#}");
    }
}

#[test]
fn frequent_waits_are_counted_exactly_and_the_clock_is_read_within_a_budget() {
    let Some((program, library)) = waiting() else { return };
    let profile = run(&[], &program, &library, &["counts", "1", "2", "1000000"]);
    let lock = lock(process(&profile), "locks");
    assert_eq!((&lock["acquisitions"], &lock["contended"]), (&2_000_000.into(), &2_000_000.into()));
    let wait = &lock["wait"];
    // A timed wait is assumed to cost 256 ticks, and a hundredth of the time is the budget.
    let float = |value: &Value| value.as_f64().expect("a number");
    let ticks = float(&process(&profile)["seconds"]) * 1e9 * float(&profile["ticks_per_ns"]);
    let budget = (ticks / 256.0 / 100.0) as u64;
    // The steps that find the sampling rate are outside this budget.
    let most = FIRST + budget + budget / 5 + 2000;
    let timed = number(&wait["timed"]);
    assert!((FIRST..most).contains(&timed), "{timed} of {most}: {wait:#}");
    // The estimate for all waits has an error, which is a small part.
    let [total, error] = ["total_ns", "total_error_ns"].map(|name| float(&wait[name]));
    assert!(timed == 2_000_000 || error > 0.0, "{wait:#}");
    assert!(total > 0.0 && wait["p50_ns"].as_f64() > Some(0.0), "{wait:#}");
}

#[test]
fn all_waits_are_timed_if_all_holds_are() {
    let Some((program, library)) = waiting() else { return };
    let profile = run(&["--every", "1"], &program, &library, &["counts", "1", "1", "200000"]);
    let wait = &lock(process(&profile), "locks")["wait"];
    assert_eq!((&wait["count"], &wait["timed"]), (&200_000.into(), &200_000.into()), "{wait:#}");
    assert_eq!(wait["total_error_ns"], 0.0, "{wait:#}");
}

#[test]
fn frequent_waits_for_a_condition_are_timed_by_a_sample_too() {
    let Some((program, library)) = waiting() else { return };
    for (waits, all) in [(1000, true), (1_000_000, false)] {
        let profile = run(&[], &program, &library, &["unsignalled", &waits.to_string()]);
        let lock = lock(process(&profile), "first_lock");
        assert_eq!((&lock["acquisitions"], &lock["contended"]), (&1.into(), &1.into()));
        assert_eq!(lock["condition_waits"], waits, "{lock:#}");
        let timed = number(&lock["condition_waits_timed"]);
        let error = lock["condition_wait_error_ns"].as_f64().expect("a number");
        assert_eq!((timed == waits, error == 0.0), (all, all), "{timed} of {waits}: {error}");
        assert!(timed >= waits.min(FIRST), "{timed} of {waits}");
        assert_eq!(lock["hold"]["count"], waits + 1, "{lock:#}");
    }
}

#[test]
fn the_text_says_how_many_waits_were_timed() {
    let Some((program, library)) = waiting() else { return };
    let said = |repeats: &str| {
        let mut command = profile(&[], &program, &["counts", "1", "1", repeats]);
        let output = command.env("LD_PRELOAD", &library).output().expect("it runs");
        String::from_utf8(output.stderr).expect("it is text").replace("\n      ", " ")
    };
    let few = said("900");
    assert!(few.contains("\n  Waited for ") && few.contains(" in all, "), "{few}");
    assert!(!few.contains("were timed"), "{few}");
    let many = said("1000000");
    assert!(many.contains(" in all; of 1,000,000 waits "), "{many}");
    assert!(many.contains("were timed, of which the longest took"), "{many}");
}
