//! The arguments of `lockyard record`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "The exit code is the program's.\nSee docs/use/predict-your-program.md.\n\n\
                  Examples:\n  \
                  lockyard record --no-host --out sort.recording -- sort /etc/passwd\n  \
                  lockyard record --no-host --out s.recording --threads 1,2 -- \\\n      \
                  sort --parallel={threads} /etc/passwd"
)]
pub(crate) struct Record {
    /// Write the recording to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) host: HostOptions,
    #[command(flatten)]
    pub(crate) several: Several,
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

// Host of a recording. A doc comment here would become the command's help text.
#[derive(Debug, Args)]
pub(crate) struct HostOptions {
    /// Measure this host after the program has run, for this many seconds (1 to 3600). Without this
    /// option: for 10 seconds, at most once a day
    #[arg(
        long,
        value_name = "S",
        value_parser = crate::values::measuring,
        allow_hyphen_values = true,
        conflicts_with_all = ["host_machine", "no_host"]
    )]
    pub(crate) host_seconds: Option<Duration>,
    /// Machine file of this host, instead of measuring it
    #[arg(long, value_name = "FILE", conflicts_with = "no_host")]
    pub(crate) host_machine: Option<PathBuf>,
    /// Do not measure this host: predictions are then not gated
    #[arg(long)]
    pub(crate) no_host: bool,
}

// Runs with several numbers of threads. A doc comment here would become the command's help text.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// Run the program once for each of these numbers of threads, e.g. 1,2,4: {threads} in an
    /// argument or in --set stands for the number
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Variable of the program's environment, with {threads} for the number; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "threads")]
    pub(crate) set: Vec<OsString>,
    /// Run it without the recorder first, and take its rate from its output: a regular expression
    /// with one group, which is a number of operations a second
    #[arg(long, value_name = "REGEX")]
    pub(crate) rate_from: Option<String>,
}
