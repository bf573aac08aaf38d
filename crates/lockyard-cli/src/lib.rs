//! The command `lockyard`: arguments, files, progress, exit codes. All figures come from other
//! crates.
//!
//! [`main`] is the whole command. [`main_with`] adds locks of another crate ([`own_lock`]), which
//! scripts can then name:
//!
//! ```no_run
//! # use lockyard::lock::Ticket as Mine;
//! fn main() -> std::process::ExitCode {
//!     lockyard_cli::main_with(&[lockyard_cli::own_lock::<Mine>("mine").fifo()])
//! }
//! ```
//!
//! Exit codes: 0 for success, 1 for failure, 2 for bad usage or bad input; `profile` and `record`
//! have their program's. After a signal the code is 128 plus the signal's number (`signals.rs`).

mod ab;
#[cfg(target_os = "linux")]
mod answer;
mod arguments;
mod baselines;
mod calibrate;
mod call_path;
mod child;
mod compare;
mod errors;
mod fit;
mod host;
mod machines;
mod machines_new;
mod measure;
mod memory;
mod new_file;
mod output;
mod own_lock;
mod predict;
mod profile;
mod progress;
mod recorded;
mod report;
mod reproduce;
mod reproduce_page;
mod scenarios;
mod screen;
mod shell;
mod signals;
mod standard;
pub mod study;
mod sweep;
mod syscalls;
mod temporary;
mod trace;
mod usage;
mod values;
mod verdict;

use arguments::{Arguments, Command};
use errors::{Failure, complain};
use lockyard_scenarios::LockKinds;
use std::ffi::OsString;
use std::process::ExitCode;

pub use lockyard_scenarios::OwnLock;
pub use own_lock::own_lock;

/// Runs the command with the arguments of the process; returns its exit code.
pub fn main() -> ExitCode {
    main_with(&[])
}

/// Runs the command as [`main`] does. Scripts can name the locks `own` beside the library's.
/// [`own_lock`] makes one of a type. A wrong name among them is an error, with exit code 2:
///
/// ```
/// use lockyard::lock::Ticket;
/// use std::process::ExitCode;
///
/// // The library has a lock of this name.
/// let code = lockyard_cli::main_with(&[lockyard_cli::own_lock::<Ticket>("ticket")]);
/// assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)));
/// ```
pub fn main_with(own: &[OwnLock]) -> ExitCode {
    // This process may be a task that `lockyard syscalls` has started. A task must have no second
    // thread, so check this before any thread starts.
    if let Some(code) = syscalls::task() {
        return code;
    }
    process(|| {
        let locks = LockKinds::with_own(own)?;
        let arguments = usage::parse(&locks)?;
        let arguments::Display { colour, quiet, waits } = arguments.display;
        screen::detect(colour, quiet, waits);
        perform(&arguments, &locks)
    })
}

/// Does the work of the process. Prints why it failed, and returns the exit code.
fn process(work: impl FnOnce() -> Result<ExitCode, Failure>) -> ExitCode {
    if let Err(error) = signals::install() {
        complain(&format!(
            "warning: a signal will end the command without its finished rows: {error}"
        ));
    }
    let done = work();
    let interrupted = signals::caught();
    let code = match done {
        Ok(code) => {
            if let Some((signal, _)) = interrupted {
                complain(&format!("lockyard: interrupted ({signal}): all work was already done"));
            }
            code
        }
        Err(Failure::Input(message)) => {
            complain(&screen::wrapped(&format!("lockyard: {message}")));
            ExitCode::from(2)
        }
        Err(Failure::Run(message)) => {
            complain(&screen::wrapped(&format!("lockyard: {message}")));
            ExitCode::FAILURE
        }
        Err(Failure::Interrupted(message)) => {
            let signal = interrupted.map_or("no signal", |(signal, _)| signal);
            complain(&format!("lockyard: interrupted ({signal}): {message}"));
            ExitCode::FAILURE
        }
    };
    // After a signal, return the signal's code even on success, because the sender expects it.
    interrupted.map_or(code, |(_, code)| ExitCode::from(code))
}

/// Parses arguments after the name of the program, without running anything. Tests of the command
/// line use it.
///
/// # Errors
///
/// Bad usage, in one line.
pub fn check_arguments(arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    usage::check(arguments)
}

fn perform(arguments: &Arguments, locks: &LockKinds) -> Result<ExitCode, Failure> {
    signals::begin(arguments.command.as_ref().is_some_and(Command::has_rows_to_keep));
    let done = match &arguments.command {
        None => output::write(&arguments::overview(locks, screen::width())),
        Some(Command::Reproduce(options)) => reproduce::run(options),
        Some(Command::Predict(options)) => predict::run(options, locks),
        Some(Command::Sweep(options)) => sweep::run(options, locks),
        Some(Command::Merge(options)) => sweep::merge(options, locks),
        Some(Command::Measure(options)) => measure::run(options, locks),
        Some(Command::Fit(options)) => fit::run(options, locks),
        Some(Command::Syscalls(options)) => syscalls::run(options),
        Some(Command::LockCallPath(options)) => call_path::run(options),
        Some(Command::Profile(options)) => return profile::run(options),
        Some(Command::Record(options)) => return profile::record(options),
        Some(Command::Why(options)) => return profile::why(options),
        Some(Command::Compare(options)) => compare::run(options),
        Some(Command::Machines(options)) => machines::run(options),
        Some(Command::Scenarios(options)) => scenarios::run(options, locks),
        Some(Command::Completions(options)) => shell::completions(options),
        Some(Command::Man(options)) => shell::man(options),
    };
    done.map(|()| ExitCode::SUCCESS)
}
