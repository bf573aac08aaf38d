//! The arguments of `lockyard sweep` and `lockyard merge`.

use super::report::ReportFile;
use crate::values::{jobs, shard};
use clap::{Args, ValueEnum};
use lockyard_sweep::sweep::Shard;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard sweep plan.toml --count\n  \
                  lockyard sweep plan.toml --out rows\n  \
                  lockyard sweep plan.toml --out rows --shard 2/8\n\n\
                  A plan lists scenarios, variants, machines, thread counts, seeds and parameters.\n\
                  Rows that are in DIR are not computed again. See docs/use/sweeps.md.")]
pub(crate) struct Sweep {
    /// Plan file
    pub(crate) plan: PathBuf,
    /// Directory for the rows; several processes can share it
    #[arg(long, value_name = "DIR", required_unless_present = "count")]
    pub(crate) out: Option<PathBuf>,
    /// Part of the cells, such as 2/8: the second of eight [default: all]
    #[arg(long, value_name = "I/N", value_parser = shard, allow_hyphen_values = true)]
    pub(crate) shard: Option<Shard>,
    /// Print the number of cells, and compute nothing
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) page: ReportFile,
    /// Cells to simulate in parallel [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
}

impl Sweep {
    /// Returns the number of cells that are simulated at the same time.
    pub(crate) fn jobs(&self) -> usize {
        match self.jobs {
            Some(jobs) => usize::from(jobs),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard merge rows --out rows.csv\n  \
                  lockyard merge rows --out rows.json --report rows.html\n\n\
                  Exit codes: 0 all rows are there, 1 some are missing or damaged (the file has\n\
                  the others), 2 bad input.")]
pub(crate) struct Merge {
    /// Directory of a sweep
    pub(crate) directory: PathBuf,
    /// File for all rows
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Format: json, csv [default: by the name of the file]
    #[arg(short, long, value_enum, hide_possible_values = true)]
    pub(crate) format: Option<MergeFormat>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) page: ReportFile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MergeFormat {
    Json,
    Csv,
}
