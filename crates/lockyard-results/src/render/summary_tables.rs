//! Tables of a summary, for a screen: the errors of each published table, and the pairs of variants
//! that a table compares.

use super::cells::per_cent;
use super::grid::{Column, Grid};
use super::screen::Screen;
use crate::summary::{Errors, Summary};
use crate::variant_ratios::{NEAR, Pairs};

/// Returns the table of errors, and the scores of pairs if some table compares any.
pub(super) fn render(summaries: &[Summary], screen: &Screen) -> String {
    if summaries.is_empty() {
        return String::new();
    }
    let heading = screen.heading("Error (predicted / published - 1)");
    let mut text = format!("{heading}\n\n{}\n\n", errors(summaries).render(screen));
    if let Some(pairs) = pairs(summaries) {
        let heading = screen.heading("Changes from one variant of a pair to the other");
        text.push_str(&format!("{heading}\n\n{}\n\n", pairs.render(screen)));
    }
    text
}

/// Errors of one model in a summary.
type Model = fn(&Summary) -> &Errors;

fn errors(summaries: &[Summary]) -> Grid {
    let texts = |of: &dyn Fn(&Summary) -> String| summaries.iter().map(of).collect();
    let mut columns = vec![Column::figures("", "cells", texts(&|of| of.cells.to_string()))];
    let share = |of: Option<f64>| match of {
        Some(large) if large >= 0.0995 => format!("{:.0} %", large * 100.0),
        Some(some) => per_cent(some),
        None => String::new(),
    };
    let models: [(&str, Model); 2] = [("simulated", |of| &of.model), ("trivial", |of| &of.trivial)];
    for (name, model) in models {
        columns.extend([
            Column::figures(name, "p50", texts(&|of| share(model(of).median_abs_error))),
            Column::figures(name, "p90", texts(&|of| share(model(of).p90_abs_error))),
        ]);
    }
    // A model without errors names no winner.
    let right = |of: &Summary, errors: &Errors| {
        let known = errors.median_abs_error.is_some() && of.winners_total > 0;
        if known { errors.winners_right.to_string() } else { String::new() }
    };
    let total = |of: &Summary| match of.winners_total {
        0 => String::new(),
        some => some.to_string(),
    };
    columns.extend([
        Column::figures("right winners", "sim.", texts(&|of| right(of, &of.model))),
        Column::figures("right winners", "triv.", texts(&|of| right(of, &of.trivial))),
        Column::figures("right winners", "of", texts(&total)),
    ]);
    let tables = Column::text("table", texts(&|of| of.table.clone()));
    Grid { keys: vec![tables], columns }
}

/// Returns the scores of the tables that compare pairs; `None` without one. The summary of all
/// tables would repeat them.
fn pairs(summaries: &[Summary]) -> Option<Grid> {
    let scored = summaries.iter().filter(|of| of.table != "all");
    let scored: Vec<_> = scored.filter_map(|of| Some((&of.table, of.pairs.as_ref()?))).collect();
    if scored.is_empty() {
        return None;
    }
    let tables = scored.iter().map(|(table, _)| (*table).clone()).collect();
    let count = |of: &dyn Fn(&Pairs) -> usize| {
        scored.iter().map(|(_, pairs)| of(pairs).to_string()).collect()
    };
    let near = format!("within {} points", NEAR * 100.0);
    let columns = vec![
        Column::figures("", "pairs", count(&|of| of.total)),
        Column::figures("right direction", "sim.", count(&|of| of.model.right)),
        Column::figures("right direction", "triv.", count(&|of| of.trivial.right)),
        Column::figures(&near, "sim.", count(&|of| of.model.near)),
        Column::figures(&near, "triv.", count(&|of| of.trivial.near)),
    ];
    Some(Grid { keys: vec![Column::text("table", tables)], columns })
}
