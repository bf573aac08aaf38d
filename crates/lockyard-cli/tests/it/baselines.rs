//! Results under a name: `--save`, `--against`, and names in `lockyard compare`.

use crate::support::folders::{directory, names};
use crate::support::{command, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

const PREDICT: [&str; 6] =
    ["predict", "fstat2", "--machine", "cascade-lake-2s24c2t", "--threads", "1,2"];

/// Runs the command in a directory.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    command.current_dir(folder).env_remove("HOME").env_remove("XDG_DATA_HOME");
    command.output().expect("the command runs")
}

fn predict(folder: &Path, more: &[&str]) -> Output {
    run(folder, &[&PREDICT[..], more].concat())
}

/// Returns the exit code, and the standard error.
fn end(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), text(&output.stderr))
}

/// Multiplies all predicted figures of a file.
fn scale(path: &Path, factor: f64) {
    let text = std::fs::read_to_string(path).expect("it was kept");
    let mut results: Value = serde_json::from_str(&text).expect("it is JSON");
    for row in results["rows"].as_array_mut().expect("rows") {
        if let Some(value) = row["predicted"].as_f64() {
            row["predicted"] = json!(value * factor);
        }
    }
    std::fs::write(path, results.to_string()).expect("there is room");
}

#[test]
fn results_are_kept_and_compared_by_their_name() {
    let folder = directory("baselines", "kept");
    let plain = predict(&folder, &["--format", "json"]);
    let saved = predict(&folder, &["--save", "main", "--format", "json"]);
    assert_eq!(
        end(&saved),
        (Some(0), "lockyard: kept as main in .lockyard/baselines/main.json\n".to_owned())
    );
    assert_eq!(saved.stdout, plain.stdout, "keeping changes nothing of what is printed");
    let kept = folder.join(".lockyard/baselines");
    assert_eq!(names(&kept), ["main.json"]);
    assert_eq!(std::fs::read(kept.join("main.json")).expect("it was kept"), plain.stdout);
    let same = predict(&folder, &["--against", "main"]);
    assert_eq!(end(&same), (Some(0), String::new()));
    let shown = text(&same.stdout);
    assert!(shown.starts_with(&text(&predict(&folder, &[]).stdout)), "the run comes first");
    assert!(shown.contains("A: .lockyard/baselines/main.json\nB: this run\n"), "{shown}");
    assert!(shown.contains("4 the same"), "{shown}");
    // The earlier results were a tenth faster.
    scale(&kept.join("main.json"), 1.1);
    let slower = predict(&folder, &["--against", "main", "--format", "json"]);
    let said = "lockyard: 4 rows are slower by more than 5%, with evidence\n";
    assert_eq!(end(&slower), (Some(1), said.to_owned()));
    let found: Value = serde_json::from_slice(&slower.stdout).expect("one document of JSON");
    assert_eq!(found["schema"], "lockyard-comparison-1");
    let allowed = predict(&folder, &["--against", "main", "--threshold", "20%"]);
    assert_eq!(end(&allowed), (Some(0), String::new()));
    let both = predict(&folder, &["--against", "main", "--save", "main"]);
    let (code, said) = end(&both);
    assert_eq!(code, Some(1), "compared with the earlier results: {said}");
    assert!(said.contains("main.json, in place of the earlier results\n"), "{said}");
    assert_eq!(end(&predict(&folder, &["--against", "main"])), (Some(0), String::new()));
    assert_eq!(names(&kept), ["main.json"], "nothing else is left");
}

#[test]
fn compare_takes_names_and_files_from_any_directory() {
    let folder = directory("baselines", "names");
    for name in ["old", "new"] {
        let saved = predict(&folder, &["--save", name, "--baselines", "elsewhere/kept"]);
        assert_eq!(end(&saved).0, Some(0), "{}", end(&saved).1);
    }
    scale(&folder.join("elsewhere/kept/new.json"), 0.5);
    let with = ["--baselines", "elsewhere/kept"];
    let compare = |a: &str, b: &str| end(&run(&folder, &[&["compare", a, b], &with[..]].concat()));
    assert_eq!(compare("old", "new").0, Some(1));
    assert_eq!(compare("old", "old"), (Some(0), String::new()));
    assert_eq!(compare("elsewhere/kept/old.json", "new").0, Some(1));
    let said =
        "lockyard: there is no file `nwe`, and no results of that name; did you mean `new`?\n";
    assert_eq!(compare("nwe", "old"), (Some(2), said.to_owned()));
    // A file of that name takes precedence over saved results.
    std::fs::copy(folder.join("elsewhere/kept/old.json"), folder.join("new")).expect("room");
    assert_eq!(compare("old", "new"), (Some(0), String::new()));
    let (code, said) = end(&run(&folder, &["compare", "old", "old"]));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
}

#[test]
fn a_run_is_refused_before_the_work_or_its_results_are_printed() {
    let folder = directory("baselines", "refused");
    assert_eq!(end(&predict(&folder, &["--save", "main"])).0, Some(0));
    let against = ["--against", "main", "--save", "new"];
    // The placement is known before the work.
    let output = predict(&folder, &[&against[..], &["--placement", "spread"]].concat());
    let (code, said) = end(&output);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("not run in the same way: placement: A `siblings-last`"), "{said}");
    let other = ["predict", "open3", "--machine", "cascade-lake-2s24c2t", "--threads", "1"];
    let (code, said) = end(&run(&folder, &[&other[..], &against].concat()));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nothing in common: experiments: A has fstat2, B open3"), "{said}");
    assert!(output.stdout.is_empty(), "nothing was simulated");
    assert_eq!(names(&folder.join(".lockyard/baselines")), ["main.json"], "nothing was kept");
    // The seeds are known after it: the results are printed and kept.
    let path = folder.join(".lockyard/baselines/main.json");
    let text = std::fs::read_to_string(&path).expect("it was kept");
    let mut results: Value = serde_json::from_str(&text).expect("it is JSON");
    results["rows"][0]["detail"]["simulated"]["seeds"] = json!(99);
    std::fs::write(&path, results.to_string()).expect("there is room");
    let output = predict(&folder, &[&against[..], &["--format", "json"]].concat());
    let (code, said) = end(&output);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("not comparable: other seeds"), "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("one document of JSON");
    assert_eq!(printed["schema"], "lockyard-results-2");
    let kept = std::fs::read(folder.join(".lockyard/baselines/new.json")).expect("it was kept");
    assert_eq!(kept, output.stdout);
}

#[test]
fn a_directory_hides_no_name() {
    let folder = directory("baselines", "hidden");
    assert_eq!(end(&predict(&folder, &["--save", "main"])).0, Some(0));
    std::fs::create_dir(folder.join("main")).expect("there is room");
    assert_eq!(end(&predict(&folder, &["--against", "main"])), (Some(0), String::new()));
    let (code, said) = end(&run(&folder, &["compare", "./main", "main"]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("./main: is not a file"), "{said}");
}

#[test]
fn a_wrong_name_or_place_is_refused_before_the_work() {
    let folder = directory("baselines", "wrong");
    for wrong in ["", "..", "a/b", "-x", ".hidden", "a b", &"x".repeat(65)] {
        let (code, said) = end(&predict(&folder, &[&format!("--save={wrong}")]));
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{wrong}: {said}");
        assert!(said.contains("is not a name for results; allowed: 1 to 64 letters"), "{said}");
    }
    assert!(names(&folder).is_empty(), "nothing was made");
    let (code, said) = end(&predict(&folder, &["--against", "nothing"]));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    let (code, said) = end(&predict(&folder, &["--threshold", "7"]));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    std::fs::write(folder.join("file"), "").expect("there is room");
    let (code, said) = end(&predict(&folder, &["--save", "main", "--baselines", "file/below"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--save: file/below cannot be made: "), "{said}");
    std::fs::create_dir_all(folder.join("kept/main.json")).expect("there is room");
    let (code, said) = end(&predict(&folder, &["--save", "main", "--baselines", "kept"]));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("is a directory"), "{said}");
}

#[test]
fn a_measurement_that_fails_leaves_the_earlier_results() {
    let folder = directory("baselines", "partial");
    let measure = |more: &[&str]| {
        let arguments = ["measure", "controls", "--threads", "1", "--variant", "ticket"];
        let rounds = ["--seconds", "0.01", "--save", "main"];
        end(&run(&folder, &[&arguments[..], &rounds, more].concat()))
    };
    assert_eq!(measure(&["--repeats", "5"]).0, Some(0));
    let path = folder.join(".lockyard/baselines/main.json");
    let before = std::fs::read(&path).expect("it was kept");
    // `timeout` interrupts the measurement in the middle of its rounds.
    let mut timeout = std::process::Command::new("timeout");
    timeout.args(["-s", "INT", "1", env!("CARGO_BIN_EXE_lockyard"), "measure", "controls"]);
    timeout.args(["--threads", "1", "--seconds", "1", "--repeats", "100", "--save", "main"]);
    let output = timeout.current_dir(&folder).output().expect("`timeout` runs");
    let said = text(&output.stderr);
    assert!(said.contains("not kept and not compared"), "{said}");
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
    assert_eq!(names(&folder.join(".lockyard/baselines")), ["main.json"]);
}
