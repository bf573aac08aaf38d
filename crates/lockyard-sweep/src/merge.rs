//! The rows of a directory as one file, in the order of the plan. Rows are read and written one
//! after another, so a merge of a million cells needs no more memory than one of ten.

use crate::cell::Cell;
use crate::plan::Plan;
use crate::store::Store;
use crate::version::{SCHEMA, VERSION};
use lockyard_scenarios::LockKinds;
use lockyard_support::InputError;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Maximum number of missing or damaged cells that are named.
const NAMED: usize = 5;

/// Format of a merged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One object, with one line for each cell.
    Json,
    /// A header, and one line for each cell.
    Csv,
}

/// State of a directory's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Number of cells of the plan.
    pub cells: u64,
    /// Number of cells whose rows are there.
    pub present: u64,
    /// Number of those whose row is an error.
    pub failed: u64,
    /// Number of missing cells.
    pub missing: u64,
    /// Descriptions of the first missing cells.
    pub missing_named: Vec<String>,
    /// Number of damaged files.
    pub damaged: u64,
    /// Messages about the first damaged files.
    pub damaged_named: Vec<String>,
    /// Number of files in the directory that belong to another plan or version.
    pub others: u64,
}

impl State {
    /// Returns true if no row is missing or damaged.
    pub fn is_complete(&self) -> bool {
        self.missing == 0 && self.damaged == 0
    }
}

/// Reads the plan of a directory.
///
/// # Errors
///
/// If the plan cannot be read, or another version of the program computed the rows.
pub fn plan(store: &Store, locks: &LockKinds) -> Result<Plan, InputError> {
    let bundle = store.plan()?;
    if bundle.program() != VERSION {
        let by = bundle.program();
        return Err(InputError(format!(
            "the rows were computed by lockyard {by}, and this is {VERSION}; allowed: one version"
        )));
    }
    Plan::of_bundle(&bundle, locks)
}

/// Calls `each` for every row of the plan that is there, in order. Returns the state of the rows.
///
/// # Errors
///
/// If the directory cannot be read, or `each` fails.
pub fn rows(
    plan: &Plan,
    store: &Store,
    mut each: impl FnMut(&Cell, &Value) -> io::Result<()>,
) -> Result<State, String> {
    let mut state = State { cells: plan.count(), ..State::default() };
    for number in 0..plan.count() {
        let cell = plan.cell(number);
        match store.read(&cell.id()) {
            Ok(Some(row)) => {
                state.present += 1;
                state.failed += u64::from(row.get("row").is_none());
                each(&cell, &row).map_err(|error| format!("cannot be written: {error}"))?;
            }
            Ok(None) => {
                state.missing += 1;
                if state.missing_named.len() < NAMED {
                    state.missing_named.push(describe(&cell));
                }
            }
            Err(damage) => {
                state.damaged += 1;
                if state.damaged_named.len() < NAMED {
                    state.damaged_named.push(damage);
                }
            }
        }
    }
    let known = state.present + state.damaged;
    state.others = store.count()?.saturating_sub(known);
    Ok(state)
}

/// Returns a cell in words.
fn describe(cell: &Cell) -> String {
    let mut text = format!(
        "cell {} ({} on {}, {}, {}",
        cell.number,
        cell.scenario,
        cell.machine(),
        cell.variant,
        lockyard_support::threads(cell.threads)
    );
    if let Some(seed) = cell.seed {
        text.push_str(&format!(", seed {seed}"));
    }
    for (name, value) in &cell.parameters {
        text.push_str(&format!(", {name} = {value}"));
    }
    text.push(')');
    text
}

/// Writes the rows that are there as one file. Returns the state of the rows.
///
/// # Errors
///
/// If the directory cannot be read, or the file cannot be written.
pub fn write(
    plan: &Plan,
    store: &Store,
    format: Format,
    out: &mut impl Write,
) -> Result<State, String> {
    match format {
        Format::Json => json_file(plan, store, out),
        Format::Csv => csv_file(plan, store, out),
    }
}

/// Returns the row of a cell as merged files have it.
pub fn merged(cell: &Cell, row: &Value) -> Value {
    let name = if row.get("row").is_some() { "row" } else { "error" };
    json!({ "id": row["id"], "number": cell.number, "inputs": row["inputs"], name: row[name] })
}

fn json_file(plan: &Plan, store: &Store, out: &mut impl Write) -> Result<State, String> {
    let failed = |error: io::Error| format!("cannot be written: {error}");
    let head = format!(
        "{{\"schema\": {}, \"program\": {}, \"title\": {}, \"count\": {}, \"cells\": [",
        Value::from(SCHEMA),
        Value::from(VERSION),
        Value::from(plan.title()),
        plan.count()
    );
    out.write_all(head.as_bytes()).map_err(failed)?;
    let mut before = "\n";
    let state = rows(plan, store, |cell, row| {
        write!(out, "{before}{}", merged(cell, row))?;
        before = ",\n";
        Ok(())
    })?;
    out.write_all(b"\n]}\n").map_err(failed)?;
    Ok(state)
}

/// Columns of figures: names, and places in a row.
const FIGURES: [(&str, &str); 20] = [
    ("metric", "/metric"),
    ("unit", "/unit"),
    ("predicted", "/predicted"),
    ("published", "/published"),
    ("throughput", "/throughput"),
    ("range_low", "/range/low"),
    ("range_high", "/range/high"),
    ("interval_low", "/interval/low"),
    ("interval_high", "/interval/high"),
    ("fairness_minimum", "/fairness/minimum"),
    ("fairness_maximum", "/fairness/maximum"),
    ("fairness_jain", "/fairness/jain"),
    ("wait_p50_ns", "/waits/p50_ns"),
    ("wait_p90_ns", "/waits/p90_ns"),
    ("wait_p99_ns", "/waits/p99_ns"),
    ("wait_p999_ns", "/waits/p999_ns"),
    ("wait_maximum_ns", "/waits/maximum_ns"),
    ("dominating_cost", "/dominating_cost"),
    ("bottleneck_lock", "/bottleneck_lock"),
    ("share_lock_held", "/share_lock_held"),
];

fn csv_file(plan: &Plan, store: &Store, out: &mut impl Write) -> Result<State, String> {
    let parameters = plan.parameters();
    let mut writer = csv::Writer::from_writer(out);
    let failed = |error: csv::Error| format!("cannot be written: {error}");
    let head = ["id", "number", "scenario", "variant", "machine", "threads", "seed", "placement"];
    let names = parameters.iter().map(|parameter| parameter.name.as_str());
    let figures = FIGURES.iter().map(|(name, _)| *name);
    let header = head.into_iter().chain(names).chain(figures).chain(["error"]);
    writer.write_record(header).map_err(failed)?;
    let state = rows(plan, store, |cell, row| {
        let inputs = &row["inputs"];
        let mut record = vec![field(row.get("id")), cell.number.to_string()];
        record.extend(head[2..].iter().map(|name| field(inputs.get(*name))));
        record.extend(parameters.iter().map(|p| field(inputs["parameters"].get(&p.name))));
        record.extend(FIGURES.iter().map(|(_, at)| field(row["row"].pointer(at))));
        record.push(field(row.get("error")));
        writer.write_record(&record).map_err(io::Error::other)
    })?;
    writer.flush().map_err(|error| format!("cannot be written: {error}"))?;
    Ok(state)
}

/// Returns a value as a field of CSV.
fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
