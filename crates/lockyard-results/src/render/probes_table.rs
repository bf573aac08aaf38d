//! Table of the figures recorded during a measurement: presence of the threads, hand-overs of
//! locks, and hardware counters. Empty columns are left out.

use super::cells::{figure, new_table, per_cent};
use crate::details::{CountersDetail, HandoversDetail, PresenceDetail};
use crate::row::Row;
use comfy_table::{Table, TableStyle};

/// Column of the table: its title, and a function that returns the text for a row.
struct Column {
    title: &'static str,
    cell: fn(&Row) -> Option<String>,
}

fn presence(row: &Row) -> Option<PresenceDetail> {
    row.details.measured.as_ref()?.presence
}

fn handovers(row: &Row) -> Option<HandoversDetail> {
    row.details.measured.as_ref()?.handovers
}

fn counters(row: &Row) -> Option<CountersDetail> {
    row.details.measured.as_ref()?.counters
}

fn share(share: Option<f64>) -> Option<String> {
    share.map(per_cent)
}

/// Returns a share as text if it is greater than zero.
fn some_share(of: Option<f64>) -> Option<String> {
    share(of.filter(|share| *share > 0.0))
}

fn per_operation(value: Option<f64>) -> Option<String> {
    let value = value?;
    Some(if value < 10.0 { format!("{value:.4}") } else { figure(value) })
}

const COLUMNS: [Column; 14] = [
    Column {
        title: "all ran",
        cell: |row| {
            let presence = presence(row)?;
            let least = presence.all_threads_ran_least * 100.0;
            let most = presence.all_threads_ran_most * 100.0;
            Some(format!("{least:.1} .. {most:.1} %"))
        },
    },
    Column { title: "preempted", cell: |row| Some(presence(row)?.preemptions?.to_string()) },
    Column { title: "from same thread", cell: |row| share(handovers(row)?.same_thread) },
    Column { title: "same CPU", cell: |row| share(handovers(row)?.same_cpu) },
    Column { title: "same core", cell: |row| some_share(handovers(row)?.same_core) },
    Column { title: "same complex", cell: |row| some_share(handovers(row)?.same_complex) },
    Column { title: "same socket", cell: |row| some_share(handovers(row)?.same_socket) },
    Column { title: "remote", cell: |row| some_share(handovers(row)?.remote) },
    Column { title: "recording", cell: |row| share(handovers(row)?.recording) },
    Column { title: "cycles / op", cell: |row| per_operation(counters(row)?.cycles_per_operation) },
    Column {
        title: "instructions / op",
        cell: |row| per_operation(counters(row)?.instructions_per_operation),
    },
    Column {
        title: "per cycle",
        cell: |row| Some(format!("{:.2}", counters(row)?.instructions_per_cycle?)),
    },
    Column {
        title: "cache references / op",
        cell: |row| per_operation(counters(row)?.cache_references_per_operation),
    },
    Column {
        title: "cache misses / op",
        cell: |row| per_operation(counters(row)?.cache_misses_per_operation),
    },
];

/// Returns the table; `None` if every column is empty.
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
        let mut cells = vec![row.key.variant.clone(), row.key.threads_text()];
        cells.extend(there.iter().map(|column| (column.cell)(row).unwrap_or_default()));
        table.add_row(cells);
    }
    Some(table)
}
