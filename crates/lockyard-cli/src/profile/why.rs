//! `lockyard why`: why a program does not get faster, what a larger machine would do, and what to
//! change. Runs the program, profiles it, records it, predicts it, and says the answer in a few
//! lines.

use super::chains::{waits_for, with_ends};
use super::directories::Library;
use super::plan::{Plan, Taken};
use super::preloaded::{Asked, check_program};
use super::prove::{self, Library as MutexLibrary};
use super::record;
use super::recorded_host::{self, Host};
use super::{run, today};
use crate::answer::{self, Wanted};
use crate::arguments::{ReportFile, Why as Options};
use crate::errors::{Failure, complain, first};
use crate::new_file::NewFile;
use crate::report::{About, Reports};
use crate::{output, screen};
use lockyard_predict::recorded::Recorded;
use lockyard_recording::runs::{self, Run, Runs};
use lockyard_results::render::{Document, Format, render, short_answer};
use std::process::ExitCode;

/// Mean number of holds for each one that the profile times.
const TIMED: u64 = 128;

/// Files that the user asked for.
struct Outputs {
    json: Option<NewFile>,
    recording: Option<NewFile>,
    page: Reports,
}

impl Outputs {
    fn of(options: &Options) -> Result<Outputs, Failure> {
        let file = |option: &str, path: &Option<std::path::PathBuf>| {
            path.as_deref().map(|path| NewFile::at(option, path, options.force)).transpose()
        };
        let (json, recording) =
            (file("--json", &options.json)?, file("--recording", &options.recording)?);
        let page = Reports::of_page(&ReportFile { report: options.html.clone() })?;
        for (option, file) in [("--json", &json), ("--recording", &recording)] {
            file.as_ref().map_or(Ok(()), |file| page.check_apart(option, file))?;
        }
        if let (Some(one), Some(other)) = (&json, &recording)
            && one.is_same(other)
        {
            let why = "--json and --recording name the same file".to_owned();
            return Err(Failure::Input(why));
        }
        Ok(Outputs { json, recording, page })
    }
}

pub(crate) fn why(options: &Options) -> Result<ExitCode, Failure> {
    check_program(&options.command).map_err(|why| Failure::Input(format!("why: {why}")))?;
    let plan = Plan::for_why(&options.several, &options.command)?;
    let wanted = Wanted::of(options)?;
    let outputs = Outputs::of(options)?;
    let given = recorded_host::given(&options.host)?;
    let mutex = options.prove.then(|| MutexLibrary::find(options.mutex_library.as_deref()));
    let mutex = mutex.transpose()?;
    let library = Library::prepare().map_err(|message| Failure::Run(format!("why: {message}")))?;
    // The profile sees all waits, and the recording the order of events.
    let (words, set) = plan.with(plan.most());
    let asked = Asked { who: "why", words: &words, set: &set, is_apart: true };
    step(&format!("profiles {}", plan.program()));
    let profile = run::taken(asked, &library, TIMED)?;
    if profile.processes.is_empty() {
        let why = profile.warnings.first().map_or("", String::as_str);
        complain(&format!("lockyard: why: no lock was seen: {why}"));
        return Ok(ExitCode::from(profile.code.max(1)));
    }
    if profile.code != 0 {
        complain(&format!("lockyard: why: the program failed: {}", profile.end));
        return Ok(ExitCode::from(profile.code));
    }
    step(&format!("records {}", plan.shown()));
    let mut made = match record_all(&plan, asked, &library)? {
        Ok(made) => made,
        Err(code) => return Ok(code),
    };
    let host = host(options, given, &made);
    for run in &mut made.runs {
        record::with_host(&mut run.recording, host.clone());
    }
    if let Some(file) = &outputs.recording {
        let alone = made.runs.len() == 1;
        let one = made.runs.first().filter(|_| alone);
        let bytes = one.map(|run| lockyard_recording::file::write(&run.recording));
        file.write(bytes.unwrap_or_else(|| runs::write(&made)))?;
    }
    let chains = waits_for(&profile);
    let (mut document, machines, threads) = match Recorded::of_runs(made, None) {
        Ok(mut recorded) => {
            let found = answer::predict(&mut recorded, &wanted)?;
            (found.document, found.machines, found.threads)
        }
        // The facts of the run need no recording that can be replayed.
        Err(why) => {
            let recorded = Some(today::of_profile(&profile, why));
            let environment = output::environment::<String>([]);
            (Document { recorded, environment, ..Document::default() }, Vec::new(), 0)
        }
    };
    if let Some(answers) = &mut document.recorded {
        answers.waits_for = with_ends(chains, &answers.waits_for);
        if let Some(mutex) = mutex {
            step("runs the program with lockyard's mutex and without, in turn");
            let predicted = answers.gain_of(answer::MUTEX, threads);
            answers.proof = prove::prove(asked, &mutex, plan.pattern.as_ref(), predicted)?;
        }
        answers.next = answer::next(options, answers);
    }
    let text = short_answer(&document, &screen::screen());
    output::write(&text)?;
    let title = format!("Why {} does not get faster", plan.program());
    let about = About { title: &title, machines: &machines, in_detail: true };
    let json = outputs.json.map_or(Ok(()), |file| file.write(render(&document, Format::Json)));
    first([json, outputs.page.write(&document, &about)])?;
    Ok(ExitCode::SUCCESS)
}

/// Says what happens now, on standard error.
fn step(what: &str) {
    if !screen::screen().quiet {
        complain(&format!("lockyard why: {what}"));
    }
}

/// Records the program with each number of threads, or as it is.
fn record_all(
    plan: &Plan,
    asked: Asked,
    library: &Library,
) -> Result<Result<Runs, ExitCode>, Failure> {
    if !plan.threads.is_empty() {
        return plan.record("why", |asked| record::taken(asked, library));
    }
    match record::taken(asked, library)? {
        Ok(Taken { recording, code }) if code == ExitCode::SUCCESS => {
            let run = Run { threads: 1, rates: Vec::new(), recording };
            Ok(Ok(Runs { command: Vec::new(), runs: vec![run] }))
        }
        Ok(Taken { code, .. }) | Err(code) => {
            complain("lockyard: why: the program failed while it was recorded");
            Ok(Err(code))
        }
    }
}

fn host(options: &Options, given: Option<Host>, made: &Runs) -> Host {
    let useless = || record::useless(&made.runs.last()?.recording);
    let host = given.or_else(useless).or_else(|| recorded_host::kept(&options.host));
    host.unwrap_or_else(|| {
        step("measures this host (kept for a day)");
        recorded_host::measured(&options.host)
    })
}
