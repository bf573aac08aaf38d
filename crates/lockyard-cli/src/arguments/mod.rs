//! The arguments of the command, one file for each subcommand. Doc comments become its help text.

mod baselines;
mod call_path;
mod common;
mod compare;
mod display;
mod fit;
mod machines;
mod measure;
mod predict;
mod profile;
mod record;
mod report;
mod reproduce;
mod rounds;
mod scenarios;
mod shell;
mod sweep;
mod syscalls;
mod why;

pub(crate) use baselines::BaselineDirectory;
pub use baselines::BaselineOptions;
pub(crate) use call_path::CallPath;
pub use common::Output;
pub(crate) use compare::Compare;
pub(crate) use display::{ColourChoice, Display};
pub(crate) use fit::FitData;
pub(crate) use machines::{Calibrate, Machines, MachinesCommand, NewMachine};
pub(crate) use measure::Measure;
pub(crate) use predict::Predict;
pub(crate) use profile::{Profile, ProfileFormat};
pub(crate) use record::{HostOptions, Record, Several};
pub(crate) use report::{Pages, ReportFile};
pub(crate) use reproduce::Reproduce;
pub use rounds::{Rounds, Stall};
pub(crate) use scenarios::{NewScenario, Scenarios, ScenariosCommand};
pub(crate) use shell::{Completions, Man};
pub(crate) use sweep::{Merge, MergeFormat, Sweep};
pub(crate) use syscalls::{Kinds, SyscallsFormat, SyscallsOptions};
pub(crate) use why::Why;

use clap::{CommandFactory, Parser, Subcommand};
use lockyard_scenarios::LockKinds;

/// Version of the command, with the commit that it was built from if that is known.
const VERSION: &str = env!("LOCKYARD_VERSION");

/// Scalable locks and reference counts: published, predicted and measured figures.
#[derive(Debug, Parser)]
#[command(name = "lockyard", version = VERSION, max_term_width = 100)]
#[command(after_help = "Examples:\n  \
                  lockyard reproduce fstat2 --no-measure\n  \
                  lockyard predict fstat2 -m cascade-lake-2s24c2t -t 1,24,96\n  \
                  lockyard measure page-ref -t 1,2 --repeats 3\n  \
                  lockyard scenarios new --held 300 --every 2000\n\n\
                  Exit codes: 0 success, 1 failure, 2 bad usage or bad input. A signal stops long \
                  work within a second and prints the finished rows (JSON has `partial`); then the \
                  codes are 130 (SIGINT), 143 (SIGTERM), 129 (SIGHUP).")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) display: Display,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show published figures beside predictions and measurements
    Reproduce(Reproduce),
    /// Run a scenario on a simulated machine
    Predict(Predict),
    /// Run many cells by a plan, one file for each
    Sweep(Sweep),
    /// Join the rows of a sweep into one file
    Merge(Merge),
    /// Measure a scenario on this host
    Measure(Measure),
    /// Compare your measurements with a machine's predictions
    Fit(FitData),
    /// Measure system calls on one file, and lockyard's lockref for comparison
    Syscalls(SyscallsOptions),
    /// Measure the cost of calling an uncontended lock
    LockCallPath(CallPath),
    /// Run a program; say where its time goes, what a server would do, what helps
    Why(Why),
    /// Run a program, and report which of its locks are hot, where, and why
    Profile(Profile),
    /// Run a program, and record its locks for a prediction on other machines
    Record(Record),
    /// Compare two results, or programs; exit with code 1 if B is slower
    Compare(Compare),
    /// List the simulated machines; show, check, calibrate or make one
    Machines(Machines),
    /// List the scenarios; show one, or write a template
    Scenarios(Scenarios),
    /// Print completions for a shell
    Completions(Completions),
    /// Write manual pages
    Man(Man),
}

impl Command {
    /// Returns true for a long-running command that prints its finished rows when a signal stops
    /// it.
    pub(crate) fn has_rows_to_keep(&self) -> bool {
        match self {
            Command::Compare(_)
            | Command::Merge(_)
            | Command::Scenarios(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
            Command::Machines(machines) => matches!(
                machines.command,
                Some(MachinesCommand::Check { .. } | MachinesCommand::Calibrate(_))
            ),
            _ => true,
        }
    }
}

/// Returns a sentence with the names of the own locks, or `None` if there are none.
pub(crate) fn own_locks(locks: &LockKinds) -> Option<String> {
    let names: Vec<&str> = locks.own().iter().map(|lock| lock.name()).collect();
    (!names.is_empty())
        .then(|| format!("Locks of this program, beside the library's: {}.", names.join(", ")))
}

/// Returns the command, whose help names the own locks and is `width` columns wide.
pub(crate) fn command(locks: &LockKinds, width: usize) -> clap::Command {
    let command = Arguments::command().term_width(width);
    let Some(own) = own_locks(locks) else { return command };
    let after = command.get_after_help().map_or_else(String::new, ToString::to_string);
    command.after_help(format!("{own}\n\n{after}"))
}

/// Returns the output of a call without arguments: the help, with commands to try.
pub(crate) fn overview(locks: &LockKinds, width: usize) -> String {
    command(locks, width).render_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
