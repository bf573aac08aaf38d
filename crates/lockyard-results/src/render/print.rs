//! Cells of columns, and the tables that are loops over columns.

pub use super::cell_format::{Medium, Print};
use super::cells::new_table;
use super::columns::{COLUMNS, Column, Group, Shown};
use crate::row::{Row, Status};
use comfy_table::{Table, TableStyle};

impl Column {
    /// Returns the text of a row. `None` if it is not known.
    pub fn cell(&self, row: &Row, medium: Medium) -> Option<String> {
        let values: Vec<Option<f64>> = self.values.iter().map(|(_, of)| of(row)).collect();
        let text = self.print.text(&values, medium);
        let is_input = medium == Medium::Screen && row.status == Status::Calibration;
        match self.print {
            Print::Error => text.or_else(|| is_input.then(|| "input".to_owned())),
            _ => text,
        }
    }

    /// Returns true if a table with these rows has the column.
    pub(super) fn is_shown(&self, rows: &[&Row]) -> bool {
        let any = |of: &dyn Fn(&Row) -> bool| rows.iter().any(|row| of(row));
        let is_known = |row: &Row| self.cell(row, Medium::Document).is_some();
        let is_positive = |row: &Row| {
            self.values.iter().any(|(_, value)| value(row).is_some_and(|value| value > 0.0))
        };
        match self.shown {
            Shown::Always => true,
            Shown::IfKnown => any(&is_known),
            Shown::IfPositive => any(&is_positive),
            Shown::BesidePublished => any(&|row| is_known(row) || row.published.is_some()),
        }
    }
}

/// Tables of details, with their titles.
pub(super) const DETAILS: [(&str, Group); 2] =
    [("Threads and waits", Group::Threads), ("Presence, hand-overs, counters", Group::Probes)];

/// Returns the columns of the figures themselves: all but details.
pub fn figures() -> impl Iterator<Item = &'static Column> {
    use Group::{Compared, Measured, Predicted, Published};
    let groups = [Published, Predicted, Compared, Measured];
    COLUMNS.iter().filter(move |column| groups.contains(&column.group))
}

/// Returns the table of a group, a line a row. `None` if it has no column or no row.
pub(super) fn table(group: Group, rows: &[&Row], preset: &TableStyle) -> Option<Table> {
    let of_group = COLUMNS.iter().filter(|column| column.group == group);
    let columns: Vec<&Column> = of_group.filter(|column| column.is_shown(rows)).collect();
    if columns.is_empty() || rows.is_empty() {
        return None;
    }
    let mut header = vec!["variant", "threads"];
    header.extend(columns.iter().map(|column| column.title));
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let mut cells = vec![row.key.variant.clone(), row.key.threads_text()];
        let of_row = |column: &&Column| column.cell(row, Medium::Document).unwrap_or_default();
        cells.extend(columns.iter().map(of_row));
        table.add_row(cells);
    }
    Some(table)
}

/// Returns the table of CPU time by phase, for the rows that have it.
pub(super) fn phases(rows: &[&Row], preset: &TableStyle) -> Option<Table> {
    let has_phases = |row: &&&Row| {
        let measured = row.details.measured.as_ref();
        measured.is_some_and(|measured| measured.cpu_time.is_some())
    };
    let rows: Vec<&Row> = rows.iter().filter(has_phases).copied().collect();
    table(Group::Phases, &rows, preset)
}

#[cfg(test)]
mod tests {
    use super::super::cell_format::{percent, sleeps};
    use super::super::cells::figure;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn figures_are_readable() {
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(999.96), "1000.0");
        assert_eq!(figure(1_234_567.8), "1 234 568");
        assert_eq!(percent(-0.0312), "-3.1 %");
        let found = [0.0, 2.5e-8, 1.26e-6, 0.00123, 0.5, 1.04, 12.3].map(sleeps);
        assert_eq!(found, ["0", "< 0.000001", "0.0000013", "0.0012", "0.50", "1.0", "12.3"]);
    }

    #[test]
    fn no_two_columns_of_csv_have_one_name() {
        let values = COLUMNS.iter().flat_map(|column| column.values);
        let names = values.map(|(name, _)| *name).filter(|name| !name.is_empty());
        let mut known: HashSet<&str> = HashSet::new();
        names.for_each(|name| assert!(known.insert(name), "{name} twice"));
    }

    #[test]
    fn an_interval_is_empty_unless_both_ends_are_known() {
        let of = |values| Print::Interval.text(values, Medium::Document);
        assert_eq!(of(&[Some(1.0), Some(2.0)]), Some("1.0 .. 2.0".to_owned()));
        assert_eq!(of(&[Some(1.0), None]), None);
        assert_eq!(of(&[None, Some(2.0)]), None);
    }
}
