//! Observations that `lockyard measure` reports in addition to figures, and the laws that `--fit`
//! finds. No test here asserts a speed.

use crate::support::{lockyard, optimised, text};
use serde_json::Value;

fn printed(arguments: &[&str]) -> String {
    let output = optimised(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

const SPIN: [&str; 8] = [
    "measure",
    "spin-loop/same-node/embedded",
    "--variant",
    "ticket",
    "--seconds",
    "0.02",
    "--repeats",
    "7",
];

#[test]
fn a_result_has_what_was_looked_at_beside_the_figure() {
    let document = json(&[&SPIN[..], &["--threads", "1,2"]].concat());
    for row in document["rows"].as_array().expect("rows") {
        let detail = &row["detail"]["measured"];
        let number = |part: &str, name: &str| {
            let value = detail[part][name].as_f64();
            value.unwrap_or_else(|| panic!("{part}, {name} is not a number: {detail}"))
        };
        assert!(number("bootstrap", "low") <= row["measured"].as_f64().unwrap());
        assert!(number("bootstrap", "high") >= row["measured"].as_f64().unwrap());
        assert_eq!(detail["rounds"].as_array().expect("rounds").len(), 7);
        let distances = ["same_cpu", "same_core", "same_complex", "same_socket", "remote"];
        let shares: f64 = distances.iter().map(|name| number("handovers", name)).sum();
        assert!((shares - 1.0).abs() < 1e-9, "the distances are all of them: {shares}");
        assert!(number("handovers", "same_thread") <= number("handovers", "same_cpu") + 1e-9);
        // The processor's counts, or the reason for their absence.
        let counted = detail["counters"]["cycles_per_operation"].is_f64();
        assert!(counted || detail["counters_not_available"].is_string(), "{detail}");
        let buckets = detail["wait_histogram_ns"].as_array().expect("buckets");
        let of = |bucket: &Value, index: usize| bucket[index].as_u64().expect("a count");
        let waits: u64 = buckets.iter().map(|bucket| of(bucket, 2)).sum();
        assert_eq!(waits, detail["waits"]["count"].as_u64().expect("a count"));
        let longest = detail["waits"]["maximum_ns"].as_u64().expect("a count");
        let last = buckets.last().expect("there are waits");
        assert!(of(last, 0) <= longest && longest <= of(last, 1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_says_whether_its_threads_ran() {
    let document = json(&[&SPIN[..], &["--threads", "1"]].concat());
    let presence = &document["rows"][0]["detail"]["measured"]["presence"];
    let share = |name: &str| presence[name].as_f64().expect("Linux says it");
    let (least, most) = (share("all_threads_ran_least"), share("all_threads_ran_most"));
    assert!(0.0 <= least && least <= most && most <= 1.0, "{least} {most}");
    assert!(presence["preemptions"].is_u64());
}

#[test]
fn operations_that_take_no_lock_have_no_handovers_and_a_reason() {
    let arguments = ["measure", "page-ref", "--variant", "xadd", "--threads", "1"];
    let document = json(&[&arguments[..], &["--seconds", "0.01", "--repeats", "1"]].concat());
    let detail = &document["rows"][0]["detail"]["measured"];
    assert!(detail["handovers"].is_null());
    assert_eq!(detail["handovers_not_available"], "no step of an operation takes a lock");
}

#[test]
fn the_table_has_the_columns_and_on_demand_the_histogram() {
    let without = printed(&[&SPIN[..], &["--threads", "1"]].concat());
    assert!(!without.contains("from same thread"), "{without}");
    assert!(!without.contains("Waits of ticket, 1 thread"));
    let waits = printed(&[&SPIN[..], &["--threads", "1", "--waits"]].concat());
    assert!(waits.contains("from same thread") && waits.contains("100.0 %"), "{waits}");
    let with = printed(&[&SPIN[..], &["--threads", "1", "--histogram"]].concat());
    assert!(with.contains("Waits of ticket, 1 thread") && with.contains("|####"), "{with}");
    assert!(with.contains("longest"), "{with}");
}

#[test]
fn csv_has_a_column_for_each_figure_that_was_found() {
    let csv = printed(&[&SPIN[..], &["--threads", "1", "--format", "csv"]].concat());
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    assert_eq!(header[..3], ["experiment", "machine", "variant"]);
    for name in ["bootstrap_low", "wait_p50_ns", "wait_p99_ns", "wait_p999_ns", "wait_maximum_ns"] {
        assert!(header.contains(&name), "{name}");
    }
    assert!(header.contains(&"handover_same_cpu") && !header.contains(&"usl_sigma"));
    assert_eq!(lines.next().expect("a row").split(',').count(), header.len());
}

const PREDICT: [&str; 8] = [
    "predict",
    "spin-loop/same-node/embedded",
    "--machine",
    "cascade-lake-2s24c2t",
    "--variant",
    "ticket",
    "--threads",
    "1,2,4,8",
];

#[test]
fn predicted_figures_have_a_law_the_same_each_time() {
    let document = json(&[&PREDICT[..], &["--fit"]].concat());
    assert_eq!(document, json(&[&PREDICT[..], &["--fit"]].concat()));
    let fit = &document["fits"][0];
    assert_eq!((&fit["variant"], &fit["law"]), (&"ticket".into(), &"usl".into()));
    let (lambda, sigma) = (fit["lambda"].as_f64().unwrap(), fit["sigma"].as_f64().unwrap());
    let kappa = fit["kappa"].as_f64().unwrap();
    assert!(lambda > 0.0 && sigma >= 0.0 && kappa >= 0.0);
    assert_eq!(fit["lambda_interval"], Value::Null, "predictions do not vary");
    // The rows agree with the law.
    for row in document["rows"].as_array().expect("rows") {
        let n = row["threads"].as_f64().unwrap();
        let law = lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        let said = row["detail"]["law"]["throughput"].as_f64().unwrap();
        assert!((said / law - 1.0).abs() < 1e-9, "{said} {law}");
    }
    let without = json(&PREDICT);
    assert!(without["fits"].is_null());
}

#[test]
fn measured_figures_have_a_law_with_intervals() {
    let document = json(&[&SPIN[..], &["--threads", "1,2,3,4", "--fit"]].concat());
    let fit = &document["fits"][0];
    if fit["reason"].is_string() {
        // If other programs prevented all operations of a cell in most rounds, there is no law, and
        // the reason is given.
        let reason = fit["reason"].as_str().unwrap();
        assert!(reason.contains("not above 0"), "{fit}");
        return lockyard_testing::skip!("there is no law on so busy a host: {reason}");
    }
    for name in ["lambda", "sigma", "kappa"] {
        let value = fit[name].as_f64().expect("a number");
        assert!(value >= 0.0, "{name} {value}");
    }
    assert!(fit["describes"].is_boolean() && fit["remarks"].is_array());
}

#[test]
fn a_law_from_too_few_numbers_of_threads_is_refused_before_anything_runs() {
    for arguments in [
        &["measure", "page-ref", "--threads", "1,2,2", "--fit"][..],
        &["predict", "page-ref", "--machine", "zen4-7840u", "--threads", "1,2", "--fit"],
    ] {
        let output = lockyard(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert_eq!(
            text(&output.stderr),
            "lockyard: --fit: 2 different numbers of threads (1,2); at least 4 are needed, \
             because three parameters fit any three figures\n"
        );
    }
}
