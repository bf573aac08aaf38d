//! Output of a calibration, for readers and for programs.

use super::{CalibrationRow, FigureRole, Figures, Measurements, layout};
use comfy_table::{CellAlignment, Table};
use lockyard_measure::detect::NOT_AVAILABLE;
use lockyard_results::render::{self, Format, Partial, Screen};
use lockyard_results::statistics::unsteady;
use serde_json::{Value, json};

/// Version of the JSON format.
const SCHEMA: &str = "lockyard-calibration-1";

/// Renders the figures, followed by the machine file if `file` is given. JSON has the file as
/// `machine_file`. A partial calibration says that measurements or predictions are missing.
pub fn render(
    measurements: &Measurements,
    figures: &Figures,
    file: Option<&str>,
    environment: &[(&str, String)],
    format: Format,
    screen: &Screen,
) -> String {
    match format {
        Format::Json => to_json(measurements, figures, file, environment),
        Format::Csv => to_csv(figures),
        Format::Table | Format::Markdown => {
            for_people(measurements, figures, file, environment, format, screen)
        }
    }
}

/// Returns the table of all figures.
fn figures_table(figures: &Figures) -> Table {
    let mut table = Table::new();
    table.set_header([
        "figure",
        "threads",
        "unit",
        "measured",
        "interval",
        "predicted",
        "error",
        "",
    ]);
    for column in 1..7 {
        if let Some(column) = table.column_mut(column).filter(|_| column != 2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in &figures.rows {
        let number = |value: f64| number(value, row.unit);
        let measured = row.measured;
        table.add_row([
            row.figure.clone(),
            row.threads.to_string(),
            row.unit.to_owned(),
            number(measured.value),
            format!("{} .. {}", number(measured.ci_low), number(measured.ci_high)),
            row.predicted.map(number).unwrap_or_default(),
            row.error().map(|error| format!("{:+.1} %", error * 100.0)).unwrap_or_default(),
            match row.role {
                FigureRole::Input => "an input",
                FigureRole::Shown => "measured only",
                FigureRole::Predicted => "",
            }
            .to_owned(),
        ]);
    }
    table
}

fn for_people(
    measurements: &Measurements,
    figures: &Figures,
    file: Option<&str>,
    environment: &[(&str, String)],
    format: Format,
    screen: &Screen,
) -> String {
    let table = screen.figures_in(&figures_table(figures), 3, format);
    let partial = match &figures.partial {
        Some(Partial { why, extent }) => format!("Partial: {why}, with {extent}.\n\n"),
        None => String::new(),
    };
    let mut text = format!(
        "{partial}{}, {}\n\n{table}\n\n{}\n",
        measurements.processor.describe(),
        measurements.layout.describe(),
        summary(figures)
    );
    let machine_notes =
        figures.machine_notes.iter().map(|note| format!("note of the file: {note}"));
    for note in machine_notes.chain(figures.notes.iter().cloned()) {
        let mut letters = note.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        text.push_str(&format!("\n{first}{}.\n", letters.as_str()));
    }
    let known = environment.iter().filter(|(_, value)| value != NOT_AVAILABLE);
    let host: Vec<String> = known.map(|(name, value)| format!("{name} {value}")).collect();
    text.push_str(&format!(
        "\n{:.0} s, {} rounds, {}. Environment: {}.\n",
        measurements.seconds,
        measurements.rounds,
        measurements.date,
        host.join("; ")
    ));
    let mut text = screen.wrap_in(text, format);
    if let Some(file) = file {
        let fence = if format == Format::Markdown { "```toml\n" } else { "" };
        let end = if format == Format::Markdown { "```\n" } else { "" };
        text.push_str(&format!(
            "\nThe machine file (with --out FILE it is written there):\n\n{fence}{file}{end}"
        ));
    }
    text
}

fn summary(figures: &Figures) -> String {
    let errors = figures.errors();
    match figures.median_error() {
        Some(median) => format!(
            "{} figures that are not inputs: median |error| {:.1} %, largest {:.1} %.",
            errors.len(),
            median * 100.0,
            errors.iter().copied().fold(0.0, f64::max) * 100.0
        ),
        None => "No figure here is a prediction: nothing shows how good the file is.".to_owned(),
    }
}

/// Formats a number. Rates are whole operations, with spaces between groups of three digits. Times
/// have the precision of the measurement.
fn number(value: f64, unit: &str) -> String {
    if unit == "op/s" {
        let digits = format!("{value:.0}");
        let groups: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|group| std::str::from_utf8(group).unwrap_or_default())
            .collect();
        return groups.join(" ");
    }
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

fn to_json(
    measurements: &Measurements,
    figures: &Figures,
    file: Option<&str>,
    environment: &[(&str, String)],
) -> String {
    let row = |row: &CalibrationRow| {
        json!({
            "figure": row.figure,
            "threads": row.threads,
            "unit": row.unit,
            "measured": row.measured.value,
            "ci_low": row.measured.ci_low,
            "ci_high": row.measured.ci_high,
            "samples": row.measured.samples,
            "predicted": row.predicted,
            "error": row.error(),
            "role": row.role.name(),
        })
    };
    let cpus = measurements.layout.cpus();
    let pairs: Vec<Value> = measurements
        .pairs
        .iter()
        .map(|pair| {
            let (a, b) = pair.tasks;
            json!({
                "what": pair.what.name(),
                "cpus": [cpus[a], cpus[b]],
                "distance": layout::name(measurements.layout.distance(a, b)),
                "ns": pair.figure.value,
                "ci_low": pair.figure.ci_low,
                "ci_high": pair.figure.ci_high,
                "samples": pair.figure.samples,
                "rounds_ns": pair.series,
                "unsteady": unsteady(&pair.series).map(|how| how.to_string()),
            })
        })
        .collect();
    let environment: serde_json::Map<String, Value> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())))
        .collect();
    let errors = figures.errors();
    let mut object = json!({
        "schema": SCHEMA,
        "environment": environment,
        "processor": measurements.processor.describe(),
        "layout": measurements.layout.describe(),
        "date": measurements.date,
        "seconds": measurements.seconds,
        "rounds": measurements.rounds,
        "tries_lost": measurements.lost,
        "rows": figures.rows.iter().map(row).collect::<Vec<_>>(),
        "pairs": pairs,
        "summary": {
            "figures": errors.len(),
            "median_abs_error": figures.median_error(),
            "largest_abs_error": errors.iter().copied().reduce(f64::max),
        },
        "notes": figures.notes,
        "machine_notes": figures.machine_notes,
        "borrowed_family": figures.borrowed_family,
        "machine_file": file,
    });
    if let Some(Partial { why, extent }) = &figures.partial {
        render::mark_partial(&mut object, why, extent.finished, extent.asked);
    }
    render::pretty(&object)
}

fn to_csv(figures: &Figures) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all records have the same length.
    let partial = figures.partial.is_some();
    let header = [
        "figure",
        "threads",
        "unit",
        "measured",
        "ci_low",
        "ci_high",
        "samples",
        "predicted",
        "error",
        "role",
    ];
    let _ = writer.write_record(header.into_iter().chain(partial.then_some("partial")));
    let or_nothing = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    for row in &figures.rows {
        let fields = [
            row.figure.clone(),
            row.threads.to_string(),
            row.unit.to_owned(),
            row.measured.value.to_string(),
            row.measured.ci_low.to_string(),
            row.measured.ci_high.to_string(),
            row.measured.samples.to_string(),
            or_nothing(row.predicted),
            or_nothing(row.error()),
            row.role.name().to_owned(),
        ];
        let _ = writer.write_record(fields.into_iter().chain(partial.then(|| "true".to_owned())));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
