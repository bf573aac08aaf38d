//! Output about a machine that was made from a matrix.

use super::Made;
use crate::calibrate_host::LineDistance;
use comfy_table::{CellAlignment, Table};
use lockyard_results::render::{self, Format, Screen};
use serde_json::{Value, json};

/// Version of the JSON format.
const SCHEMA: &str = "lockyard-machine-from-pingpong-1";

fn name(distance: LineDistance) -> &'static str {
    match distance {
        LineDistance::Core => "threads of a core",
        LineDistance::Complex => "cores of a complex",
        LineDistance::Socket => "complexes of a socket",
        LineDistance::Remote => "sockets",
    }
}

/// Renders the result, followed by the machine file if `file` is given. JSON has the file as
/// `machine_file`.
pub fn render(made: &Made, file: Option<&str>, format: Format, screen: &Screen) -> String {
    match format {
        Format::Json => to_json(made, file),
        Format::Csv => to_csv(made),
        Format::Table | Format::Markdown => for_people(made, file, format, screen),
    }
}

fn for_people(made: &Made, file: Option<&str>, format: Format, screen: &Screen) -> String {
    let mut table = Table::new();
    table.set_header(["distance", "pairs", "matrix, ns", "simulated", "error"]);
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in &made.distances {
        table.add_row([
            name(row.distance).to_owned(),
            row.pairs.to_string(),
            format!("{:.1}", row.published),
            format!("{:.1}", row.simulated),
            format!("{:+.1} %", (row.simulated / row.published - 1.0) * 100.0),
        ]);
    }
    let table = screen.figures_in(&table, 1, format);
    let machine = &made.calibrated.machine;
    let mut text = format!(
        "{}: {}\n\n{table}\n\n{} {}: median |error| {:.1} %, 90th percentile {:.1} %. {:.0} % \
         of the machine's numbers are assumed.\n",
        machine.name(),
        made.layout,
        made.pairs,
        if made.pairs == 1 { "pair" } else { "pairs" },
        made.median_error * 100.0,
        made.p90_error * 100.0,
        machine.assumed_share() * 100.0
    );
    for note in machine.notes().iter().chain(&made.notes) {
        let mut letters = note.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        text.push_str(&format!("\n{first}{}.\n", letters.as_str()));
    }
    let mut text = screen.wrap_in(text, format);
    if let Some(file) = file {
        let (begin, end) = match format {
            Format::Markdown => ("```toml\n", "```\n"),
            _ => ("", ""),
        };
        text.push_str(&format!(
            "\nThe machine file (with --out FILE it is written there):\n\n{begin}{file}{end}"
        ));
    }
    text
}

fn to_json(made: &Made, file: Option<&str>) -> String {
    let distances: Vec<Value> = made
        .distances
        .iter()
        .map(|row| {
            json!({
                "distance": name(row.distance),
                "pairs": row.pairs,
                "matrix_ns": row.published,
                "simulated_ns": row.simulated,
            })
        })
        .collect();
    let machine = &made.calibrated.machine;
    let object = json!({
        "schema": SCHEMA,
        "environment": { "lockyard": env!("CARGO_PKG_VERSION") },
        "machine": machine.name(),
        "layout": made.layout,
        "distances": distances,
        "pairs": made.pairs,
        "median_abs_error": made.median_error,
        "p90_abs_error": made.p90_error,
        "assumed_share": machine.assumed_share(),
        "notes": made.notes,
        "machine_notes": machine.notes(),
        "machine_file": file,
    });
    render::pretty(&object)
}

fn to_csv(made: &Made) -> String {
    let mut text = "distance,pairs,matrix_ns,simulated_ns\n".to_owned();
    for row in &made.distances {
        let (distance, pairs) = (name(row.distance), row.pairs);
        text.push_str(&format!("{distance},{pairs},{},{}\n", row.published, row.simulated));
    }
    text
}
