//! The arguments of the command. Their comments are its help.

use crate::values::{call_window, jobs, measuring, objects, repeats, stalled_after, window};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Scalable locks and reference counts: published, predicted and measured figures side by side.
#[derive(Debug, Parser)]
#[command(name = "lockyard", version, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 success, 1 failure, 2 bad usage or bad input. A signal stops long \
                  work within a second: the finished rows are printed (JSON has `partial`), and \
                  the exit code is 130 (SIGINT), 143 (SIGTERM) or 129 (SIGHUP)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every published figure beside its prediction and, where this host can, a measurement
    Reproduce(Reproduce),
    /// Run a scenario on a simulated machine
    Predict(Predict),
    /// Measure a scenario on this host
    Measure(Measure),
    /// Measure tables, counters and reclamation beside their alternatives (see
    /// docs/measure/measure-tables.md)
    MeasureTables(MeasureTables),
    /// Measure the running kernel's system calls on one file, and lockyard's lockref beside them
    Syscalls(SyscallsOptions),
    /// Measure the cost of calling an uncontended lock: inlined, direct, through a table, patched
    /// (see docs/measure/lock-call-path.md)
    LockCallPath(CallPath),
    /// Compare two result files: differences, intervals, verdicts; exit code 1 if B is slower
    Compare(Compare),
    /// List the machines that can be simulated; `machines show NAME` describes one
    Machines(Machines),
}

impl Command {
    /// Returns true if the command takes long and its finished rows are of use when a signal stops
    /// it.
    pub(crate) fn has_rows_to_keep(&self) -> bool {
        match self {
            Command::Compare(_) => false,
            Command::Machines(machines) => matches!(
                machines.command,
                Some(MachinesCommand::Check { .. } | MachinesCommand::Calibrate(_))
            ),
            _ => true,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Tables or experiments, e.g. lockref-will-it-scale or fstat2 [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Do not measure on this host
    #[arg(long)]
    pub(crate) no_measure: bool,
    /// Show the training tables instead: predictions of the figures to which the simulated machines
    /// were fitted
    #[arg(long, conflicts_with_all = ["experiments", "published"])]
    pub(crate) training: bool,
    /// With --training: print every cell, not the summary alone
    #[arg(long, requires = "training")]
    pub(crate) cells: bool,
    /// Also write results.json, results.csv and results.md to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Read the published tables (*.csv) of this directory instead of the shipped ones
    #[arg(long, value_name = "DIR")]
    pub(crate) published: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// A scenario, by name (open3, fstat2, page-ref, ...) or the path of a script
    pub(crate) scenario: String,
    /// A machine, by name or the path of a machine file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: String,
    /// Numbers of threads, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
    /// A variant; can be given several times [default: all]
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// fill, siblings-last, spread, unpinned, or a list of hardware threads such as 0,24 [default:
    /// as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Explain each prediction: cycles by phase, lock and line, the dominant cost, the gain of an
    /// ideal lock
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also print CPU time by region, as a profiler lists it, beside the published listing
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also name the input that moves each figure most if it is wrong by 20 % (about 50 simulations
    /// a cell)
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Also fit the Universal Scalability Law: contention, coherence, and the number of threads
    /// beyond which throughput falls
    #[arg(long)]
    pub(crate) fit: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// A scenario, by name (fstat2, page-ref, spin-loop/same-node/embedded, ...) or the path of a
    /// script
    pub(crate) scenario: String,
    /// Numbers of threads, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
    /// A variant; can be given several times [default: all]
    #[arg(long = "variant", value_name = "NAME")]
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
    #[command(flatten)]
    pub(crate) rounds: Rounds,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2 [default: as the script
    /// says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Also print each figure over this variant's, round by round
    #[arg(long, value_name = "NAME")]
    pub(crate) relative_to: Option<String>,
    /// Also print CPU time by phase (working, waiting, holding, ...) and by region, sampled in a
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
    pub(crate) stall: Stall,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

// Options of `measure` and `measure-tables`. A doc comment here would become the command's text.
#[derive(Debug, Args)]
pub(crate) struct Rounds {
    /// Duration of one round of one cell
    #[arg(
        long,
        value_name = "S",
        default_value = "0.1",
        value_parser = window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Rounds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 9,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
}

// As `Rounds`, further down in the help.
#[derive(Debug, Args)]
pub(crate) struct Stall {
    /// Abort a run that makes no progress for this long
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        value_parser = stalled_after,
        allow_hyphen_values = true
    )]
    pub(crate) stalled_after: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct MeasureTables {
    /// id-read, id-lock, connection-read, connection-hold, cache-hit, counter, reclaim [default:
    /// all]
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Numbers of threads, e.g. 1,2,4 [default: 1, 2, 4, ... up to the number of CPUs]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Percentages of reads, e.g. 100,99,90; the other operations write [default: each group's own]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) reads: Option<String>,
    /// Measure only these, e.g. id-table-rcu,papaya [default: all of a group]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) only: Option<String>,
    /// Print each figure over this one's, round by round [default: over the fastest that is not
    /// lockyard's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) relative_to: Option<String>,
    /// Objects in a table
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = objects,
        allow_hyphen_values = true
    )]
    pub(crate) objects: u32,
    #[command(flatten)]
    pub(crate) rounds: Rounds,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "siblings-last", allow_hyphen_values = true)]
    pub(crate) placement: String,
    #[command(flatten)]
    pub(crate) stall: Stall,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SyscallsOptions {
    /// open3, fstat2, access2 or stat2
    pub(crate) experiment: String,
    /// Numbers of tasks, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) tasks: String,
    /// Kind of the tasks [default: processes; with --format will-it-scale: both]
    #[arg(long = "as", value_name = "KIND", value_enum)]
    pub(crate) kinds: Option<Kinds>,
    /// Duration of a sample
    #[arg(
        long,
        value_name = "S",
        default_value = "1",
        value_parser = window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Samples of each cell, one in each round
    #[arg(
        long,
        value_name = "N",
        default_value_t = 6,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2 [default:
    /// siblings-last]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Directory for the temporary directory with the file [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Do not measure lockyard's lockref beside the kernel's
    #[arg(long)]
    pub(crate) kernel_only: bool,
    /// Give up a task that does not begin, or end, within this time
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        value_parser = stalled_after,
        allow_hyphen_values = true
    )]
    pub(crate) stalled_after: Duration,
    /// Output format; will-it-scale has that program's columns, of the kernel only
    #[arg(long, value_enum, default_value_t = SyscallsFormat::Table)]
    pub(crate) format: SyscallsFormat,
}

#[derive(Debug, Args)]
pub(crate) struct CallPath {
    /// The kind of lock: ticket, queued, ... [default: ticket]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    pub(crate) lock: Option<String>,
    /// Approximate duration of one round of one way to call
    #[arg(
        long,
        value_name = "S",
        default_value = "0.002",
        value_parser = call_window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Rounds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 101,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
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

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no row is slower beyond the threshold, 1 some are, 2 bad input or \
                  incomparable results, 130 or 143 after a signal."
)]
pub(crate) struct Compare {
    /// The baseline: results of measure, predict or reproduce with --format json
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// The results to compare with it
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// Exit with code 1 if a row is slower by more than this, with evidence
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    pub(crate) threshold: String,
    /// Compare results even of different hosts, machine files or seeds
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Machines {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    pub(crate) format: Format,
    #[command(subcommand)]
    pub(crate) command: Option<MachinesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesCommand {
    /// Print every number of a machine, with its source
    Show {
        /// A machine, by name or the path of a machine file
        #[arg(value_name = "NAME|FILE")]
        machine: String,
    },
    /// Describe this host: its CPUs, caches and clock, limits of the process, and whatever spoils a
    /// measurement
    Detect {
        /// Describe another host, whose `sys` and `proc` are recorded in this directory
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Predict published figures that are not inputs of a machine
    Check {
        /// Machines, by name or the paths of machine files [default: all that are shipped]
        #[arg(value_name = "NAME|FILE")]
        machines: Vec<String>,
    },
    /// Measure this host for about a minute, write a machine file of it, and predict the
    /// measurements
    Calibrate(Calibrate),
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Duration of the measurement
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
    /// The machine's name [default: derived from the processor's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Number of cells that are simulated at the same time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

impl From<Format> for lockyard_results::render::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Table => Self::Table,
            Format::Json => Self::Json,
            Format::Csv => Self::Csv,
            Format::Markdown => Self::Markdown,
        }
    }
}

#[cfg(target_os = "linux")]
impl SyscallsFormat {
    /// Returns the format of a document; `None` for columns that are no document.
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

impl Common {
    /// Returns the number of cells that are simulated at the same time.
    pub(crate) fn jobs(&self) -> usize {
        match self.jobs {
            Some(jobs) => usize::from(jobs),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Returns the answer to no arguments: the help, and commands to try.
pub(crate) fn overview() -> String {
    let mut help = Arguments::command().render_long_help().to_string();
    help.push_str(
        "\nTry:\n  lockyard reproduce\n  lockyard predict fstat2 --machine cascade-lake-2s24c2t \
         --threads 1,24,96\n  lockyard measure page-ref --threads 1,2\n  lockyard machines show \
         cascade-lake-2s24c2t\n  lockyard machines detect\n",
    );
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
