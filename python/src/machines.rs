//! Machines and scenarios that are shipped.

use lockyard_scenarios::Script;
use lockyard_sim::Machine;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// Returns the shipped machines as JSON text.
#[pyfunction]
pub(crate) fn machines() -> String {
    let machine = |machine: Machine| {
        let numbers: Map<String, Value> = machine
            .parameters()
            .iter()
            .filter_map(|parameter| {
                Some((parameter.name.clone(), parameter.value.number()?.into()))
            })
            .collect();
        json!({
            "name": machine.name(),
            "title": machine.title(),
            "family": machine.family(),
            "sockets": machine.sockets(),
            "cores": machine.cores(),
            "hardware_threads": machine.hardware_threads(),
            "assumed_share": machine.assumed_share(),
            "notes": machine.notes(),
            "numbers": numbers,
        })
    };
    let all: Vec<Value> = Machine::names().filter_map(Machine::shipped).map(machine).collect();
    Value::from(all).to_string()
}

/// Returns the shipped scenarios as JSON text.
#[pyfunction]
pub(crate) fn scenarios() -> String {
    let scenario = |script: Script| {
        let variants: Vec<&str> = script.variants.iter().map(|v| v.name.as_str()).collect();
        json!({
            "name": script.name,
            "title": script.title,
            "operation": script.operation,
            "metric": script.metric.name(),
            "unit": script.metric.unit(),
            "variants": variants,
            "text": Script::shipped_text(&script.name),
        })
    };
    let all: Vec<Value> = Script::names().filter_map(Script::shipped).map(scenario).collect();
    Value::from(all).to_string()
}
