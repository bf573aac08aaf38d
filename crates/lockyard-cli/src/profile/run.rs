//! A run of a program with the preload library.

use super::directories::{self, Library, Private};
use super::files::{Files, files};
use super::noticed::{self, Noticed};
use super::preloaded::{
    self, Asked, DISPLACED, Ran, begun_line, check_program, code, end, full_line, measured,
    not_loaded,
};
use crate::arguments::{Profile as Options, ProfileFormat};
use crate::errors::{Failure, first};
use crate::new_file::NewFile;
use crate::report::Reports;
use crate::screen::screen;
use lockyard_profile::clock;
use lockyard_profile::process::Process;
use lockyard_profile::profile::Profile;
use lockyard_profile::screen::{Layout, text};
use lockyard_profile::symbols::Symbols;
use lockyard_records::EVERY;
use lockyard_results::render::pretty;
use std::cmp::Reverse;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    if options.format == ProfileFormat::Json && options.out.is_none() {
        return Err(Failure::Input(
            "--format json: needs --out FILE, because standard output is the program's".to_owned(),
        ));
    }
    let input = |message: String| Failure::Input(format!("profile: {message}"));
    check_program(&options.command).map_err(input)?;
    let out = options.out.as_deref().map(|path| NewFile::at("--out", path, options.force));
    let out = out.transpose()?;
    let reports = Reports::of_page(&options.report)?;
    if let Some(out) = &out {
        reports.check_apart("--out", out)?;
    }
    let failed = |message: String| Failure::Run(format!("profile: {message}"));
    let library = Library::prepare().map_err(failed)?;
    let asked = Asked { who: "profile", words: &options.command, set: &[], is_apart: false };
    let profile = taken(asked, &library, options.every)?;
    let code = profile.code;
    let done = write(&profile, options, out.as_ref(), &reports);
    done.map(|()| ExitCode::from(code))
}

/// Runs a program, and returns what its processes recorded.
///
/// # Errors
///
/// The program cannot be started.
pub(super) fn taken(asked: Asked, library: &Library, every: u64) -> Result<Profile, Failure> {
    let failed = |message: String| Failure::Run(format!("{}: {message}", asked.who));
    let records = directories::records().map_err(failed)?;
    let cost = cost(library, every);
    let Ran { ended, seconds, end_ticks, ticks_per_ns } =
        preloaded::run(asked, library, &records, &[(EVERY, every)])?;
    let shown = asked.words.iter().map(|word| word.to_string_lossy().into_owned());
    let mut profile = Profile {
        command: shown.collect(),
        end: end(ended.status),
        code: code(ended.status),
        seconds,
        cpu_seconds: ended.cpu_seconds,
        ticks_per_ns,
        end_ticks,
        every,
        cost_ns: cost.map(|costs| costs.map(|ticks| ticks / ticks_per_ns)),
        processes: Vec::new(),
        saw_all: true,
        warnings: Vec::new(),
    };
    read(&mut profile, &records);
    Ok(profile)
}

/// Returns the cost of a recorded pair in ticks, for a near and for a far lock, measured now in the
/// setting of the program.
fn cost(library: &Library, every: u64) -> Option<[f64; 2]> {
    let header = measured(library, &[(EVERY, every)])?.header;
    Some([header.cost, header.far_cost].map(|cost| cost as f64 / 1000.0))
}

/// Adds what the processes recorded.
fn read(profile: &mut Profile, directory: &Private) {
    let running = noticed::running(directory.path());
    let Files { found, wrong, begun } = files(directory);
    profile.saw_all = wrong.is_empty() && begun == 0 && !directory.is_displaced();
    profile.warnings.extend(wrong);
    if directory.is_displaced() {
        profile.warnings.push(DISPLACED.to_owned());
    }
    if begun > 0 {
        profile.warnings.push(begun_line(directory.path()));
    } else if found.is_empty() && !directory.is_displaced() {
        profile.warnings.push(not_loaded());
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
    let noticed = Noticed::of(&found, &running);
    profile.saw_all &= noticed.saw_all();
    if profile.processes.is_empty() && begun == 0 {
        profile.warnings.extend(noticed.of_none());
    } else {
        profile.warnings.extend(noticed.missing);
    }
    if !clock::is_steady() {
        let counts = if profile.saw_all { "; counts are exact" } else { "" };
        profile.warnings.push(format!(
            "the processor's time-stamp counter is not steady here, so times may be wrong{counts}"
        ));
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
    let text = || {
        text(profile, Layout { width: screen().width, top: options.top, unicode: screen().unicode })
    };
    let written = match (out, options.format) {
        (Some(out), ProfileFormat::Table) => out.write(text()),
        (Some(out), ProfileFormat::Json) => out.write(pretty(&json())),
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
