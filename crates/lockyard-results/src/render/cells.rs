//! Tables for readers, and the format of their figures.

use comfy_table::{CellAlignment, Table, TableStyle};

/// Returns a table without rows. The first `text_columns` columns hold text; the others hold
/// right-aligned figures.
pub fn new_table(preset: &TableStyle, header: &[&str], text_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_style(*preset);
    table.set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= text_columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Formats a figure, with spaces between groups of three digits.
pub fn figure(value: f64) -> String {
    if value < 1000.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a share of one in per cent.
pub(super) fn per_cent(value: f64) -> String {
    lockyard_support::share(value)
}
