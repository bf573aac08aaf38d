//! The arguments of `lockyard compare`.

use super::baselines::BaselineDirectory;
use super::common::Output;
use super::report::ReportFile;
use crate::values::{pairs, run_limit};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard compare before.json after.json\n  \
                  lockyard predict page-ref -m zen4-7840u -t 1,2 --save main\n  \
                  lockyard compare main after.json --threshold 10%\n  \
                  lockyard compare --ab ./old/lockyard ./new/lockyard -- \\\n      \
                  measure page-ref -t 1 -v xadd --seconds 0.01\n\n\
                  Exit codes: 0 no row is slower beyond the threshold, 1 some are,\n\
                  2 bad input or incomparable results, 130 or 143 after a signal.\n\
                  See docs/use/compare-in-ci.md.")]
pub(crate) struct Compare {
    /// Baseline: results of measure, predict or reproduce (--format json), or a name given to
    /// --save; with --ab a program
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Results to compare with the baseline; with --ab a program
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// A and B are programs: run both in each round, in random order, with the arguments after
    /// `--`
    #[arg(long, requires = "command")]
    pub(crate) ab: bool,
    /// With --ab: number of rounds, 6 to 200 [default: 15]
    #[arg(long, value_name = "N", value_parser = pairs, requires = "ab", allow_hyphen_values = true)]
    pub(crate) rounds: Option<u16>,
    /// With --ab: timeout of one run in seconds [default: 600]
    #[arg(
        long,
        value_name = "S",
        value_parser = run_limit,
        requires = "ab",
        allow_hyphen_values = true
    )]
    pub(crate) timeout: Option<Duration>,
    /// Exit with code 1 if there is evidence that a row is slower by more than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    pub(crate) threshold: String,
    /// Compare results even if hosts, machine files or seeds differ
    #[arg(long)]
    pub(crate) anyway: bool,
    #[command(flatten)]
    pub(crate) directory: BaselineDirectory,
    #[command(flatten)]
    pub(crate) report: ReportFile,
    #[command(flatten)]
    pub(crate) output: Output,
    /// With --ab: arguments of both programs
    #[arg(last = true, value_name = "ARGUMENTS", requires = "ab")]
    pub(crate) command: Vec<OsString>,
}
