//! The arguments of `lockyard compare`.

use super::common::Output;
use super::report::ReportFile;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no row is slower beyond the threshold, 1 some are,\n\
                  2 bad input or incomparable results, 130 or 143 after a signal.")]
pub(crate) struct Compare {
    /// Baseline: results of measure, predict or reproduce (--format json)
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// Results to compare with the baseline
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// Exit with code 1 if a row is slower by more than{n}this, with evidence
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    pub(crate) threshold: String,
    /// Compare results even if hosts, machine files or{n}seeds differ
    #[arg(long)]
    pub(crate) anyway: bool,
    #[command(flatten)]
    pub(crate) report: ReportFile,
    #[command(flatten)]
    pub(crate) output: Output,
}
