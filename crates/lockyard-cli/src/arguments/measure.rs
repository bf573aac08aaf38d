//! The arguments of `lockyard measure`.

use super::baselines::BaselineOptions;
use super::common::Output;
use super::report::ReportFile;
use super::rounds::{Rounds, Stall};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard measure page-ref -t 1,2 --repeats 3")]
pub(crate) struct Measure {
    /// Scenario name (fstat2, page-ref, spin-loop/same-node/embedded, ...) or path of a script
    pub(crate) scenario: String,
    /// Thread counts, e.g. 1-4,8
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
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
