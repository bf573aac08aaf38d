//! The arguments of `lockyard measure`.

use super::baselines::BaselineOptions;
use super::common::Output;
use super::report::ReportFile;
use super::rounds::{Rounds, Stall};
use crate::values::measuring;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard measure page-ref -t 1,2 --repeats 3\n  \
                  lockyard measure --standard=2 --out my-machine.json")]
pub(crate) struct Measure {
    /// Scenario name (fstat2, page-ref, spin-loop/same-node/embedded, ...) or path of a script
    #[arg(required_unless_present = "standard", conflicts_with = "standard")]
    pub(crate) scenario: Option<String>,
    /// Thread counts, e.g. 1-4,8 [default: 1, 2, 4, ... up to the number of CPUs]
    #[arg(
        short,
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        conflicts_with = "standard"
    )]
    pub(crate) threads: Option<String>,
    /// Measure what describes this host instead, in about 4 minutes (=S for S seconds): a file to
    /// send (see docs/use/send-your-machine.md)
    #[arg(
        long,
        value_name = "S",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "240",
        value_parser = measuring,
        requires = "out"
    )]
    pub(crate) standard: Option<Duration>,
    /// With --standard: write the file here
    #[arg(long, value_name = "FILE", requires = "standard")]
    pub(crate) out: Option<PathBuf>,
    /// With --out: replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Variant to measure; repeatable [default: all]
    #[arg(short, long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Also measure other libraries' locks; =LIST for some, e.g. =spin,std-mutex (see
    /// docs/measure/peers.md)
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = lockyard_measure::peers::ALL
    )]
    pub(crate) peers: Option<String>,
    /// Also measure the lock of a shared object, e.g. ./mine.so; repeatable (see
    /// examples/own-lock-c/mine.c)
    #[arg(long = "lock", value_name = "FILE")]
    pub(crate) locks: Vec<String>,
    #[command(flatten)]
    pub(crate) rounds: Rounds,
    /// Placement: fill, siblings-last, spread, unpinned, or CPUs such as 0,2 [default: as the
    /// script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Also print each figure's ratio to this variant's, round by round
    #[arg(long, value_name = "NAME")]
    pub(crate) relative_to: Option<String>,
    /// Also print CPU time by phase (working, waiting, holding, ...) and by region, from a
    /// separate pass
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also draw a histogram of the waits
    #[arg(long)]
    pub(crate) histogram: bool,
    /// Also fit the Universal Scalability Law: contention, coherence, and the number of threads
    /// beyond which throughput falls
    #[arg(long)]
    pub(crate) fit: bool,
    #[command(flatten)]
    pub(crate) baselines: BaselineOptions,
    #[command(flatten)]
    pub(crate) stall: Stall,
    #[command(flatten)]
    pub(crate) report: ReportFile,
    #[command(flatten)]
    pub(crate) output: Output,
}
