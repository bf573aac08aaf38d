//! The command `lockyard`. Arguments in, tables out; what is done in between is the lab's.
//!
//! Exit codes: 0 done, 1 failed, 2 bad usage or bad input.

mod arguments;
mod calibrate;
mod call_path;
mod compare;
mod host;
mod machines;
mod measure;
mod measure_tables;
mod new_file;
mod output;
mod predict;
mod progress;
mod reproduce;
mod syscalls;
mod usage;

use arguments::{Arguments, Command, Failure};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A task of `lockyard syscalls` is this program again, and must have no second thread.
    if let Some(code) = syscalls::task() {
        return code;
    }
    // Once a run is interrupted, what is finished is printed; a second Ctrl-C ends the process.
    let handler = ctrlc::set_handler(|| {
        if lockyard_lab::jobs::interrupted() {
            #[cfg(target_os = "linux")]
            lockyard_lab::host::syscalls::remove_all();
            std::process::exit(130);
        }
        lockyard_lab::jobs::interrupt();
        complain("interrupted: finishing what is running; once more to give up");
    });
    if let Err(error) = handler {
        complain(&format!("warning: Ctrl-C will not print what is finished: {error}"));
    }
    match usage::parse().and_then(|arguments| perform(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => {
            complain(&format!("lockyard: {message}"));
            ExitCode::from(2)
        }
        Err(Failure::Run(message)) => {
            complain(&format!("lockyard: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn perform(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        None => output::write(&arguments::overview()),
        Some(Command::Reproduce(options)) => reproduce::run(options),
        Some(Command::Predict(options)) => predict::run(options),
        Some(Command::Measure(options)) => measure::run(options),
        Some(Command::MeasureTables(options)) => measure_tables::run(options),
        Some(Command::Syscalls(options)) => syscalls::run(options),
        Some(Command::LockCallPath(options)) => call_path::run(options),
        Some(Command::Compare(options)) => compare::run(options),
        Some(Command::Machines(options)) => machines::run(options),
    }
}

/// A line on standard error, if that can be written.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
