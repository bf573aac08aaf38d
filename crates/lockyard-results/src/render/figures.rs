//! Table of the figures of a group, for a screen.
//!
//! If the thread counts are numbers, and each variant has at most one row per thread count, then
//! variants become columns and thread counts become rows. Otherwise each row is a line.

use super::columns::{self, Group};
use super::grid::{Column, Grid};
use super::notes::Notes;
use super::print::{self, Medium};
use super::screen::Screen;
use super::table::family;
use crate::row::{Row, Status};
use std::collections::BTreeMap;

/// Table of the figures of a group of rows.
pub(super) struct Figures<'r> {
    rows: &'r [&'r Row],
    notes: Option<&'r Notes>,
    /// True if rows differ in status, and no other column shows it.
    statuses: bool,
    metrics: bool,
}

impl<'r> Figures<'r> {
    /// Returns the table of some rows. Without `notes`, the table has no references to notes.
    pub(super) fn of(rows: &'r [&'r Row], notes: Option<&'r Notes>) -> Figures<'r> {
        // Ignore statuses that are visible elsewhere: the error column marks inputs, and a note
        // explains each row without a figure.
        let shown = |row: &&&Row| !matches!(row.status, Status::Calibration | Status::NotModelled);
        let mut shown: Vec<Status> = rows.iter().filter(shown).map(|row| row.status).collect();
        shown.dedup();
        let metrics = rows.iter().any(|row| row.key.metric != family(row));
        Figures { rows, notes, statuses: shown.len() > 1, metrics }
    }

    /// Lays out the table.
    pub(super) fn render(&self, screen: &Screen) -> String {
        self.grid().render(screen)
    }

    fn grid(&self) -> Grid {
        match self.by_threads() {
            Some(grid) => grid,
            None => self.by_row(),
        }
    }

    /// Returns the grid with a row for each thread count.
    fn by_threads(&self) -> Option<Grid> {
        let mut cells: BTreeMap<(&str, usize), &Row> = BTreeMap::new();
        let mut variants: Vec<&str> = Vec::new();
        for row in self.rows {
            let variant = row.key.variant.as_str();
            if !variants.contains(&variant) {
                variants.push(variant);
            }
            if cells.insert((variant, row.key.threads?), row).is_some() || self.metrics {
                return None;
            }
        }
        let mut counts: Vec<usize> = cells.keys().map(|(_, threads)| *threads).collect();
        counts.sort_unstable();
        counts.dedup();
        if counts.len() < 2 {
            return None;
        }
        let columns = variants.iter().flat_map(|variant| {
            let rows: Vec<Option<&Row>> =
                counts.iter().map(|&threads| cells.get(&(*variant, threads)).copied()).collect();
            self.columns(variant, &rows)
        });
        let threads = counts.iter().map(usize::to_string).collect();
        let keys = vec![Column::figures("", "threads", threads)];
        Some(Grid { columns: columns.collect(), keys })
    }

    /// Returns the grid with one line per row.
    fn by_row(&self) -> Grid {
        let texts = |of: fn(&Row) -> String| self.rows.iter().map(|row| of(row)).collect();
        let mut keys = vec![
            Column::text("variant", texts(|row| row.key.variant.clone())),
            Column::figures("", "threads", texts(|row| row.key.threads_text())),
        ];
        if self.metrics {
            keys.push(Column::text("metric", texts(|row| row.key.metric.clone())));
        }
        let rows: Vec<Option<&Row>> = self.rows.iter().map(|row| Some(*row)).collect();
        Grid { keys, columns: self.columns("", &rows) }
    }

    /// Returns the columns for these rows, without the empty ones.
    fn columns(&self, group: &str, rows: &[Option<&Row>]) -> Vec<Column> {
        // A prediction stands before the figure with which it is compared.
        let is_later = |column: &&columns::Column| column.group != Group::Predicted;
        let mut figures: Vec<&columns::Column> = print::figures().collect();
        figures.sort_by_key(is_later);
        let of_table = |column: &columns::Column| {
            let text = |row: &Row| column.cell(row, Medium::Screen);
            (column.on_screen, rows.iter().map(|row| row.and_then(text)).collect())
        };
        let mut all: Vec<(&str, Vec<Option<String>>)> = figures.into_iter().map(of_table).collect();
        let status = |row: &Row| self.statuses.then(|| row.status.name().to_owned());
        let notes = |row: &Row| Some(self.notes?.of_row(row));
        all.push(("status", rows.iter().map(|row| row.and_then(status)).collect()));
        all.push(("notes", rows.iter().map(|row| row.and_then(notes)).collect()));
        let columns = all.into_iter().map(|(title, cells)| {
            let cells = cells.into_iter().map(Option::unwrap_or_default);
            Column::figures(group, title, cells.collect())
        });
        columns.filter(|column| column.cells.iter().any(|cell| !cell.is_empty())).collect()
    }
}

/// Explains, for a table's heading, the unit prefixes that the table uses.
pub(super) fn prefixes(table: &str) -> String {
    let all = [("k", "10^3"), ("M", "10^6"), ("G", "10^9"), ("T", "10^12")];
    let used = all.iter().filter(|(prefix, _)| {
        let prefix = format!(" {prefix}");
        table.lines().any(|line| {
            line.match_indices(&prefix).any(|(index, _)| {
                let before = line[..index].chars().next_back();
                let after = line[index + 2..].chars().next();
                before.is_some_and(|c| c.is_ascii_digit()) && after.is_none_or(|c| c == ' ')
            })
        })
    });
    let used: Vec<String> = used.map(|(prefix, value)| format!("{prefix} = {value}")).collect();
    if used.is_empty() { String::new() } else { format!(" ({})", used.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row;

    #[test]
    fn variants_are_columns_and_threads_are_rows() {
        let rows = [
            row("a", 1, 1e6, 1e6, Status::Calibration),
            row("a", 16, 1e6, 1.25e6, Status::Predicted),
            row("b", 16, 2e6, 1e6, Status::Predicted),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let text = Figures::of(&rows, None).render(&Screen::default());
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["\u{2502}", "a", "\u{2502}", "b"], "{text}");
        assert_eq!(lines[3].join(" "), "1 \u{2502} 1.00 M 1.00 M input \u{2502}", "{text}");
        assert_eq!(
            lines[4].join(" "),
            "16 \u{2502} 1.25 M 1.00 M +25.0 % \u{2502} 1.00 M 2.00 M -50.0 %",
            "{text}"
        );
        assert_eq!(prefixes(&text), " (M = 10^6)");
    }

    #[test]
    fn rows_of_one_thread_count_are_lines() {
        let rows = [
            row("a", 4, 80.0, 100.0, Status::Predicted),
            row("b", 4, 80.0, 100.0, Status::Training),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let text = Figures::of(&rows, None).render(&Screen::default());
        assert!(text.contains("variant") && text.contains("training"), "{text}");
        assert_eq!(prefixes(&text), "");
    }
}
