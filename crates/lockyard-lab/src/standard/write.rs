//! Measurements as the text of a standard file.

use super::read::SCHEMA;
use crate::calibrate_host::Measurements;
use lockyard_results::render;
use lockyard_results::row::Measured;
use serde_json::{Value, json};

/// Reason why a file is partial, and the seconds that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// Reason.
    pub why: String,
    /// Seconds of measuring that were asked for.
    pub asked: f64,
}

/// Returns the fields of a figure.
fn figure(figure: Measured) -> Value {
    json!({
        "value": figure.value,
        "ci_low": figure.ci_low,
        "ci_high": figure.ci_high,
        "samples": figure.samples,
    })
}

/// Returns `first` with the fields of `more`.
fn with(mut first: Value, more: Value) -> Value {
    if let (Some(first), Value::Object(more)) = (first.as_object_mut(), more) {
        first.extend(more);
    }
    first
}

/// Returns the text of the file.
pub fn write(
    found: &Measurements,
    environment: &[(&str, String)],
    partial: Option<&Partial>,
) -> String {
    let cpus = found.layout.cpus();
    let numbers = |tasks: &[usize]| tasks.iter().map(|&task| cpus[task]).collect::<Vec<_>>();
    let cpu = |at: &crate::calibrate_host::CpuAt| json!({ "cpu": at.cpu, "package": at.package, "complex": at.complex, "core": at.core });
    let curve = |of: &crate::calibrate_host::Contended| {
        with(
            json!({ "variant": of.variant, "unit": "op/s", "cpus": numbers(&of.tasks) }),
            figure(of.figure),
        )
    };
    let pair = |pair: &crate::calibrate_host::PairFigure| {
        let (a, b) = pair.tasks;
        let head = json!({ "what": pair.what.name(), "unit": "ns", "cpus": numbers(&[a, b]) });
        with(with(head, figure(pair.figure)), json!({ "rounds_ns": pair.series }))
    };
    let environment: serde_json::Map<String, Value> =
        environment.iter().map(|(name, value)| ((*name).into(), value.as_str().into())).collect();
    let processor = &found.processor;
    let mut object = json!({
        "schema": SCHEMA,
        "environment": environment,
        "processor": {
            "name": processor.name,
            "vendor": processor.vendor,
            "family": processor.family,
            "model": processor.model,
            "virtualised": processor.virtualised,
            "line_bytes": processor.line_bytes,
        },
        "date": found.date,
        "seconds": found.seconds,
        "rounds": found.rounds,
        "tries_lost": found.lost,
        "cpus": found.layout.cpus_at().iter().map(cpu).collect::<Vec<_>>(),
        "alone": found.alone.iter().map(|(what, of)| {
            with(json!({ "what": what.name(), "unit": what.unit() }), figure(*of))
        }).collect::<Vec<_>>(),
        "pairs": found.pairs.iter().map(pair).collect::<Vec<_>>(),
        "beside_sibling": found.beside_sibling.map(figure),
        "siblings": found.siblings.iter().map(curve).collect::<Vec<_>>(),
        "kernel": found.kernel.iter().map(|(what, of)| {
            with(json!({ "what": what.name(), "unit": "ns" }), figure(*of))
        }).collect::<Vec<_>>(),
        "curves": found.contended.iter().map(curve).collect::<Vec<_>>(),
        "notes": found.notes,
    });
    if let (Some(partial), Some(fields)) = (partial, object.as_object_mut()) {
        let fields_of = json!({ "why": partial.why, "seconds_asked": partial.asked });
        fields.insert("partial".to_owned(), fields_of);
    }
    render::pretty(&object)
}
