//! The arguments of `lockyard lock-call-path`.

use super::common::Output;
use crate::values::{call_window, repeats};
use clap::Args;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Ways to call: inlined, direct, through a table, patched.\n\
                  See docs/measure/lock-call-path.md.\n\n\
                  Examples:\n  lockyard lock-call-path --lock ticket --repeats 3")]
pub(crate) struct CallPath {
    /// Kind of lock: ticket, queued, ... [default: ticket]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    pub(crate) lock: Option<String>,
    /// Approximate seconds per round, for each way to call the lock
    #[arg(
        long,
        value_name = "S",
        default_value = "0.002",
        value_parser = call_window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Number of rounds, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 101,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
    #[command(flatten)]
    pub(crate) output: Output,
}
