//! `lockyard compare`, through the real command: results of this host and of simulated machines,
//! verdicts, exit codes, formats. Figures that must differ are changed in the files by far more
//! than any host's noise.

use crate::support::{lockyard, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Returns the results that the command prints as JSON.
fn results(arguments: &[&str]) -> Value {
    let output = lockyard(&[arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn measured() -> &'static Value {
    static ONCE: OnceLock<Value> = OnceLock::new();
    let arguments = ["measure", "controls", "--threads", "1", "--variant", "ticket", "--variant"];
    ONCE.get_or_init(|| {
        results(&[&arguments[..], &["unfair", "--seconds", "0.01", "--repeats", "7"]].concat())
    })
}

fn simulated() -> &'static Value {
    static ONCE: OnceLock<Value> = OnceLock::new();
    let arguments = ["predict", "fstat2", "--machine", "cascade-lake-2s24c2t", "--threads", "1,2"];
    ONCE.get_or_init(|| results(&arguments))
}

/// Returns a measurement of an idle host, with rounds of 1000, 1010, ... operations per second.
fn steady() -> Value {
    let mut results = measured().clone();
    for row in results["rows"].as_array_mut().expect("rows") {
        row["measured"] = json!(1030.0);
        row["detail"]["measured"]["rounds"] =
            (0..7).map(|i| 1000.0 + 10.0 * f64::from(i)).collect();
    }
    results
}

/// Writes a file of the test. Returns its path.
fn file(name: &str, results: &Value) -> String {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compare");
    std::fs::create_dir_all(&directory).expect("there is room");
    let path = directory.join(name);
    std::fs::write(&path, results.to_string()).expect("there is room");
    path.to_str().expect("the path is text").to_owned()
}

/// Returns `results` with the figures of one row multiplied.
fn scaled(results: &Value, row: usize, factor: f64) -> Value {
    let mut results = results.clone();
    let scale = |value: &mut Value| {
        if let Some(number) = value.as_f64() {
            *value = json!(number * factor);
        }
    };
    let row = &mut results["rows"][row];
    scale(&mut row["measured"]);
    scale(&mut row["predicted"]);
    if let Some(rounds) = row["detail"]["measured"]["rounds"].as_array_mut() {
        rounds.iter_mut().for_each(scale);
    }
    results
}

/// Returns the exit code, standard output and standard error of a comparison.
fn compare(a: &Value, b: &Value, name: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let (a, b) = (file(&format!("{name}-a.json"), a), file(&format!("{name}-b.json"), b));
    let output = lockyard(&[&["compare", &a, &b], more].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn refused(a: &Value, b: &Value, name: &str, more: &[&str]) -> String {
    let (code, stdout, stderr) = compare(a, b, name, more);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
    stderr
}

#[test]
fn measured_results_carry_their_rounds_and_are_compared() {
    for row in measured()["rows"].as_array().expect("rows") {
        let rounds = row["detail"]["measured"]["rounds"].as_array().expect("one for each round");
        assert_eq!(rounds.len(), 7);
    }
    let a = &steady();
    let (code, stdout, stderr) = compare(a, a, "itself", &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("controls on this-host: throughput, op/s, measured"), "{stdout}");
    assert!(stdout.contains("2 rows compared: 0 faster, 0 slower"), "{stdout}");
    let (_, stdout, _) = compare(a, a, "seven", &["--threshold", "7"]);
    assert!(stdout.contains("the threshold of 7 %"), "{stdout}");
    let (code, stdout, stderr) = compare(a, &scaled(a, 1, 0.01), "slower", &[]);
    assert_eq!(code, Some(1), "{stdout}");
    assert_eq!(stderr, "lockyard: 1 row is slower by more than 5%, with evidence\n");
    assert!(stdout.contains("slower, beyond the threshold"), "{stdout}");
    let (code, ..) = compare(a, &scaled(a, 1, 0.01), "allowed", &["--threshold", "99.9 %"]);
    assert_eq!(code, Some(0), "slower by 99 %, which is allowed");
    let (code, stdout, _) = compare(a, &scaled(a, 0, 100.0), "faster", &["--threshold", "0"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("1 faster, 0 slower"), "{stdout}");
}

#[test]
fn simulated_results_are_the_same_or_not() {
    let a = simulated();
    let again = results(&[
        "predict",
        "fstat2",
        "--machine",
        "cascade-lake-2s24c2t",
        "--threads",
        "1,2",
        "--jobs",
        "1",
    ]);
    let (code, stdout, _) = compare(a, &again, "simulated-again", &["--threshold", "0%"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("4 the same"), "{stdout}");
    for threshold in ["--threshold=5", "--threshold=5%", "--threshold= 5 %"] {
        let (code, stdout, stderr) =
            compare(a, &scaled(a, 0, 0.94), "simulated-slower", &[threshold]);
        assert_eq!(code, Some(1), "{stdout}");
        assert_eq!(stderr, "lockyard: 1 row is slower by more than 5%, with evidence\n");
    }
    let (code, stdout, _) = compare(a, &scaled(a, 0, 0.96), "simulated-within", &[]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("1 slower (0 of them"), "{stdout}");
}

#[test]
fn programs_get_the_same_in_their_formats() {
    let (a, b) = (&steady(), scaled(&steady(), 1, 0.01));
    let (code, stdout, _) = compare(a, &b, "json", &["--format", "json"]);
    assert_eq!(code, Some(1));
    let found: Value = serde_json::from_str(&stdout).expect("it is JSON");
    assert_eq!(found["schema"], "lockyard-comparison-1");
    assert_eq!(found["threshold"], 0.05);
    let row = &found["rows"][1];
    assert_eq!((&row["verdict"], &row["beyond_threshold"]), (&json!("slower"), &json!(true)));
    let number = |name: &str| row[name].as_f64().expect("it is a number");
    assert!((number("difference") + 0.99).abs() < 1e-9);
    assert!(number("ci_low") <= number("difference") && number("difference") <= number("ci_high"));
    // Two runs of seven rounds that do not overlap: 2 of 3432 arrangements, times two rows.
    assert!((number("p") - 2.0 * 2.0 / 3432.0).abs() < 1e-12, "{row}");
    assert_eq!(found["summary"]["slower_beyond_threshold"], 1);
    assert!(found["geometric_mean"]["measured"]["speed"].as_f64() < Some(0.2));
    assert!(found["a"]["environment"]["kernel"].is_string());
    let (_, csv, _) = compare(a, &b, "csv", &["--format", "csv"]);
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.starts_with("experiment,machine,variant,threads,metric,unit,kind,a,b,difference,"));
    assert!(csv.contains(",slower,true,"), "{csv}");
    let (_, markdown, _) = compare(a, &b, "markdown", &["--format", "markdown"]);
    assert!(markdown.contains("### controls on this-host") && markdown.contains("| ticket"));
}

#[test]
fn what_is_not_comparable_is_refused_with_its_reason() {
    let a = &steady();
    let mut other = a.clone();
    other["environment"]["cpu"] = json!("Another Processor");
    let reason = refused(a, &other, "host", &[]);
    assert!(reason.contains("not comparable: another host: cpu: A `"), "{reason}");
    assert!(reason.contains("--anyway compares them nevertheless"), "{reason}");
    let (code, stdout, _) = compare(a, &other, "host-anyway", &["--anyway"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("Compared because of --anyway: another host"), "{stdout}");
    let mut other = a.clone();
    other["environment"]["seconds"] = json!("7");
    assert!(refused(a, &other, "window", &["--anyway"]).contains("seconds: A `0.01`, B `7`"));
    let reason = refused(a, simulated(), "kinds", &["--anyway"]);
    assert!(
        reason.contains("A's figures are measured (on this-host), B's are simulated"),
        "{reason}"
    );
    let mut other = simulated().clone();
    other["rows"][0]["detail"]["simulated"]["machine_hash"] = json!("fnv1a-0");
    let reason = refused(simulated(), &other, "hash", &[]);
    assert!(reason.contains("machine files with other numbers"), "{reason}");
    let no_error = "Simulated: the same seeds, so figures have no sampling error.";
    let (_, stdout, _) = compare(simulated(), &other, "hash-anyway", &["--anyway"]);
    assert!(stdout.contains(no_error), "{stdout}");
    let mut other = simulated().clone();
    for seeds in [json!(99), json!(null)] {
        other["rows"][0]["detail"]["simulated"]["seeds"] = seeds;
        let (code, stdout, _) = compare(simulated(), &other, "seeds-anyway", &["--anyway"]);
        assert_eq!(code, Some(0));
        assert!(stdout.contains("seeds differ or are not known") && !stdout.contains(no_error));
    }
    let mut other = simulated().clone();
    other["rows"][0]["unit"] = json!("ns");
    let reason = refused(simulated(), &other, "unit", &[]);
    assert!(reason.contains("A has throughput in op/s, B throughput in ns"), "{reason}");
}

#[test]
fn a_threshold_is_in_per_cent() {
    for wrong in ["x", "", "%", "-1%", "100", "1e9", "nan", "inf%", "5%%"] {
        let threshold = format!("--threshold={wrong}");
        let output = lockyard(&["compare", "a.json", "b.json", &threshold]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {stderr}");
        assert_eq!(
            stderr,
            format!(
                "lockyard: --threshold: `{wrong}` is not a threshold; allowed: 0 to below 100 per \
                 cent, such as 5%\n"
            )
        );
    }
}

#[test]
fn what_reproduce_writes_to_a_directory_is_compared() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compare-reproduce");
    let out = directory.to_str().expect("the path is text");
    let run = lockyard(&["reproduce", "access2", "--no-measure", "--out", out]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let written = format!("{out}/results.json");
    let output = lockyard(&["compare", &written, &written]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(
        stdout.contains("access2 of lockref-will-it-scale on cascade-lake-2s24c2t"),
        "{stdout}"
    );
}

#[test]
fn every_field_of_a_row_is_in_the_document() {
    let document = include_str!("../../../../docs/measure/results.md");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compare-fields");
    let out = directory.to_str().expect("the path is text");
    let run = lockyard(&["reproduce", "access2", "--no-measure", "--out", out]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let written = std::fs::read(directory.join("results.json")).expect("it was written");
    let reproduced: Value = serde_json::from_slice(&written).expect("it is JSON");
    for results in [measured(), simulated(), &reproduced] {
        assert!(document.contains(&format!("\"schema\": {}", results["schema"])), "the schema");
        for row in results["rows"].as_array().expect("rows") {
            for field in row.as_object().expect("a row").keys() {
                assert!(document.contains(&format!("`{field}`")), "{field}");
            }
        }
        let detail = &results["rows"][0]["detail"];
        let is_measured = detail["measured"]["rounds"].is_array();
        let is_simulated = detail["simulated"]["machine_hash"].is_string();
        assert!(is_measured != is_simulated, "{detail}");
    }
}
