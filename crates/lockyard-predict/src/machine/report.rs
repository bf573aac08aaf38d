//! Reports about machines: a list of them, and the numbers of one machine with their sources.

use comfy_table::Table;
use lockyard_results::render::{self, Format, Screen};
use lockyard_sim::machine::{Rented, rented};
use lockyard_sim::{Machine, Parameter};
use serde_json::{Map, Value, json};

/// Version of the JSON format. It changes when a field changes its meaning or is removed.
const SCHEMA: &str = "lockyard-machines-1";

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.set_header(header.to_vec());
    table
}

/// Returns rows for programs: as JSON if that is `format`, as CSV otherwise.
fn for_programs(format: Format, columns: &[&str], rows: &[Vec<Value>], about: Value) -> String {
    if format == Format::Json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                let fields = columns.iter().map(|c| (*c).to_owned()).zip(row.iter().cloned());
                Value::Object(fields.collect::<Map<_, _>>())
            })
            .collect();
        let object = json!({ "schema": SCHEMA, "environment": about, "rows": rows });
        return render::pretty(&object);
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail, and all records have the same length.
    let _ = writer.write_record(columns);
    for row in rows {
        let _ = writer.write_record(row.iter().map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        }));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Returns the names of the shipped machines, a line each.
pub fn names() -> String {
    Machine::names().map(|name| format!("{name}\n")).collect()
}

/// Lists the shipped machines. A table for display fits the screen.
pub fn list(format: Format, screen: &Screen) -> String {
    let machines = || Machine::names().filter_map(Machine::shipped);
    if matches!(format, Format::Json | Format::Csv) {
        let rows: Vec<Vec<Value>> = machines()
            .map(|machine| {
                vec![
                    Value::from(machine.name()),
                    Value::from(machine.title()),
                    Value::from(machine.hardware_threads()),
                    Value::from(machine.assumed_share()),
                    Value::from(aliases(machine.name())),
                ]
            })
            .collect();
        let columns = ["machine", "title", "hardware_threads", "assumed_share", "aliases"];
        let about = json!({ "lockyard": env!("CARGO_PKG_VERSION") });
        return for_programs(format, &columns, &rows, about);
    }
    let header = ["machine", "what", "threads", "assumed"];
    let mut table = table(&header);
    for machine in machines() {
        table.add_row([
            machine.name().to_owned(),
            machine.title().to_owned(),
            machine.hardware_threads().to_string(),
            format!("{:.0} %", machine.assumed_share() * 100.0),
        ]);
    }
    let table = screen.words_in(&table, format);
    let more = screen.wrap(
        "`threads`: hardware threads. `assumed`: share of the machine's numbers that no source \
         gives; all numbers of a borrowed family are among them. `lockyard machines show NAME` \
         shows the source of each number. Clouds' names stand for parts of these machines:",
    );
    format!("{table}\n{more}\n\n{}\n", screen.words_in(&kinds(), format))
}

/// Returns the clouds' names that stand for parts of the machine.
fn aliases(machine: &str) -> Vec<String> {
    rented().iter().filter(|kind| kind.machine == machine).flat_map(Rented::names).collect()
}

/// Returns a table of the clouds' names: a row for each kind.
fn kinds() -> Table {
    let mut table = table(&["alias", "CPUs", "of"]);
    for kind in rented() {
        let first = |sizes: &[(String, usize)]| sizes.first().map(|(size, _)| size.clone());
        let size = first(&kind.sizes).unwrap_or_default();
        let names = |prefix: &String| format!("{prefix}{size}{}", kind.suffix);
        let mut cpus: Vec<String> = kind.sizes.iter().map(|(_, cpus)| cpus.to_string()).collect();
        cpus.dedup();
        table.add_row([
            kind.prefixes.iter().map(names).collect::<Vec<_>>().join(", "),
            cpus.join(", "),
            kind.machine.clone(),
        ]);
    }
    table
}

/// Lists every number of a machine, with its source.
pub fn show(machine: &Machine, format: Format, screen: &Screen) -> String {
    if matches!(format, Format::Json | Format::Csv) {
        return show_to_programs(machine, format);
    }
    let mut parameters = table(&["number", "value", "unit", "meaning"]);
    for parameter in machine.parameters() {
        parameters.add_row([
            parameter.name.clone(),
            parameter.value.to_string(),
            parameter.unit.clone(),
            parameter.meaning.to_owned(),
        ]);
    }
    let parameters = screen.words_in(&parameters, format);
    // Verbatim in Markdown, because spaces align the columns.
    let fence = if format == Format::Markdown { "```\n" } else { "" };
    let some = |number: usize, one: &str, more: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {more}"),
    };
    let mut text = format!(
        "{}: {}\n{}, {}, {} cores, {} hardware threads; {:.0} % of the \
         numbers are assumed.\n{}\n{}{}\n{}{}\n{parameters}\n\nSources\n",
        machine.name(),
        machine.title(),
        some(machine.sockets(), "socket", "sockets"),
        some(machine.complexes(), "core complex", "core complexes"),
        machine.cores(),
        machine.hardware_threads(),
        machine.assumed_share() * 100.0,
        family(machine),
        fence,
        crate::machine::picture::picture(machine, screen.width),
        crate::machine::hierarchy::text(machine),
        fence,
    );
    for parameter in machine.parameters() {
        text.push_str(&source(parameter));
    }
    if !machine.notes().is_empty() {
        text.push_str("\nNotes\n");
        for note in machine.notes() {
            text.push_str(&format!("  {note}\n"));
        }
    }
    if !machine.checks().is_empty() {
        text.push_str("\nFigures to compare with (`lockyard machines check`)\n");
        for check in machine.checks() {
            let note = if check.is_input { " (an input: it set a number above)" } else { "" };
            text.push_str(&format!("  {} = {} {}{note}\n", check.name, check.value, check.unit));
            text.push_str(&source(check));
        }
    }
    screen.wrap_in(text, format)
}

fn family(machine: &Machine) -> String {
    match machine.family() {
        Some(family) => {
            format!("Family: {family}, whose latencies are multiplied by `family.scale`.\n")
        }
        None => "It has no family.\n".to_owned(),
    }
}

fn show_to_programs(machine: &Machine, format: Format) -> String {
    let row = |kind: &str, parameter: &Parameter| {
        let text = parameter.value.to_string();
        let value = match text.parse::<f64>() {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(text),
        };
        vec![
            Value::from(kind),
            Value::from(parameter.name.clone()),
            value,
            Value::from(parameter.unit.clone()),
            Value::from(parameter.meaning),
            Value::from(parameter.source.clone()),
            Value::from(parameter.assumed.clone()),
            if kind == "check" { Value::from(parameter.is_input) } else { Value::Null },
        ]
    };
    let inputs = machine.parameters().iter().map(|parameter| row("input", parameter));
    let checks = machine.checks().iter().map(|parameter| row("check", parameter));
    let rows: Vec<Vec<Value>> = inputs.chain(checks).collect();
    let columns =
        ["kind", "number", "value", "unit", "meaning", "source", "assumed", "check_is_input"];
    let about = json!({
        "lockyard": env!("CARGO_PKG_VERSION"),
        "machine": machine.name(),
        "title": machine.title(),
        "family": machine.family(),
        "sockets": machine.sockets(),
        "complexes": machine.complexes(),
        "cores": machine.cores(),
        "hardware_threads": machine.hardware_threads(),
        "assumed_share": machine.assumed_share(),
        "notes": machine.notes(),
    });
    for_programs(format, &columns, &rows, about)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_machine_is_there_for_programs_with_its_source() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").unwrap();
        let json: Value =
            serde_json::from_str(&show(&machine, Format::Json, &Screen::default())).unwrap();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), machine.parameters().len() + machine.checks().len());
        for row in rows {
            assert!(row["source"].is_string() || row["assumed"].is_string(), "{row}");
            assert_eq!(row["check_is_input"].is_boolean(), row["kind"] == "check", "{row}");
        }
        let of = |number: &str| rows.iter().find(|row| row["number"] == number).unwrap();
        assert_eq!(of("checks.ping_pong_remote")["check_is_input"], true);
        assert_eq!(of("checks.load_modified_same_socket")["check_is_input"], false);
        assert_eq!(show(&machine, Format::Csv, &Screen::default()).lines().count(), rows.len() + 1);
    }
}
