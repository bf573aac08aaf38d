//! The arguments of `lockyard predict`.

use super::baselines::BaselineOptions;
use super::common::Common;
use super::report::Pages;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard predict fstat2 -m cascade-lake-2s24c2t -t 1,24,96\n  \
                  lockyard predict fstat2 -m zen4-7840u,cascade-lake-2s24c2t -t 1,8")]
pub(crate) struct Predict {
    /// Scenario name (open3, fstat2, page-ref, ...), path of a script or of a recording; - reads a
    /// script from standard input
    pub(crate) scenario: String,
    /// More recordings of the same program, with other numbers of threads
    #[arg(value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Machine names or paths of machine files; host is that of a recording
    #[arg(
        short,
        long = "machine",
        value_name = "NAME|FILE",
        value_delimiter = ',',
        required = true
    )]
    pub(crate) machines: Vec<String>,
    /// Thread counts, e.g. 1-4,8,16-96:16 [default: 1, 2, 4, ... up to all of the machine]
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Variant to run; repeatable [default: all]
    #[arg(short, long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Placement: fill, siblings-last, spread, unpinned, or hardware threads such as
    /// 0,24 [default: as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Explain each prediction: cycles by phase, lock and line, the dominant cost, the gain of an
    /// ideal lock
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also print CPU time by region, as a profiler does, beside the published listing
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also name the input whose error of 20 % would change each figure most (about 50 simulations
    /// per cell)
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Also fit the Universal Scalability Law: contention, coherence, and the number of threads
    /// beyond which throughput falls
    #[arg(long)]
    pub(crate) fit: bool,
    /// Also write a trace of each cell's beginning for a viewer: FILE.pftrace for Perfetto,
    /// FILE.json for Chrome's format; an earlier trace is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Machine of a recording's host, in place of the one that was measured with it
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) host_machine: Option<String>,
    /// Rates of the recorded program without the recorder: CSV with the columns
    /// threads,operations_per_second
    #[arg(long, value_name = "FILE")]
    pub(crate) rates: Option<PathBuf>,
    /// Predict a recorded program even if the replay of its recorded run is wrong, or is not
    /// possible
    #[arg(long)]
    pub(crate) ungated: bool,
    /// Also predict a recorded program with each other lock
    #[arg(long)]
    pub(crate) locks: bool,
    /// Also predict a recorded program with its most held lock held half as long, or split; and
    /// with each lock in a cache line of its own
    #[arg(long)]
    pub(crate) what_if: bool,
    /// Also predict a recorded program whose requests come from outside, this many a second, at
    /// random times: throughput, how busy its threads are, how long requests wait
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) open: Option<String>,
    #[command(flatten)]
    pub(crate) baselines: BaselineOptions,
    #[command(flatten)]
    pub(crate) pages: Pages,
    #[command(flatten)]
    pub(crate) common: Common,
}
