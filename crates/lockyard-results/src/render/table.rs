//! Tables for a Markdown document: one for each experiment, then the summary, then notes.
//! `people.rs` makes the tables for a terminal; it shares the row groups and the details.

use super::cells::{new_table, per_cent};
use super::columns::Column;
use super::document::{Document, Partial};
use super::of_row::{fairness, measured, simulated};
use super::print::{self, Medium};
use super::{fits, plain, recorded};
use crate::cell_key::HERE;
use crate::details::MeasuredDetail;
use crate::listing::{CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX};
use crate::row::{Row, Status};
use crate::summary::{Errors, Summary};
use crate::variant_ratios::NEAR;
use comfy_table::{Table, TableStyle, presets};

/// Renders the document in Markdown.
pub fn markdown(document: &Document) -> String {
    render(document, &presets::ASCII_MARKDOWN, "### ", true)
}

/// Renders the figures of the document in Markdown.
pub(super) fn markdown_without_notes(document: &Document) -> String {
    render(document, &presets::ASCII_MARKDOWN, "### ", false)
}

fn render(document: &Document, preset: &TableStyle, heading: &str, notes: bool) -> String {
    let document = &plain::in_markdown(document);
    let mut text = String::new();
    if let Some(Partial { why, extent }) = &document.partial {
        text.push_str(&format!("Partial: {why}, with {extent}.\n\n"));
    }
    if let Some(of) = &document.recorded {
        text.push_str(&recorded::facts_in_markdown(of, heading));
    }
    let explained = !document.explanations.is_empty();
    for block in blocks(&document.rows) {
        match block {
            Block::Rows(rows) => group(&mut text, &rows, explained, preset, heading),
            Block::Missing(sentence) => text.push_str(&format!("{heading}{sentence}\n\n")),
        }
    }
    for note in row_notes(&document.rows).iter().filter(|_| notes) {
        text.push_str(&format!("{note}\n\n"));
    }
    if !document.summaries.is_empty() {
        text.push_str(&format!(
            "{heading}Error (predicted / published - 1)\n\n{}\n\n",
            summary_table(&document.summaries, preset)
        ));
        for line in document.summaries.iter().filter_map(pairs) {
            text.push_str(&format!("{line}\n\n"));
        }
    }
    if let Some(of) = &document.recorded {
        text.push_str(&recorded::answers_in_markdown(of, heading));
    }
    text.push_str(&fits::render(&document.fits, heading, &|table| {
        table.clone().load_style(*preset).to_string()
    }));
    for explanation in &document.explanations {
        // In Markdown the text is fenced, because spaces align its columns.
        let fence = fence(explanation);
        text.push_str(&format!("{fence}\n{explanation}{fence}\n\n"));
    }
    for note in document.notes.iter().filter(|_| notes) {
        text.push_str(note);
        text.push('\n');
    }
    text
}

/// Returns a fence that no line of a text ends.
fn fence(text: &str) -> String {
    let ticks = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((ticks + 1).max(3))
}

/// Groups the rows: those of a group have the same experiment, machine and family of metrics.
fn groups(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| same_group(group[0], row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Adds the tables of rows that share an experiment, a machine and a family of metrics.
fn group(text: &mut String, rows: &[&Row], explained: bool, preset: &TableStyle, heading: &str) {
    let Some(first) = rows.first() else { return };
    let unit =
        if first.key.unit.is_empty() { String::new() } else { format!(", {}", first.key.unit) };
    text.push_str(&format!(
        "{heading}{} on {}: {}{unit}\n\n{}\n\n",
        first.key.experiment,
        first.key.machine,
        family(first),
        rows_table(rows, preset)
    ));
    if let Some(table) = print::phases(rows, preset) {
        text.push_str(&format!(
            "{heading}CPU time by phase: {}\n\n{table}\n\n",
            first.key.experiment
        ));
    }
    // Next to published figures, every experiment would have such a table. JSON output has these
    // details instead.
    let alone = |row: &&Row| row.published.is_none() || explained;
    if rows.iter().any(|row| alone(row) && fairness(row).is_some()) {
        for (title, group) in print::DETAILS {
            if let Some(table) = print::table(group, rows, preset) {
                let experiment = &first.key.experiment;
                text.push_str(&format!("{heading}{title}: {experiment}\n\n{table}\n\n"));
            }
        }
        if rows
            .iter()
            .any(|row| measured(row).is_some_and(|m| !m.operations_of_each_thread.is_empty()))
        {
            text.push_str(&operations(rows));
        }
    }
}

/// Returns true if runs of the row's cell disagree because they started in different orders.
fn order_matters(row: &Row) -> bool {
    let orders = simulated(row).and_then(|simulated| simulated.start_orders);
    orders.is_some_and(|orders| orders.agree == Some(false))
}

fn is_doubtful(row: &Row) -> bool {
    simulated(row).is_some_and(|simulated| simulated.doubtful.is_some())
}

/// Returns the distinct notes in the rows' details.
fn row_notes(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for row in rows {
        let Some(simulated) = simulated(row) else { continue };
        let note = Some(simulated.notes.join("; ")).filter(|note| !note.is_empty());
        let doubtful = simulated.doubtful.as_ref().map(|why| format!("doubtful rows: {why}"));
        for note in note.into_iter().chain(doubtful) {
            let note = format!("Note on {}: {note}.", row.key.experiment);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Returns the rows that add to the published table. Inputs that are 100 by definition are left
/// out.
fn of_interest<'r>(rows: &[&'r Row]) -> Vec<&'r Row> {
    let said = |row: &&&Row| row.status != Status::Calibration || row.predicted.is_some();
    rows.iter().filter(said).copied().collect()
}

/// Part of a document.
pub(super) enum Block<'r> {
    /// Rows that share an experiment, a machine and a family of metrics. They have figures.
    Rows(Vec<&'r Row>),
    /// Sentence on rows without a figure of ours, all for one reason.
    Missing(String),
}

impl<'r> Block<'r> {
    /// Returns the rows that have figures.
    pub(super) fn rows(&self) -> &[&'r Row] {
        match self {
            Block::Rows(rows) => rows,
            Block::Missing(_) => &[],
        }
    }
}

/// Returns the parts of a document, in the order of its rows. Rows that are missing for the same
/// reason share a sentence, if they follow one another.
pub(super) fn blocks(rows: &[Row]) -> Vec<Block<'_>> {
    let groups = groups(rows);
    let one_part = |a: &Vec<&Row>, b: &Vec<&Row>| {
        let of = |rows: &[&Row]| (rows[0].key.experiment.clone(), rows[0].key.machine.clone());
        one_reason(a).is_some() && one_reason(a) == one_reason(b) && of(a) == of(b)
    };
    let mut blocks = Vec::new();
    for part in groups.chunk_by(one_part) {
        match one_reason(&part[0]) {
            Some((what, reason)) => blocks.push(Block::Missing(missing(part, what, reason))),
            None => blocks.extend(part.iter().cloned().map(Block::Rows)),
        }
    }
    blocks
}

/// Returns the sentence on groups without figures.
fn missing(groups: &[Vec<&Row>], what: &str, reason: &str) -> String {
    let key = &groups[0][0].key;
    let families: Vec<&str> = groups.iter().map(|rows| family(rows[0])).collect();
    let count = |rows: &Vec<&Row>| match of_interest(rows).len() {
        0 => rows.len(),
        count => count,
    };
    let rows: usize = groups.iter().map(count).sum();
    let families = families.join(", ");
    let one = what.replacen("are ", "is ", 1).replacen("have ", "has ", 1);
    let what = if rows == 1 { &one } else { what };
    let rows = lockyard_support::count(rows, "row");
    format!("{} on {}: {families}: {rows} {what}: {reason}", key.experiment, key.machine)
}

/// Returns a predicate on the rows, and their common reason. Returns `None` if a row has a figure
/// of ours, or if their reasons differ.
fn one_reason<'r>(rows: &[&'r Row]) -> Option<(&'static str, &'r str)> {
    let (rows, what) = match of_interest(rows) {
        none if none.is_empty() => (rows.to_vec(), "are inputs"),
        rows if rows.iter().all(|row| row.key.machine == HERE) => (rows, "have no figure"),
        rows => (rows, "are not modelled"),
    };
    let reason = rows.first()?.reason.as_deref()?;
    let alike = |row: &&Row| row.reason.as_deref() == Some(reason) && row.measured.is_none();
    rows.iter().all(alike).then_some((what, reason))
}

fn same_group(a: &Row, b: &Row) -> bool {
    (&a.key.experiment, &a.key.machine, family(a)) == (&b.key.experiment, &b.key.machine, family(b))
}

/// Returns the family of the row's metric. Metrics of one family share a table. The families are
/// samples and listings; every other metric is its own family.
pub(super) fn family(row: &Row) -> &str {
    match row.key.metric.as_str() {
        metric if metric.contains("@sample") => "throughput of samples",
        metric if metric.starts_with(CPU_SHARE_PREFIX) => "share of CPU time",
        metric if metric.starts_with(SAMPLE_COUNT_PREFIX) => "samples of a profiler",
        metric => metric,
    }
}

fn rows_table(rows: &[&Row], preset: &TableStyle) -> Table {
    let columns: Vec<&Column> = print::figures().filter(|column| column.is_shown(rows)).collect();
    let has_metrics = rows.iter().any(|row| row.key.metric != family(row));
    let mut header = vec!["variant", "threads"];
    header.extend(has_metrics.then_some("metric"));
    header.extend(columns.iter().map(|column| column.title));
    header.push("status");
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let mut cells = vec![row.key.variant.clone(), row.key.threads_text()];
        cells.extend(has_metrics.then(|| row.key.metric.clone()));
        let of_row = |column: &&Column| column.cell(row, Medium::Document).unwrap_or_default();
        cells.extend(columns.iter().map(of_row));
        cells.push(match &row.reason {
            Some(reason) => format!("{}: {reason}", row.status.name()),
            None => {
                let doubtful = is_doubtful(row).then_some(", doubtful");
                let order = order_matters(row).then_some(", order matters");
                [Some(row.status.name()), doubtful, order].into_iter().flatten().collect()
            }
        });
        table.add_row(cells);
    }
    table
}

/// Returns the operations of each thread, one line per row. With many threads, only the first ones
/// are shown; JSON output has all.
pub(super) fn operations(rows: &[&Row]) -> String {
    const SHOWN: usize = 16;
    let mut text = String::from("Operations of each thread, all rounds together:\n");
    for row in rows {
        let Some(MeasuredDetail { operations_of_each_thread: counts, .. }) = measured(row) else {
            continue;
        };
        if counts.is_empty() {
            continue;
        }
        let shown: Vec<String> = counts.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if counts.len() > SHOWN { ", ..." } else { "" };
        text.push_str(&format!(
            "  {}, {}: {}{more}\n",
            row.key.variant,
            row.key.threads_in_words(),
            shown.join(", ")
        ));
    }
    text.push('\n');
    text
}

/// Returns a sentence on the scores of a table's pairs. `None` without pairs. Also `None` for the
/// summary of all tables, which would repeat the sentence.
pub(super) fn pairs(summary: &Summary) -> Option<String> {
    let pairs = summary.pairs.filter(|_| summary.table != "all")?;
    let points = NEAR * 100.0;
    Some(format!(
        "Pairs of variants that {} is about: {}. Changes in the published direction: \
         simulated {}, trivial {}. Within {points} points of the published change: \
         simulated {}, trivial {}.",
        summary.table,
        pairs.total,
        pairs.model.right,
        pairs.trivial.right,
        pairs.model.near,
        pairs.trivial.near
    ))
}

fn summary_table(summaries: &[Summary], preset: &TableStyle) -> Table {
    let header = ["table", "model", "cells", "median |error|", "90th percentile", "winners"];
    let mut table = new_table(preset, &header, 2);
    for summary in summaries {
        let line = |model: &str, errors: &Errors| {
            [
                summary.table.clone(),
                model.to_owned(),
                summary.cells.to_string(),
                errors.median_abs_error.map(per_cent).unwrap_or_default(),
                errors.p90_abs_error.map(per_cent).unwrap_or_default(),
                format!("{} of {}", errors.winners_right, summary.winners_total),
            ]
        };
        table.add_row(line("simulated", &summary.model));
        if summary.trivial.median_abs_error.is_some() || summary.cells == 0 {
            table.add_row(line("trivial", &summary.trivial));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::SimulatedDetail;

    #[test]
    fn markdown_has_intervals_of_predictions_and_notes_unless_quiet() {
        use crate::details::{Details, Range};
        use crate::render::{Format, Screen, render_on};
        use crate::row::tests::row;
        let mut one = row("a", 1, 10.0, 11.0, Status::Predicted);
        one.details = Details::of_simulated(SimulatedDetail {
            interval: Some(Range { low: 9.0, high: 13.0 }),
            notes: vec!["of a row".to_owned()],
            ..SimulatedDetail::default()
        });
        let rows = vec![one, row("b", 1, 10.0, 11.0, Status::Predicted)];
        let notes = vec!["A note.".to_owned()];
        let document = Document { rows, notes, ..Document::default() };
        let of = |quiet| {
            let screen = Screen { quiet, ..Screen::default() };
            render_on(&document, Format::Markdown, &screen)
        };
        let heading = of(false).lines().find(|line| line.contains("variant")).map(str::to_owned);
        let heading = heading.expect("there is a table");
        let columns: Vec<&str> = heading.split('|').map(str::trim).collect();
        let place = columns.iter().position(|name| *name == "predicted").expect("predictions");
        assert_eq!(columns[place + 1], "interval");
        assert!(of(false).contains("9.0 .. 13.0"), "{}", of(false));
        assert!(of(false).contains("A note.") && of(false).contains("of a row"));
        assert!(!of(true).contains("A note.") && !of(true).contains("of a row"));
        assert!(of(true).contains("9.0 .. 13.0"));
    }
}
