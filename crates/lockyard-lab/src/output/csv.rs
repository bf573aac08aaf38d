//! CSV: a header, and one line for each row; the first columns are those of the published tables.

use super::Document;
use crate::rows::Row;

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

/// The document as CSV.
pub fn csv(document: &Document) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let rows = document.rows.iter().map(record);
    for record in std::iter::once(COLUMNS.map(str::to_owned)).chain(rows) {
        // Writing to memory does not fail, and all records have the same length.
        let _ = writer.write_record(&record);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn record(row: &Row) -> [String; 16] {
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let measured = |of: fn(&crate::rows::Measured) -> f64| number(row.measured.as_ref().map(of));
    [
        row.experiment.clone(),
        row.machine.clone(),
        row.variant.clone(),
        row.threads.to_string(),
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
