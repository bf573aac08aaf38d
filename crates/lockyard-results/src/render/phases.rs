//! Where the CPU time of measured rows went, for people.

use super::cells::new_table;
use crate::phase::Phase;
use crate::row::{Detail, Row};
use comfy_table::{Table, TableStyle};

/// A line for each row whose CPU time was attributed; `None` if there is none.
pub(super) fn table(rows: &[&Row], preset: &TableStyle) -> Option<Table> {
    let mut header = vec!["variant", "threads"];
    header.extend(Phase::NAMES);
    header.extend(["CPU time, s", "samples", "sampler", "cost"]);
    let mut table = new_table(preset, &header, 1);
    for row in rows {
        let number = |name: &str| match row.detail.get(name) {
            Some(Detail::Number(number)) => Some(*number),
            Some(Detail::Count(count)) => Some(*count as f64),
            _ => None,
        };
        let share = |phase: &&str| {
            let share = number(&format!("cpu_share_{phase}"))?;
            let half = number(&format!("cpu_share_half_width_{phase}"))?;
            Some(format!("{:.1} \u{b1} {:.1} %", share * 100.0, half * 100.0))
        };
        let Some(shares) = Phase::NAMES.iter().map(share).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let mut cells = vec![row.variant.clone(), row.threads_text()];
        cells.extend(shares);
        let shown =
            |name: &str, print: fn(f64) -> String| number(name).map(print).unwrap_or_default();
        cells.push(shown("cpu_seconds", |seconds| format!("{seconds:.2}")));
        cells.push(shown("cpu_samples", |samples| format!("{samples:.0}")));
        cells.push(shown("cpu_sampler_share", |share| format!("{:.1} %", share * 100.0)));
        cells.push(shown("cpu_cost_ratio", |ratio| format!("{ratio:.2}")));
        table.add_row(cells);
    }
    (!table.is_empty()).then_some(table)
}
