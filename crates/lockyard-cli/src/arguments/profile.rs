//! The arguments of `lockyard profile`.

use super::report::ReportFile;
use crate::values::{every, top};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "The report goes to standard error, or to a file. The exit code is the \
                  program's.\nSee docs/use/profile-a-program.md.\n\n\
                  Examples:\n  lockyard profile -- sort /etc/passwd\n  \
                  lockyard profile --format json --out locks.json -- sort /etc/passwd")]
pub(crate) struct Profile {
    /// Write the report to a file instead of standard error
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Output: table, json (with --out)
    #[arg(
        short,
        long,
        value_enum,
        default_value_t = ProfileFormat::Table,
        hide_possible_values = true
    )]
    pub(crate) format: ProfileFormat,
    /// Maximum number of locks, or groups of locks, in a table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = top, allow_hyphen_values = true)]
    pub(crate) top: usize,
    /// Time one hold in N on average, after each thread's first ones; 1 times all, and all waits
    #[arg(
        long,
        value_name = "N",
        default_value_t = 128,
        value_parser = every,
        allow_hyphen_values = true
    )]
    pub(crate) every: u64,
    #[command(flatten)]
    pub(crate) report: ReportFile,
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    Table,
    Json,
}
