//! `lockyard record`: a run of a program whose events become a recording.

use super::cpu_time::Watch;
use super::directories::{self, Library};
use super::events;
use super::files::{Files, files};
use super::noticed::{self, Noticed};
use super::plan::{Plan, Taken};
use super::preloaded::{
    self, Asked, DISPLACED, Ran, begun_line, check_program, code, end, full_line, measured,
    not_loaded,
};
use super::recorded_host::{self, Host, kept};
use super::sleeps::sleeps;
use super::threads;
use crate::arguments::Record as Options;
use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use lockyard_predict::recorded::{LEAST_CPU, too_little};
use lockyard_profile::clock::{self, Clock};
use lockyard_profile::records::Records;
use lockyard_recording::model::Model;
use lockyard_recording::recording::{About, Costs, Recording};
use lockyard_recording::{file, runs};
use lockyard_records::{EVENTS, EVERY, WINDOW_EVENTS, Window, event};
use lockyard_results::statistics::median;
use lockyard_support::{count, jobs};
use std::process::ExitCode;

/// Mean number of acquisitions for each one that may begin a burst.
const BETWEEN: u64 = 128;

/// Writer of the recordings.
const WRITER: &str = concat!("lockyard ", env!("CARGO_PKG_VERSION"));

pub(crate) fn record(options: &Options) -> Result<ExitCode, Failure> {
    check_program(&options.command).map_err(|why| Failure::Input(format!("record: {why}")))?;
    let plan = Plan::of(&options.several, &options.command)?;
    let out = NewFile::at("--out", &options.out, options.force)?;
    let given = recorded_host::given(&options.host)?;
    let library =
        Library::prepare().map_err(|message| Failure::Run(format!("record: {message}")))?;
    if let Some(plan) = plan {
        return several(options, &plan, &out, given, &library);
    }
    let asked = Asked { who: "record", words: &options.command, set: &[], is_apart: false };
    let Taken { mut recording, code } = match taken(asked, &library)? {
        Ok(taken) => taken,
        Err(code) => return Ok(code),
    };
    drop(library);
    let bytes = match given.or_else(|| useless(&recording)).or_else(|| kept(&options.host)) {
        Some(host) => {
            let bytes = with_host(&mut recording, host);
            out.write(&bytes)?;
            bytes
        }
        None => {
            // A second signal ends the command while it measures. The recording is there then.
            let why = "the measurement of the host was not completed";
            out.write(with_host(&mut recording.clone(), Host::without_file(why.to_owned())))?;
            let bytes = with_host(&mut recording, recorded_host::measured(&options.host));
            NewFile::at("--out", &options.out, true)?.write(&bytes)?;
            bytes
        }
    };
    describe(&recording, bytes.len());
    Ok(code)
}

/// Records runs with several numbers of threads.
fn several(
    options: &Options,
    plan: &Plan,
    out: &NewFile,
    given: Option<Host>,
    library: &Library,
) -> Result<ExitCode, Failure> {
    let mut made = match plan.record("record", |asked| taken(asked, library))? {
        Ok(made) => made,
        Err(code) => return Ok(code),
    };
    let first = made.runs.first().map(|run| &run.recording);
    let host = given.or_else(|| useless(first?)).or_else(|| kept(&options.host));
    let host = host.unwrap_or_else(|| recorded_host::measured(&options.host));
    for run in &mut made.runs {
        with_host(&mut run.recording, host.clone());
    }
    let bytes = runs::write(&made);
    out.write(&bytes)?;
    for run in &made.runs {
        let rate = run.rate().map_or_else(String::new, |rate| format!(", {rate:.0} operations/s"));
        complain(&format!("lockyard record: {}{rate}", lockyard_support::threads(run.threads)));
        describe(&run.recording, file::write(&run.recording).len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Records a run of a program, without its host. Returns the program's exit code if nothing was
/// recorded because the program failed.
///
/// # Errors
///
/// The program cannot be started, or nothing was recorded: the reason.
pub(super) fn taken(asked: Asked, library: &Library) -> Result<Result<Taken, ExitCode>, Failure> {
    let who = asked.who;
    let failed = |message: String| Failure::Run(format!("{who}: {message}"));
    let directory = directories::records().map_err(failed)?;
    let clock = Clock::start();
    let per_us = (clock.ticks_per_ns() * 1000.0).round().max(1.0) as u64;
    let variables = [(EVERY, BETWEEN), (EVENTS, per_us)];
    let watch = Watch::begin();
    let Ran { ended, seconds, ticks_per_ns, .. } =
        preloaded::run(asked, library, &directory, &variables)?;
    let running = noticed::running(directory.path());
    let Files { found, wrong, begun } = files(&directory);
    let noticed = Noticed::of(&found, &running);
    let loaded = !found.is_empty();
    let Some(records) = busiest(found) else {
        let displaced = directory.is_displaced().then(|| DISPLACED.to_owned());
        let why = displaced.or_else(|| wrong.first().cloned());
        let why = why.unwrap_or_else(|| match (begun, loaded) {
            (0, false) => not_loaded(),
            (0, true) => format!("no lock was recorded: {}", noticed.of_none().join("; ")),
            _ => begun_line(directory.path()),
        });
        if ended.status.success() {
            return Err(failed(why));
        }
        // The program's end matters more than that nothing was recorded.
        complain(&format!("lockyard: {who}: {why}; the program's end: {}", end(ended.status)));
        return Ok(Err(ExitCode::from(code(ended.status))));
    };
    // The program has ended, and with it a signal that was its own.
    jobs::clear_interrupt();
    let shown = asked.words.iter().map(|word| word.to_string_lossy().into_owned());
    let seen = watch.end(records.header.pid);
    let mut about = About {
        writer: WRITER.to_owned(),
        command: shown.collect(),
        seconds,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        costs: in_ns(&costs(library, per_us), ticks_per_ns),
        cpu_time: seen.cpu_time,
        switches: seen.switches,
        ..About::default()
    };
    if !ended.status.success() {
        about.notes.push(ended_as(&end(ended.status)));
    }
    about.notes.extend(wrong);
    if directory.is_displaced() {
        about.notes.push(DISPLACED.to_owned());
    }
    if begun > 0 {
        about.notes.push(begun_line(directory.path()));
    }
    if records.header.full != 0 {
        about.notes.push(full_line(records.header.full, directory.path()));
    }
    about.notes.extend(noticed.missing);
    about.notes.extend(lockyard_measure::kernel::siblings_note());
    if !clock::is_steady() {
        let note = "the processor's time-stamp counter is not steady here, so times may be wrong";
        about.notes.push(note.to_owned());
    }
    let mut recording = events::recording(&records, about, ticks_per_ns);
    recording.about.threads = threads::of(&records.threads, &seen.threads, ticks_per_ns);
    Ok(Ok(Taken { recording, code: ExitCode::from(code(ended.status)) }))
}

/// Returns no host for a recording that cannot be predicted.
pub(super) fn useless(recording: &Recording) -> Option<Host> {
    let why = Model::of(recording).err()?;
    Some(Host::without_file(format!("the host was not measured: {why}")))
}

/// Adds the host to a recording. Returns the bytes of its file.
pub(super) fn with_host(recording: &mut Recording, host: Host) -> Vec<u8> {
    let about = &mut recording.about;
    (about.host, about.no_host) = (host.file, host.none);
    about.notes.splice(0..0, host.notes);
    file::write(recording)
}

/// Returns the note on a program that did not end well.
fn ended_as(end: &str) -> String {
    match end.strip_prefix("killed") {
        Some(_) => format!("the program was {end}"),
        None => format!("the program ended with {end}"),
    }
}

/// Returns the records of the process that took the most locks.
fn busiest(found: Vec<Records>) -> Option<Records> {
    let events = |records: &Records| {
        records.windows.iter().map(|window| u64::from(window.count)).sum::<u64>()
    };
    found.into_iter().filter(|records| events(records) > 0).max_by_key(events)
}

/// Says what was recorded, on standard error.
fn describe(recording: &Recording, bytes: usize) {
    let about = &recording.about;
    let acquired: u64 = recording.windows.iter().map(|window| window.acquired()).sum();
    complain(&format!(
        "lockyard record: {} of {} at {} recorded in detail, {bytes} bytes ({:.1} an acquisition)",
        count(acquired as usize, "acquisition"),
        count(about.locks.len(), "lock"),
        count(about.sites.len(), "call site"),
        bytes as f64 / acquired.max(1) as f64
    ));
    match Model::of(recording) {
        Ok(model) => {
            complain(&format!(
                "lockyard record: {:.1} thread{}, {:.0} acquisitions/s in {:.0} % of the run",
                model.threads,
                if (model.threads - 1.0).abs() < 0.05 { "" } else { "s" },
                model.undisturbed_rate(),
                model.shares.replayed * 100.0
            ));
            if model.shares.cpu < LEAST_CPU {
                let ([who, it], what) = if model.shares.cpu_of_program < LEAST_CPU {
                    (["the program", "it"], "record it again on a quieter host")
                } else {
                    let what = "the program as a whole had enough";
                    (["the threads that take locks", "they"], what)
                };
                complain(&format!(
                    "lockyard record: {who} had {:.0} % of the CPU time that {it} could use, so \
                     predictions will be refused (below {:.0} %): {what}",
                    too_little(model.shares.cpu),
                    LEAST_CPU * 100.0
                ));
            }
        }
        Err(why) => {
            complain(&format!("lockyard record: this recording cannot be predicted: {why}"))
        }
    }
    if let Some(why) = &about.no_host {
        complain(&format!("lockyard record: predictions will not be gated: {why}"));
    }
    for note in &about.notes {
        complain(&format!("lockyard record: {note}"));
    }
}

/// Costs of the recording in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct InTicks {
    hold: f64,
    think: f64,
    counted: f64,
    plain: f64,
}

fn in_ns(costs: &InTicks, ticks_per_ns: f64) -> Costs {
    let all = Costs {
        hold: costs.hold / ticks_per_ns,
        think: costs.think / ticks_per_ns,
        counted: costs.counted / ticks_per_ns,
        plain: costs.plain / ticks_per_ns,
        ..sleeps()
    };
    all.in_range()
}

/// Number of processes in which the cost of events is measured. From one process to the next it may
/// differ by a factor.
const PROCESSES: usize = 5;

/// Measures the costs of the recording, each in a process of its own: of a pair that is counted,
/// and of events, by the median of several processes.
fn costs(library: &Library, per_us: u64) -> InTicks {
    let mut costs = InTicks::default();
    if let Some(records) = measured(library, &[(EVERY, BETWEEN)]) {
        costs.counted = records.header.cost as f64 / 1000.0;
        costs.plain = records.header.plain as f64 / 1000.0;
    }
    let events = || measured(library, &[(EVERY, BETWEEN), (EVENTS, per_us)]);
    let found = (0..PROCESSES).filter_map(|_| events()).map(|records| {
        let work = records.header.work as f64 / 1000.0;
        of_events(&records.windows).map(|time| (time - work).max(0.0))
    });
    let (holds, thinks): (Vec<f64>, Vec<f64>) = found.map(|[hold, think]| (hold, think)).unzip();
    costs.hold = median(&holds).unwrap_or(0.0);
    costs.think = median(&thinks).unwrap_or(0.0);
    costs
}

/// Returns the times between events of the same lock: of a hold, and between two holds. Each is a
/// mean of the middle half: most clocks have steps, of which a median is one.
fn of_events(windows: &[Window]) -> [f64; 2] {
    let (mut holds, mut thinks) = (Vec::new(), Vec::new());
    for window in windows {
        let events = &window.events[..(window.count as usize).min(WINDOW_EVENTS)];
        for pair in events.windows(2) {
            let [before, after] = pair else { continue };
            let is_release = |kind: u64| kind & event::MASK == event::RELEASED;
            let passed = after.ticks.saturating_sub(before.ticks + u64::from(before.own)) as f64;
            match (is_release(before.site), is_release(after.site)) {
                _ if before.lock != after.lock => {}
                (false, true) => holds.push(passed),
                (true, false) => thinks.push(passed),
                _ => {}
            }
        }
    }
    [holds, thinks].map(middle_mean)
}

/// Returns the mean of the middle half of times; 0 if there is none.
fn middle_mean(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let quarter = times.len() / 4;
    let middle = &times[quarter..times.len() - quarter];
    middle.iter().sum::<f64>() / (middle.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_with_steps_has_a_mean_between_them() {
        let steps = [10.0; 45].into_iter().chain([20.0; 55]).chain([5_000.0; 20]);
        let mean = middle_mean(steps.collect());
        assert!((14.0..20.0).contains(&mean), "{mean}");
        assert_eq!(middle_mean(vec![7.0]), 7.0);
        assert_eq!(middle_mean(Vec::new()), 0.0);
    }

    #[test]
    fn the_end_of_a_program_is_a_sentence() {
        let killed = ended_as("killed by signal 2 (SIGINT)");
        assert_eq!(killed, "the program was killed by signal 2 (SIGINT)");
        assert_eq!(ended_as("exit code 3"), "the program ended with exit code 3");
    }
}
