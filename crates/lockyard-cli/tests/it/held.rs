//! A temporary check during a restructuring: `reproduce --no-measure` gives the same figures and
//! statuses as before it. `LOCKYARD` names a command that was built with optimisation. `HELD=renew`
//! rewrites the file.

use std::fmt::Write as _;
use std::process::Command;

#[test]
#[ignore = "takes a minute with optimisation; .ci/run runs it"]
fn every_figure_and_status_is_as_before() {
    let lockyard = std::env::var("LOCKYARD").unwrap_or(env!("CARGO_BIN_EXE_lockyard").into());
    let output = Command::new(lockyard)
        .args(["reproduce", "--no-measure", "--format", "json"])
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut found = String::new();
    for row in document["rows"].as_array().expect("rows") {
        for key in [
            "experiment",
            "machine",
            "variant",
            "threads",
            "metric",
            "unit",
            "published",
            "predicted",
            "error",
            "status",
        ] {
            write!(found, "{}\t", row[key]).unwrap();
        }
        found.push('\n');
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/held.tsv");
    if std::env::var("HELD").is_ok_and(|value| value == "renew") {
        std::fs::write(path, &found).unwrap();
    }
    let held = std::fs::read_to_string(path).unwrap();
    for (found, held) in found.lines().zip(held.lines()) {
        assert_eq!(found, held);
    }
    assert_eq!(found.lines().count(), held.lines().count());
}
