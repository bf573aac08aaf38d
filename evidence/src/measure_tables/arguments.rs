//! The arguments of `cargo evidence measure-tables`.

use super::MOST_OBJECTS;
use clap::Args;
use lockyard_cli::study::{BaselineOptions, Output, Rounds, Stall};
use lockyard_support::printable;

#[derive(Debug, Args)]
#[expect(missing_docs, reason = "it would become the help text")]
#[command(after_help = "See docs/measure/measure-tables.md.\n\n\
                  Examples:\n  cargo evidence measure-tables counter -t 1,2 --seconds 0.1 --repeats 3")]
pub struct MeasureTables {
    /// Groups: id-read, id-lock, connection-read, connection-hold, cache-hit, counter, reclaim
    /// [default: all]
    #[arg(value_name = "GROUP")]
    pub groups: Vec<String>,
    /// Thread counts, e.g. 1-4,8 [default: 1, 2, 4, ... up to the number of CPUs]
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub threads: Option<String>,
    /// Percentages of reads, e.g. 100,99,90; the other operations write [default: each group's
    /// own]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub reads: Option<String>,
    /// Measure only these, e.g. id-table-rcu,papaya [default: all of a group]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub only: Option<String>,
    /// Print each figure's ratio to this one's, round by round [default: the fastest that is not
    /// lockyard's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub relative_to: Option<String>,
    /// Number of objects in a table
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = objects,
        allow_hyphen_values = true
    )]
    pub objects: u32,
    #[command(flatten)]
    pub rounds: Rounds,
    /// Placement: fill, siblings-last, spread, unpinned, or CPUs such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "siblings-last", allow_hyphen_values = true)]
    pub placement: String,
    #[command(flatten)]
    pub baselines: BaselineOptions,
    #[command(flatten)]
    pub stall: Stall,
    #[command(flatten)]
    pub output: Output,
}

/// Reads a number of objects in a table.
fn objects(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=MOST_OBJECTS).contains(number));
    number.ok_or_else(|| format!("is {}; allowed: 1 to {MOST_OBJECTS}", printable(text)))
}
