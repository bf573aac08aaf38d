//! What there is to say about machines: a list, and every number of one with its source.

use comfy_table::{ContentArrangement, Table, presets};
use lockyard_sim::{Machine, Parameter};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    table
}

/// The shipped machines.
pub fn list() -> String {
    let mut table = table(&["machine", "what", "hardware threads", "assumed numbers"]);
    for machine in Machine::names().filter_map(Machine::shipped) {
        table.add_row([
            machine.name().to_owned(),
            machine.title().to_owned(),
            machine.hardware_threads().to_string(),
            format!("{:.0} %", machine.assumed_share() * 100.0),
        ]);
    }
    format!("{table}\n`lockyard machines show NAME` says where each number is from.\n")
}

/// Every number of a machine, with its source.
pub fn show(machine: &Machine) -> String {
    let mut parameters = table(&["number", "value", "unit", "meaning"]);
    for parameter in machine.parameters() {
        parameters.add_row([
            parameter.name.clone(),
            parameter.value.to_string(),
            parameter.unit.clone(),
            parameter.meaning.to_owned(),
        ]);
    }
    let mut text = format!(
        "{}: {}\n{} sockets, {} core complexes, {} cores, {} hardware threads; {:.0} % of the \
         numbers are assumed.\n\n{parameters}\n\nSources\n",
        machine.name(),
        machine.title(),
        machine.sockets(),
        machine.complexes(),
        machine.cores(),
        machine.hardware_threads(),
        machine.assumed_share() * 100.0,
    );
    for parameter in machine.parameters() {
        text.push_str(&source(parameter));
    }
    if !machine.checks().is_empty() {
        text.push_str("\nFigures to compare with, which are not inputs\n");
        for check in machine.checks() {
            text.push_str(&format!("  {} = {} {}\n", check.name, check.value, check.unit));
            text.push_str(&source(check));
        }
    }
    text
}

fn source(parameter: &Parameter) -> String {
    let mut text = String::new();
    if let Some(source) = &parameter.source {
        text.push_str(&format!("  {}: {source}\n", parameter.name));
    }
    if let Some(assumed) = &parameter.assumed {
        text.push_str(&format!("  {}: assumed: {assumed}\n", parameter.name));
    }
    text
}
