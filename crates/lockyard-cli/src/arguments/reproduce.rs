//! The arguments of `lockyard reproduce`.

use super::common::Common;
use super::report::Pages;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard reproduce\n  lockyard reproduce fstat2 --no-measure")]
pub(crate) struct Reproduce {
    /// Tables or experiments, e.g. page-ref or fstat2 [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Do not measure on this host
    #[arg(long)]
    pub(crate) no_measure: bool,
    /// Show the training tables instead: predictions of the figures to which the simulated
    /// machines were fitted
    #[arg(long, conflicts_with_all = ["experiments", "published"])]
    pub(crate) training: bool,
    /// Print every cell, not only the summary
    #[arg(long)]
    pub(crate) cells: bool,
    /// Also print the sources of the published figures and the origin of the others
    #[arg(long)]
    pub(crate) sources: bool,
    /// Also write results.json, results.csv and results.md to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Read published tables (*.csv) from this directory instead of the shipped ones
    #[arg(long, value_name = "DIR")]
    pub(crate) published: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pages: Pages,
    #[command(flatten)]
    pub(crate) common: Common,
}
