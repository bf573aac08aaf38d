//! The arguments of `lockyard syscalls`.

use crate::values::{repeats, stalled_after, window};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lockyard syscalls fstat2 --tasks 1,2 --seconds 0.1 --repeats 3"
)]
pub(crate) struct SyscallsOptions {
    /// Experiment: open3, fstat2, access2 or stat2
    pub(crate) experiment: String,
    /// Task counts, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) tasks: String,
    /// Kind of tasks: processes, threads, both [default: processes; for will-it-scale: both]
    #[arg(long = "as", value_name = "KIND", value_enum, hide_possible_values = true)]
    pub(crate) kinds: Option<Kinds>,
    /// Seconds per sample
    #[arg(
        long,
        value_name = "S",
        default_value = "1",
        value_parser = window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Samples per cell, one in each round
    #[arg(
        long,
        value_name = "N",
        default_value_t = 6,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
    /// Placement: fill, siblings-last, spread, unpinned, or CPUs such as 0,2 [default:
    /// siblings-last]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Directory in which to create the file's temporary directory [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Measure only the kernel's lockref, not lockyard's
    #[arg(long)]
    pub(crate) kernel_only: bool,
    /// Timeout in seconds for the start and the end of a task
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        value_parser = stalled_after,
        allow_hyphen_values = true
    )]
    pub(crate) stalled_after: Duration,
    /// Output: table, json, csv, markdown, or will-it-scale (its columns, only for the kernel)
    #[arg(
        short,
        long,
        value_enum,
        default_value_t = SyscallsFormat::Table,
        hide_possible_values = true
    )]
    pub(crate) format: SyscallsFormat,
}

/// Kinds of tasks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kinds {
    Processes,
    Threads,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SyscallsFormat {
    Table,
    Json,
    Csv,
    Markdown,
    WillItScale,
}

#[cfg(target_os = "linux")]
impl SyscallsFormat {
    /// Returns the format of a document; `None` for `will-it-scale`, which prints only columns.
    pub(crate) fn document(self) -> Option<lockyard_results::render::Format> {
        use lockyard_results::render::Format;
        match self {
            SyscallsFormat::Table => Some(Format::Table),
            SyscallsFormat::Json => Some(Format::Json),
            SyscallsFormat::Csv => Some(Format::Csv),
            SyscallsFormat::Markdown => Some(Format::Markdown),
            SyscallsFormat::WillItScale => None,
        }
    }
}
