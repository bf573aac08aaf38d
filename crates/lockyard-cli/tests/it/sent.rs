//! Data that users send: matrices of latencies, standard measurements, their own figures.

#![cfg(target_os = "linux")]

use crate::support::{command, folders::directory, lockyard, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the error line of a command that ends with exit code 2.
fn refusal(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    error
}

fn good(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--format", "json"]].concat())).expect("it is JSON")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

fn matrix() -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/latencies");
    Path::new(directory).join("threadripper-1950x.csv")
}

#[test]
fn a_matrix_becomes_a_machine_that_can_be_used_at_once() {
    let directory = directory("sent", "matrix");
    let (matrix, file) = (matrix(), directory.join("mine.toml"));
    let new = ["machines", "new", "--from-pingpong", path(&matrix), "--ghz", "3.9"];
    let found = json(&[&new[..], &["--out", path(&file)]].concat());
    assert_eq!(found["layout"], "2 sockets x 2 complexes x 4 cores x 2 threads");
    assert!(found["p90_abs_error"].as_f64().expect("a number") < 0.1, "{found}");
    let written = fs::read_to_string(&file).expect("it is there");
    assert_eq!(found["machine_file"].as_str(), Some(written.as_str()));
    let checked = json(&["machines", "check", path(&file)]);
    for row in checked["rows"].as_array().expect("rows").iter().filter(|row| row["input"] == true) {
        assert!(row["error"].as_f64().expect("a number").abs() < 0.05, "{row}");
    }
    good(&["predict", "page-ref", "-m", path(&file), "-t", "1,32", "-v", "xadd"]);
    // The file is not replaced, and a given topology is taken.
    let again = refusal(&[&new[..], &["--out", path(&file)]].concat());
    assert!(again.contains("exists already; --force replaces it"), "{again}");
    let given = json(&[&new[..], &["--topology", "1x4x4x2", "--like", "zen3-5950x"]].concat());
    assert_eq!(given["layout"], "1 socket x 4 complexes x 4 cores x 2 threads");
    let shown = good(&new);
    assert!(shown.contains("496 pairs: median |error|") && shown.contains("[protocol]"), "{shown}");
}

#[test]
fn a_wrong_matrix_is_refused_in_one_line() {
    let directory = directory("sent", "wrong-matrix");
    let file = directory.join("m.csv");
    let new = |text: &str, more: &[&str]| {
        fs::write(&file, text).expect("there is room");
        refusal(&[&["machines", "new", "--from-pingpong", path(&file)][..], more].concat())
    };
    assert!(new("", &[]).contains("has 0 CPUs; allowed: 2 to 4096"));
    assert!(new("\n1\n2,x\n", &[]).contains("m.csv:3: entry 2 is `x`; allowed: nanoseconds"));
    assert!(new("{}", &[]).contains("lacks `pairs`"));
    let small = "\n20\n85,84\n85,84,20\n";
    assert!(new(small, &["--topology", "2x2"]).contains("--topology is `2x2`; allowed: "));
    assert!(new(small, &["--topology", "2x1x4x1"]).contains("--topology has 8 hardware threads"));
    assert!(new(small, &["--like", "zen5"]).contains("--like: there is no shipped machine `zen5`"));
    assert!(new(small, &["--ghz", "0"]).contains("--ghz is `0`; allowed: 0.1 to 10"));
    assert!(new(small, &["--name", "my host"]).contains("--name is `my host`; allowed"));
    let standard = "{\"schema\": \"lockyard-standard-7\"}";
    assert!(new(standard, &[]).contains("`schema` is lockyard-standard-7; allowed: "));
    let none = refusal(&["machines", "new", "--from-pingpong", "/no/such.csv"]);
    assert!(none.contains("/no/such.csv: cannot be read"), "{none}");
}

#[test]
fn clouds_names_are_machines() {
    let json = json(&["predict", "page-ref", "-m", "c6a.xlarge", "-t", "4", "-v", "xadd"]);
    assert_eq!(json["rows"][0]["machine"], "c6a.xlarge");
    let notes = json["environment"]["machine_notes"].as_str().expect("it has notes");
    assert!(notes.contains("c6a.xlarge stands for 2 cores of milan-7r13-2s48c2t"), "{notes}");
    let error = refusal(&["predict", "page-ref", "-m", "c6a.5xlarge", "-t", "1"]);
    assert!(error.contains("did you mean `c6a.2xlarge`?"), "{error}");
    let error = refusal(&["predict", "page-ref", "-m", "cascadelake", "-t", "1"]);
    assert!(error.contains("did you mean `cascade-lake-2s24c2t`?"), "{error}");
    let list = good(&["machines"]);
    assert!(list.contains("c7i.large, m7i.large, r7i.large"), "{list}");
}

#[test]
fn a_standard_measurement_is_one_file_that_other_commands_read() {
    let directory = directory("sent", "standard");
    let (sent, machine) = (directory.join("sent.json"), directory.join("mine.toml"));
    let output = lockyard(&["measure", "--standard=2", "--out", path(&sent)]);
    let error = text(&output.stderr);
    if output.status.code() == Some(1) {
        assert!(!sent.exists(), "{error}");
        return lockyard_testing::skip!("nothing can be measured here: {error}");
    }
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(text(&output.stdout).contains("is complete"), "{}", text(&output.stdout));
    let json: Value =
        serde_json::from_str(&fs::read_to_string(&sent).expect("it is there")).expect("it is JSON");
    assert_eq!(json["schema"], "lockyard-standard-1");
    assert!(json["partial"].is_null());
    let curves = json["curves"].as_array().expect("it has curves");
    assert!(!curves.is_empty());
    // On a busy host two tasks may never have their CPUs at the same time.
    let of = |variant: &Value| curves.iter().filter(|curve| curve["variant"] == *variant).count();
    let has_two = curves.iter().any(|curve| of(&curve["variant"]) > 1);
    // This host may have hand-overs that no machine has.
    let new = ["machines", "new", "--from-pingpong", path(&sent), "--out", path(&machine)];
    let made = lockyard(&new);
    if made.status.code() == Some(0) {
        good(&["machines", "show", path(&machine)]);
    } else {
        assert!(text(&made.stderr).contains("no machine file: "), "{}", text(&made.stderr));
    }
    if has_two {
        let fitted = self::json(&["fit", path(&sent), "--machine", "cascade-lake-2s24c2t"]);
        let rows = fitted["rows"].as_array().expect("it has rows");
        assert!(rows.iter().any(|row| row["role"] == "calibration"), "{fitted}");
        assert!(rows.iter().any(|row| row["role"] == "scored"), "{fitted}");
    }
    let again = refusal(&["measure", "--standard=2", "--out", path(&sent)]);
    assert!(again.contains("exists already; --force replaces it"), "{again}");
}

#[test]
fn an_interrupted_standard_measurement_says_whether_there_is_a_file() {
    let directory = directory("sent", "interrupted");
    let sent = directory.join("sent.json");
    let child = command(&["measure", "--standard=3600", "--out", path(&sent)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    std::thread::sleep(Duration::from_secs(2));
    let begin = Instant::now();
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
    let output = child.wait_with_output().expect("it ends");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{error}");
    if sent.exists() {
        assert!(error.contains("the file is valid, and marked as partial"), "{error}");
        let found = fs::read_to_string(&sent).expect("it is there");
        let json: Value = serde_json::from_str(&found).expect("it is JSON");
        assert_eq!(json["partial"]["why"], "interrupted");
    } else {
        assert!(error.contains("too few for a file; none was written"), "{error}");
    }
}

#[test]
fn wrong_arguments_of_a_standard_measurement_are_refused() {
    let directory = directory("sent", "wrong-standard");
    let file = directory.join("s.json");
    assert!(refusal(&["measure", "--standard"]).contains("--out"));
    assert!(refusal(&["measure", "--out", path(&file)]).contains("--standard"));
    let short = refusal(&["measure", "--standard=0.1", "--out", path(&file)]);
    assert!(short.contains("is 0.1; allowed: 1 to 3600 seconds"), "{short}");
    let both = refusal(&["measure", "page-ref", "-t", "1", "--standard", "--out", path(&file)]);
    assert!(both.contains("--standard"), "{both}");
    assert!(!file.exists());
}

#[test]
fn data_are_scored_and_wrong_data_are_refused_in_one_line() {
    let directory = directory("sent", "fit");
    let file = directory.join("d.csv");
    let fit = ["fit", path(&file), "--machine", "cascade-lake-2s24c2t"];
    fs::write(
        &file,
        "scenario,variant,threads,measured\npage-ref,xadd,1,6\npage-ref,xadd,2,40\n\
         page-ref,cmpxchg,1,8\npage-ref,cmpxchg,2,60\n",
    )
    .expect("there is room");
    let found = json(&fit);
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(4));
    assert_eq!(found["rows"][0]["role"], "calibration");
    assert!(found["left_out"]["median_abs_error"].as_f64().is_some(), "{found}");
    assert!(good(&fit).contains("Leave-one-out, each curve with the factor of the others"));
    let wrong = |text: &str| {
        fs::write(&file, text).expect("there is room");
        refusal(&fit)
    };
    assert!(wrong("a,b\n1,2\n").contains("has no column `scenario`; needed: "));
    let head = "scenario,variant,threads,measured\n";
    let error = wrong(&format!("{head}page-ref,xadd,1,-6\n"));
    assert!(error.contains("d.csv:2: `measured` is `-6`; allowed: above 0"), "{error}");
    let error = wrong(&format!("{head}page-ref,xadd,200,6\npage-ref,xadd,300,6\n"));
    assert!(error.contains("no row can be scored on `cascade-lake-2s24c2t`"), "{error}");
    assert!(refusal(&["fit", "/no/such.csv", "-m", "zen4-7840u"]).contains("cannot be read"));
}

#[test]
fn a_script_is_calibrated_by_the_user_s_own_figure() {
    let directory = directory("sent", "measured");
    let file = directory.join("own.toml");
    let script = "name = \"own\"\n[[objects]]\nname = \"lock\"\nkind = \"lock\"\nlock = \"queued\"\n\
                  [[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"unlock\"\n\
                  object = \"lock\"\n[[steps]]\ndo = \"work\"\nshare = 1.0\n[[variants]]\n\
                  name = \"queued\"\n[calibration]\nmachine = \"cascade-lake-2s24c2t\"\n\
                  variant = \"queued\"\nmeasured = 812000\n";
    fs::write(&file, script).expect("there is room");
    let found = json(&["predict", path(&file), "-m", "cascade-lake-2s24c2t,zen4-7840u", "-t", "1"]);
    let figure = found["rows"][0]["predicted"].as_f64().expect("a number");
    assert!((figure / 812_000.0 - 1.0).abs() < 0.04, "{found}");
    // The other machine has the same work, in nanoseconds.
    let other = found["rows"][1]["predicted"].as_f64().expect("a number");
    assert!((other / 812_000.0 - 1.0).abs() < 0.05, "{found}");
    fs::write(&file, script.replace("cascade-lake-2s24c2t", "/no/such.toml")).expect("room");
    let error = refusal(&["predict", path(&file), "-m", "zen4-7840u", "-t", "1"]);
    assert!(error.contains("/no/such.toml: there is no such file"), "{error}");
}
