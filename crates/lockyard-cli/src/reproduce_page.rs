//! Page that `lockyard reproduce` prints in a terminal. Without names of tables it is a summary of
//! all tables. With names it has the cells of those tables, and then their summary.

use crate::arguments::Reproduce;
use crate::screen::screen;
use lockyard_lab::reproduce::Reproduction;
use lockyard_results::render::{Document, Format, render_on};

/// Commands that show more than the summary, each with a description of its output.
const MORE: [(&str, &str); 3] = [
    ("lockyard reproduce TABLE", "the cells of a table, with curves"),
    ("lockyard reproduce --cells", "the cells of all tables"),
    ("lockyard reproduce --sources", "the sources of the figures"),
];

/// Lays out the page for the screen.
pub(crate) fn page(options: &Reproduce, report: &Reproduction, document: &Document) -> String {
    let screen = screen();
    let summary_only = options.experiments.is_empty() && !options.cells;
    let mut shown = document.clone();
    if !options.sources {
        shown.notes.clear();
    }
    let measured = report.rows.iter().filter(|row| row.measured.is_some()).count();
    if summary_only {
        shown.rows.clear();
    } else if measured > 0 && !options.sources {
        shown.notes.push(MEASURED.to_owned());
    }
    let mut text = render_on(&shown, Format::Table, &screen);
    if screen.quiet {
        return text;
    }
    if summary_only {
        text.push_str(&screen.wrap(LEGEND));
        if measured > 0 {
            let cells = lockyard_support::count(measured, "cell");
            let line = format!("Also measured on this host (`--cells`): {cells}.\n");
            text.push_str(&screen.wrap(&line));
        }
    }
    if summary_only || !options.sources {
        text.truncate(text.trim_end().len());
        text.push_str("\n\nTo see more:\n");
    }
    let also = |command: &str| match command.contains("--sources") {
        true => !options.sources,
        false => summary_only,
    };
    for (command, what) in MORE.iter().filter(|(command, _)| also(command)) {
        text.push_str(&format!("  {command:<28}  {what}\n"));
    }
    text
}

/// Meaning of the summary's columns.
const LEGEND: &str = "Simulated: predictions from the machines' files. Trivial: the cost of the \
    calibration cell, held constant. p50 and p90: the median and the 90th percentile of \
    |predicted / published - 1| over the cells that are predictions. Right winners: pairs of \
    variants whose faster one is predicted, of those whose published figures differ by more than \
    5 %.\n";

/// Note on measured figures.
const MEASURED: &str = "Measured figures are from this host, not the published machine, but use \
    that machine's local work. Each is the median of the rounds, with an interval of at least \
    95 %.";
