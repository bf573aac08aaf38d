//! The arguments of `lockyard record`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "The exit code is the program's.\nSee docs/use/predict-your-program.md.\n\n\
                  Examples:\n  lockyard record --no-host --out sort.recording -- sort /etc/passwd"
)]
pub(crate) struct Record {
    /// Write the recording to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Measure this host after the program has run, for this many seconds, 1 to 3600; otherwise it
    /// is measured for 10, once a day
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
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
