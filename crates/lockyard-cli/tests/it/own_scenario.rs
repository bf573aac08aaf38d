//! Scenarios of the user: the list of scenarios, a shipped script, the template, a script on
//! standard input, ranges of threads, several machines.

use crate::support::folders::directory;
use crate::support::{command, lockyard, optimised, text};
use serde_json::Value;
use std::io::Write;
use std::process::{Output, Stdio};

const CLX: &str = "cascade-lake-2s24c2t";

/// Runs the command with this standard input.
fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("it ends")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn refusal(output: &Output) -> String {
    let why = text(&output.stderr);
    assert_eq!((output.status.code(), why.lines().count()), (Some(2), 1), "{why}");
    assert!(output.stdout.is_empty());
    why
}

#[test]
fn scenarios_are_listed_and_shown_and_a_shown_one_can_be_run() {
    let list = text(&lockyard(&["scenarios"]).stdout);
    assert_eq!(list, text(&lockyard(&["scenarios", "list"]).stdout));
    assert!(list.contains("fstat2") && list.contains("scenarios new"), "{list}");
    let shown = lockyard(&["scenarios", "show", "page-ref"]);
    let file = include_str!("../../../../scenarios/page-ref.toml");
    assert_eq!(text(&shown.stdout), file);
    let rows = |scenario: &str, input: &[u8]| {
        let arguments = ["predict", scenario, "-m", CLX, "-t", "2", "-f", "json"];
        json(&with_input(&arguments, input))["rows"].clone()
    };
    assert_eq!(rows("-", &shown.stdout), rows("page-ref", b""));
    let why = refusal(&lockyard(&["scenarios", "show", "fstat3"]));
    assert_eq!(why, "lockyard: there is no scenario `fstat3`; did you mean `fstat2`?\n");
}

#[test]
fn the_template_is_a_program_with_these_times() {
    let made = lockyard(&["scenarios", "new", "--held", "300", "--every", "2000"]);
    let script = text(&made.stdout);
    assert!(script.contains("ns = 1700\n") && script.contains("ns = 300\n"), "{script}");
    let arguments = ["predict", "-", "-m", CLX, "-t", "1,8,48", "-v", "queued", "-f", "json"];
    let predicted = json(&with_input(&arguments, script.as_bytes()));
    let figure = |index: usize| predicted["rows"][index]["predicted"].as_f64().expect("a figure");
    // One thread does 1 / (2000 ns), any number of threads at most 1 / (300 ns).
    assert!((4.5e5..5.5e5).contains(&figure(0)), "{}", figure(0));
    assert!(figure(1) < 3.34e6 && figure(2) < 3.34e6, "{} {}", figure(1), figure(2));
}

/// Readers share the lock: several threads do more than one thread could with consecutive holds.
/// The larger the share of writes, the less they do.
#[test]
fn the_template_of_readers_is_a_program_with_that_share_of_them() {
    let made = |readers: &str| {
        let new = ["scenarios", "new", "--held", "300", "--every", "500", "--readers", readers];
        text(&lockyard(&new).stdout).to_owned()
    };
    let script = made("95");
    assert!(script.contains("ns = 200\n") && script.contains("percent = 95\n"), "{script}");
    let figures = |script: &str, variant: &str| -> Vec<f64> {
        let arguments = ["predict", "-", "-m", CLX, "-t", "1,8", "-v", variant, "-f", "json"];
        let predicted = json(&with_input(&arguments, script.as_bytes()));
        let rows = predicted["rows"].as_array().expect("rows");
        rows.iter().map(|row| row["predicted"].as_f64().expect("a figure")).collect()
    };
    for variant in [
        "rwlock",
        "sharded-rwlock",
        "queued-rwlock",
        "std-rwlock",
        "parking-rwlock",
        "pthread-rwlock",
    ] {
        let [reads, most, half] = ["100", "95", "50"].map(|share| figures(&made(share), variant));
        assert!((1.7e6..2.1e6).contains(&most[0]), "{variant}: {most:?}");
        // One holder at a time would do one operation in 300 ns.
        assert!(reads[1] > 1.5 / 300e-9, "{variant}: {reads:?}");
        assert!(reads[1] > most[1] && most[1] > half[1], "{variant}: {reads:?} {most:?} {half:?}");
    }
}

#[test]
fn the_template_is_written_once_and_measured() {
    let path = directory("own-scenario", "new").join("mine.toml");
    let shown = path.to_str().expect("the path is text");
    let new = ["scenarios", "new", "--held", "50", "--every", "500", "--out", shown];
    assert!(lockyard(&new).status.success());
    let script = std::fs::read_to_string(&path).expect("it is there");
    assert!(script.contains(&format!("lockyard measure {shown}")), "{script}");
    assert!(refusal(&lockyard(&new)).contains("--force replaces it"));
    assert!(lockyard(&[&new[..], &["--force"]].concat()).status.success());
    let measure = ["measure", shown, "-t", "1", "--seconds", "0.01", "--repeats", "2"];
    let output = lockyard(&measure);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("my-program on "));
}

#[test]
fn wrong_times_and_names_of_a_template_are_refused() {
    for (arguments, why) in [
        (&["--held", "0"][..], "--held is `0`; allowed: nanoseconds above 0, at most 10000000"),
        (&["--held", "nan"], "--held is `nan`; allowed: nanoseconds above 0, at most 10000000"),
        (&["--every", "1e9"], "--every is `1e9`; allowed: nanoseconds above 0, at most 20000000"),
        (
            &["--held", "300", "--every", "300"],
            "--every 300: allowed: more than --held (300), because it includes the work under the \
             lock",
        ),
        (
            &["--held", "8000000", "--every", "20000000"],
            "--every 20000000: allowed: at most 10000000 more than --held (8000000)",
        ),
        (&["--readers", "101"], "--readers is `101`; allowed: 0 to 100 per cent"),
        (&["--readers", "-1"], "--readers is `-1`; allowed: 0 to 100 per cent"),
        (&["--readers", "nan"], "--readers is `nan`; allowed: 0 to 100 per cent"),
        (&["--readers", ""], "--readers is ``; allowed: 0 to 100 per cent"),
        (&["--name", "a\"b"], "--name `a\"b`: allowed: 1 to 64 of a-z A-Z 0-9 - _ . + / @"),
        (&["--name", ""], "--name ``: allowed: 1 to 64 of a-z A-Z 0-9 - _ . + / @"),
    ] {
        let all = [&["scenarios", "new"][..], arguments].concat();
        assert_eq!(refusal(&lockyard(&all)), format!("lockyard: {why}\n"));
    }
}

#[test]
fn broken_standard_input_is_refused() {
    let predict = ["predict", "-", "-m", CLX, "-t", "1"];
    for input in [&b"name = "[..], b"", b"\xff\xfe", &vec![b'#'; (1 << 20) + 2]] {
        let why = refusal(&with_input(&predict, input));
        assert!(why.starts_with("lockyard: standard input"), "{why}");
    }
}

#[test]
fn ranges_of_threads_are_each_number_once() {
    let arguments = ["predict", "page-ref", "-m", CLX, "-t", "1-3,2,8-20:8", "-v", "xadd"];
    let predicted = json(&optimised(&[&arguments[..], &["-f", "json"]].concat()));
    let rows = predicted["rows"].as_array().expect("rows");
    let threads: Vec<u64> = rows.iter().filter_map(|row| row["threads"].as_u64()).collect();
    assert_eq!(threads, [1, 2, 3, 8, 16, 20]);
}

#[test]
fn several_machines_give_the_rows_of_each() {
    let rows = |machines: &[&str]| {
        let mut arguments = vec!["predict", "page-ref", "-t", "1,2", "-v", "xadd", "-f", "json"];
        machines.iter().for_each(|machine| arguments.extend(["-m", machine]));
        json(&optimised(&arguments))["rows"].as_array().expect("rows").clone()
    };
    let (zen, clx) = (rows(&["zen4-7840u"]), rows(&[CLX]));
    let apart = [zen, clx].concat();
    assert_eq!(rows(&["zen4-7840u", CLX]), apart);
    assert_eq!(rows(&[&format!("zen4-7840u,{CLX}")]), apart);
    let twice = ["predict", "page-ref", "-m", "zen4-7840u,zen4-7840u", "-t", "1"];
    assert!(refusal(&lockyard(&twice)).contains("is given twice"));
    // The second machine is too small, and is refused before the first is simulated.
    let small = ["predict", "page-ref", "-m", &format!("{CLX},zen4-7840u"), "-t", "96"];
    assert!(refusal(&lockyard(&small)).contains("96 threads"));
    let traced = ["predict", "page-ref", "-m", &format!("{CLX},zen4-7840u"), "-t", "1"];
    let file = directory("own-scenario", "trace").join("t.json");
    let trace = ["--trace", file.to_str().expect("the path is text")];
    assert!(refusal(&lockyard(&[&traced[..], &trace].concat())).contains("allowed: one"));
    assert!(!file.exists());
}
