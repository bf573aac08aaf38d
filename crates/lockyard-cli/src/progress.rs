//! Progress of long work, on standard error when that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of `cells` cells.
pub(crate) fn bar(cells: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cells as u64), ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {pos}/{len} cells simulated, {elapsed}")
    {
        bar.set_style(style);
    }
    bar
}
