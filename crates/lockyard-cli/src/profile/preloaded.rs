//! Programs under the preload library: their environment, and their end.

use super::directories::{self, Library, Private};
use super::files::files;
use super::program::{self, Ended};
use crate::errors::Failure;
use crate::signals;
use lockyard_profile::clock::{self, Clock};
use lockyard_profile::records::Records;
use lockyard_profile::{preload, program as check};
use lockyard_records::{DIRECTORY, FULL_DISK, FULL_LIMIT, MAX_BYTES, MEASURE_COST};
use lockyard_support::printable;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Checks that a program can be run with the preload library.
///
/// # Errors
///
/// No program is named, it is not there, or it cannot be recorded.
pub(super) fn check_program(words: &[OsString]) -> Result<(), String> {
    let Some(name) = words.first() else { return Err("no program is named".to_owned()) };
    if preload::library().is_none() {
        return Ok(());
    }
    check::check(&check::find(name, std::env::var_os("PATH").as_deref())?)
}

/// A program that has ended.
pub(super) struct Ran {
    pub(super) ended: Ended,
    pub(super) seconds: f64,
    /// Time of the end, in ticks.
    pub(super) end_ticks: u64,
    /// Rate of the clock while the program ran.
    pub(super) ticks_per_ns: f64,
}

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'p> {
    /// Command that runs it, for errors.
    pub(super) who: &'p str,
    /// Name and arguments.
    pub(super) words: &'p [OsString],
    /// Variables of its environment.
    pub(super) set: &'p [(OsString, OsString)],
    /// True if standard output is the command's own, so that the program's goes to standard error.
    pub(super) is_apart: bool,
}

/// Runs a program with its arguments and the library, which records into a directory as the
/// variables say.
///
/// # Errors
///
/// The program cannot be started, or a signal has come before.
pub(super) fn run(
    asked: Asked,
    library: &Library,
    directory: &Private,
    variables: &[(&str, u64)],
) -> Result<Ran, Failure> {
    run_command(asked, |command| preload(command, library, directory, variables))
}

/// Runs a program by a command that is prepared in some way.
///
/// # Errors
///
/// As [`run`].
pub(super) fn run_command(
    asked: Asked,
    prepare: impl FnOnce(&mut Command),
) -> Result<Ran, Failure> {
    let Asked { who, words, set, is_apart } = asked;
    if signals::number().is_some() {
        return Err(Failure::Interrupted("the program was not started".to_owned()));
    }
    let [name, arguments @ ..] = words else {
        return Err(Failure::Input(format!("{who}: no program is named")));
    };
    let mut command = Command::new(name);
    if is_apart {
        command.stdout(std::io::stderr());
    }
    prepare(&mut command);
    command.args(arguments).envs(set.iter().map(|(name, value)| (name, value)));
    let (clock, begin) = (Clock::start(), Instant::now());
    let ended = program::run(command).map_err(|error| {
        let shown = printable(&name.to_string_lossy()).to_string();
        let message = format!("{who}: {shown} cannot be run: {error}");
        match (error.kind(), error.raw_os_error()) {
            (_, Some(libc::ENOEXEC)) => Failure::Input(format!(
                "{who}: {shown} cannot be run: it is neither a complete program nor a script that \
                 begins with #!"
            )),
            (ErrorKind::NotFound | ErrorKind::PermissionDenied, _) => Failure::Input(message),
            _ => Failure::Run(message),
        }
    })?;
    let (seconds, end_ticks) = (begin.elapsed().as_secs_f64(), clock::ticks());
    signals::passed_on();
    Ok(Ran { ended, seconds, end_ticks, ticks_per_ns: clock.ticks_per_ns() })
}

/// Makes a command run its program with the library.
fn preload(
    command: &mut Command,
    library: &Library,
    directory: &Private,
    variables: &[(&str, u64)],
) {
    command.env("LD_PRELOAD", library.preload()).env(DIRECTORY, directory.path());
    command.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
}

/// Returns the records of a process that measures the library's cost, with these variables.
pub(super) fn measured(library: &Library, variables: &[(&str, u64)]) -> Option<Records> {
    let directory = directories::records().ok()?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    preload(&mut command, library, &directory, variables);
    command.env(MEASURE_COST, "1").arg0("lockyard").arg("--version");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ended { .. } = program::run(command).ok()?;
    files(&directory).found.into_iter().find(|records| records.header.cost > 0)
}

/// The line of records that the program has moved or removed.
pub(super) const DISPLACED: &str =
    "the directory of records was removed or replaced by the program, so records may be missing";

/// Returns the line of processes that have begun a file of records and not completed it.
pub(super) fn begun_line(directory: &Path) -> String {
    let folder = directory.parent().unwrap_or(directory).display().to_string();
    format!(
        "a process had no room for its records, or ended at once: the file system of {} is full, \
         or a limit of the process is too low (ulimit -f, ulimit -v)",
        printable(&folder)
    )
}

/// Returns the line that says why no process has records.
pub(super) fn not_loaded() -> String {
    match std::env::var_os(preload::OVERRIDE).filter(|path| !path.is_empty()) {
        Some(path) => format!(
            "no process loaded the preload library: is {}={} that library?",
            preload::OVERRIDE,
            printable(&path.to_string_lossy())
        ),
        None => {
            "no process loaded the preload library: the program runs on another C library than \
                 glibc 2.34 or later, or has rights that its caller has not (file capabilities)"
                .to_owned()
        }
    }
}

/// Returns the line that says why records have no room.
pub(super) fn full_line(full: u64, directory: &Path) -> String {
    let folder = directory.parent().unwrap_or(directory).display().to_string();
    let folder = printable(&folder).to_string();
    match full {
        FULL_DISK => format!(
            "the file system of {folder} was full, and so records are lost; make room there"
        ),
        FULL_LIMIT => "the limit for the size of a file (ulimit -f) was reached, and so records \
                       are lost; raise it"
            .to_owned(),
        _ => format!(
            "the records of a process had no room in {} MiB, or a sixteenth of its address space \
             (ulimit -v), and so some are lost",
            MAX_BYTES >> 20
        ),
    }
}

/// Returns the end of a program in words.
pub(super) fn end(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = signals::name(signal).map(|name| format!(" ({name})"));
            format!("killed by signal {signal}{}", name.unwrap_or_default())
        }
        (None, None) => "ended".to_owned(),
    }
}

/// Returns the exit code as a shell gives it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_signals_have_their_names() {
        let named = [(1, "HUP"), (3, "QUIT"), (8, "FPE"), (13, "PIPE"), (31, "SYS")];
        for (number, name) in named {
            let said = end(ExitStatus::from_raw(number));
            assert_eq!(said, format!("killed by signal {number} (SIG{name})"));
        }
        assert_eq!(end(ExitStatus::from_raw(40)), "killed by signal 40");
    }
}
