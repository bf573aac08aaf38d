//! The page of results: the summary first, then answers on a recorded program, then charts and
//! cells by experiment, then the origin.

use super::frame::{Frame, charts, contents, framed, pairs, sentences};
use super::recorded;
use super::tables::{Cell, Table};
use crate::charts::{curves, cycles, handover, machine, residuals, waits};
use crate::fact::{Fact, attributes};
use crate::group::Group;
use crate::svg::Chart;
use crate::text::{escape, share, slug};
use lockyard_results::render::columns::{Column, Shown};
use lockyard_results::render::print::{Medium, figures};
use lockyard_results::render::{Document, json};
use lockyard_results::row::Row;
use lockyard_results::summary::{Errors, Summary};
use lockyard_sim::Machine;
use serde_json::{Map, Value, json};

/// Results for a page.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// Command that made the results.
    pub command: &'a str,
    /// Results.
    pub document: &'a Document,
    /// Sentences that sum up the results, the most important first.
    pub verdicts: &'a [String],
    /// Simulated machines to draw.
    pub machines: &'a [Machine],
    /// True to show every detail of each row. False to show only the figures, which keeps the page
    /// of many tables small.
    pub in_detail: bool,
}

/// Returns the page of results.
pub fn document(report: &Report) -> String {
    let document = report.document;
    let groups = Group::all(&document.rows);
    let mut id = 0;
    let mut sections = vec![("summary".to_owned(), "Summary".to_owned())];
    let mut body = String::new();
    for (section, title, content) in
        document.recorded.iter().flat_map(|of| recorded::sections(of, &mut id))
    {
        body.push_str(&format!("<h2 id=\"{section}\">{}</h2>\n{content}", escape(&title)));
        sections.push((section, title));
    }
    let mut experiments: Vec<Vec<&Group>> = Vec::new();
    for group in &groups {
        match experiments.iter_mut().find(|found| found[0].names()[..2] == group.names()[..2]) {
            Some(found) => found.push(group),
            None => experiments.push(vec![group]),
        }
    }
    for (index, groups) in experiments.iter().enumerate() {
        let [experiment, machine, ..] = groups[0].names();
        let title = format!("{experiment} on {machine}");
        // Titles may differ only in punctuation, so a number makes the identifiers unique.
        let section = format!("e{}-{}", index + 1, slug(&title));
        body.push_str(&format!("<h2 id=\"{section}\">{}</h2>\n", escape(&title)));
        sections.push((section, title));
        body.push_str(&experiment_html(groups, report.in_detail, &mut id));
    }
    let rest = explanations(document) + &machines(report, &mut id) + &origin(document);
    for (section, title) in [
        ("explanations", "Explanations"),
        ("machines", "Machines"),
        ("notes", "Notes"),
        ("environment", "Environment"),
    ] {
        if rest.contains(&format!("<h2 id=\"{section}\"")) {
            sections.push((section.to_owned(), title.to_owned()));
        }
    }
    let summary = summary(report, &mut id);
    let version = document.environment.iter().find(|(name, _)| name == "lockyard");
    framed(&Frame {
        title: report.title,
        by: report.command.to_owned(),
        partial: document
            .partial
            .as_ref()
            .map(|partial| format!("Partial results: {}, with {}.", partial.why, partial.extent)),
        content: format!("{}{summary}{body}{rest}", contents(&sections)),
        data: &data(report, &body),
        version: version.map(|(_, version)| version.as_str()),
    })
}

/// Members of a row's simulated details that a page without details keeps.
const KEPT: [&str; 3] = ["costs", "interval", "doubtful"];

/// Returns the document to embed: the output of `--format json`, and data that only the page has.
/// `body` contains all charts.
fn data(report: &Report, body: &str) -> Value {
    let document = report.document;
    // Parsing cannot fail, because the JSON was written just now.
    let mut data: Value = serde_json::from_str(&json(document)).unwrap_or_default();
    if !report.in_detail {
        let rows = data["rows"].as_array_mut();
        for (index, row) in rows.into_iter().flatten().enumerate() {
            let has_costs = body.contains(&format!("\"/rows/{index}/detail/simulated/costs/"));
            shorten(&mut row["detail"], has_costs);
            row.as_object_mut().into_iter().for_each(|row| row.retain(|_, of| !of.is_null()));
        }
    }
    let count = |of: fn(&Row) -> bool| document.rows.iter().filter(|row| of(row)).count();
    data["report"] = json!({
        "details": if report.in_detail { "all" } else { "short: --format json has all of them" },
        "rows": document.rows.len(),
        "published": count(|row| row.published.is_some()),
        "predicted": count(|row| row.predicted.is_some()),
        "measured": count(|row| row.measured.is_some()),
        "machines": report.machines.iter().map(machine::json).collect::<Vec<_>>(),
        "verdicts": report.verdicts,
        "notes": notes(document),
        "explanations": document.explanations,
    });
    data
}

/// Removes the details that a short page does not show.
fn shorten(detail: &mut Value, has_costs: bool) {
    let Some(simulated) = detail.get_mut("simulated").and_then(Value::as_object_mut) else {
        *detail = Value::Object(Map::new());
        return;
    };
    simulated.retain(|name, _| KEPT.contains(&name.as_str()) && (has_costs || name != "costs"));
    if let Some(costs) = simulated.get_mut("costs").and_then(Value::as_object_mut) {
        costs.retain(|name, _| name == "share");
    }
    *detail = json!({ "simulated": simulated });
}

/// Returns the summary: sentences, errors by table, a chart of all errors.
fn summary(report: &Report, id: &mut usize) -> String {
    let document = report.document;
    let mut text = String::from("<h2 id=\"summary\">Summary</h2>\n");
    text.push_str(&sentences(report.verdicts));
    if document.recorded.is_some() {
        let groups = Group::all(&document.rows);
        let curve = groups.iter().rev().find_map(curves::chart);
        text.push_str(&charts(&Vec::from_iter(curve), id));
    }
    let count = |name: &str, of: fn(&Row) -> bool| {
        let count = document.rows.iter().filter(|row| of(row)).count();
        let facts = attributes(&[Fact { at: format!("/report/{name}"), value: count as f64 }]);
        format!("<b{facts}>{count}</b> {name}")
    };
    text.push_str(&format!(
        "<p>{}: {}, {}, {}.</p>\n",
        count("rows", |_| true),
        count("published", |row| row.published.is_some()),
        count("predicted", |row| row.predicted.is_some()),
        count("measured", |row| row.measured.is_some())
    ));
    if !document.summaries.is_empty() {
        text.push_str(&summary_table(&document.summaries).html());
    }
    let chart: Vec<Chart> = residuals::chart(&document.rows).into_iter().collect();
    text.push_str(&charts(&chart, id));
    text
}

fn summary_table(summaries: &[Summary]) -> Table {
    let mut table = Table {
        caption: "Errors by table (predicted / published - 1), and winners that the model predicts"
            .to_owned(),
        columns: vec![
            ("table", false),
            ("model", false),
            ("cells", true),
            ("median |error|", true),
            ("90th percentile", true),
            ("winners right", true),
            ("of", true),
        ],
        fits: false,
        lines: Vec::new(),
    };
    for (index, summary) in summaries.iter().enumerate() {
        let line = |model: &str, errors: &Errors, cells: Cell| {
            // Without pairs there is no winner to name.
            let scored = summary.winners_total > 0;
            let right = scored.then(|| errors.winners_right.to_string());
            let total = scored.then(|| summary.winners_total.to_string());
            vec![
                Cell::Text(summary.table.clone()),
                Cell::Text(model.to_owned()),
                cells,
                Cell::of(errors.median_abs_error.map(share), "median_abs_error"),
                Cell::of(errors.p90_abs_error.map(share), "p90_abs_error"),
                Cell::of(right, "winners_right"),
                Cell::of(total, "winners_total"),
            ]
        };
        let at = format!("/summary/{index}");
        let cells = Cell::Figure(summary.cells.to_string(), "cells");
        table.lines.push((at.clone(), line("simulated", &summary.model, cells)));
        if summary.trivial.median_abs_error.is_some() || summary.cells == 0 {
            let empty = Cell::Text(String::new());
            table.lines.push((format!("{at}/trivial"), line("trivial", &summary.trivial, empty)));
        }
    }
    table
}

/// Maximum number of cells that are unfolded initially if there is no chart.
const FEW: usize = 12;

/// Returns the charts and the cells of an experiment on a machine.
fn experiment_html(groups: &[&Group], in_detail: bool, id: &mut usize) -> String {
    let mut found: Vec<Chart> = groups.iter().filter_map(|group| curves::chart(group)).collect();
    // All metrics of a run have the same costs and waits, so charts of one group are enough.
    let of_runs = groups.iter().filter(|group| !group.has_metrics());
    if in_detail || !found.is_empty() {
        found.extend(of_runs.clone().find_map(|group| cycles::chart(group)));
    }
    if in_detail {
        found.extend(of_runs.clone().find_map(|group| waits::chart(group)));
        found.extend(of_runs.clone().find_map(|group| handover::measured(group)));
        found.extend(of_runs.clone().find_map(|group| handover::simulated(group)));
    }
    let mut text = charts(&found, id);
    for group in groups {
        let [.., family, unit] = group.names();
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let is_open = found.is_empty() && group.rows.len() <= FEW;
        let open = if is_open { " open" } else { "" };
        text.push_str(&format!(
            "<details{open}><summary>Cells: {}{}</summary>\n{}</details>\n",
            escape(family),
            escape(&unit),
            cells(group).html()
        ));
    }
    text
}

/// Returns the table of a group's cells.
fn cells(group: &Group) -> Table {
    let has = |of: &dyn Fn(&Row) -> bool| group.rows.iter().any(|(_, row)| of(row));
    let has_both = has(&|row| row.published.is_some()) && has(&|row| row.predicted.is_some());
    let metrics = group.has_metrics();
    let is_shown = |column: &&Column| {
        let beside = column.shown == Shown::BesidePublished && has_both;
        beside || has(&|row| column.cell(row, Medium::Document).is_some())
    };
    let on_page = figures().filter_map(|column| Some((column, column.on_page?)));
    let shown: Vec<(&Column, &'static str)> =
        on_page.filter(|(column, _)| is_shown(column)).collect();
    let mut columns = vec![("variant", false), ("threads", true)];
    columns.extend(metrics.then_some(("metric", false)));
    columns.extend(shown.iter().map(|(column, _)| (column.title, true)));
    columns.push(("status", false));
    let line = |row: &Row| {
        let mut cells = vec![
            Cell::Text(row.key.variant.clone()),
            Cell::of(row.key.threads.map(|threads| threads.to_string()), "threads"),
        ];
        cells.extend(metrics.then(|| Cell::Text(row.key.metric.clone())));
        let figure = |&(column, of): &(&Column, &'static str)| {
            Cell::of(column.cell(row, Medium::Document), of)
        };
        cells.extend(shown.iter().map(figure));
        cells.push(Cell::Words(status(row)));
        cells
    };
    let lines = group.rows.iter().map(|&(index, row)| (format!("/rows/{index}"), line(row)));
    Table { caption: group.title(), columns, fits: false, lines: lines.collect() }
}

/// Returns the status of a row, with the reason and the warnings.
fn status(row: &Row) -> String {
    let mut parts = vec![row.status.name().to_owned()];
    parts.extend(row.reason.clone());
    if let Some(simulated) = &row.details.simulated {
        parts.extend(simulated.doubtful.as_ref().map(|why| format!("doubtful: {why}")));
        let differ = simulated.start_orders.is_some_and(|orders| orders.agree == Some(false));
        parts.extend(differ.then(|| "the order of the start matters".to_owned()));
    }
    if let Some(measured) = &row.details.measured {
        parts.extend(measured.note.clone());
        parts.extend(measured.warnings.iter().cloned());
    }
    parts.join("; ")
}

fn explanations(document: &Document) -> String {
    if document.explanations.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<h2 id=\"explanations\">Explanations</h2>\n<details><summary>Text of all explanations\
         </summary>\n",
    );
    for explanation in &document.explanations {
        text.push_str(&format!("<pre tabindex=\"0\">{}</pre>\n", escape(explanation)));
    }
    text + "</details>\n"
}

fn machines(report: &Report, id: &mut usize) -> String {
    if report.machines.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2 id=\"machines\">Machines</h2>\n");
    for (index, of) in report.machines.iter().enumerate() {
        text.push_str(&format!("<h3>{}</h3>\n", escape(of.name())));
        text.push_str(&machine::list(of, index));
        if report.in_detail {
            text.push_str(&charts(&[machine::chart(of)], id));
        }
    }
    text
}

/// Returns the notes on the document and on its rows, without duplicates.
fn notes(document: &Document) -> Vec<String> {
    let mut notes = document.notes.clone();
    for row in &document.rows {
        for note in row.details.simulated.iter().flat_map(|simulated| &simulated.notes) {
            let note = format!("{}: {note}.", row.key.experiment);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn origin(document: &Document) -> String {
    let notes = notes(document);
    let mut text = String::new();
    if !notes.is_empty() {
        text.push_str("<h2 id=\"notes\">Notes</h2>\n");
        text.push_str(&sentences(&notes));
    }
    text.push_str("<h2 id=\"environment\">Environment</h2>\n");
    let entries = document.environment.iter();
    text.push_str(&pairs(entries.map(|(name, value)| (name.as_str(), value.as_str()))));
    text
}
