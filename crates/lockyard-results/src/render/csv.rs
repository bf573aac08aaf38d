//! CSV output: a header, and one line for each row. The first columns are those of the published
//! tables. If all rows are only measured, columns for their details follow. Columns for a fitted
//! law always follow. If rows are missing, the last column is `partial`, with `true` in each row.

use super::document::Document;
use crate::details::MeasuredDetail;
use crate::row::{Row, Status};

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

/// Column for a detail: its name, and a function that returns the row's value, if any.
type DetailColumn = (&'static str, fn(&Row) -> Option<f64>);

/// Details that become columns. A column appears if any row has the detail.
const DETAILS: [DetailColumn; 33] = [
    ("bootstrap_low", |row| Some(measured(row)?.bootstrap?.low)),
    ("bootstrap_high", |row| Some(measured(row)?.bootstrap?.high)),
    ("ratio", |row| Some(measured(row)?.ratio.as_ref()?.value)),
    ("ratio_ci_low", |row| Some(measured(row)?.ratio.as_ref()?.ci_low)),
    ("ratio_ci_high", |row| Some(measured(row)?.ratio.as_ref()?.ci_high)),
    ("fairness_minimum", |row| Some(measured(row)?.fairness?.minimum)),
    ("fairness_maximum", |row| Some(measured(row)?.fairness?.maximum)),
    ("fairness_jain", |row| Some(measured(row)?.fairness?.jain)),
    ("wait_p50_ns", |row| Some(measured(row)?.waits?.p50? as f64)),
    ("wait_p90_ns", |row| Some(measured(row)?.waits?.p90? as f64)),
    ("wait_p99_ns", |row| Some(measured(row)?.waits?.p99? as f64)),
    ("wait_p999_ns", |row| Some(measured(row)?.waits?.p999? as f64)),
    ("wait_maximum_ns", |row| Some(measured(row)?.waits?.maximum as f64)),
    ("all_threads_ran_least", |row| Some(measured(row)?.presence?.all_threads_ran_least)),
    ("all_threads_ran_most", |row| Some(measured(row)?.presence?.all_threads_ran_most)),
    ("ready_and_not_running", |row| measured(row)?.presence?.ready_and_not_running),
    ("preemptions", |row| Some(measured(row)?.presence?.preemptions? as f64)),
    ("handover_same_thread", |row| measured(row)?.handovers?.same_thread),
    ("handover_same_cpu", |row| measured(row)?.handovers?.same_cpu),
    ("handover_same_core", |row| measured(row)?.handovers?.same_core),
    ("handover_same_complex", |row| measured(row)?.handovers?.same_complex),
    ("handover_same_socket", |row| measured(row)?.handovers?.same_socket),
    ("handover_remote", |row| measured(row)?.handovers?.remote),
    ("handover_recording", |row| measured(row)?.handovers?.recording),
    ("cycles_per_operation", |row| measured(row)?.counters?.cycles_per_operation),
    ("instructions_per_operation", |row| measured(row)?.counters?.instructions_per_operation),
    ("instructions_per_cycle", |row| measured(row)?.counters?.instructions_per_cycle),
    ("cache_references_per_operation", |row| {
        measured(row)?.counters?.cache_references_per_operation
    }),
    ("cache_misses_per_operation", |row| measured(row)?.counters?.cache_misses_per_operation),
    ("usl_lambda", |row| Some(row.details.law?.lambda)),
    ("usl_sigma", |row| Some(row.details.law?.sigma)),
    ("usl_kappa", |row| Some(row.details.law?.kappa)),
    ("usl_knee", |row| row.details.law?.knee),
];

fn measured(row: &Row) -> Option<&MeasuredDetail> {
    row.details.measured.as_ref()
}

/// Returns the document as CSV.
pub fn csv(document: &Document) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let all_measured = document.rows.iter().all(|row| row.status == Status::Measured);
    let is_there = |(name, value): &DetailColumn| {
        let wanted = all_measured || name.starts_with("usl");
        wanted && document.rows.iter().any(|row| value(row).is_some())
    };
    let details: Vec<DetailColumn> = DETAILS.into_iter().filter(is_there).collect();
    let partial = document.partial.as_ref();
    let names = details.iter().map(|(name, _)| *name);
    let header = COLUMNS.into_iter().chain(names).chain(partial.map(|_| "partial"));
    let header = header.map(str::to_owned).collect();
    let rows = document.rows.iter().map(|row| {
        let mut all: Vec<String> = record(row).into();
        all.extend(details.iter().map(|(_, value)| text(value(row))));
        all.extend(partial.map(|_| "true".to_owned()));
        all
    });
    for record in std::iter::once(header).chain(rows) {
        // Writing to memory cannot fail, and all records have the same length.
        let _ = writer.write_record(&record);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn text(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn record(row: &Row) -> [String; 16] {
    let measured = |of: fn(&crate::row::Measured) -> f64| text(row.measured.as_ref().map(of));
    [
        row.key.experiment.clone(),
        row.key.machine.clone(),
        row.key.variant.clone(),
        row.key.threads_text(),
        row.key.metric.clone(),
        row.key.unit.clone(),
        text(row.published),
        text(row.predicted),
        text(row.error()),
        text(row.trivial),
        measured(|m| m.value),
        measured(|m| m.ci_low),
        measured(|m| m.ci_high),
        row.measured.map(|m| m.samples.to_string()).unwrap_or_default(),
        row.status.name().to_owned(),
        row.reason.clone().unwrap_or_default(),
    ]
}
