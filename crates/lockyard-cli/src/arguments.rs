//! The arguments of the command, and how they fail.

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use lockyard_lab::calibrate_host::{LEAST_SECONDS, MOST_SECONDS};
use std::path::PathBuf;
use std::time::Duration;

/// Scalable locks and reference counts: published, predicted and measured figures side by side.
#[derive(Debug, Parser)]
#[command(name = "lockyard", version, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage or bad input. A signal ends long work \
                  within a second: finished rows are printed (JSON has `partial`), and the code is \
                  130 (SIGINT), 143 (SIGTERM) or 129 (SIGHUP)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Every published figure beside its prediction and, where this host can, a measurement
    Reproduce(Reproduce),
    /// Run a scenario on a simulated machine
    Predict(Predict),
    /// Measure a scenario on this host
    Measure(Measure),
    /// Measure tables, counters and reclamation beside what people use instead (see docs/measure/measure-tables.md)
    MeasureTables(MeasureTables),
    /// Measure the running kernel's system calls on one file, and our lockref beside them
    Syscalls(SyscallsOptions),
    /// Measure what a call of an uncontended lock costs: inlined, direct, through a table, patched (see docs/measure/lock-call-path.md)
    LockCallPath(CallPath),
    /// Compare two result files: differences, intervals, verdicts; exit code 1 if B is slower
    Compare(Compare),
    /// The machines that can be simulated; `machines show NAME` for one
    Machines(Machines),
}

impl Command {
    /// Returns whether the command works for long, and what it has finished is of use when a signal
    /// ends it.
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
    /// The training tables instead: what the simulated machines make of the figures on which they were fitted
    #[arg(long, conflicts_with_all = ["experiments", "published"])]
    pub(crate) training: bool,
    /// With --training: every cell in the table, not the summary alone
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
    /// fill, siblings-last, spread, unpinned, or a list of hardware threads such as 0,24 [default: as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Say where the cycles go (phases, locks, lines), what dominates, and what an ideal lock gives
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also say where CPU time goes, as a profiler's listing by region, beside the published one
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Say which input, wrong by 20 %, would move each figure most (about 50 simulations a cell)
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Also fit the Universal Scalability Law: contention, coherence, and the number of threads beyond which more do less
    #[arg(long)]
    pub(crate) fit: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// A scenario, by name (fstat2, page-ref, spin-loop/same-node/embedded, ...) or the path of a script
    pub(crate) scenario: String,
    /// Numbers of threads, e.g. 1,2,4
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: String,
    /// A variant; can be given several times [default: all]
    #[arg(long = "variant", value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Also measure the locks that people use instead; =LIST for some, e.g. =spin,std-mutex (see docs/measure/peers.md)
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = lockyard_measure::peers::ALL)]
    pub(crate) peers: Option<String>,
    /// How long one round of one cell counts
    #[arg(long, value_name = "S", default_value = "0.1", value_parser = window, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: u16,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2 [default: as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Also print each figure over this variant's, round by round
    #[arg(long, value_name = "NAME")]
    pub(crate) relative_to: Option<String>,
    /// Also say where CPU time goes, by phase (working, waiting, holding, ...) and by region, sampled in a pass of its own
    #[arg(long)]
    pub(crate) attribution: bool,
    /// Also draw how often waits of which length were
    #[arg(long)]
    pub(crate) histogram: bool,
    /// Also fit the Universal Scalability Law: contention, coherence, and the number of threads beyond which more do less
    #[arg(long)]
    pub(crate) fit: bool,
    /// Without progress for so long a run is stalled
    #[arg(long, value_name = "S", default_value = "10", value_parser = stalled_after, allow_hyphen_values = true)]
    pub(crate) stalled_after: Duration,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct MeasureTables {
    /// id-read, id-lock, connection-read, connection-hold, cache-hit, counter, reclaim [default: all]
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Numbers of threads, e.g. 1,2,4 [default: 1, 2, 4, ... and as many as there are CPUs]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// Per cent of the operations that read, e.g. 100,99,90; the others change something [default: as each group says]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) reads: Option<String>,
    /// Only these, e.g. id-table-rcu,papaya [default: all of a group]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) only: Option<String>,
    /// Print each figure over this one's, round by round [default: over the fastest that is not ours]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) relative_to: Option<String>,
    /// Objects in a table
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = objects, allow_hyphen_values = true)]
    pub(crate) objects: u32,
    /// How long one round of one cell counts
    #[arg(long, value_name = "S", default_value = "0.1", value_parser = window, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: u16,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "siblings-last", allow_hyphen_values = true)]
    pub(crate) placement: String,
    /// Without progress for so long a run is stalled
    #[arg(long, value_name = "S", default_value = "10", value_parser = stalled_after, allow_hyphen_values = true)]
    pub(crate) stalled_after: Duration,
    /// How to print
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
    /// What a task is [default: processes; with --format will-it-scale: both]
    #[arg(long = "as", value_name = "KIND", value_enum)]
    pub(crate) kinds: Option<Kinds>,
    /// How long a sample is
    #[arg(long, value_name = "S", default_value = "1", value_parser = window, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Samples of each cell, one a round
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: u16,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2 [default: siblings-last]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Make the temporary directory with the file in this one [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Do not measure our lockref beside the kernel's
    #[arg(long)]
    pub(crate) kernel_only: bool,
    /// A task that does not begin, or end, for so long is given up
    #[arg(long, value_name = "S", default_value = "10", value_parser = stalled_after, allow_hyphen_values = true)]
    pub(crate) stalled_after: Duration,
    /// How to print; will-it-scale prints its columns, of the kernel only
    #[arg(long, value_enum, default_value_t = SyscallsFormat::Table)]
    pub(crate) format: SyscallsFormat,
}

#[derive(Debug, Args)]
pub(crate) struct CallPath {
    /// The kind of lock: ticket, queued, ... [default: ticket]
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    pub(crate) lock: Option<String>,
    /// About how long one round of one way is
    #[arg(long, value_name = "S", default_value = "0.002", value_parser = call_window, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = repeats, allow_hyphen_values = true)]
    pub(crate) repeats: u16,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// What tasks are.
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
                  not comparable, 130 or 143 a signal came."
)]
pub(crate) struct Compare {
    /// The results to compare with: what measure, predict or reproduce wrote with --format json
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// The results in question
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// A row that is slower by more than this, with evidence, gives exit code 1
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    pub(crate) threshold: String,
    /// Compare results of different hosts, machine files or seeds nevertheless
    #[arg(long)]
    pub(crate) anyway: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Machines {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    pub(crate) format: Format,
    #[command(subcommand)]
    pub(crate) command: Option<MachinesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesCommand {
    /// Every number of a machine, with its source
    Show {
        /// A machine, by name or the path of a machine file
        #[arg(value_name = "NAME|FILE")]
        machine: String,
    },
    /// This host: its CPUs and caches, its clock, what limits the process, and what spoils a measurement
    Detect {
        /// Another host, whose `sys` and `proc` are recorded in this directory
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// What a machine makes of published figures that are not its inputs
    Check {
        /// Machines, by name or the paths of machine files [default: all that are shipped]
        #[arg(value_name = "NAME|FILE")]
        machines: Vec<String>,
    },
    /// Measure this host for about a minute, make a machine file of it, and predict what was measured
    Calibrate(Calibrate),
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// How long to measure
    #[arg(long, value_name = "S", default_value = "60", value_parser = measuring, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Write the machine file here [default: print it below the figures]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Make a file also of hand-overs that have not one value over time; the file says so
    #[arg(long)]
    pub(crate) anyway: bool,
    /// The machine's name [default: made of the processor's]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Cells that are simulated at the same time [default: one for each CPU]
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
    /// The format of a document; `None` for one that is none.
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
    /// How many cells are simulated at the same time.
    pub(crate) fn jobs(&self) -> usize {
        match self.jobs {
            Some(jobs) => usize::from(jobs),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Why the command does not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage or bad input: exit code 2.
    Input(String),
    /// Anything else: exit code 1.
    Run(String),
    /// A signal came: its exit code. The message says what was finished.
    Interrupted(String),
}

impl From<lockyard_support::InputError> for Failure {
    fn from(error: lockyard_support::InputError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<lockyard_predict::failure::Failure> for Failure {
    fn from(failure: lockyard_predict::failure::Failure) -> Self {
        match failure {
            lockyard_predict::failure::Failure::Input(error) => Failure::Input(error.to_string()),
            lockyard_predict::failure::Failure::Run(message) => Failure::Run(message),
        }
    }
}

/// What the command can do: its answer to no arguments.
pub(crate) fn overview() -> String {
    let mut help = Arguments::command().render_long_help().to_string();
    help.push_str(
        "\nTry:\n  lockyard reproduce\n  lockyard predict fstat2 --machine cascade-lake-2s24c2t \
         --threads 1,24,96\n  lockyard measure page-ref --threads 1,2\n  lockyard machines show cascade-lake-2s24c2t\n  \
         lockyard machines detect\n",
    );
    help
}

/// Numbers of threads: `1,2,4`.
pub(crate) fn thread_list(text: &str) -> Result<Vec<usize>, Failure> {
    number_list("--threads", "threads", text)
}

/// Numbers of `things`, with commas between them, from 1.
pub(crate) fn number_list(option: &str, things: &str, text: &str) -> Result<Vec<usize>, Failure> {
    number_list_from(1, option, things, text)
}

/// Numbers of `things`, with commas between them, from `least`.
pub(crate) fn number_list_from(
    least: usize,
    option: &str,
    things: &str,
    text: &str,
) -> Result<Vec<usize>, Failure> {
    const MOST: usize = 256;
    let allowed =
        format!("allowed: whole numbers from {least}, with commas between them, such as 1,2,4");
    let mut threads = Vec::new();
    for part in text.split(',') {
        match part.trim().parse::<usize>() {
            Ok(number) if number >= least && threads.len() < MOST => threads.push(number),
            Ok(number) if number >= least => {
                return Err(Failure::Input(format!(
                    "{option} lists more than {MOST} numbers; at most {MOST} are allowed"
                )));
            }
            _ => {
                let part = lockyard_support::printable(part);
                return Err(Failure::Input(format!(
                    "{option}: `{part}` is no number of {things}; {allowed}"
                )));
            }
        }
    }
    Ok(threads)
}

/// A number of seconds within bounds; otherwise what is wrong with it.
fn seconds(text: &str, least: f64, most: f64) -> Result<Duration, String> {
    let allowed = format!("allowed: {least} to {most} seconds");
    match text.trim().parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) => Ok(Duration::from_secs_f64(value)),
        Ok(value) => Err(format!("is {value}; {allowed}")),
        Err(_) => Err(format!("is `{}`; {allowed}", lockyard_support::printable(text))),
    }
}

fn window(text: &str) -> Result<Duration, String> {
    seconds(text, 1e-3, 3600.0)
}

fn call_window(text: &str) -> Result<Duration, String> {
    seconds(text, 1e-4, 60.0)
}

fn measuring(text: &str) -> Result<Duration, String> {
    seconds(text, LEAST_SECONDS, MOST_SECONDS)
}

fn stalled_after(text: &str) -> Result<Duration, String> {
    seconds(text, 0.1, 3600.0)
}

/// A whole number from 1; otherwise what is wrong with it.
fn whole<N: TryFrom<u32>>(text: &str, most: u32) -> Result<N, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=most).contains(number));
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| format!("is {}; allowed: 1 to {most}", lockyard_support::printable(text)))
}

fn repeats(text: &str) -> Result<u16, String> {
    whole(text, 1000)
}

fn jobs(text: &str) -> Result<u16, String> {
    whole(text, 1024)
}

fn objects(text: &str) -> Result<u32, String> {
    whole(text, lockyard_measure::measure_tables::MOST_OBJECTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn lists_of_threads_are_read() {
        assert_eq!(thread_list("1,2, 96").unwrap(), [1, 2, 96]);
        for wrong in ["", "0", "x", "1,,2", "-1", "1.5", "99999999999999999999"] {
            assert!(matches!(thread_list(wrong), Err(Failure::Input(_))), "{wrong}");
        }
    }
}
