//! Document for a terminal. Each experiment has a table, its curves and a verdict on them. Details,
//! the summary and notes follow.

use super::chart::{self, Series};
use super::document::{Document, Partial};
use super::figures::{Figures, prefixes};
use super::notes::Notes;
use super::of_row::{fairness, measured};
use super::screen::Screen;
use super::table::{Block, blocks, family, operations};
use super::verdict::{IdealGain, verdict};
use super::{compact, fits, plain, print, recorded, summary_tables};
use crate::compare::direction::Direction;
use crate::row::{Row, Status};
use comfy_table::presets;

/// Minimum number of thread counts for a curve.
const FEWEST_COUNTS: usize = 3;

/// Renders the document for a screen.
pub fn table(document: &Document, screen: &Screen) -> String {
    let document = &plain::shown(document);
    let mut text = String::new();
    if let Some(Partial { why, extent }) = &document.partial {
        text.push_str(&format!("Partial: {why}, with {extent}.\n\n"));
    }
    let blocks = blocks(&document.rows);
    // A small table refers to no note.
    let is_small = |rows: &[&Row]| !screen.quiet && compact::table(rows, screen).is_some();
    let full = blocks.iter().map(Block::rows).filter(|rows| !is_small(rows));
    let shown: Vec<&Row> = full.flatten().copied().collect();
    let notes = Notes::of(&shown);
    if let Some(of) = &document.recorded {
        let lines = of.lines().into_iter().map(|line| screen.wrap(&format!("{line}\n")));
        text.push_str(&format!("{}\n", lines.collect::<String>()));
        text.push_str(&recorded::facts(of, screen));
    } else if let [Block::Rows(rows)] = blocks.as_slice()
        && !screen.quiet
    {
        text.push_str(&said(rows, screen));
    }
    let explained = !document.explanations.is_empty();
    for block in &blocks {
        match block {
            Block::Rows(rows) => {
                let is_said = document.recorded.is_some() || blocks.len() == 1;
                group(&mut text, rows, &notes, (explained, is_said), screen);
            }
            Block::Missing(sentence) => text.push_str(&format!("{}\n\n", screen.wrap(sentence))),
        }
    }
    if !screen.quiet {
        for note in paragraphs(&shown, &notes) {
            text.push_str(&format!("{}\n", screen.wrap(&note)));
        }
        if !shown.is_empty() && !notes.paragraphs().is_empty() {
            text.push('\n');
        }
    }
    text.push_str(&summary_tables::render(&document.summaries, screen));
    if let Some(of) = &document.recorded {
        text.push_str(&recorded::answers(of, screen));
    }
    let fits = fits::render(&document.fits, "", &|table| screen.figures(table, 1));
    text.push_str(&screen.wrap(&fits));
    for explanation in &document.explanations {
        text.push_str(&format!("{}\n", screen.wrap(explanation)));
    }
    if !screen.quiet {
        for note in &document.notes {
            text.push_str(&format!("{}\n", screen.wrap(note)));
        }
    }
    text
}

/// Renders the answer on a recorded program for a screen: its lines, where the time goes, and the
/// throughput of the program as it is. All else is in the page and in JSON.
pub fn short_answer(document: &Document, screen: &Screen) -> String {
    let document = &plain::shown(document);
    let Some(of) = &document.recorded else { return table(document, screen) };
    let lines = of.lines().into_iter().map(|line| screen.wrap(&format!("{line}\n")));
    let mut text: String = lines.collect();
    if !of.today.locks.is_empty() {
        text.push_str(&format!("\n{}", recorded::today(of, screen)));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Returns the legend of the tables, and the numbered notes.
fn paragraphs(rows: &[&Row], notes: &Notes) -> Vec<String> {
    let inputs = rows.iter().any(|row| row.status == Status::Calibration);
    let input = inputs.then(|| {
        "`input`: this figure set the local work or a latency, so it is no prediction.".to_owned()
    });
    input.into_iter().chain(notes.paragraphs()).collect()
}

/// Adds the tables of rows that share an experiment, a machine and a family of metrics.
/// With the verdict, unless it is said already; of many variants in a small table.
fn group(
    text: &mut String,
    rows: &[&Row],
    notes: &Notes,
    (explained, is_said): (bool, bool),
    screen: &Screen,
) {
    let Some(first) = rows.first() else { return };
    let key = &first.key;
    let unit = if key.unit.is_empty() { String::new() } else { format!(", {}", key.unit) };
    let small = compact::table(rows, screen).filter(|_| !screen.quiet);
    let full = || Figures::of(rows, (!screen.quiet).then_some(notes)).render(screen);
    let is_small = small.is_some();
    let table = small.unwrap_or_else(full);
    let heading = format!(
        "{} on {}: {}{unit}{}",
        key.experiment,
        key.machine,
        family(first),
        prefixes(&table)
    );
    text.push_str(&format!("{}\n\n", screen.heading(&heading)));
    if !screen.quiet && !is_said {
        text.push_str(&said(rows, screen));
    }
    text.push_str(&format!("{table}\n\n"));
    if is_small {
        text.push_str(&screen.wrap(REST));
    } else if !screen.quiet {
        text.push_str(&curves(rows, screen));
    }
    details(text, rows, explained, screen);
}

/// Sentence below a small table.
const REST: &str = "All numbers of threads with intervals: --format markdown (or csv, json). \
                    Fairness and waits: --waits. Curves: --report FILE.html.\n\n";

/// Returns the verdict on the curves of a group. Returns empty text if there are none.
fn said(rows: &[&Row], screen: &Screen) -> String {
    let Some((series, direction)) = judged(rows) else { return String::new() };
    let unit = rows.first().map_or("", |row| row.key.unit.as_str());
    let verdict = verdict(&series, direction, unit, ideal(rows, &series, direction));
    format!("{}\n\n", screen.wrap(&verdict))
}

/// Returns the chart of a group. Returns empty text if there are no curves.
fn curves(rows: &[&Row], screen: &Screen) -> String {
    let Some((series, _)) = judged(rows) else { return String::new() };
    let Some(first) = rows.first() else { return String::new() };
    let (metric, unit) = (&first.key.metric, first.key.unit.as_str());
    let heading = format!("{metric}, {unit},");
    let Some(chart) = chart::render(&heading, &series, screen) else { return String::new() };
    format!("{chart}\n")
}

/// Returns the curves of a group, and the direction in which their figures are better. Returns
/// `None` if there are too few thread counts, or if the figures are neither rates nor times.
fn judged(rows: &[&Row]) -> Option<(Vec<Series>, Direction)> {
    let first = &rows.first()?.key;
    let direction = Direction::of("", &first.unit)?;
    if rows.iter().any(|row| row.key.metric != first.metric) {
        return None;
    }
    let series = series(rows);
    let is_curve = series.iter().any(|of| of.curve.len() >= FEWEST_COUNTS);
    is_curve.then_some((series, direction))
}

/// Returns the verdicts on all curves of the rows, each with its experiment and machine.
pub fn verdicts(rows: &[Row]) -> Vec<String> {
    let all = blocks(rows);
    let of_group = |rows: &[&Row]| {
        let (series, direction) = judged(rows)?;
        let key = &rows.first()?.key;
        let verdict = verdict(&series, direction, &key.unit, ideal(rows, &series, direction));
        let is_same = |other: &&Block| {
            let other = other.rows().first().map(|row| (&row.key.experiment, &row.key.machine));
            other == Some((&key.experiment, &key.machine))
        };
        let metric = match all.iter().filter(is_same).count() {
            1 => String::new(),
            _ => format!(", {}", key.metric),
        };
        Some(format!("{} on {}{metric}: {verdict}", key.experiment, key.machine))
    };
    all.iter().map(Block::rows).filter_map(of_group).collect()
}

/// Returns the curve of each variant: the predicted figures, or the measured ones if there are no
/// predictions.
fn series(rows: &[&Row]) -> Vec<Series> {
    let predicted = rows.iter().any(|row| row.predicted.is_some());
    let mut all: Vec<Series> = Vec::new();
    for row in rows {
        let Some(threads) = row.key.threads else { continue };
        let name = &row.key.variant;
        let index = all.iter().position(|of| of.name == *name).unwrap_or_else(|| {
            all.push(Series { name: name.clone(), ..Series::default() });
            all.len() - 1
        });
        let figure = match predicted {
            true => row.predicted,
            false => row.measured.map(|measured| measured.value),
        };
        let of = &mut all[index];
        of.inputs.extend((predicted && row.status == Status::Calibration).then_some(threads));
        of.curve.extend(figure.map(|figure| (threads, figure)));
        of.published.extend(row.published.map(|figure| (threads, figure)));
    }
    all.retain(|of| !of.curve.is_empty());
    for of in &mut all {
        of.curve.sort_by_key(|(threads, _)| *threads);
        of.published.sort_by_key(|(threads, _)| *threads);
    }
    all
}

/// Returns the gain from ideal locks at the greatest thread count, for the fastest variant with a
/// known gain.
fn ideal(rows: &[&Row], series: &[Series], direction: Direction) -> Option<IdealGain> {
    let threads = series.iter().filter_map(|of| of.curve.last()).map(|(n, _)| *n).max()?;
    let mut of_most: Vec<&&Row> =
        rows.iter().filter(|row| row.key.threads == Some(threads)).collect();
    let figure = |row: &Row| row.predicted.unwrap_or_default();
    of_most.sort_by(|a, b| direction.speed(figure(a), figure(b)).total_cmp(&1.0));
    let fastest = of_most.first()?;
    let locks = fastest.details.simulated.as_ref()?.costs.as_ref()?.ideal_locks?;
    let now = locks.operations_per_s / (1.0 + locks.gain_share);
    let gain = locks.at_most_operations_per_s / now - 1.0;
    gain.is_finite().then_some(IdealGain { threads, gain })
}

/// Adds the tables of details.
fn details(text: &mut String, rows: &[&Row], explained: bool, screen: &Screen) {
    let Some(first) = rows.first() else { return };
    let experiment = &first.key.experiment;
    let preset = &presets::NOTHING;
    let mut add = |title: &str, table: String| {
        let heading = screen.heading(&format!("{title}: {experiment}"));
        text.push_str(&format!("{heading}\n\n{table}\n\n"));
    };
    if let Some(table) = print::phases(rows, preset) {
        add("CPU time by phase", screen.figures(&table, 2));
    }
    // JSON output has these details always.
    if !screen.waits {
        return;
    }
    let alone = |row: &&Row| row.published.is_none() || explained;
    if !rows.iter().any(|row| alone(row) && fairness(row).is_some()) {
        return;
    }
    for (title, group) in print::DETAILS {
        if let Some(table) = print::table(group, rows, preset) {
            add(title, screen.figures(&table, 2));
        }
    }
    let counted =
        |row: &&Row| measured(row).is_some_and(|m| !m.operations_of_each_thread.is_empty());
    if rows.iter().any(counted) {
        text.push_str(&screen.wrap(&operations(rows)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row;

    #[test]
    fn no_variant_wins_by_inputs() {
        let rows: Vec<Row> = ["a", "b"]
            .into_iter()
            .flat_map(|variant| {
                [1, 2, 4].map(|threads| {
                    let status = if threads == 1 { Status::Calibration } else { Status::Predicted };
                    row(variant, threads, 100.0, 100.0, status)
                })
            })
            .collect();
        let found = verdicts(&rows).join(" ");
        assert!(found.contains("At 2 to 4 threads both variants are tied"), "{found}");
        assert!(!found.contains("At 1"), "{found}");
        // A single input leaves the others to be compared.
        let mut three = rows.clone();
        three.extend(
            ["c"; 3]
                .into_iter()
                .zip([1, 2, 4])
                .map(|(variant, threads)| row(variant, threads, 100.0, 100.0, Status::Predicted)),
        );
        three[3].status = Status::Predicted;
        let found = verdicts(&three).join(" ");
        assert!(found.contains("b and c are tied at 1 thread (within 2 %); a is not"), "{found}");
    }
}
