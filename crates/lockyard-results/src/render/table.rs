//! Tables for people: one for each experiment, then the summary, then notes.

use super::cells::{figure, new_table};
use super::document::{Document, Partial};
use super::{fits, phases};
use crate::listing::{CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX};
use crate::render::probes_table;
use crate::row::keys::{ORDERS_AGREE, ORDERS_DIFFER, PREDICTED};
use crate::row::{Detail, Measured, Row, Status};
use crate::summary::{Errors, Summary};
use crate::variant_ratios::NEAR;
use comfy_table::{Table, TableStyle, presets};

/// The document for a terminal.
pub fn table(document: &Document) -> String {
    render(document, &presets::UTF8_FULL_CONDENSED, "")
}

/// The document in Markdown.
pub fn markdown(document: &Document) -> String {
    render(document, &presets::ASCII_MARKDOWN, "### ")
}

fn render(document: &Document, preset: &TableStyle, heading: &str) -> String {
    let mut text = String::new();
    if let Some(Partial { why, extent }) = &document.partial {
        text.push_str(&format!("Partial: {why}, with {extent}.\n\n"));
    }
    let mut groups: Vec<(&Row, Vec<&Row>)> = Vec::new();
    for row in &document.rows {
        match groups.iter_mut().find(|(first, _)| same_group(first, row)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((row, vec![row])),
        }
    }
    for (first, rows) in groups {
        if let Some(reason) = one_reason(&rows) {
            text.push_str(&format!(
                "{heading}{} on {}: {}: {reason}\n\n",
                first.experiment,
                first.machine,
                family(first),
            ));
            continue;
        }
        let unit = if first.unit.is_empty() { String::new() } else { format!(", {}", first.unit) };
        text.push_str(&format!(
            "{heading}{} on {}: {}{unit}\n\n{}\n\n",
            first.experiment,
            first.machine,
            family(first),
            rows_table(&rows, preset)
        ));
        if let Some(table) = phases::table(&rows, preset) {
            text.push_str(&format!(
                "{heading}CPU time by phase: {}\n\n{table}\n\n",
                first.experiment
            ));
        }
        // Beside published figures there would be a table for each experiment: it is in JSON.
        let explained = !document.explanations.is_empty();
        let alone = |row: &&Row| row.published.is_none() || explained;
        if rows.iter().any(|row| alone(row) && has_fairness(row)) {
            text.push_str(&format!(
                "{heading}Threads and waits: {}\n\n{}\n\n",
                first.experiment,
                threads_table(&rows, preset)
            ));
            if let Some(table) = probes_table::render(&rows, preset) {
                text.push_str(&format!(
                    "{heading}Presence, hand-overs, counters: {}\n\n{table}\n\n",
                    first.experiment
                ));
            }
            if rows.iter().any(|row| row.detail.contains_key("operations_of_each_thread")) {
                text.push_str(&operations(&rows));
            }
        }
    }
    for note in row_notes(&document.rows) {
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
    text.push_str(&fits::render(&document.fits, preset, heading));
    for explanation in &document.explanations {
        // In Markdown, as it is: columns are set with spaces.
        let fence = if heading.is_empty() { "" } else { "```\n" };
        text.push_str(&format!("{fence}{explanation}{fence}\n"));
    }
    for note in &document.notes {
        text.push_str(note);
        text.push('\n');
    }
    text
}

/// The figure if the threads of a core share nothing of an ownership.
const SIBLINGS: &str = "siblings_share_nothing";

/// Whether a row says how alike threads were served.
fn has_fairness(row: &Row) -> bool {
    let predicted = format!("{PREDICTED}fairness_jain");
    row.detail.contains_key("fairness_jain") || row.detail.contains_key(&predicted)
}

/// Whether runs of the row's cell that began in different orders do not agree.
fn order_matters(row: &Row) -> bool {
    let agree = row.detail.get(ORDERS_AGREE);
    matches!(agree, Some(Detail::Text(agree)) if agree == ORDERS_DIFFER)
}

/// What the rows' details say to people, each once.
fn row_notes(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for row in rows {
        for (key, what) in [("note", ""), ("doubtful", "doubtful rows: ")] {
            if let Some(Detail::Text(note)) = row.detail.get(key) {
                let note = format!("Note on {}: {what}{note}.", row.experiment);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}

/// The rows that say more than what was published: without those that are 100 by definition.
fn of_interest<'r>(rows: &[&'r Row]) -> Vec<&'r Row> {
    let said = |row: &&&Row| row.status != Status::Calibration || row.predicted.is_some();
    rows.iter().filter(said).copied().collect()
}

/// Why none of `rows` has a figure of ours, if the reason is the same for all; and how many they
/// are.
fn one_reason(rows: &[&Row]) -> Option<String> {
    let (rows, what) = match of_interest(rows) {
        none if none.is_empty() => (rows.to_vec(), "are inputs"),
        rows => (rows, "are not modelled"),
    };
    let reason = rows.first()?.reason.as_deref()?;
    let alike = |row: &&Row| row.reason.as_deref() == Some(reason) && row.measured.is_none();
    rows.iter().all(alike).then(|| format!("{} rows {what}: {reason}", rows.len()))
}

fn same_group(a: &Row, b: &Row) -> bool {
    (&a.experiment, &a.machine, family(a)) == (&b.experiment, &b.machine, family(b))
}

/// The metrics that have a table together: those of samples, and of a listing; every other one has
/// its own.
fn family(row: &Row) -> &str {
    match row.metric.as_str() {
        metric if metric.contains("@sample") => "throughput of samples",
        metric if metric.starts_with(CPU_SHARE_PREFIX) => "share of CPU time",
        metric if metric.starts_with(SAMPLE_COUNT_PREFIX) => "samples of a profiler",
        metric => metric,
    }
}

fn rows_table(rows: &[&Row], preset: &TableStyle) -> Table {
    let published = rows.iter().any(|row| row.published.is_some());
    let measured = rows.iter().any(|row| row.measured.is_some());
    let mut header = vec!["variant", "threads"];
    let metrics = rows.iter().any(|row| row.metric != family(row));
    if metrics {
        header.push("metric");
    }
    if published {
        header.push("published");
    }
    let predicted = rows.iter().any(|row| row.predicted.is_some()) || published;
    if predicted {
        header.push("predicted");
    }
    if published {
        header.push("error");
    }
    let siblings = rows.iter().any(|row| row.detail.contains_key(SIBLINGS));
    if siblings {
        header.push("siblings apart");
    }
    if measured {
        header.extend(["measured here", "interval"]);
    }
    let ratios = rows.iter().any(|row| row.detail.contains_key("ratio"));
    if ratios {
        header.extend(["ratio", "interval"]);
    }
    header.push("status");
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let mut cells = vec![row.variant.clone(), row.threads_text()];
        if metrics {
            cells.push(row.metric.clone());
        }
        if published {
            cells.push(row.published.map(figure).unwrap_or_default());
        }
        if predicted {
            cells.push(row.predicted.map(figure).unwrap_or_default());
        }
        if published {
            cells.push(row.error().map(percent).unwrap_or_default());
        }
        if siblings {
            cells.push(match row.detail.get(SIBLINGS) {
                Some(Detail::Number(number)) => figure(*number),
                _ => String::new(),
            });
        }
        if measured {
            cells.push(row.measured.map(|m| figure(m.value)).unwrap_or_default());
            cells.push(row.measured.map(interval).unwrap_or_default());
        }
        if ratios {
            let number = |name: &str| match row.detail.get(name) {
                Some(Detail::Number(number)) => format!("{number:.3}"),
                _ => String::new(),
            };
            cells.push(number("ratio"));
            cells.push(match number("ratio_ci_low") {
                low if low.is_empty() => low,
                low => format!("{low} .. {}", number("ratio_ci_high")),
            });
        }
        let status = match &row.reason {
            Some(reason) => format!("{}: {reason}", row.status.name()),
            None => {
                let doubtful = row.detail.contains_key("doubtful").then_some(", doubtful");
                let order = order_matters(row).then_some(", order matters");
                [Some(row.status.name()), doubtful, order].into_iter().flatten().collect()
            }
        };
        cells.push(status);
        table.add_row(cells);
    }
    table
}

/// How alike threads were served, and how long they waited, of measured rows.
fn threads_table(rows: &[&Row], preset: &TableStyle) -> Table {
    let header = [
        "variant",
        "threads",
        "slowest / mean",
        "fastest / mean",
        "Jain",
        "wait 50 %, ns",
        "90 %",
        "99 %",
        "99.9 %",
        "longest",
    ];
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let found = |name: &str| {
            row.detail.get(name).or_else(|| row.detail.get(&format!("{PREDICTED}{name}")))
        };
        let number = |name: &str| match found(name) {
            Some(Detail::Number(number)) => format!("{number:.3}"),
            Some(Detail::Count(count)) => figure(*count as f64).trim_end_matches(".0").to_owned(),
            _ => String::new(),
        };
        let mut cells = vec![row.variant.clone(), row.threads_text()];
        cells.extend(
            [
                "fairness_minimum",
                "fairness_maximum",
                "fairness_jain",
                "wait_p50_ns",
                "wait_p90_ns",
                "wait_p99_ns",
                "wait_p999_ns",
                "wait_maximum_ns",
            ]
            .map(number),
        );
        table.add_row(cells);
    }
    table
}

/// Operations of each thread, a line for each row; of many threads the first, the rest is in JSON.
fn operations(rows: &[&Row]) -> String {
    const SHOWN: usize = 16;
    let mut text = String::from("Operations of each thread, all rounds together:\n");
    for row in rows {
        let Some(Detail::Counts(counts)) = row.detail.get("operations_of_each_thread") else {
            continue;
        };
        let shown: Vec<String> = counts.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if counts.len() > SHOWN { ", ..." } else { "" };
        text.push_str(&format!(
            "  {}, {}: {}{more}\n",
            row.variant,
            row.threads_in_words(),
            shown.join(", ")
        ));
    }
    text.push('\n');
    text
}

/// What a table's pairs come to; they are in the summary of all, too, which does not repeat it.
fn pairs(summary: &Summary) -> Option<String> {
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
                errors.median_abs_error.map(share).unwrap_or_default(),
                errors.p90_abs_error.map(share).unwrap_or_default(),
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

fn percent(value: f64) -> String {
    format!("{:+.1} %", value * 100.0)
}

fn share(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

fn interval(measured: Measured) -> String {
    format!("{} .. {}", figure(measured.ci_low), figure(measured.ci_high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(999.96), "1000.0");
        assert_eq!(figure(1_234_567.8), "1 234 568");
        assert_eq!(percent(-0.0312), "-3.1 %");
    }
}
