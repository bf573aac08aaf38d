//! The arguments of `lockyard measure-tables`.

use super::baselines::BaselineOptions;
use super::common::Output;
use super::rounds::{Rounds, Stall};
use crate::values::objects;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "See docs/measure/measure-tables.md.\n\n\
                  Examples:\n  lockyard measure-tables counter -t 1,2 --seconds 0.1 --repeats 3")]
pub(crate) struct MeasureTables {
    /// Groups: id-read, id-lock, connection-read, connection-hold, cache-hit, counter, reclaim
    /// [default: all]
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Thread counts, e.g. 1-4,8 [default: 1, 2, 4, ... up to the number of CPUs]
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Percentages of reads, e.g. 100,99,90; the other operations write [default: each group's
    /// own]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) reads: Option<String>,
    /// Measure only these, e.g. id-table-rcu,papaya [default: all of a group]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) only: Option<String>,
    /// Print each figure's ratio to this one's, round by round [default: the fastest that is not
    /// lockyard's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) relative_to: Option<String>,
    /// Number of objects in a table
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = objects,
        allow_hyphen_values = true
    )]
    pub(crate) objects: u32,
    #[command(flatten)]
    pub(crate) rounds: Rounds,
    /// Placement: fill, siblings-last, spread, unpinned, or CPUs such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "siblings-last", allow_hyphen_values = true)]
    pub(crate) placement: String,
    #[command(flatten)]
    pub(crate) baselines: BaselineOptions,
    #[command(flatten)]
    pub(crate) stall: Stall,
    #[command(flatten)]
    pub(crate) output: Output,
}
