//! The arguments of `lockyard machines`.

use super::common::Format;
use crate::values::{ghz, measuring};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lockyard machines\n  lockyard machines --names\n  lockyard machines show zen4-7840u"
)]
pub(crate) struct Machines {
    /// Output: table, json, csv, markdown
    #[arg(
        short,
        long,
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        global = true
    )]
    pub(crate) format: Format,
    /// Print the names only, one a line
    #[arg(long, conflicts_with = "format")]
    pub(crate) names: bool,
    #[command(subcommand)]
    pub(crate) command: Option<MachinesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesCommand {
    /// Print the machines, as without a command
    #[command(after_help = "Examples:\n  lockyard machines list")]
    List,
    /// Print every number of a machine, with its source
    #[command(after_help = "Examples:\n  lockyard machines show zen4-7840u")]
    Show {
        /// Machine name or path of a machine file
        #[arg(value_name = "NAME|FILE")]
        machine: String,
    },
    /// Describe this host: CPUs, caches, limits, conditions that spoil measurements
    #[command(after_help = "Examples:\n  lockyard machines detect")]
    Detect {
        /// Describe another host, from the copies of its `sys` and `proc` in this directory
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Predict published figures that are not inputs of a machine
    #[command(after_help = "Examples:\n  lockyard machines check cascade-lake-2s24c2t")]
    Check {
        /// Machine names or paths of machine files [default: all shipped]
        #[arg(value_name = "NAME|FILE")]
        machines: Vec<String>,
    },
    /// Measure this host, write a machine file, predict the measurements
    Calibrate(Calibrate),
    /// Make a machine file from latencies between cores
    New(NewMachine),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                  lockyard machines new --from-pingpong matrix.csv --out t.toml\n\n\
                  See docs/use/send-your-machine.md.")]
pub(crate) struct NewMachine {
    /// Latencies: CSV of core-to-core-latency, JSON of machines calibrate, or the file of measure
    /// --standard
    #[arg(long, value_name = "FILE")]
    pub(crate) from_pingpong: PathBuf,
    /// Sockets x complexes of a socket x cores x threads, e.g. 2x8x8x2 [default: found in the
    /// latencies]
    #[arg(long, value_name = "SxXxCxT", allow_hyphen_values = true)]
    pub(crate) topology: Option<String>,
    /// Shipped machine for everything that FILE does not have [default: by the processor, or by
    /// FILE's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) like: Option<String>,
    /// Clock in GHz, 0.1 to 10 [default: that of the machine that it is like]
    #[arg(long, value_name = "G", value_parser = ghz, allow_hyphen_values = true)]
    pub(crate) ghz: Option<f64>,
    /// Name of the machine [default: derived from the processor's, or from FILE]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
    /// Write the machine file here [default: print it below the latencies]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lockyard machines calibrate --seconds 10 --anyway --out host.toml"
)]
pub(crate) struct Calibrate {
    /// Seconds to measure, 1 to 3600
    #[arg(
        long,
        value_name = "S",
        default_value = "60",
        value_parser = measuring,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Write the machine file here [default: print it below the figures]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Write a file even if hand-overs are not steady over time; the file says so
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Name of the machine [default: derived from the processor's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
}
