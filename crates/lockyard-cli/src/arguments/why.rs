//! The arguments of `lockyard why`.

use super::record::{HostOptions, Several};
use crate::values::jobs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "The program runs twice or more. Its output goes to standard error, and the \
                  answer to standard output.\nSee docs/use/why.md.\n\nExamples:\n  \
                  lockyard why --no-host -m skylake-client-4c -- sort /etc/passwd"
)]
pub(crate) struct Why {
    /// Machine names or paths of machine files; host is this one [default: host, and a server]
    #[arg(short, long = "machine", value_name = "NAME|FILE", value_delimiter = ',')]
    pub(crate) machines: Vec<String>,
    /// Thread counts to predict, e.g. 8,24,48,96 [default: 1, 2, 4, ... up to all of each machine]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) several: Several,
    /// Also run the program with lockyard's mutex preloaded and without, in turn, 5 times each
    #[arg(long)]
    pub(crate) prove: bool,
    /// The preload library for --prove [default: liblockyard_mutex.so beside the command, or in
    /// /usr/local/lib]
    #[arg(long, value_name = "FILE", requires = "prove")]
    pub(crate) mutex_library: Option<PathBuf>,
    /// Also write a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Also write all results as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also keep the recording, for lockyard predict
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Replace the files of --json and --recording if they exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Predict even if the replay of the recorded run is wrong, or is not possible
    #[arg(long)]
    pub(crate) ungated: bool,
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// Cells to simulate in parallel [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
