//! Output of a comparison: tables and Markdown for readers, JSON and CSV for programs.

use super::bootstrap::COVERAGE;
use super::paired::FEWEST_PAIRS;
use super::read::{FigureKey, FigureKind};
use crate::cell_key::CellKey;
use crate::compare::comparison::{
    Compared, Comparison, FAMILY_ERROR, FEWEST_ROUNDS, Mean, Method, Verdict,
};
use crate::render::{Format, Screen, figure, in_markdown, new_table, pretty};
use comfy_table::{Table, presets};
use lockyard_support::{escaped_lines, markdown_text};
use serde_json::{Map, json};
use std::collections::HashMap;

/// Version of the JSON format. It changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "lockyard-comparison-1";

/// Renders the comparison in a format, for a screen of the default width.
pub fn render(comparison: &Comparison, format: Format) -> String {
    render_on(comparison, format, &Screen::default())
}

/// Renders the comparison in a format. The text ends with a line feed. Only [`Format::Table`]
/// depends on the screen.
pub fn render_on(comparison: &Comparison, format: Format, screen: &Screen) -> String {
    match format {
        Format::Table => {
            let text = text(comparison, "", &|table| screen.figures(table, 2));
            // A result file may have names in which the direction of a text changes.
            screen.wrap(&escaped_lines(&text))
        }
        Format::Markdown => {
            let text = text(comparison, "### ", &in_markdown);
            // A table's cells are escaped already.
            let line = |line: &str| match line.starts_with('|') {
                true => line.to_owned(),
                false => markdown_text(line),
            };
            text.lines().map(|of| line(of) + "\n").collect()
        }
        Format::Json => json(comparison),
        Format::Csv => escaped_lines(&csv(comparison)),
    }
}

fn text(comparison: &Comparison, heading: &str, lay_out: &dyn Fn(&Table) -> String) -> String {
    let [(a, _), (b, _)] = &comparison.files;
    let in_lines = |all: Vec<String>| all.into_iter().map(|line| line + "\n").collect::<String>();
    let mut text = format!("{}\nA: {a}\nB: {b}\n\n", in_lines(verdict(comparison)));
    let mut groups: Vec<(String, Vec<&Compared>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in &comparison.rows {
        let title = title(row);
        let place = *places.entry(title.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(row),
            None => groups.push((title, vec![row])),
        }
    }
    for (title, group) in groups {
        let table = lay_out(&table(&group));
        text.push_str(&format!("{heading}{title}\n\n{table}\n\n"));
    }
    for (key, reason) in &comparison.left_out {
        text.push_str(&format!("Not compared: {}, {}: {reason}.\n", key.cell, key.cell.metric));
    }
    text.push_str(&in_lines(limits(comparison)));
    text
}

fn title(row: &Compared) -> String {
    let FigureKey { table, cell, kind } = &row.key;
    let of = if table.is_empty() { "" } else { " of " };
    let CellKey { experiment, machine, metric, unit, .. } = cell;
    format!("{experiment}{of}{table} on {machine}: {metric}, {unit}, {}", kind.name())
}

fn table(rows: &[&Compared]) -> Table {
    let measured = rows.iter().any(|row| row.rounds.is_some());
    let mut header = vec!["variant", "threads", "A", "B", "difference"];
    if measured {
        header.extend(["interval", "p"]);
    }
    header.push("verdict");
    let mut table = new_table(&presets::ASCII_MARKDOWN, &header, 1);
    for row in rows {
        let cell = &row.key.cell;
        let mut cells = vec![
            cell.variant.clone(),
            cell.threads_text(),
            figure(row.a),
            figure(row.b),
            percent(row.difference),
        ];
        if measured {
            cells.push(match row.interval {
                Some((low, high)) => format!("{} .. {}", percent(low), percent(high)),
                None => "too few rounds".to_owned(),
            });
            cells.push(row.probability.map(probability).unwrap_or_default());
        }
        let beyond = if row.beyond { ", beyond the threshold" } else { "" };
        cells.push(format!("{}{beyond}", row.verdict.name()));
        table.add_row(cells);
    }
    table
}

/// Returns sentences that summarise the rows.
fn verdict(comparison: &Comparison) -> Vec<String> {
    let count = |verdict| comparison.count(verdict);
    let same = match count(Verdict::Same) {
        0 => String::new(),
        same => format!(", {same} the same"),
    };
    // Threshold in per cent. Most decimal shares have no exact binary form, so round off the last
    // digits.
    let threshold = (comparison.options.threshold * 1e8).round() / 1e6;
    let counts = format!(
        "{} compared: {} faster, {} slower ({} of them by more than the threshold of {threshold} \
         %), {} without evidence{same}.",
        rows(comparison.rows.len()),
        count(Verdict::Faster),
        count(Verdict::Slower),
        comparison.slower_beyond_threshold(),
        count(Verdict::NoEvidence),
    );
    std::iter::once(counts).chain(comparison.means.iter().map(mean)).collect()
}

/// Returns sentences on what the rows leave out, and how the verdicts were reached.
fn limits(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    let (only_a, only_b) = comparison.only;
    if only_a + only_b > 0 {
        lines.push(format!("Not in both: figures only in A: {only_a}; only in B: {only_b}."));
    }
    lines.extend(explained(comparison));
    lines.extend(comparison.notes.iter().cloned());
    lines
}

/// Returns sentences on how the verdicts were reached: the tests, their error rates and limits.
pub fn explained(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.of_kind(FigureKind::Measured) > 0 {
        lines.push(method(comparison));
    }
    if comparison.rows.iter().any(|row| row.rounds.is_some() && row.interval.is_none()) {
        let fewest = match comparison.method {
            Method::Runs => FEWEST_ROUNDS,
            Method::Pairs => FEWEST_PAIRS,
        };
        lines.push(format!("With fewer than {fewest} rounds there is no interval."));
    }
    if comparison.of_kind(FigureKind::Simulated) > 0 {
        let simulated = match comparison.same_seeds {
            true => "Simulated: the same seeds, so figures have no sampling error.",
            false => {
                "Simulated: seeds differ or are not known, so a small difference may be chance."
            }
        };
        lines.push(simulated.to_owned());
    }
    lines
}

/// Describes the test behind the verdicts on measured rows, and its error rate.
fn method(comparison: &Comparison) -> String {
    let rows = rows(comparison.of_kind(FigureKind::Measured));
    let (error, coverage) = (FAMILY_ERROR * 100.0, COVERAGE * 100.0);
    match comparison.method {
        Method::Runs => format!(
            "Measured: p is from the rank-sum test, corrected (Holm) for {rows}: \
             if nothing differs, a verdict among them has a probability of at most {error} %. \
             It accounts for how the rounds of a run vary, not for what the host did differently \
             between the runs (`--ab` does). Intervals of {coverage} % are for each row alone."
        ),
        Method::Pairs => format!(
            "Measured in pairs: A and B ran in each round, in random order. Differences are of \
             the ratio within a round. p is from signed ranks, for {rows} together: if nothing \
             differs, a verdict among them has a probability of at most {error} %, whatever the \
             host did. Intervals of {coverage} % are for each row alone."
        ),
    }
}

fn mean(mean: &Mean) -> String {
    let interval = match mean.interval {
        Some((low, high)) => format!(" ({low:.4} .. {high:.4})"),
        None => String::new(),
    };
    format!(
        "Speed of B over A, geometric mean of {} {} row{}: {:.4}{interval}.",
        mean.rows,
        mean.kind.name(),
        if mean.rows == 1 { "" } else { "s" },
        mean.speed
    )
}

fn rows(count: usize) -> String {
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}

/// Formats a difference with its sign. Differences of tenfold or more are written as a factor.
fn percent(difference: f64) -> String {
    if difference >= 9.0 {
        return format!("x{}", figure(difference + 1.0).replace(' ', ""));
    }
    format!("{:+.1} %", difference * 100.0)
}

fn probability(probability: f64) -> String {
    if probability < 0.0001 { "< 0.0001".to_owned() } else { format!("{probability:.4}") }
}

fn json(comparison: &Comparison) -> String {
    let file =
        |(origin, environment): &(String, _)| json!({ "file": origin, "environment": environment });
    let ends = |interval: Option<(f64, f64)>| {
        (interval.map(|(low, _)| low), interval.map(|(_, high)| high))
    };
    let row = |row: &Compared| {
        let FigureKey { table, cell, kind } = &row.key;
        let (low, high) = ends(row.interval);
        json!({
            "table": table,
            "experiment": cell.experiment,
            "machine": cell.machine,
            "variant": cell.variant,
            "threads": cell.threads,
            "metric": cell.metric,
            "unit": cell.unit,
            "kind": kind.name(),
            "a": row.a,
            "b": row.b,
            "difference": row.difference,
            "ci_low": low,
            "ci_high": high,
            "rounds_a": row.rounds.map(|(a, _)| a),
            "rounds_b": row.rounds.map(|(_, b)| b),
            "p": row.probability,
            "verdict": row.verdict.name(),
            "beyond_threshold": row.beyond,
        })
    };
    let mean = |mean: &Mean| {
        let (low, high) = ends(mean.interval);
        let object =
            json!({ "rows": mean.rows, "speed": mean.speed, "ci_low": low, "ci_high": high });
        (mean.kind.name().to_owned(), object)
    };
    let left_out = |(key, reason): &(FigureKey, String)| {
        let FigureKey { cell, .. } = key;
        json!({ "row": cell.to_string(), "metric": cell.metric, "reason": reason })
    };
    let mut object = json!({
        "schema": SCHEMA,
        "a": file(&comparison.files[0]),
        "b": file(&comparison.files[1]),
        "threshold": comparison.options.threshold,
        "anyway": comparison.options.anyway,
        "coverage": COVERAGE,
        "family_error": FAMILY_ERROR,
        "rows": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "not_compared": comparison.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "only_a": comparison.only.0,
        "only_b": comparison.only.1,
        "geometric_mean": comparison.means.iter().map(mean).collect::<Map<_, _>>(),
        "summary": {
            "faster": comparison.count(Verdict::Faster),
            "slower": comparison.count(Verdict::Slower),
            "no_evidence": comparison.count(Verdict::NoEvidence),
            "same": comparison.count(Verdict::Same),
            "slower_beyond_threshold": comparison.slower_beyond_threshold(),
        },
        "notes": comparison.notes,
    });
    if comparison.method == Method::Pairs {
        object["method"] = "pairs".into();
    }
    pretty(&object)
}

const COLUMNS: [&str; 16] = [
    "experiment",
    "machine",
    "variant",
    "threads",
    "metric",
    "unit",
    "kind",
    "a",
    "b",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "verdict",
    "beyond_threshold",
    "reason",
];

fn csv(comparison: &Comparison) -> String {
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all records have the same length.
    let _ = writer.write_record(COLUMNS);
    let key = |FigureKey { cell, kind, .. }: &FigureKey| {
        [
            cell.experiment.clone(),
            cell.machine.clone(),
            cell.variant.clone(),
            cell.threads_text(),
            cell.metric.clone(),
            cell.unit.clone(),
            kind.name().to_owned(),
        ]
    };
    for row in &comparison.rows {
        let figures = [
            row.a.to_string(),
            row.b.to_string(),
            row.difference.to_string(),
            number(row.interval.map(|(low, _)| low)),
            number(row.interval.map(|(_, high)| high)),
            number(row.probability),
            row.verdict.name().to_owned(),
            row.beyond.to_string(),
            String::new(),
        ];
        let _ = writer.write_record(key(&row.key).iter().chain(&figures));
    }
    for (of, reason) in &comparison.left_out {
        let mut rest: [String; 9] = Default::default();
        rest[6] = "not compared".to_owned();
        rest[8].clone_from(reason);
        let _ = writer.write_record(key(of).iter().chain(&rest));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_readable() {
        assert_eq!(percent(-0.0312), "-3.1 %");
        assert_eq!(percent(2.5), "+250.0 %");
        assert_eq!(percent(6025.549), "x6027");
        assert_eq!(probability(0.00005), "< 0.0001");
        assert_eq!(probability(0.05), "0.0500");
    }
}
