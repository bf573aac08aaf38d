//! Share of figures that lie within the interval which `predict` prints for them.
//!
//! Training cells are simulated with a protocol of other hosts. Each interval has the same parts as
//! that of a prediction: the differences between seeds, clock, latencies and local work that are 20
//! % less and more, and the numbers that one host decides
//! (`crates/lockyard-predict/src/interval.rs`). The ranges of these numbers come from the training
//! hosts, so a cell's own host may be an end.

use crate::left_out::{LeftOut, figure, hosts};
use crate::shown::percent;
use lockyard_lab::reproduce::PRIMITIVES;
use lockyard_lab::training::{TrainingCell, cells};
use lockyard_predict::interval::{self, CHANGE, Spread};
use lockyard_predict::names;
use lockyard_predict::request::{self, PredictRequest};
use lockyard_results::published::{self, PublishedTable};
use lockyard_results::row::{Row, Status};
use lockyard_results::statistics;
use lockyard_scenarios::Script;
use lockyard_sim::Machine;
use lockyard_support::jobs;
use std::collections::BTreeSet;

/// Numbers of threads of training cells.
const THREADS: [usize; 8] = [1, 2, 4, 8, 16, 32, 44, 64];

/// Seeds of the runs of an interval.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// A figure, its interval, and the published figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    pub(crate) figure: f64,
    pub(crate) ends: (f64, f64),
    /// The interval without the numbers that one host decides, where it is known.
    narrower: Option<(f64, f64)>,
    pub(crate) published: f64,
}

impl Covered {
    fn is_within(self, (low, high): (f64, f64)) -> bool {
        (low..=high).contains(&self.published)
    }

    /// Factor by which the interval would have to be wider, or narrower, to end at the published
    /// figure. Distances are logarithms.
    fn factor(self) -> f64 {
        let distance = |value: f64| (value / self.figure).ln();
        let end = if self.published < self.figure { self.ends.0 } else { self.ends.1 };
        match distance(end) {
            0.0 => f64::INFINITY,
            end => distance(self.published) / end,
        }
    }
}

/// Simulates a training cell, and changes its inputs as `predict` does.
fn train(machine: &Machine, cell: &TrainingCell) -> Option<Covered> {
    let runs = |machine: &Machine, cell: &TrainingCell| {
        // Throughput, as the interval of a prediction has it.
        SEEDS.map(|seed| 1.0 / figure(machine, cell, seed)).collect::<Vec<f64>>()
    };
    let own = runs(machine, cell);
    let base = statistics::mean(&own)?;
    let mut spread = Spread::new(interval::by_seeds(&own)?);
    let ends = [1.0 - CHANGE, 1.0 + CHANGE];
    let relative = |machine: &Machine, cell: &TrainingCell| {
        statistics::mean(&runs(machine, cell)).map_or(0.0, |mean| mean / base - 1.0)
    };
    spread.add(ends.map(|factor| relative(&interval::clock(machine, factor), cell)));
    spread.add(ends.map(|factor| relative(&interval::latencies(machine, factor), cell)));
    spread.add(ends.map(|factor| {
        let work = cell.work.map(|work| work * factor);
        relative(machine, &TrainingCell { work, ..cell.clone() })
    }));
    let around = |spread: Spread| {
        let (low, high) = spread.ends();
        (base * low, base * high)
    };
    let narrower = Some(around(spread));
    // Threads fill one complex after another, with the siblings of a core side by side.
    let complex = machine.cores_per_complex() * machine.threads_per_core();
    if cell.threads > 1 {
        for machines in interval::by_one_host(machine, cell.threads > complex) {
            spread.add(machines.map(|machine| relative(&machine, cell)));
        }
    }
    let published = 1.0 / cell.published;
    Some(Covered { figure: base, ends: around(spread), narrower, published })
}

/// Returns the published cells that `predict` simulates with an interval, with their tables.
fn predicted(tables: &[PublishedTable], jobs: usize) -> Vec<(String, Covered)> {
    let mut covered = Vec::new();
    for table in tables {
        let places: BTreeSet<(&str, &str)> = table
            .cells
            .iter()
            .map(|cell| (cell.key.experiment.as_str(), cell.key.machine.as_str()))
            .collect();
        for (experiment, name) in places {
            let Some(script) = Script::shipped(experiment) else { continue };
            let Ok(machine) = names::machine(name) else { continue };
            let of_place = table.cells.iter().filter(|cell| {
                cell.key.experiment == experiment
                    && cell.key.machine == name
                    && cell.key.metric == script.metric.name()
            });
            let is_doubted = |threads: usize| script.doubt(name, threads).is_some();
            let threads: BTreeSet<usize> = of_place
                .filter_map(|cell| script.tasks(cell.key.threads))
                .filter(|&threads| !is_doubted(threads))
                .collect();
            let threads = threads.into_iter().collect();
            let of_cells = PredictRequest::new(script, machine, threads);
            let request = PredictRequest { intervals: true, jobs, ..of_cells };
            let Ok(found) = request::run(&request, tables, &|| ()) else { continue };
            let rows = found.rows.iter().filter(|row| row.status == Status::Predicted);
            covered.extend(rows.filter_map(of_row).map(|one| (table.name.clone(), one)));
        }
    }
    covered
}

fn of_row(row: &Row) -> Option<Covered> {
    let interval = row.details.simulated.as_ref()?.interval?;
    let (figure, published) = (row.predicted?, row.published?);
    let ends = (interval.low, interval.high);
    Some(Covered { figure, ends, narrower: None, published })
}

fn row(name: &str, protocol: &str, all: &[Covered]) -> String {
    let share = |inside: usize| percent(inside as f64 / all.len().max(1) as f64);
    let inside = share(all.iter().filter(|one| one.is_within(one.ends)).count());
    let narrower: Option<Vec<bool>> =
        all.iter().map(|one| one.narrower.map(|ends| one.is_within(ends))).collect();
    let narrower = narrower.map_or("-".to_owned(), |all| share(all.iter().filter(|i| **i).count()));
    let factors: Vec<f64> = all.iter().map(|one| one.factor()).collect();
    let factor = statistics::quantile(&factors, 0.9);
    let factor = factor.map_or("-".to_owned(), |factor| format!("{factor:.2}"));
    format!("| {name} | {protocol} | {} | {narrower} | {inside} | {factor} |\n", all.len())
}

/// Returns the share of figures within their intervals.
pub(crate) fn section(jobs: usize) -> String {
    let mut text =
        "| cells | protocol | number | inside: three inputs | as printed | factor for 90 % |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    let (all, _) = cells();
    let mut left_out = Vec::new();
    for LeftOut { name, own, other, family } in hosts() {
        let of_host =
            |cell: &&TrainingCell| cell.machine == own.name() && THREADS.contains(&cell.threads);
        let cells: Vec<TrainingCell> = all.iter().filter(of_host).cloned().collect();
        let covered = |machine: &Machine| -> Vec<Covered> {
            let one = |cell: &TrainingCell| train(machine, cell);
            jobs::run(&cells, jobs, one, || ()).into_iter().flatten().flatten().collect()
        };
        text += &row(name, "its own, fitted on it", &covered(&own));
        let found = covered(&other);
        text += &row(name, &format!("`{family}`, fitted on others"), &found);
        left_out.extend(found);
    }
    text += &row("all hosts", "fitted on others", &left_out);
    let tables = published::shipped().expect("the shipped tables are valid");
    let found = predicted(&tables, jobs);
    for (name, of_primitives) in [("published primitives", true), ("whole programs", false)] {
        let is = |name: &str| PRIMITIVES.contains(&name) == of_primitives;
        let some: Vec<Covered> =
            found.iter().filter(|(table, _)| is(table)).map(|(_, one)| *one).collect();
        text += &row(name, "the shipped machine's", &some);
    }
    text
}
