//! The arguments of `lockyard scenarios`.

use crate::values::{between, held, percent};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard scenarios new --held 300 --every 2000 --out mine.toml\n  \
                  lockyard scenarios show fstat2")]
pub(crate) struct Scenarios {
    #[command(subcommand)]
    pub(crate) command: Option<ScenariosCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScenariosCommand {
    /// List the shipped scenarios
    #[command(after_help = "Examples:\n  lockyard scenarios list")]
    List,
    /// Print the script of a scenario
    #[command(after_help = "Examples:\n  lockyard scenarios show fstat2 > fstat2.toml")]
    Show {
        /// Name of a shipped scenario
        scenario: String,
    },
    /// Write a commented script to edit, for a program with one lock
    New(NewScenario),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lockyard scenarios new --held 300 --every 2000\n  \
                  lockyard scenarios new --held 300 --every 2000 --out mine.toml\n  \
                  lockyard scenarios new --readers 95 --out readers.toml")]
pub(crate) struct NewScenario {
    /// Nanoseconds of work under the lock, per acquisition
    #[arg(
        long,
        value_name = "NS",
        default_value = "300",
        value_parser = held,
        allow_hyphen_values = true
    )]
    pub(crate) held: f64,
    /// Nanoseconds between two acquisitions of one thread, if no thread waits: the work under the
    /// lock plus the work outside it
    #[arg(
        long,
        value_name = "NS",
        default_value = "2000",
        value_parser = between,
        allow_hyphen_values = true
    )]
    pub(crate) every: f64,
    /// Percentage of the acquisitions that only read: the script then has a reader-writer lock
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    pub(crate) readers: Option<f64>,
    /// Name of the scenario
    #[arg(long, value_name = "NAME", default_value = "my-program", allow_hyphen_values = true)]
    pub(crate) name: String,
    /// Write the script to this file [default: print it]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}
