//! The arguments of the command. Their comments are its help.

use crate::values::{call_window, jobs, measuring, objects, repeats, stalled_after, window};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Scalable locks and reference counts: published, predicted and measured figures.
#[derive(Debug, Parser)]
#[command(name = "lockyard", version, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 success, 1 failure, 2 bad usage or bad input.\n\
                  A signal stops long work within a second and prints the finished rows (JSON\n\
                  has `partial`). Exit codes then: 130 (SIGINT), 143 (SIGTERM), 129 (SIGHUP).")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show published figures beside predictions and measurements
    Reproduce(Reproduce),
    /// Run a scenario on a simulated machine
    Predict(Predict),
    /// Measure a scenario on this host
    Measure(Measure),
    /// Measure tables, counters and reclamation beside alternatives
    MeasureTables(MeasureTables),
    /// Measure system calls on one file, beside lockyard's lockref
    Syscalls(SyscallsOptions),
    /// Measure the cost of calling an uncontended lock
    LockCallPath(CallPath),
    /// Compare two result files; exit with code 1 if B is slower
    Compare(Compare),
    /// List the simulated machines; show, check or calibrate one
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
    /// Tables or experiments, e.g. page-ref or fstat2 [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Do not measure on this host
    #[arg(long)]
    pub(crate) no_measure: bool,
    /// Show the training tables instead: predictions of the{n}figures to which the simulated
    /// machines were fitted
    #[arg(long, conflicts_with_all = ["experiments", "published"])]
    pub(crate) training: bool,
    /// With --training: print every cell, not only the summary
    #[arg(long, requires = "training")]
    pub(crate) cells: bool,
    /// Also write results.json, results.csv and results.md{n}to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Read published tables (*.csv) from this directory{n}instead of the shipped ones
    #[arg(long, value_name = "DIR")]
    pub(crate) published: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// Scenario name (open3, fstat2, page-ref, ...) or path of a script
    pub(crate) scenario: String,
    /// Machine name or path of a machine file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: String,
    /// Thread counts, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
    /// Variant to run; repeatable [default: all]
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Placement: fill, siblings-last, spread, unpinned,{n}or hardware threads such as
    /// 0,24{n}[default: as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Explain each prediction: cycles by phase, lock and{n}line, the dominant cost, the gain of an
    /// ideal lock
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also print CPU time by region, as a profiler does,{n}beside the published listing
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also name the input that moves each figure most if{n}it is wrong by 20 % (about 50
    /// simulations per cell)
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Also fit the Universal Scalability Law: contention,{n}coherence, and the number of threads
    /// beyond{n}which throughput falls
    #[arg(long)]
    pub(crate) fit: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Scenario name (fstat2, page-ref, spin-loop/same-node/embedded,{n}...) or path of a script
    pub(crate) scenario: String,
    /// Thread counts, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
    /// Variant to measure; repeatable [default: all]
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Also measure other libraries' locks; =LIST for some,{n}e.g. =spin,std-mutex (see
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
    /// Placement: fill, siblings-last, spread, unpinned,{n}or CPUs such as 0,2 [default: as the
    /// script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Also print each figure's ratio to this variant's,{n}round by round
    #[arg(long, value_name = "NAME")]
    pub(crate) relative_to: Option<String>,
    /// Also print CPU time by phase (working, waiting,{n}holding, ...) and by region, from a
    /// separate pass
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also draw a histogram of the waits
    #[arg(long)]
    pub(crate) histogram: bool,
    /// Also fit the Universal Scalability Law: contention,{n}coherence, and the number of threads
    /// beyond{n}which throughput falls
    #[arg(long)]
    pub(crate) fit: bool,
    #[command(flatten)]
    pub(crate) stall: Stall,
    /// Output: table, json, csv, markdown
    #[arg(long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    pub(crate) format: Format,
}

// Options of `measure` and `measure-tables`. A doc comment here would become the command's text.
#[derive(Debug, Args)]
pub(crate) struct Rounds {
    /// Seconds per round of one cell
    #[arg(
        long,
        value_name = "S",
        default_value = "0.1",
        value_parser = window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Number of rounds, 1 to 1000
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
    /// Abort a run that makes no progress for this many{n}seconds
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
#[command(after_help = "See docs/measure/measure-tables.md.")]
pub(crate) struct MeasureTables {
    /// Groups: id-read, id-lock, connection-read, connection-hold,{n}cache-hit, counter, reclaim
    /// [default: all]
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Thread counts, e.g. 1,2,4{n}[default: 1, 2, 4, ... up to the number of CPUs]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Percentages of reads, e.g. 100,99,90; the other{n}operations write [default: each group's
    /// own]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) reads: Option<String>,
    /// Measure only these, e.g. id-table-rcu,papaya{n}[default: all of a group]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) only: Option<String>,
    /// Print each figure's ratio to this one's, round by{n}round [default: the fastest that is not
    /// lockyard's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) relative_to: Option<String>,
    /// Number of objects in a table
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
    /// Placement: fill, siblings-last, spread, unpinned,{n}or CPUs such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "siblings-last", allow_hyphen_values = true)]
    pub(crate) placement: String,
    #[command(flatten)]
    pub(crate) stall: Stall,
    /// Output: table, json, csv, markdown
    #[arg(long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SyscallsOptions {
    /// Experiment: open3, fstat2, access2 or stat2
    pub(crate) experiment: String,
    /// Task counts, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) tasks: String,
    /// Kind of tasks: processes, threads, both{n}[default: processes; for will-it-scale: both]
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
    /// Placement: fill, siblings-last, spread, unpinned,{n}or CPUs such as 0,2 [default:
    /// siblings-last]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Directory in which to make the file's temporary{n}directory [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Do not measure lockyard's lockref beside the kernel's
    #[arg(long)]
    pub(crate) kernel_only: bool,
    /// Give up a task that does not start or end within{n}this many seconds
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        value_parser = stalled_after,
        allow_hyphen_values = true
    )]
    pub(crate) stalled_after: Duration,
    /// Output: table, json, csv, markdown, or will-it-scale{n}(its columns, of the kernel only)
    #[arg(
        long,
        value_enum,
        default_value_t = SyscallsFormat::Table,
        hide_possible_values = true
    )]
    pub(crate) format: SyscallsFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "Ways to call: inlined, direct, through a table, patched.\n\
                  See docs/measure/lock-call-path.md.")]
pub(crate) struct CallPath {
    /// Kind of lock: ticket, queued, ... [default: ticket]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    pub(crate) lock: Option<String>,
    /// Approximate seconds per round of{n}one way to call
    #[arg(
        long,
        value_name = "S",
        default_value = "0.002",
        value_parser = call_window,
        allow_hyphen_values = true
    )]
    pub(crate) seconds: Duration,
    /// Number of rounds, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 101,
        value_parser = repeats,
        allow_hyphen_values = true
    )]
    pub(crate) repeats: u16,
    /// Output: table, json, csv, markdown
    #[arg(long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
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
#[command(after_help = "Exit codes: 0 no row is slower beyond the threshold, 1 some are,\n\
                  2 bad input or incomparable results, 130 or 143 after a signal.")]
pub(crate) struct Compare {
    /// Baseline: results of measure, predict or reproduce (--format json)
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// Results to compare with the baseline
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// Exit with code 1 if a row is slower by more than{n}this, with evidence
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    pub(crate) threshold: String,
    /// Compare results even if hosts, machine files or{n}seeds differ
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Output: table, json, csv, markdown
    #[arg(long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Machines {
    /// Output: table, json, csv, markdown
    #[arg(
        long,
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        global = true
    )]
    pub(crate) format: Format,
    #[command(subcommand)]
    pub(crate) command: Option<MachinesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesCommand {
    /// Print every number of a machine, with its source
    Show {
        /// Machine name or path of a machine file
        #[arg(value_name = "NAME|FILE")]
        machine: String,
    },
    /// Describe this host: CPUs, caches, limits, what spoils measurements
    Detect {
        /// Describe another host, from its `sys` and `proc`{n}recorded in this directory
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Predict published figures that are not inputs of a machine
    Check {
        /// Machine names or paths of machine files [default: all shipped]
        #[arg(value_name = "NAME|FILE")]
        machines: Vec<String>,
    },
    /// Measure this host, write a machine file, predict the measurements
    Calibrate(Calibrate),
}

#[derive(Debug, Args)]
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
    /// Write the machine file here{n}[default: print it below the figures]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Write a file even if hand-overs are not steady over{n}time; the file says so
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Name of the machine [default: derived from the{n}processor's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Output: table, json, csv, markdown
    #[arg(long, value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    pub(crate) format: Format,
    /// Cells to simulate at once [default: one per CPU]
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
        "\nTry:\n  lockyard reproduce\n  \
         lockyard predict fstat2 --machine cascade-lake-2s24c2t --threads 1,24,96\n  \
         lockyard measure page-ref --threads 1,2\n  \
         lockyard machines show cascade-lake-2s24c2t\n  \
         lockyard machines detect\n",
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
