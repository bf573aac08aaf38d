//! Rows of the training tables: each published cell with its simulated figure.

use super::{TrainingCell, cells, simulate};
use lockyard_predict::failure::Failure;
use lockyard_predict::names;
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{SimulatedDetail, StartOrdersDetail};
use lockyard_results::row::{Row, Status};
use lockyard_results::summary::{Summary, summarise};
use lockyard_sim::Machine;
use lockyard_support::jobs;
use std::collections::BTreeMap;

/// Number of runs per cell, each with a different seed.
const SEEDS: u64 = 2;

/// Result of the simulation.
#[derive(Clone, Debug)]
pub struct TrainingReport {
    /// One row per cell, in the order of the tables. After an interrupt, rows that were never begun
    /// are missing.
    pub rows: Vec<Row>,
    /// One summary for each program of a table, and one for each table.
    pub summaries: Vec<Summary>,
    /// Number of cells.
    pub asked: usize,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Returns the number of cells.
pub fn count() -> usize {
    cells().0.len()
}

/// Simulates every cell of the training tables. Calls `done` after each cell.
///
/// # Errors
///
/// If a run fails.
pub fn report(jobs: usize, done: &(impl Fn() + Sync)) -> Result<TrainingReport, Failure> {
    let (cells, left) = cells();
    let mut machines: BTreeMap<&str, Machine> = BTreeMap::new();
    for cell in &cells {
        if !machines.contains_key(cell.machine) {
            machines.insert(cell.machine, names::machine(cell.machine)?);
        }
    }
    let figure = |cell: &TrainingCell| {
        let machine = &machines[cell.machine];
        (1..=SEEDS).map(|seed| simulate(machine, cell, seed)).collect::<Result<Vec<f64>, _>>()
    };
    let figures = jobs::run(&cells, jobs, figure, done);
    let mut rows = Vec::new();
    let mut apart = 0;
    for (cell, figure) in cells.iter().zip(figures) {
        let Some(figure) = figure else { continue };
        let of_seeds = figure.map_err(|e| Failure::Run(format!("{}: {e}", cell.table)))?;
        let mut row = row(cell, of_seeds.iter().sum::<f64>() / SEEDS as f64);
        let (low, high) = lockyard_predict::simulate::range(&of_seeds);
        let spread = high / low - 1.0;
        apart += usize::from(cell.threads > 1 && spread > lockyard_predict::simulate::NEAR);
        let mut simulated = SimulatedDetail {
            start_orders: Some(StartOrdersDetail { spread, agree: None }),
            ..SimulatedDetail::default()
        };
        let machine = &machines[cell.machine];
        lockyard_predict::simulate::identify(machine, SEEDS as usize, &mut simulated);
        row.details.simulated = Some(simulated);
        rows.push(row);
    }
    let mut tables: Vec<&str> = cells.iter().map(|cell| cell.table).collect();
    tables.dedup();
    let mut summaries: Vec<Summary> = Vec::new();
    for table in &tables {
        let of_table: Vec<&Row> = rows.iter().filter(|row| row.table == *table).collect();
        let mut variants: Vec<&str> = of_table.iter().map(|row| row.key.variant.as_str()).collect();
        variants.sort_unstable();
        variants.dedup();
        for variant in variants {
            let rows: Vec<&Row> =
                of_table.iter().copied().filter(|row| row.key.variant == variant).collect();
            summaries.push(summarise(&format!("{table}: {variant}"), &rows));
        }
        summaries.push(summarise(table, &of_table));
    }
    let notes = vec![
        "Published: nanoseconds per operation, all threads together, \
         less the time of the benchmark's own threads and loops (training/*.csv say how much). \
         Each thread does the same number of operations, and the time ends when the last thread \
         has done them; the simulation does the same. \
         The protocol of the simulated machines was fitted on these tables: \
         no figure here is a prediction."
            .to_owned(),
        format!(
            "Left out: {} rows of 2 and 3 threads without work, whose threads hardly overlap.",
            left.not_overlapping
        ),
        format!(
            "Each figure is the mean of {SEEDS} runs, whose threads began in different orders. \
             Those of {apart} cells differ by more than 5 % (`start_orders` in JSON)."
        ),
    ];
    Ok(TrainingReport { summaries, asked: cells.len(), rows, notes })
}

fn row(cell: &TrainingCell, figure: f64) -> Row {
    let (variant, work) = cell.variant.split_once('/').unwrap_or((&cell.variant, ""));
    let experiment =
        if work.is_empty() { cell.table.to_owned() } else { format!("{}/{work}", cell.table) };
    let key = CellKey {
        experiment,
        machine: cell.machine.to_owned(),
        variant: variant.to_owned(),
        threads: Some(cell.threads),
        metric: "time".to_owned(),
        unit: "ns".to_owned(),
    };
    Row {
        table: cell.table.to_owned(),
        published: Some(cell.published),
        predicted: Some(figure),
        ..Row::new(key, Status::Training)
    }
}
