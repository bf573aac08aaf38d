//! Shares and errors, as the page shows them.

use lockyard_results::statistics::{median, quantile};

/// Returns a share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns the median and the 90th percentile of errors, as cells of a table.
pub(crate) fn errors(errors: &[f64]) -> String {
    let shown = |error: Option<f64>| error.map_or("-".to_owned(), percent);
    format!("{} | {}", shown(median(errors)), shown(quantile(errors, 0.9)))
}
