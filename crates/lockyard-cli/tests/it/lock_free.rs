//! The examples of algorithms without locks: they are predicted and measured, with the number of
//! failed compare-exchanges.

use crate::support::optimised;
use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lock-free/");

fn json(arguments: &[&str]) -> Value {
    crate::support::outcomes::json(&optimised(&[arguments, &["--format", "json"]].concat()))
}

/// Returns the failed compare-exchanges per operation of each row.
fn failed(document: &Value, source: &str) -> Vec<(String, Option<f64>)> {
    let rows = document["rows"].as_array().expect("there are rows").iter();
    let rows = rows.filter(|row| row["metric"] == "throughput");
    let of_row = |row: &Value| {
        let failed = &row["detail"][source]["failed_compare_exchanges_per_operation"];
        (row["variant"].as_str().expect("it has one").to_owned(), failed.as_f64())
    };
    rows.map(of_row).collect()
}

#[test]
fn the_examples_without_locks_are_predicted_and_measured() {
    for (name, lock_free) in [
        ("counter.toml", "compare-exchange"),
        ("treiber-stack.toml", "treiber"),
        ("queue-ends.toml", "michael-scott"),
    ] {
        let path = format!("{EXAMPLES}{name}");
        let predicted = json(&["predict", &path, "-m", "cascade-lake-2s24c2t", "-t", "1,24"]);
        let rows = failed(&predicted, "simulated");
        assert_eq!(rows.len(), 6, "{name}");
        for (index, (variant, failed)) in rows.iter().enumerate() {
            let alone = index % 2 == 0;
            match failed {
                Some(failed) if alone => assert_eq!(*failed, 0.0, "{name}: {variant}"),
                Some(failed) => assert!(*failed > 0.3, "{name}: {variant}: {failed}"),
                None => assert_ne!(variant, lock_free, "{name}"),
            }
        }
        let brief = ["--seconds", "0.02", "--repeats", "2"];
        let measured = json(&[&["measure", &path, "-t", "1,2"][..], &brief[..]].concat());
        let rows = failed(&measured, "measured");
        assert_eq!(rows.len(), 6, "{name}");
        for (variant, failed) in rows {
            assert_eq!(failed.is_some(), variant == lock_free, "{name}: {variant}");
        }
    }
}

#[test]
fn an_explanation_says_how_many_compare_exchanges_fail() {
    let path = format!("{EXAMPLES}counter.toml");
    let arguments = ["predict", &path, "-m", "cascade-lake-2s24c2t", "-t", "24", "--explain"];
    let output = optimised(&arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("An operation has 2."), "{text}");
    assert_eq!(words.matches(" failed compare-exchanges.").count(), 1, "{text}");
}
