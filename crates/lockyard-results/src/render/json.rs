//! JSON output: one object with `schema`, `environment`, `rows` and `summary`. The object also has
//! `fits` if laws were fitted, `recorded` if the rows are of a recorded program, `growth` and
//! `gate` if that was recorded with several numbers of threads, and `partial` if rows are missing.

use super::document::{Document, Partial, mark_partial};
use super::fits;
use crate::row::Row;
use crate::summary::{Errors, Summary};
use crate::variant_ratios::Score;
use lockyard_support::escaped_json;
use serde_json::{Map, Value, json};

/// Version of the format. It changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "lockyard-results-2";

/// Returns the document as JSON.
pub fn json(document: &Document) -> String {
    let environment: Map<String, Value> = document
        .environment
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.clone())))
        .collect();
    let mut object = json!({
        "schema": SCHEMA,
        "environment": environment,
        "rows": document.rows.iter().map(row).collect::<Vec<_>>(),
        "summary": document.summaries.iter().map(summary).collect::<Vec<_>>(),
    });
    if let (Some(object), false) = (object.as_object_mut(), document.fits.is_empty()) {
        let fits: Vec<Value> = document.fits.iter().map(fits::json).collect();
        object.insert("fits".to_owned(), Value::from(fits));
    }
    if let (Some(object), Some(recorded)) = (object.as_object_mut(), &document.recorded) {
        // Their fields are numbers, texts and lists, so they can always be serialised.
        let value = |of: serde_json::Result<Value>| of.unwrap_or_default();
        let facts = value(serde_json::to_value(recorded));
        if let Some(growth) = facts.get("growth") {
            object.insert("gate".to_owned(), growth["gate"].clone());
            object.insert("growth".to_owned(), growth.clone());
        }
        object.insert("recorded".to_owned(), facts);
        object.insert("what_if".to_owned(), value(serde_json::to_value(&recorded.what_if)));
        object.insert("waits_for".to_owned(), value(serde_json::to_value(&recorded.waits_for)));
    }
    if let Some(Partial { why, extent }) = &document.partial {
        mark_partial(&mut object, why, extent.finished, extent.asked);
    }
    pretty(&object)
}

/// Returns a JSON document as text, for people too. The texts in it may come from outside: what a
/// terminal would obey is escaped as JSON does. The text ends with a line feed.
pub fn pretty(document: &Value) -> String {
    // A JSON value can always be serialised.
    escaped_json(&serde_json::to_string_pretty(document).unwrap_or_default()) + "\n"
}

fn row(row: &Row) -> Value {
    let mut object = json!({
        "experiment": row.key.experiment,
        "machine": row.key.machine,
        "variant": row.key.variant,
        "threads": row.key.threads,
        "metric": row.key.metric,
        "unit": row.key.unit,
        "published": row.published,
        "predicted": row.predicted,
        "trivial": row.trivial,
        "measured": row.measured.map(|m| m.value),
        "ci_low": row.measured.map(|m| m.ci_low),
        "ci_high": row.measured.map(|m| m.ci_high),
        "samples": row.measured.map(|m| m.samples),
        "status": row.status.name(),
        "error": row.error(),
        "detail": row.details.json(),
    });
    if let (Some(object), Some(reason)) = (object.as_object_mut(), &row.reason) {
        object.insert("reason".to_owned(), Value::from(reason.clone()));
    }
    if let (Some(object), false) = (object.as_object_mut(), row.table.is_empty()) {
        object.insert("table".to_owned(), Value::from(row.table.clone()));
    }
    object
}

fn summary(summary: &Summary) -> Value {
    let errors = |errors: &Errors| {
        json!({
            "median_abs_error": errors.median_abs_error,
            "p90_abs_error": errors.p90_abs_error,
            "winners_right": errors.winners_right,
            "winners_total": summary.winners_total,
        })
    };
    let mut object = errors(&summary.model);
    if let Some(object) = object.as_object_mut() {
        object.insert("table".to_owned(), Value::from(summary.table.clone()));
        object.insert("cells".to_owned(), Value::from(summary.cells));
        object.insert("not_modelled".to_owned(), Value::from(summary.not_modelled));
        object.insert("trivial".to_owned(), errors(&summary.trivial));
        if let Some(pairs) = &summary.pairs {
            let score = |score: &Score| json!({ "right": score.right, "near": score.near });
            let pairs = json!({
                "total": pairs.total,
                "model": score(&pairs.model),
                "trivial": score(&pairs.trivial),
            });
            object.insert("pairs".to_owned(), pairs);
        }
    }
    object
}
