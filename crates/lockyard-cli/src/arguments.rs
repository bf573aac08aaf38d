//! The arguments of the command, and how they fail.

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Scalable locks and reference counts: published, predicted and measured figures side by side.
#[derive(Debug, Parser)]
#[command(name = "lockyard", version, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 bad usage or bad input.")]
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
    /// The machines that can be simulated; `machines show NAME` for one
    Machines(Machines),
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
    /// Say where the cycles go: phases, lines, and the cost that dominates
    #[arg(long)]
    pub(crate) explain: bool,
    /// Say which input, wrong by 20 %, would move each figure most (about 50 simulations a cell)
    #[arg(long)]
    pub(crate) sensitivity: bool,
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
    /// How long one round of one cell counts
    #[arg(long, value_name = "S", default_value_t = 0.1, allow_hyphen_values = true)]
    pub(crate) seconds: f64,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeats: u16,
    /// fill, siblings-last, spread, unpinned, or a list of CPUs such as 0,2 [default: as the script says]
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Also print each figure over this variant's, round by round
    #[arg(long, value_name = "NAME")]
    pub(crate) relative_to: Option<String>,
    /// Without progress for so long a run is stalled
    #[arg(long, value_name = "S", default_value_t = 10.0, allow_hyphen_values = true)]
    pub(crate) stalled_after: f64,
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
    #[arg(long, value_name = "S", default_value_t = 60.0, allow_hyphen_values = true)]
    pub(crate) seconds: f64,
    /// Write the machine file here [default: print it below the figures]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

impl From<Format> for lockyard_lab::output::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Table => Self::Table,
            Format::Json => Self::Json,
            Format::Csv => Self::Csv,
            Format::Markdown => Self::Markdown,
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
}

impl From<lockyard_lab::InputError> for Failure {
    fn from(error: lockyard_lab::InputError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<lockyard_lab::predict::Failure> for Failure {
    fn from(failure: lockyard_lab::predict::Failure) -> Self {
        match failure {
            lockyard_lab::predict::Failure::Input(error) => Failure::Input(error.to_string()),
            lockyard_lab::predict::Failure::Run(message) => Failure::Run(message),
        }
    }
}

/// What the command can do: its answer to no arguments.
pub(crate) fn overview() -> String {
    let mut help = Arguments::command().render_long_help().to_string();
    help.push_str(
        "\nTry:\n  lockyard reproduce\n  lockyard predict fstat2 --machine cascade-lake-2s24c2t \
         --threads 1,24,96\n  lockyard measure page-ref --threads 1,2\n  lockyard machines show cascade-lake-2s24c2t\n",
    );
    help
}

/// Numbers of threads: `1,2,4`.
pub(crate) fn thread_list(text: &str) -> Result<Vec<usize>, Failure> {
    const MOST: usize = 256;
    let allowed = "allowed: whole numbers from 1, with commas between them, such as 1,2,4";
    let mut threads = Vec::new();
    for part in text.split(',') {
        match part.trim().parse::<usize>() {
            Ok(number @ 1..) if threads.len() < MOST => threads.push(number),
            Ok(1..) => {
                return Err(Failure::Input(format!(
                    "--threads lists more than {MOST} numbers; at most {MOST} are allowed"
                )));
            }
            _ => {
                let part = lockyard_input::printable(part);
                return Err(Failure::Input(format!(
                    "--threads: `{part}` is no number of threads; {allowed}"
                )));
            }
        }
    }
    Ok(threads)
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
