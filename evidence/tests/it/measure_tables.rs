//! `cargo evidence measure-tables`: every subject of every group is measured, with the requested
//! shares and threads. A request that cannot be measured is refused in one line. No test here
//! asserts a speed.

use lockyard_evidence::tables::GROUPS;
use serde_json::Value;
use std::process::Output;

fn evidence(arguments: &[&str]) -> Output {
    crate::support::evidence(&[&["measure-tables"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    crate::support::json(&evidence(&[arguments, &["--format", "json"]].concat()))
}

fn refusal(arguments: &[&str]) -> String {
    crate::support::refusal(evidence(arguments))
}

fn rows(document: &Value) -> Vec<[String; 3]> {
    let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_owned();
    let rows = document["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| [text(row, "experiment"), text(row, "variant"), text(row, "metric")])
        .collect()
}

const BRIEF: [&str; 6] = ["--seconds", "0.004", "--repeats", "2", "--objects", "200"];

#[test]
fn every_subject_of_every_group_has_a_row() {
    let document = json(&[&["--threads", "2", "--reads", "95"], &BRIEF[..]].concat());
    let found = rows(&document);
    for group in GROUPS {
        for row in group.rows {
            let experiment = format!("{}/reads-95", group.name);
            let of = |metric: &str| {
                let wanted = [experiment.clone(), row.name.to_owned(), metric.to_owned()];
                found.iter().filter(|found| **found == wanted).count()
            };
            assert_eq!(of("throughput"), 1, "{experiment}: {}", row.name);
            for (metric, of_group) in [("held-back", "reclaim"), ("missed", "cache-hit")] {
                let counts = usize::from(group.name == of_group);
                assert_eq!(of(metric), counts, "{experiment}: {}", row.name);
            }
        }
    }
    for row in document["rows"].as_array().expect("rows") {
        assert_eq!((row["status"].as_str(), row["threads"].as_u64()), (Some("measured"), Some(2)));
        if row["metric"] == "throughput" {
            assert!(row["measured"].as_f64().expect("a figure") > 0.0, "{row}");
            assert!(
                row["detail"]["measured"]["ratio"]["value"].as_f64().expect("a ratio") > 0.0,
                "{row}"
            );
            assert_ne!(row["detail"]["measured"]["ratio"]["to"], "", "{row}");
        }
    }
}

#[test]
fn what_is_asked_for_is_measured_and_nothing_else() {
    let asked = ["counter", "--threads", "1,3", "--reads", "0,100", "--only", "per-thread"];
    let relative = ["--relative-to", "statistics-shared"];
    let document = json(&[&asked[..], &relative, &BRIEF].concat());
    let names = |experiment: &str, variant: &str| {
        [experiment.to_owned(), variant.to_owned(), "throughput".to_owned()]
    };
    let mut expected = Vec::new();
    for experiment in ["counter/reads-0", "counter/reads-100"] {
        for variant in ["statistics-shared", "per-thread"] {
            expected.extend(std::iter::repeat_n(names(experiment, variant), 2));
        }
    }
    assert_eq!(rows(&document), expected);
    for row in document["rows"].as_array().expect("rows") {
        let ratio = row["detail"]["measured"]["ratio"]["value"].as_f64().expect("a ratio");
        let itself = row["variant"] == "statistics-shared";
        assert_eq!(itself, (ratio - 1.0).abs() < 1e-9 && itself, "{row}");
        assert_eq!(row["detail"]["measured"]["ratio"]["to"], "statistics-shared");
    }
}

#[test]
fn people_get_a_table_with_what_each_subject_is() {
    let output = evidence(&[&["id-read", "--threads", "1", "--reads", "99"], &BRIEF[..]].concat());
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("it is text");
    let group = GROUPS.iter().find(|group| group.name == "id-read").expect("it is there");
    assert!(text.contains("id-read/reads-99") && text.contains("200 objects"), "{text}");
    for row in group.rows {
        assert!(text.contains(&format!("{} ({}, {})", row.name, row.from, row.licence)), "{text}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_in_a_line() {
    for (arguments, expected) in [
        (&["id-raed"][..], "there is no group of tables `id-raed`; did you mean `id-read`?"),
        (
            &["counter", "--only", "papaya"],
            "--only: `papaya` is in none of the groups that are measured",
        ),
        (
            &["--only", "papya"],
            "--only: `papya` is in none of the groups that are measured; did you mean `papaya`?",
        ),
        (&["--relative-to", ""], "--relative-to: `` is in none of the groups"),
        (&["--reads", "101"], "--reads: 101 per cent; allowed: 0 to 100"),
        (
            &["--reads", "-1"],
            "--reads: `-1` is not a number of per cent; allowed: whole numbers from 0",
        ),
        (&["--reads", ""], "--reads: `` is not a number of per cent"),
        (&["--threads", "0"], "--threads: `0` is not a number of threads"),
        (&["--threads", "5000"], "--threads: 5000 threads; allowed: 1 to 4096"),
        (&["--objects", "0"], "--objects is 0; allowed: 1 to 16777216"),
        (&["--objects", "16777217"], "--objects is 16777217; allowed: 1 to 16777216"),
        (&["--seconds", "0"], "--seconds is 0; allowed: 0.001 to 3600 seconds"),
        (&["--placement", "nowhere"], "--placement: `nowhere` is not a placement"),
        (&["--stalled-after", "-1"], "--stalled-after is -1; allowed: 0.1 to 3600 seconds"),
    ] {
        let why = refusal(arguments);
        assert!(why.contains(expected), "{arguments:?}: {why}");
    }
    for usage in [&["--repeats", "0"][..], &["--objects", "-1"], &["--format", "x"]] {
        assert_eq!(evidence(usage).status.code(), Some(2), "{usage:?}");
    }
}
