//! Options of the commands that measure in rounds.

use crate::values::{repeats, stalled_after, window};
use clap::Args;
use std::time::Duration;

// Options of `measure`, and of studies. A doc comment here would become the command's help text.
#[derive(Debug, Args)]
#[expect(missing_docs, reason = "it would become the command's help text")]
pub struct Rounds {
    /// Seconds per round of one cell
    #[arg(
        long,
        value_name = "S",
        default_value = "0.1",
        value_parser = window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Number of rounds, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 9,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
}

// For the same commands as `Rounds`, but further down in the help.
#[derive(Debug, Args)]
#[expect(missing_docs, reason = "it would become the command's help text")]
pub struct Stall {
    /// Abort a run that makes no progress for this many seconds
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        value_parser = stalled_after,
        allow_hyphen_values = true
    )]
    pub(crate) stalled_after: Duration,
}
