//! CPU time of measured rows by phase, as a table for readers.

use super::cells::{new_table, per_cent};
use crate::phase::Phase;
use crate::row::Row;
use comfy_table::{Table, TableStyle};

/// Returns a table with a line for each row with attributed CPU time; `None` if there is no such
/// row.
pub(super) fn table(rows: &[&Row], preset: &TableStyle) -> Option<Table> {
    let mut header = vec!["variant", "threads"];
    header.extend(Phase::NAMES);
    header.extend(["CPU time, s", "samples", "sampler", "cost"]);
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let measured = row.details.measured.as_ref();
        let Some(time) = measured.and_then(|measured| measured.cpu_time.as_ref()) else { continue };
        let share = |name: &&str| {
            let found = time.phases.iter().find(|phase| phase.phase == *name)?;
            let (share, half) = (found.share * 100.0, found.half_width * 100.0);
            Some(format!("{share:.1} \u{b1} {half:.1} %"))
        };
        let Some(shares) = Phase::NAMES.iter().map(share).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let mut cells = vec![row.key.variant.clone(), row.key.threads_text()];
        cells.extend(shares);
        cells.push(format!("{:.2}", time.seconds));
        cells.push(time.samples.to_string());
        cells.push(per_cent(time.sampler_share));
        cells.push(time.cost_ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default());
        table.add_row(cells);
    }
    (!table.is_empty()).then_some(table)
}
