//! Published, predicted and measured samples, through the real command.

use crate::support::optimised;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = optimised(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Returns the predicted or measured figures of a metric, by variant.
fn figure(json: &Value, variant: &str, metric: &str, column: &str) -> f64 {
    let rows = json["rows"].as_array().expect("there are rows");
    let found: Vec<&Value> =
        rows.iter().filter(|row| row["variant"] == variant && row["metric"] == metric).collect();
    assert_eq!(found.len(), 1, "{variant} {metric}");
    found[0][column].as_f64().unwrap_or_else(|| panic!("{variant} {metric} has no {column}"))
}

#[test]
fn the_published_table_is_reproduced_row_by_row_and_only_its_first_total_is_a_calibration() {
    let json = json(&["reproduce", "lockref-degradation", "--no-measure"]);
    let rows = json["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), 15);
    for row in rows {
        let calibration = row["metric"] == "throughput-total@sample0";
        let status = if calibration { "calibration" } else { "predicted" };
        assert_eq!(row["status"], status, "{}", row["metric"]);
        let note =
            row["detail"]["simulated"]["notes"][0].as_str().expect("it says how long samples are");
        assert!(note.contains("a simulated sample lasts 10 ms"), "{note}");
    }
    let total = |sample: usize| {
        let metric = format!("throughput-total@sample{sample}");
        figure(&json, "lockref-no-trywait", &metric, "predicted")
    };
    assert!(total(1) < 0.8 * total(0) && total(2) < 0.4 * total(0) && total(4) < 0.4 * total(0));
}

/// A counter behind a lock that another task takes once.
const SCRIPT: &str = r#"
name = "counter"
title = "a counter behind a lock"
operation = "lock, add one, unlock"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    { name = "lock", kind = "lock", lock = "ticket", line = "shared" },
    { name = "counter", kind = "data", line = "shared" },
]
steps = [
    { do = "lock", object = "lock" },
    { do = "write", object = "counter" },
    { do = "unlock", object = "lock" },
    { do = "work", ns = 200.0 },
]
variants = [{ name = "ticket", title = "first come, first served" }]
[placement]
order = "siblings-last"
[samples]
number = 3
seconds = 0.02
simulated_seconds = 0.0001
[[disturbances]]
sample = 1.0
steps = [
    { do = "lock", object = "lock" },
    { do = "work", ns = 50000.0 },
    { do = "unlock", object = "lock" },
]
"#;

fn script(name: &str) -> String {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, SCRIPT).expect("it can be written");
    path.to_str().expect("it is text").to_owned()
}

#[test]
fn a_holder_takes_half_of_the_sample_in_which_it_comes() {
    let path = script("predicted.toml");
    let json = json(&["predict", &path, "--machine", "cascade-lake-2s24c2t", "--threads", "1"]);
    assert_eq!(json["rows"].as_array().expect("there are rows").len(), 1 + 3 * 3);
    let total = |sample: usize| {
        figure(&json, "ticket", &format!("throughput-total@sample{sample}"), "predicted")
    };
    let share = total(1) / total(0);
    assert!((0.45..0.55).contains(&share), "{share}");
    assert!((total(2) / total(0) - 1.0).abs() < 0.01, "and then it is gone");
}

#[test]
fn samples_are_measured_here_too() {
    let path = script("measured.toml");
    let json = json(&["measure", &path, "--threads", "1", "--seconds", "0.01", "--repeats", "2"]);
    assert_eq!(json["rows"].as_array().expect("there are rows").len(), 1 + 3 * 3);
    for sample in 0..3 {
        let of = |which: &str| {
            figure(&json, "ticket", &format!("throughput-{which}@sample{sample}"), "measured")
        };
        assert_eq!((of("min"), of("max")), (of("total"), of("total")), "there is one task");
    }
}
