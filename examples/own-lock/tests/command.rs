//! The whole command, with a lock of this crate.

use std::process::{Command, Output};

fn command(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mine"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("the command runs")
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let output = command(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the figure of a variant in the CSV output.
fn figure(csv: &str, column: &str, variant: &str) -> f64 {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a header");
    let index = |name: &str| head.iter().position(|column| *column == name).expect("a column");
    let row = lines.find(|row| row[index("variant")] == variant).expect("a row of the variant");
    row[index(column)].parse().expect("a figure")
}

#[test]
fn a_script_with_the_lock_is_predicted_and_explained() {
    let cell = ["predict", "mine.toml", "-m", "cascade-lake-2s24c2t", "-t", "16"];
    let csv = succeeds(&[&cell[..], &["--format", "csv"]].concat());
    let [mine, ticket] = ["mine", "ticket"].map(|variant| figure(&csv, "predicted", variant));
    assert!(mine > 1.2 * ticket, "its waiters poll less: {mine} and {ticket}");
    let explained = succeeds(&[&cell[..], &["--variant", "mine", "--explain"]].concat());
    assert!(explained.contains("mine, 16 threads"), "{explained}");
}

#[test]
fn a_script_with_the_lock_is_measured() {
    let csv = succeeds(&[
        "measure",
        "mine.toml",
        "-t",
        "2",
        "--seconds",
        "0.02",
        "--repeats",
        "1",
        "--attribution",
        "--format",
        "csv",
    ]);
    assert!(figure(&csv, "measured", "mine") > 0.0, "{csv}");
}

#[test]
fn the_lock_is_listed_where_kinds_are() {
    for arguments in [&["--help"][..], &["scenarios"]] {
        let text = succeeds(arguments);
        assert!(text.contains("Locks of this program, beside the library's: mine."), "{text}");
    }
    let script = succeeds(&["scenarios", "new", "--held", "100", "--every", "1000"]);
    assert!(script.contains(r#"set = [{ object = "m", lock = "mine" }]"#), "{script}");
}

#[test]
fn a_misspelt_lock_is_answered_with_the_right_one() {
    let path = std::env::temp_dir().join(format!("mine-{}.toml", std::process::id()));
    let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/mine.toml"));
    let script = script.expect("it is committed").replace("lock = \"mine\"", "lock = \"mime\"");
    std::fs::write(&path, script).expect("it can be written");
    let path_text = path.to_str().expect("text");
    let output = command(&["predict", path_text, "-m", "zen4-7840u", "-t", "1"]);
    std::fs::remove_file(&path).expect("it was written");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.ends_with("there is no lock `mime`; did you mean `mine`?\n"), "{error}");
}
