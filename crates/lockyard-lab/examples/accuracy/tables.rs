//! Errors on published tables, and on the tables on which the protocol was fitted.

use crate::shown::percent;
use lockyard_lab::reproduce::{self, ReproduceRequest};
use lockyard_lab::training;
use lockyard_results::published;
use lockyard_results::summary::{Errors, Summary};

/// Returns the errors of a model as cells of a table.
fn shown(errors: &Errors) -> String {
    let share = |error: Option<f64>| error.map_or("-".to_owned(), percent);
    format!("{} | {}", share(errors.median_abs_error), share(errors.p90_abs_error))
}

fn row(summary: &Summary) -> String {
    let Summary { table, cells, model, trivial, winners_total, .. } = summary;
    let winners = match winners_total {
        0 => "| | |".to_owned(),
        _ => format!("| {} of {winners_total} | {} |", model.winners_right, trivial.winners_right),
    };
    format!("| `{table}` | {cells} | {} | {} {winners}\n", shown(model), shown(trivial))
}

/// Returns the errors on every published table, beside the errors of a model of constant cost.
pub(crate) fn published(jobs: usize) -> String {
    let tables = published::shipped().expect("the shipped tables are valid");
    let request = ReproduceRequest { names: Vec::new(), jobs, measure: None };
    let found = reproduce::run(&request, &tables, &|| ()).expect("the shipped tables run");
    let head = "| table | cells | median | 90th percentile | constant cost: median | \
                90th percentile | right winners | constant cost |\n\
                | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    let with_cells = found.summaries.iter().filter(|summary| summary.cells > 0);
    head.to_owned() + &with_cells.map(row).collect::<String>()
}

/// Returns the errors on the tables on which the protocol was fitted.
pub(crate) fn training(jobs: usize) -> String {
    let report = training::report(jobs, &|| ()).expect("the training tables run");
    let mut text = "| table | cells | median | 90th percentile | right winners |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for Summary { table, cells, model, winners_total, .. } in &report.summaries {
        // Names of summaries of single programs contain a colon.
        if !table.contains(": ") {
            let winners = format!("{} of {winners_total}", model.winners_right);
            text += &format!("| `{table}` | {cells} | {} | {winners} |\n", shown(model));
        }
    }
    text
}
