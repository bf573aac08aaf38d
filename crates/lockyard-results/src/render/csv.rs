//! CSV: a header, and one line for each row; the first columns are those of the published tables.
//! Where figures were measured only, what was found beside them has columns at the end. Where rows
//! are missing, there is a last column `partial`, `true` in each row.

use super::document::Document;
use crate::row::{Detail, Row, Status};

const COLUMNS: [&str; 16] = [
    "experiment",
    "machine",
    "variant",
    "threads",
    "metric",
    "unit",
    "published",
    "predicted",
    "error",
    "trivial",
    "measured",
    "ci_low",
    "ci_high",
    "samples",
    "status",
    "reason",
];

/// Details of measured rows, each a column if a row has it.
const DETAILS: [&str; 33] = [
    "bootstrap_low",
    "bootstrap_high",
    "ratio",
    "ratio_ci_low",
    "ratio_ci_high",
    "fairness_minimum",
    "fairness_maximum",
    "fairness_jain",
    "wait_p50_ns",
    "wait_p90_ns",
    "wait_p99_ns",
    "wait_p999_ns",
    "wait_maximum_ns",
    "all_threads_ran_least",
    "all_threads_ran_most",
    "ready_and_not_running",
    "preemptions",
    "handover_same_thread",
    "handover_same_cpu",
    "handover_same_core",
    "handover_same_complex",
    "handover_same_socket",
    "handover_remote",
    "handover_recording",
    "cycles_per_operation",
    "instructions_per_operation",
    "instructions_per_cycle",
    "cache_references_per_operation",
    "cache_misses_per_operation",
    "usl_lambda",
    "usl_sigma",
    "usl_kappa",
    "usl_knee",
];

/// The document as CSV.
pub fn csv(document: &Document) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let measured = document.rows.iter().all(|row| row.status == Status::Measured);
    let has = |name: &&str| document.rows.iter().any(|row| row.detail.contains_key(*name));
    let details: Vec<&str> = DETAILS
        .into_iter()
        .filter(|name| (measured || name.starts_with("usl")) && has(name))
        .collect();
    let partial = document.partial.as_ref();
    let header = COLUMNS.iter().chain(&details).chain(partial.map(|_| &"partial"));
    let header = header.map(|name| (*name).to_owned()).collect();
    let rows = document.rows.iter().map(|row| {
        let mut all: Vec<String> = record(row).into();
        all.extend(details.iter().map(|name| detail(row, name)));
        all.extend(partial.map(|_| "true".to_owned()));
        all
    });
    for record in std::iter::once(header).chain(rows) {
        // Writing to memory does not fail, and all records have the same length.
        let _ = writer.write_record(&record);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn detail(row: &Row, name: &str) -> String {
    match row.detail.get(name) {
        Some(Detail::Number(number)) => number.to_string(),
        Some(Detail::Count(count)) => count.to_string(),
        _ => String::new(),
    }
}

fn record(row: &Row) -> [String; 16] {
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let measured = |of: fn(&crate::row::Measured) -> f64| number(row.measured.as_ref().map(of));
    [
        row.experiment.clone(),
        row.machine.clone(),
        row.variant.clone(),
        row.threads_text(),
        row.metric.clone(),
        row.unit.clone(),
        number(row.published),
        number(row.predicted),
        number(row.error()),
        number(row.trivial),
        measured(|m| m.value),
        measured(|m| m.ci_low),
        measured(|m| m.ci_high),
        row.measured.map(|m| m.samples.to_string()).unwrap_or_default(),
        row.status.name().to_owned(),
        row.reason.clone().unwrap_or_default(),
    ]
}
