//! Output of a fit.

use super::{Fit, FitRow};
use comfy_table::{CellAlignment, Table};
use lockyard_results::render::{self, Format, Screen};
use lockyard_sim::Machine;
use serde_json::{Value, json};

/// Version of the JSON format.
const SCHEMA: &str = "lockyard-fit-1";

/// Renders a fit.
pub fn render(fit: &Fit, machine: &Machine, format: Format, screen: &Screen) -> String {
    match format {
        Format::Json => to_json(fit, machine),
        Format::Csv => to_csv(fit),
        Format::Table | Format::Markdown => for_people(fit, machine, format, screen),
    }
}

/// Returns the purpose of a row.
fn role(row: &FitRow) -> &'static str {
    if row.predicted.is_some() { "scored" } else { "calibration" }
}

fn for_people(fit: &Fit, machine: &Machine, format: Format, screen: &Screen) -> String {
    let mut table = Table::new();
    table.set_header(["curve", "threads", "measured, op/s", "predicted", "error", "left out", ""]);
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let percent = |found: Option<f64>, measured: f64| {
        let error = found.map(|found| format!("{:+.1} %", (found / measured - 1.0) * 100.0));
        error.unwrap_or_default()
    };
    for row in &fit.rows {
        table.add_row([
            row.curve.clone(),
            row.threads.to_string(),
            format!("{:.0}", row.measured),
            row.predicted.map(|found| format!("{found:.0}")).unwrap_or_default(),
            percent(row.predicted, row.measured),
            percent(row.left_out, row.measured),
            if row.predicted.is_some() { String::new() } else { "calibration".to_owned() },
        ]);
    }
    let table = screen.figures_in(&table, 2, format);
    let partial = match fit.finished < fit.asked {
        true => format!("Partial: interrupted, with {} of {} cells.\n\n", fit.finished, fit.asked),
        false => String::new(),
    };
    let mut text = format!("{partial}{} beside the data\n\n{table}\n\n", machine.name());
    let said = |errors: Option<(f64, f64)>| {
        errors.map(|(median, p90)| {
            format!("median |error| {:.1} %, 90th percentile {:.1} %", median * 100.0, p90 * 100.0)
        })
    };
    if let Some(errors) = said(Fit::errors(fit.rows.iter().filter_map(FitRow::error))) {
        text.push_str(&format!("The machine as it is: {errors}.\n"));
    }
    if let (Some(factor), Some(error)) = (fit.factor, fit.fitted_error) {
        text.push_str(&format!(
            "\nLatencies between cores times {factor:.2}: median |error| {:.1} % on the rows that \
             it was fitted on.\n",
            error * 100.0
        ));
    }
    if let Some(errors) = said(Fit::errors(fit.rows.iter().filter_map(FitRow::left_out_error))) {
        text.push_str(&format!(
            "\nLeave-one-out, each curve with the factor of the others (column `left out`): \
             {errors}.\n"
        ));
    }
    text.push_str(
        "\nCalibration rows give the local work of an operation, and are not scored. The factor is \
         one of nine, from a half to two.\n",
    );
    for note in &fit.notes {
        text.push_str(&format!("\nNote: {note}.\n"));
    }
    for note in machine.notes() {
        text.push_str(&format!("\nNote on {}: {note}.\n", machine.name()));
    }
    screen.wrap_in(text, format)
}

fn to_json(fit: &Fit, machine: &Machine) -> String {
    let row = |row: &FitRow| {
        json!({
            "curve": row.curve,
            "threads": row.threads,
            "unit": "op/s",
            "measured": row.measured,
            "predicted": row.predicted,
            "left_out": row.left_out,
            "role": role(row),
        })
    };
    let errors = |of: Option<(f64, f64)>| -> Value {
        of.map_or(
            Value::Null,
            |(median, p90)| json!({ "median_abs_error": median, "p90_abs_error": p90 }),
        )
    };
    let mut object = json!({
        "schema": SCHEMA,
        "environment": {
            "lockyard": env!("CARGO_PKG_VERSION"),
            "machine": machine.name(),
            "machine_assumed_share": machine.assumed_share(),
            "machine_notes": machine.notes(),
        },
        "rows": fit.rows.iter().map(row).collect::<Vec<_>>(),
        "as_is": errors(Fit::errors(fit.rows.iter().filter_map(FitRow::error))),
        "left_out": errors(Fit::errors(fit.rows.iter().filter_map(FitRow::left_out_error))),
        "factor": fit.factor,
        "fitted_median_abs_error": fit.fitted_error,
        "notes": fit.notes,
    });
    if fit.finished < fit.asked {
        render::mark_partial(&mut object, "interrupted", fit.finished, fit.asked);
    }
    render::pretty(&object)
}

fn to_csv(fit: &Fit) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all records have the same length.
    let partial = fit.finished < fit.asked;
    let header = ["curve", "threads", "unit", "measured", "predicted", "left_out", "role"];
    let _ = writer.write_record(header.into_iter().chain(partial.then_some("partial")));
    let or_nothing = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    for row in &fit.rows {
        let fields = [
            row.curve.clone(),
            row.threads.to_string(),
            "op/s".to_owned(),
            row.measured.to_string(),
            or_nothing(row.predicted),
            or_nothing(row.left_out),
            role(row).to_owned(),
        ];
        let _ = writer.write_record(fields.into_iter().chain(partial.then(|| "true".to_owned())));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
