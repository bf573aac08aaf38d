//! `lockyard compare --ab`: differing programs get a verdict, failing programs are named, and no
//! program is left running. The programs are scripts whose results are known.

#![cfg(unix)]

use crate::support::folders::{directory, names};
use crate::support::{command, lockyard, text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A command that runs longer than this hangs. The limit is long because the host may be busy.
const HANGS: Duration = Duration::from_secs(60);

/// Writes a script. Returns its path.
fn script(folder: &Path, name: &str, body: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("there is room");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    path.to_str().expect("the path is text").to_owned()
}

/// Returns a script that prints one row. Each run of either program is slower than the previous
/// run, by far more than the programs differ.
fn printing(folder: &Path, name: &str, per_cent: u32) -> String {
    let row = r#"{"experiment": "e", "machine": "m", "variant": "v", "threads": 1,
        "metric": "throughput", "unit": "op/s", "measured": '$v',
        "detail": {"measured": {"rounds": ['$v']}}}"#;
    let body = format!(
        "echo x >> {0}/runs; n=$(( $(wc -l < {0}/runs) ))\n\
         v=$(( (1000000 - 1000 * n) * {per_cent} ))\n\
         echo {name} $1 >> {0}/order\n\
         echo '{{\"schema\": \"lockyard-results-2\", \"rows\": [{row}]}}'",
        folder.display()
    );
    script(folder, name, &body)
}

/// Compares two programs. Returns the exit code, standard output and standard error.
fn ab(a: &str, b: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let output = lockyard(&[&["compare", "--ab", a, b], more].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_slower_program_is_found_in_pairs_and_in_random_order() {
    let folder = directory("ab", "slower");
    let (fast, slow) = (printing(&folder, "fast", 100), printing(&folder, "slow", 90));
    let (code, stdout, stderr) = ab(&fast, &slow, &["--rounds", "12", "--", "word"]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert_eq!(stderr, "lockyard: 1 row is slower by more than 5%, with evidence\n");
    assert!(stdout.contains("Measured in pairs: A and B ran in each round"), "{stdout}");
    let order = std::fs::read_to_string(folder.join("order")).expect("they ran");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(order.len(), 24);
    for pair in order.chunks(2) {
        assert!(pair.contains(&"fast word") && pair.contains(&"slow word"), "{order:?}");
    }
    let (code, stdout, _) = ab(&slow, &fast, &["--rounds", "12", "--", "word"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("1 faster, 0 slower"), "{stdout}");
    let (code, stdout, _) =
        ab(&fast, &slow, &["--threshold", "20", "--format", "json", "--", "word"]);
    assert_eq!(code, Some(0), "{stdout}");
    let found: Value = serde_json::from_str(&stdout).expect("it is JSON");
    assert_eq!(
        (found["method"].as_str(), found["rows"][0]["rounds_a"].as_u64()),
        (Some("pairs"), Some(15))
    );
    let difference = found["rows"][0]["difference"].as_f64().expect("a number");
    assert!((difference + 0.1).abs() < 0.01, "{difference}");
}

#[test]
fn the_real_command_is_compared_with_itself() {
    let lockyard = env!("CARGO_BIN_EXE_lockyard");
    let predict = ["predict", "fstat2", "--machine", "cascade-lake-2s24c2t", "--threads", "1"];
    let (code, stdout, stderr) =
        ab(lockyard, lockyard, &[&["--rounds", "6", "--"], &predict[..]].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("2 the same"), "{stdout}");
    let measure = ["measure", "controls", "--threads", "1", "--variant", "ticket"];
    let rounds = ["--rounds", "6", "--threshold", "99", "--"];
    let more = [&rounds[..], &measure, &["--seconds", "0.01"]].concat();
    let (code, stdout, stderr) = ab(lockyard, lockyard, &more);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("--repeats 1 --format json"), "{stdout}");
}

#[test]
fn a_program_that_fails_is_named_in_one_line() {
    let folder = directory("ab", "fails");
    let good = printing(&folder, "good", 100);
    let refused = |program: &str, more: &[&str], said: &str| {
        let (code, stdout, stderr) = ab(&good, program, &[more, &["--", "x"]].concat());
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(
            stderr.contains("B (") && stderr.contains(&format!("), round 1: {said}")),
            "{stderr}"
        );
    };
    let short = |name: &str, body: &str| script(&folder, name, body);
    refused("/nowhere/missing", &[], "cannot be started: ");
    refused(
        &short("no", "echo one >&2; echo two >&2; exit 3"),
        &[],
        "failed (exit status: 3): two",
    );
    refused(&short("crash", "kill -SEGV $$"), &[], "failed (signal: 11");
    refused(&short("mute", "true"), &[], "printed nothing; results in JSON are needed");
    refused(&short("text", "echo hello"), &[], "its output:1: column 1: not JSON");
    refused(&short("stays", "sleep 600"), &["--timeout", "0.3"], "did not end within 0.3 s");
}

#[test]
fn wrong_options_are_refused() {
    for wrong in [
        &["compare", "--ab", "a", "b"][..],
        &["compare", "a", "b", "--rounds", "9"],
        &["compare", "a", "b", "--", "measure"],
        &["compare", "--ab", "a", "b", "--rounds", "5", "--", "measure"],
        &["compare", "--ab", "a", "b", "--timeout", "0", "--", "measure"],
    ] {
        let output = lockyard(wrong);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_leaves_no_program_running() {
    let folder = directory("ab", "signal");
    let body = format!("sleep 600 & echo $! > {}/id; wait", folder.display());
    let stays = script(&folder, "stays", &body);
    let mut child = command(&["compare", "--ab", &stays, &stays, "--", "x"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the command runs");
    let begin = Instant::now();
    let id = loop {
        let text = std::fs::read_to_string(folder.join("id")).unwrap_or_default();
        if let Ok(id) = text.trim().parse::<i32>() {
            break id;
        }
        assert!(begin.elapsed() < HANGS, "the program never runs");
        std::thread::sleep(Duration::from_millis(2));
    };
    // SAFETY: the call signals a process that was started here and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let is_alive = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat"));
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    while is_alive() {
        assert!(begin.elapsed() < HANGS, "{id} is alive");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(names(&folder), ["id", "stays"]);
}
