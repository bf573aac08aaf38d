//! A run of a program with the preload library.

use super::directories::{self, Library, Private};
use super::program::{self, Ended};
use crate::arguments::{Profile as Options, ProfileFormat};
use crate::errors::{Failure, first};
use crate::new_file::NewFile;
use crate::report::Reports;
use crate::screen::screen;
use crate::signals;
use lockyard_profile::clock::{self, Clock};
use lockyard_profile::process::Process;
use lockyard_profile::profile::Profile;
use lockyard_profile::records::Records;
use lockyard_profile::screen::{Layout, text};
use lockyard_profile::symbols::Symbols;
use lockyard_profile::{preload, program as check};
use lockyard_records::{
    DIRECTORY, EVERY, EXTENSION, FULL_DISK, FULL_LIMIT, MAX_BYTES, MEASURE_COST,
};
use lockyard_support::printable;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    if options.format == ProfileFormat::Json && options.out.is_none() {
        return Err(Failure::Input(
            "--format json: needs --out FILE, because standard output is the program's".to_owned(),
        ));
    }
    let input = |message: String| Failure::Input(format!("profile: {message}"));
    let [name, arguments @ ..] = options.command.as_slice() else {
        return Err(input("no program is named".to_owned()));
    };
    check_program(name).map_err(input)?;
    let out = options.out.as_deref().map(|path| NewFile::at("--out", path, options.force));
    let out = out.transpose()?;
    let reports = Reports::of_page(&options.report)?;
    if let Some(out) = &out {
        reports.check_apart("--out", out)?;
    }
    let failed = |message: String| Failure::Run(format!("profile: {message}"));
    let library = Library::prepare().map_err(failed)?;
    let records = directories::records().map_err(failed)?;
    let cost = cost(&library, options.every);
    if signals::number().is_some() {
        return Err(Failure::Interrupted("the program was not started".to_owned()));
    }
    let mut command = Command::new(name);
    command.args(arguments);
    command.env("LD_PRELOAD", library.preload()).env(DIRECTORY, records.path());
    command.env(EVERY, options.every.to_string());
    let (clock, begin) = (Clock::start(), Instant::now());
    let ended = program::run(command).map_err(|error| {
        let shown = printable(&name.to_string_lossy()).to_string();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                input(format!("{shown} cannot be run: {error}"))
            }
            _ => failed(format!("{shown} cannot be run: {error}")),
        }
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let end_ticks = clock::ticks();
    signals::passed_on();
    let ticks_per_ns = clock.ticks_per_ns();
    let shown = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let mut profile = Profile {
        command: shown.collect(),
        end: end(ended.status),
        code: code(ended.status),
        seconds,
        cpu_seconds: ended.cpu_seconds,
        ticks_per_ns,
        end_ticks,
        every: options.every,
        cost_ns: cost.map(|costs| costs.map(|ticks| ticks / ticks_per_ns)),
        processes: Vec::new(),
        warnings: Vec::new(),
    };
    read(&mut profile, &records);
    drop((library, records));
    let done = write(&profile, options, out.as_ref(), &reports);
    done.map(|()| ExitCode::from(code(ended.status)))
}

/// Checks that a program can be run with the preload library.
///
/// # Errors
///
/// The program is not there, or cannot be recorded.
pub(super) fn check_program(name: &OsStr) -> Result<(), String> {
    if preload::library().is_none() {
        return Ok(());
    }
    check::check(&check::find(name, std::env::var_os("PATH").as_deref())?)
}

/// Returns the cost of a recorded pair in ticks, for a near and for a far lock, measured now in the
/// setting of the program.
fn cost(library: &Library, every: u64) -> Option<[f64; 2]> {
    let header = measured(library, &[(EVERY, every)])?.header;
    Some([header.cost, header.far_cost].map(|cost| cost as f64 / 1000.0))
}

/// Returns the records of a process that measures the library's cost, with these variables.
pub(super) fn measured(library: &Library, variables: &[(&str, u64)]) -> Option<Records> {
    let directory = directories::records().ok()?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.env("LD_PRELOAD", library.preload()).env(DIRECTORY, directory.path());
    command.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
    command.env(MEASURE_COST, "1").arg0("lockyard").arg("--version");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ended { .. } = program::run(command).ok()?;
    files(directory.path()).found.into_iter().find(|records| records.header.cost > 0)
}

/// Files of records in a directory.
#[derive(Default)]
pub(super) struct Files {
    pub(super) found: Vec<Records>,
    /// Descriptions of files that cannot be read.
    pub(super) wrong: Vec<String>,
    /// Number of files that a process began, and did not complete.
    pub(super) begun: usize,
}

/// Reads all files of records in a directory.
pub(super) fn files(directory: &Path) -> Files {
    let mut files = Files::default();
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if !path.to_string_lossy().ends_with(EXTENSION) {
            continue;
        }
        let records = match std::fs::read(&path) {
            Ok(bytes) => Records::read(&bytes),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        };
        match records {
            Ok(Some(records)) => files.found.push(records),
            Ok(None) => files.begun += 1,
            Err(error) => files.wrong.push(error),
        }
    }
    files
}

/// Adds what the processes recorded.
fn read(profile: &mut Profile, directory: &Private) {
    let Files { found, wrong, begun } = files(directory.path());
    profile.warnings.extend(wrong);
    if begun > 0 {
        let folder = directory.path().parent().unwrap_or(directory.path()).display().to_string();
        profile.warnings.push(format!(
            "a process had no room for its records, or ended at once: the file system of {} is \
             full, or a limit of the process is too low (ulimit -f, ulimit -v)",
            printable(&folder)
        ));
    } else if found.is_empty() {
        profile.warnings.push(
            "no process loaded the preload library: the program cleared its environment, or \
             runs on another C library than glibc 2.34 or later"
                .to_owned(),
        );
    }
    if found.is_empty() {
        return;
    }
    let mut symbols = Symbols::default();
    let processes = found.iter().map(|records| Process::of(records, &mut symbols));
    profile.processes =
        processes.filter(|process| process.acquisitions() + process.lost > 0).collect();
    profile.processes.sort_by_key(|process| (Reverse(process.acquisitions()), process.pid));
    let full = profile.processes.iter().map(|process| process.full).find(|full| *full != 0);
    if let Some(full) = full {
        profile.warnings.push(full_line(full, directory.path()));
    }
    if profile.processes.is_empty() && begun == 0 {
        profile.warnings.push(
            "the program took no lock of POSIX threads. Locks of Rust, Go and others are compiled \
             into a program (lockyard-recorded records them)"
                .to_owned(),
        );
    }
    if !clock::is_steady() {
        profile.warnings.push(
            "the processor's time-stamp counter is not steady here, so times may be wrong; counts \
             are exact"
                .to_owned(),
        );
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
        FULL_LIMIT => "the limit for the size of a file (ulimit -f) was reached, and so records                        are lost; raise it"
            .to_owned(),
        _ => format!(
            "the records of a process had no room in {} MiB, or a sixteenth of its address space              (ulimit -v), and so some are lost",
            MAX_BYTES >> 20
        ),
    }
}

fn write(
    profile: &Profile,
    options: &Options,
    out: Option<&NewFile>,
    reports: &Reports,
) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let json = || profile.json(version);
    let pretty = || {
        let text = serde_json::to_string_pretty(&json());
        // Numbers, texts and lists cannot fail.
        text.unwrap_or_default() + "\n"
    };
    let text = || text(profile, Layout { width: screen().width, top: options.top });
    let written = match (out, options.format) {
        (Some(out), ProfileFormat::Table) => out.write(text()),
        (Some(out), ProfileFormat::Json) => out.write(pretty()),
        (None, _) => {
            let text = format!("\n{}", text());
            let mut stderr = std::io::stderr().lock();
            match stderr.write_all(text.as_bytes()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(Failure::Run(format!("profile: standard error cannot be written: {error}")))
                }
                _ => Ok(()),
            }
        }
    };
    first([written, reports.write_profile(&json())])
}

/// Returns the end of a program in words.
pub(super) fn end(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = match signal {
                libc::SIGABRT => " (SIGABRT)",
                libc::SIGINT => " (SIGINT)",
                libc::SIGKILL => " (SIGKILL)",
                libc::SIGSEGV => " (SIGSEGV)",
                libc::SIGTERM => " (SIGTERM)",
                _ => "",
            };
            format!("killed by signal {signal}{name}")
        }
        (None, None) => "ended".to_owned(),
    }
}

/// Returns the exit code as a shell gives it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(1) as u8
}
