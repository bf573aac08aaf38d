//! CSV output: a header, and one line for each row. The first columns are those of the published
//! tables. Columns for details follow, if any row has the detail; those of waits, threads and CPU
//! time only if no row was published. If rows are missing, the last column is `partial`, with
//! `true` in each row.

use super::document::Document;
use super::of_row::{
    fairness, measured, ratio, siblings_apart, simulated, simulated_sleeps, sleeps, waits,
};
use crate::row::Row;

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

/// Details of predictions, and laws fitted to any figures. A column appears if any row has the
/// detail.
const OF_PREDICTIONS: &[DetailColumn] = &[
    ("predicted_low", |row| Some(simulated(row)?.interval?.low)),
    ("predicted_high", |row| Some(simulated(row)?.interval?.high)),
    ("siblings_share_nothing", siblings_apart),
    ("start_order_spread", |row| Some(simulated(row)?.start_orders?.spread)),
    ("usl_lambda", |row| Some(row.details.law?.lambda)),
    ("usl_sigma", |row| Some(row.details.law?.sigma)),
    ("usl_kappa", |row| Some(row.details.law?.kappa)),
    ("usl_knee", |row| row.details.law?.knee),
];

/// Details of rows that no publication has, as in the tables for readers. A column appears if any
/// row has the detail.
const OF_OWN_ROWS: &[DetailColumn] = &[
    ("bootstrap_low", |row| Some(measured(row)?.bootstrap?.low)),
    ("bootstrap_high", |row| Some(measured(row)?.bootstrap?.high)),
    ("ratio", |row| Some(ratio(row)?.value)),
    ("ratio_ci_low", |row| Some(ratio(row)?.ci_low)),
    ("ratio_ci_high", |row| Some(ratio(row)?.ci_high)),
    ("fairness_minimum", |row| Some(fairness(row)?.minimum)),
    ("fairness_maximum", |row| Some(fairness(row)?.maximum)),
    ("fairness_jain", |row| Some(fairness(row)?.jain)),
    ("wait_p50_ns", |row| Some(waits(row)?.p50? as f64)),
    ("wait_p90_ns", |row| Some(waits(row)?.p90? as f64)),
    ("wait_p99_ns", |row| Some(waits(row)?.p99? as f64)),
    ("wait_p999_ns", |row| Some(waits(row)?.p999? as f64)),
    ("wait_maximum_ns", |row| Some(waits(row)?.maximum as f64)),
    ("sleeps", sleeps),
    ("predicted_sleeps", simulated_sleeps),
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
    ("cpu_between_share", |row| cpu_share(row, "between")),
    ("cpu_working_share", |row| cpu_share(row, "working")),
    ("cpu_waiting_share", |row| cpu_share(row, "waiting")),
    ("cpu_holding_share", |row| cpu_share(row, "holding")),
    ("cpu_releasing_share", |row| cpu_share(row, "releasing")),
    ("cpu_seconds", |row| Some(measured(row)?.cpu_time.as_ref()?.seconds)),
    ("cpu_samples", |row| Some(measured(row)?.cpu_time.as_ref()?.samples as f64)),
    ("cpu_sampler_share", |row| Some(measured(row)?.cpu_time.as_ref()?.sampler_share)),
    ("cpu_cost_ratio", |row| measured(row)?.cpu_time.as_ref()?.cost_ratio),
];

/// Returns the share of a row's CPU time in the phase of this name.
fn cpu_share(row: &Row, name: &str) -> Option<f64> {
    let time = measured(row)?.cpu_time.as_ref()?;
    time.phases.iter().find(|phase| phase.phase == name).map(|phase| phase.share)
}

/// Returns the document as CSV.
pub fn csv(document: &Document) -> String {
    let document = &super::plain::shown(document);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let is_there =
        |(_, value): &&DetailColumn| document.rows.iter().any(|row| value(row).is_some());
    let own = match document.rows.iter().any(|row| row.published.is_some()) {
        true => &[],
        false => OF_OWN_ROWS,
    };
    let details: Vec<DetailColumn> =
        OF_PREDICTIONS.iter().chain(own).filter(is_there).copied().collect();
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
