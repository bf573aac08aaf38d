//! `lockyard predict --trace`.

use crate::support::folders::{directory, names};
use crate::support::lockyard;
use crate::support::outcomes::refusal;
use serde_json::Value;
use std::path::Path;

const PREDICT: [&str; 8] = [
    "predict",
    "fstat2",
    "--machine",
    "cascade-lake-2s24c2t",
    "--variant",
    "lockref",
    "--threads",
    "2,4",
];

/// Runs the command with `--trace` at a path; returns its output and its errors.
fn traced(path: &Path) -> (String, String) {
    let path = path.to_str().expect("it is text");
    let output = lockyard(&[&PREDICT[..], &["--format", "json", "--trace", path]].concat());
    let errors = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(0), "{errors}");
    (String::from_utf8(output.stdout).expect("it is text"), errors)
}

#[test]
fn a_trace_is_written_whole_and_changes_no_byte_of_the_output() {
    let folder = directory("trace", "whole");
    let plain = lockyard(&[&PREDICT[..], &["--format", "json"]].concat());
    assert!(plain.status.success());
    let path = folder.join("a.json");
    let (printed, errors) = traced(&path);
    assert_eq!(printed.as_bytes(), plain.stdout);
    let text = std::fs::read_to_string(&path).expect("it was written");
    let json: Value = serde_json::from_str(&text).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("it is a list");
    let processes: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(processes, ["about this trace", "lockref, 2 threads", "lockref, 4 threads"]);
    assert_eq!(json["otherData"]["scenario"], "fstat2");
    assert_eq!(json["otherData"]["machine"], "cascade-lake-2s24c2t");
    // The trace covers at most the first simulated millisecond.
    let times: Vec<f64> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    assert!(times.iter().all(|time| (0.0..=1000.0).contains(time)));
    let begins = events.iter().filter(|event| event["ph"] == "B").count();
    let ends = events.iter().filter(|event| event["ph"] == "E").count();
    assert!(begins > 1000 && begins == ends, "{begins}, {ends}");
    let counted: usize = events.iter().filter(|e| e["pid"] != 0 && e["ph"] != "M").count();
    assert!(counted <= 200_000, "{counted}");
    assert!(errors.contains("a.json: 2 cells, "), "{errors}");
    // The other format does not replace a file of this format, and the same format is written
    // identically. An empty file is replaced.
    std::fs::write(folder.join("a.pftrace"), "").expect("there is room");
    let (_, errors) = traced(&folder.join("a.pftrace"));
    assert!(errors.contains("a.pftrace: 2 cells, "), "{errors}");
    traced(&path);
    traced(&folder.join("a.pftrace"));
    assert_eq!(std::fs::read_to_string(&path).expect("it was written"), text);
    assert_eq!(names(&folder), ["a.json", "a.pftrace"]);
}

#[test]
fn another_extension_or_a_place_that_cannot_be_written_is_refused() {
    let folder = directory("trace", "refused");
    let refused = |name: &str| {
        let path = folder.join(name);
        let path = path.to_str().expect("it is text");
        refusal(lockyard(&[&PREDICT[..], &["--trace", path]].concat()))
    };
    let allowed = "allowed: .pftrace (Perfetto) or .json (Chrome's trace events)";
    assert!(refused("a.txt").ends_with(allowed), "{}", refused("a.txt"));
    assert!(refused("pftrace").ends_with(allowed));
    assert!(refused("no/such/a.json").contains("cannot be written"));
    std::fs::create_dir(folder.join("b.json")).expect("there is room");
    assert!(refused("b.json").contains("is a directory"));
    for name in ["package.json", "old.pftrace"] {
        std::fs::write(folder.join(name), "{\"mine\":true}").expect("there is room");
        assert!(refused(name).contains("exists, and is not a trace written by lockyard"), "{name}");
        let text = std::fs::read_to_string(folder.join(name)).expect("it is there");
        assert_eq!(text, "{\"mine\":true}");
    }
    assert_eq!(names(&folder), ["b.json", "old.pftrace", "package.json"]);
}
