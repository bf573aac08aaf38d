//! What was looked at beside the figures, as a table: whether all threads ran, between whom locks
//! were handed over, and what the processor counted. Columns in which no row has anything are left
//! out.

use super::cells::{figure, new_table};
use crate::row::{Detail, Row};
use comfy_table::{Table, TableStyle};

/// A column: its title, and what is in it.
struct Column {
    title: &'static str,
    cell: fn(&Row) -> Option<String>,
}

fn number(row: &Row, name: &str) -> Option<f64> {
    match row.detail.get(name)? {
        Detail::Number(number) => Some(*number),
        Detail::Count(count) => Some(*count as f64),
        _ => None,
    }
}

fn share(row: &Row, name: &str) -> Option<String> {
    Some(format!("{:.1} %", number(row, name)? * 100.0))
}

/// A share, where there is more than none.
fn some_share(row: &Row, name: &str) -> Option<String> {
    number(row, name).filter(|share| *share > 0.0).and_then(|_| share(row, name))
}

fn per_operation(row: &Row, name: &str) -> Option<String> {
    let value = number(row, name)?;
    Some(if value < 10.0 { format!("{value:.4}") } else { figure(value) })
}

const COLUMNS: [Column; 14] = [
    Column {
        title: "all ran",
        cell: |row| {
            let least = number(row, "all_threads_ran_least")? * 100.0;
            let most = number(row, "all_threads_ran_most")? * 100.0;
            Some(format!("{least:.1} .. {most:.1} %"))
        },
    },
    Column {
        title: "preempted",
        cell: |row| number(row, "preemptions").map(|count| format!("{count:.0}")),
    },
    Column { title: "from same thread", cell: |row| share(row, "handover_same_thread") },
    Column { title: "same CPU", cell: |row| share(row, "handover_same_cpu") },
    Column { title: "same core", cell: |row| some_share(row, "handover_same_core") },
    Column { title: "same complex", cell: |row| some_share(row, "handover_same_complex") },
    Column { title: "same socket", cell: |row| some_share(row, "handover_same_socket") },
    Column { title: "remote", cell: |row| some_share(row, "handover_remote") },
    Column { title: "recording", cell: |row| share(row, "handover_recording") },
    Column { title: "cycles / op", cell: |row| per_operation(row, "cycles_per_operation") },
    Column {
        title: "instructions / op",
        cell: |row| per_operation(row, "instructions_per_operation"),
    },
    Column {
        title: "per cycle",
        cell: |row| number(row, "instructions_per_cycle").map(|n| format!("{n:.2}")),
    },
    Column {
        title: "cache references / op",
        cell: |row| per_operation(row, "cache_references_per_operation"),
    },
    Column {
        title: "cache misses / op",
        cell: |row| per_operation(row, "cache_misses_per_operation"),
    },
];

/// The table; `None` if no row has anything.
pub(super) fn render(rows: &[&Row], preset: &TableStyle) -> Option<Table> {
    let there: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| rows.iter().any(|row| (column.cell)(row).is_some()))
        .collect();
    if there.is_empty() {
        return None;
    }
    let mut header = vec!["variant", "threads"];
    header.extend(there.iter().map(|column| column.title));
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let mut cells = vec![row.variant.clone(), row.threads_text()];
        cells.extend(there.iter().map(|column| (column.cell)(row).unwrap_or_default()));
        table.add_row(cells);
    }
    Some(table)
}
