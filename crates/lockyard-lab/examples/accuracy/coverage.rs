//! Share of figures that lie within the interval which `predict` prints for them, by host.
//!
//! Each host is left out of the data that decided its machine, and the ranges of the numbers that
//! one host decides (`unseen.rs`). Published tables decide none of these numbers, and are simulated
//! as in `predict`. The last column has the share with wider intervals: all are wider by the factor
//! with which the intervals of all other hosts contain 90 %. It shows the effect of a rule for the
//! width, and `predict` does not print it.

use crate::covered::Covered;
use crate::shown::percent;
use crate::unseen::{self, Unseen};
use lockyard_lab::reproduce::PRIMITIVES;
use lockyard_predict::names;
use lockyard_predict::request::{self, PredictRequest};
use lockyard_results::published::{self, PublishedTable};
use lockyard_results::row::{Row, Status};
use lockyard_results::statistics;
use lockyard_scenarios::Script;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the published cells that `predict` simulates with an interval, with the names of their
/// tables and machines.
fn predicted(tables: &[PublishedTable], jobs: usize) -> Vec<(String, String, Covered)> {
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
            let of_row = |row| Some((table.name.clone(), name.to_owned(), of_row(row)?));
            covered.extend(rows.filter_map(of_row));
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

/// Returns the factor with which the intervals contain 90 %.
fn factor(all: &[Covered]) -> Option<f64> {
    let factors: Vec<f64> = all.iter().map(|one| one.factor()).collect();
    statistics::quantile(&factors, 0.9)
}

fn share(all: &[Covered], is: impl Fn(Covered) -> bool) -> String {
    percent(all.iter().filter(|one| is(**one)).count() as f64 / all.len().max(1) as f64)
}

/// Returns a line of the table. `others` are the cells of other hosts.
fn row(name: &str, protocol: &str, all: &[Covered], others: Option<&[Covered]>) -> String {
    let inside = share(all, |one| one.is_within(one.ends));
    let narrower = match all.iter().all(|one| one.narrower.is_some()) {
        true => share(all, |one| one.narrower.is_some_and(|ends| one.is_within(ends))),
        false => "-".to_owned(),
    };
    let own = factor(all).map_or("-".to_owned(), |factor| format!("{factor:.2}"));
    let wider = others.and_then(factor).map(|factor| {
        format!("{} ({factor:.2})", share(all, |one| one.is_within(one.wider(factor))))
    });
    let wider = wider.unwrap_or("-".to_owned());
    format!("| {name} | {protocol} | {} | {narrower} | {inside} | {own} | {wider} |\n", all.len())
}

fn cells<'u>(hosts: impl Iterator<Item = &'u Unseen>) -> Vec<Covered> {
    hosts.flat_map(|host| host.covered.iter().copied()).collect()
}

/// Returns the share of figures within their intervals.
pub(crate) fn section(jobs: usize) -> String {
    let mut text = "| host | protocol | figures | inside: three inputs | as printed | \
                    factor for 90 % | with the others' factor |\n\
                    | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let hosts = unseen::locks_and_counters(jobs);
    for host in &hosts {
        let others = cells(hosts.iter().filter(|other| other.name != host.name));
        let protocol = format!("`{}`", host.protocol);
        text += &row(host.name, &protocol, &host.covered, Some(&others));
    }
    let all = cells(hosts.iter());
    text += &row("all of these", "", &all, None);
    let tables = published::shipped().expect("the shipped tables are valid");
    let mut of_machines: BTreeMap<String, Vec<Covered>> = BTreeMap::new();
    let mut of_programs = Vec::new();
    for (table, machine, one) in predicted(&tables, jobs) {
        match PRIMITIVES.contains(&table.as_str()) {
            true => of_machines.entry(machine).or_default().push(one),
            false => of_programs.push(one),
        }
    }
    for (machine, found) in &of_machines {
        text += &row(&format!("`{machine}`"), "published primitives", found, Some(&all));
    }
    let found: Vec<Covered> = of_machines.into_values().flatten().collect();
    text += &row("published primitives", "", &found, Some(&all));
    text += &row("whole programs", "published", &of_programs, Some(&all));
    for host in unseen::queues(jobs) {
        text += &row(host.name, &format!("`{}`", host.protocol), &host.covered, Some(&all));
    }
    text
}
