//! CSV output: a header, and one line for each row. The first columns are those of the published
//! tables. Columns for details follow, if any row has the detail; those of waits, threads and CPU
//! time only if no row was published. If rows are missing, the last column is `partial`, with
//! `true` in each row.

use super::columns::{COLUMNS, InCsv, Value};
use super::document::Document;
use crate::row::Row;

/// A column's name, and a function that returns the text of a row.
type Text = (&'static str, fn(&Row) -> String);

/// Columns before the figures, as in the published tables.
const KEY: [Text; 6] = [
    ("experiment", |row| row.key.experiment.clone()),
    ("machine", |row| row.key.machine.clone()),
    ("variant", |row| row.key.variant.clone()),
    ("threads", |row| row.key.threads_text()),
    ("metric", |row| row.key.metric.clone()),
    ("unit", |row| row.key.unit.clone()),
];

/// Columns after the figures.
const STATUS: [Text; 2] = [
    ("status", |row| row.status.name().to_owned()),
    ("reason", |row| row.reason.clone().unwrap_or_default()),
];

/// Returns the document as CSV.
pub fn csv(document: &Document) -> String {
    let document = &super::plain::shown(document);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let own = document.rows.iter().all(|row| row.published.is_none());
    let is_there = |(_, value): &Value| document.rows.iter().any(|row| value(row).is_some());
    let figures = values(InCsv::Always);
    let mut details: Vec<Value> =
        values(InCsv::IfKnown).chain(values(InCsv::IfOwn).filter(|_| own)).collect();
    details.retain(is_there);
    let partial = document.partial.as_ref();
    let name = |(name, _): &Value| (*name).to_owned();
    let text = |(name, _): &Text| (*name).to_owned();
    let figures: Vec<Value> = figures.collect();
    let header = KEY.iter().map(text).chain(figures.iter().map(name));
    let header = header.chain(STATUS.iter().map(text)).chain(details.iter().map(name));
    let header = header.chain(partial.map(|_| "partial".to_owned())).collect();
    let rows = document.rows.iter().map(|row| {
        let text = |(_, of): &Text| of(row);
        let value = |(_, of): &Value| of(row).map(|value| value.to_string()).unwrap_or_default();
        let cells = KEY.iter().map(text).chain(figures.iter().map(value));
        let cells = cells.chain(STATUS.iter().map(text)).chain(details.iter().map(value));
        cells.chain(partial.map(|_| "true".to_owned())).collect::<Vec<String>>()
    });
    for record in std::iter::once(header).chain(rows) {
        // Writing to memory cannot fail, and all records have the same length.
        let _ = writer.write_record(&record);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Returns the named values of the columns that CSV has at these times.
fn values(csv: InCsv) -> impl Iterator<Item = Value> {
    let columns = COLUMNS.iter().filter(move |column| column.csv == csv);
    columns.flat_map(|column| column.values).copied().filter(|(name, _)| !name.is_empty())
}
