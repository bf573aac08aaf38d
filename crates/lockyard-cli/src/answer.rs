//! Predictions for `lockyard why`: the recorded program as it is on each machine, then changes of
//! its saturated locks on the largest one.

use crate::arguments::Why as Options;
use crate::errors::{Failure, complain};
use crate::predict as command;
use crate::progress;
use crate::recorded::{Gated, HOST, apart};
use crate::values::thread_list;
use lockyard_lab::predict::{self, PredictRequest, Predictions};
use lockyard_measure::cpus::usual_threads;
use lockyard_predict::names;
use lockyard_predict::recorded::{Gate, Recorded};
use lockyard_predict::simulate::Runs;
use lockyard_recording::script::{OTHER_LOCKS, RECORDED, most_serial};
use lockyard_results::published;
use lockyard_results::recorded::{RecordedProgram, SATURATED_SHARE};
use lockyard_results::render::Document;
use lockyard_results::row::Row;
use lockyard_sim::Machine;

/// Servers for a program whose user names no machine: by the processor's vendor, in the order in
/// which they are tried. Their latencies were measured by others, and clouds rent them.
const SERVERS: [(&str, [&str; 2]); 2] = [
    ("AuthenticAMD", ["milan-7763-2s64c2t", "bergamo-9754-2s128c2t"]),
    ("", ["ice-lake-8375c-2s32c2t", "genoa-9654-2s96c2t"]),
];

/// The lock whose gain is predicted beside the changes: lockyard's mutex.
pub(crate) const MUTEX: &str = "mutex";

/// Maximum number of saturated locks that are changed.
const MOST_LOCKS: usize = 3;

/// Machines and numbers of threads that the user wants.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Machines that are no hosts.
    machines: Vec<Machine>,
    /// True if this host is one of the machines.
    on_host: bool,
    /// True if the user named the machines.
    are_named: bool,
    threads: Option<Vec<usize>>,
    ungated: bool,
    jobs: usize,
}

impl Wanted {
    /// Reads what the user wants.
    ///
    /// # Errors
    ///
    /// Bad input: an unknown machine, or a wrong number.
    pub(crate) fn of(options: &Options) -> Result<Wanted, Failure> {
        let named = options.machines.iter().map(|name| name.trim());
        let mut machines: Vec<Machine> = Vec::new();
        for name in named.filter(|name| *name != HOST) {
            let machine = names::machine(name)?;
            if machines.iter().any(|other| other.name() == machine.name()) {
                return Err(Failure::Input(format!(
                    "--machine: `{}` is given twice; allowed: each machine once",
                    lockyard_support::printable(name)
                )));
            }
            machines.push(machine);
        }
        let are_named = !options.machines.is_empty();
        if !are_named {
            machines.extend(server());
        }
        let jobs = options.jobs.map(usize::from);
        Ok(Wanted {
            on_host: !are_named || options.machines.iter().any(|name| name.trim() == HOST),
            machines,
            are_named,
            threads: options.at.as_deref().map(at).transpose()?,
            ungated: options.ungated,
            jobs: jobs
                .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        })
    }
}

/// Reads numbers of threads.
fn at(list: &str) -> Result<Vec<usize>, Failure> {
    thread_list(list).map_err(|failure| match failure {
        Failure::Input(why) => Failure::Input(why.replacen("--threads", "--at", 1)),
        other => other,
    })
}

/// Returns a server that is larger than this host, of the same vendor.
fn server() -> Option<Machine> {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    let (_, names) = SERVERS.into_iter().find(|(vendor, _)| about.contains(vendor))?;
    let mut machines: Vec<Machine> = names.into_iter().filter_map(Machine::shipped).collect();
    let larger = machines.iter().position(|machine| machine.hardware_threads() > here);
    Some(machines.swap_remove(larger.unwrap_or(machines.len() - 1)))
}

/// Predictions, with the machines for which they are.
pub(crate) struct Found {
    pub(crate) document: Document,
    /// Largest recorded number of threads.
    pub(crate) threads: usize,
    pub(crate) machines: Vec<Machine>,
}

/// Predicts a recorded program. If the gate refuses, the document has the facts of the run only.
///
/// # Errors
///
/// A simulation fails.
pub(crate) fn predict(recorded: &mut Recorded, wanted: &Wanted) -> Result<Found, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::Run(format!("why: the gate: {error}"));
    let gate = recorded.gate().map_err(|error| fail(&error))?;
    let mut machines = Vec::new();
    if wanted.on_host {
        match recorded.host() {
            Ok(host) => machines.push(host.clone()),
            Err(why) if wanted.are_named => {
                return Err(Failure::Input(format!("--machine: `{HOST}`: {why}")));
            }
            Err(_) => {}
        }
    }
    machines.extend(wanted.machines.iter().cloned());
    let limit = recorded.limit(&gate);
    let request = |recorded: &Recorded, machine: &Machine, threads: &[usize], names: &[String]| {
        PredictRequest {
            script: recorded.script.clone(),
            machine: machine.clone(),
            variants: names.to_vec(),
            threads: threads.to_vec(),
            placement: None,
            runs: Runs::default(),
            intervals: true,
            sensitivity: false,
            attribution: false,
            trace: false,
            limit: Some(limit.clone()),
            jobs: wanted.jobs,
        }
    };
    let counts = |machine: &Machine| match &wanted.threads {
        Some(threads) => threads.clone(),
        None => usual_threads(machine.hardware_threads()),
    };
    let is_refused = gate.refused.is_some() && !wanted.ungated;
    let mut rows: Vec<Row> = Vec::new();
    let as_it_is = [RECORDED.to_owned()];
    let requests: Vec<PredictRequest> = machines
        .iter()
        .map(|machine| request(recorded, machine, &counts(machine), &as_it_is))
        .collect();
    // Threads beyond the machine's share its CPUs.
    requests.iter().flat_map(apart).try_for_each(|part| predict::check(&part))?;
    let environment = command::environment(&requests);
    if !wanted.are_named && !is_refused {
        let names: Vec<&str> = wanted.machines.iter().map(Machine::title).collect();
        complain(&format!(
            "lockyard why: predicts this host and a server of its kind: {} (-m names others)",
            names.join(", ")
        ));
    }
    if !is_refused {
        rows = simulate(&requests, "cells simulated", &gate, recorded)?;
        let groups = saturated(recorded, &rows, machines.last());
        let mut variants = recorded.change(&groups).map_err(|why| fail(&why))?;
        let has_mutex = recorded.script.variant(MUTEX).is_some();
        variants.extend(has_mutex.then(|| MUTEX.to_owned()));
        let mut changed = Vec::new();
        if let Some(machine) = machines.last() {
            let threads = changed_at(machine, &counts(machine));
            changed.push(request(recorded, machine, &[threads], &variants));
        }
        // The gain of the mutex on the recorded run itself, which can be measured here.
        let own = recorded.threads();
        if let (Ok(host), true) = (recorded.host(), has_mutex) {
            let both = [RECORDED.to_owned(), MUTEX.to_owned()];
            let is_there = machines.iter().any(|machine| machine.name() == host.name());
            let known = is_there && counts(host).contains(&own);
            let which = if known { &both[1..] } else { &both[..] };
            changed.push(request(recorded, host, &[own], which));
        }
        rows.extend(simulate(&changed, "changes simulated", &gate, recorded)?);
    }
    let mut document = Document {
        rows,
        environment,
        notes: command::notes(&recorded.script, &machines),
        ..Document::default()
    };
    document.notes.extend(command::of_figures(&document.rows, true));
    Gated::of(recorded, gate).add_to(&mut document);
    Ok(Found { document, threads: recorded.threads(), machines })
}

/// Simulates requests.
fn simulate(
    requests: &[PredictRequest],
    what: &'static str,
    gate: &Gate,
    recorded: &Recorded,
) -> Result<Vec<Row>, Failure> {
    let cells = requests.iter().map(|request| request.threads.len() * request.variants.len());
    let bar = progress::bar(cells.sum(), what);
    let tables = published::shipped()?;
    let mut rows = Vec::new();
    for request in requests {
        let mut found = Predictions::default();
        for part in apart(request) {
            let done = predict::run(&part, &tables, &|| bar.inc(1));
            if done.is_err() {
                bar.finish_and_clear();
            }
            found.append(done?);
        }
        // Several recordings say what the replay lacks.
        if let Some(fitted) = &gate.fitted {
            fitted.correct(&mut found.rows, &recorded.script, &request.machine);
        }
        rows.extend(found.rows);
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// Returns the groups of locks to change: those that are saturated at the machine's largest number
/// of threads, or else the one that keeps others out for the longest time.
fn saturated(recorded: &Recorded, rows: &[Row], machine: Option<&Machine>) -> Vec<usize> {
    let Some(machine) = machine else { return Vec::new() };
    let mut uses: Vec<(usize, f64)> = recorded.uses(rows, machine.name());
    uses.retain(|(_, share)| *share >= SATURATED_SHARE);
    uses.sort_by(|a, b| b.1.total_cmp(&a.1));
    let groups: Vec<usize> = uses.into_iter().map(|(group, _)| group).take(MOST_LOCKS).collect();
    if groups.is_empty() {
        return most_serial(&recorded.model, recorded.numbers).into_iter().collect();
    }
    groups
}

/// Returns the number of threads at which changes are compared: the largest one with a core for
/// each thread.
fn changed_at(machine: &Machine, counts: &[usize]) -> usize {
    let cores = machine.cores();
    let fit = counts.iter().copied().filter(|threads| *threads <= cores).max();
    fit.or_else(|| counts.iter().copied().min()).unwrap_or(1)
}

/// Returns what to do next, in sentences.
pub(crate) fn next(options: &Options, answers: &RecordedProgram) -> Vec<String> {
    let mut next = Vec::new();
    if options.several.threads.is_none() {
        next.push(
            "measure what grows with threads: --threads 1,2,4, with {threads} where the program \
             takes their number"
                .to_owned(),
        );
    }
    let is_mutex = |variant: &str| OTHER_LOCKS.iter().any(|(name, ..)| *name == variant);
    let helps = |gain: Option<f64>| gain.is_some_and(|gain| gain >= 0.05);
    if answers.proof.is_none()
        && answers.what_if.iter().any(|of| is_mutex(&of.variant) && helps(of.gain_share))
    {
        next.push("--prove runs it here with lockyard's mutex".to_owned());
    }
    if options.html.is_none() && !answers.scaling.is_empty() {
        next.push("--html page.html has all curves and changes".to_owned());
    }
    next
}
