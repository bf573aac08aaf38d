//! `lockyard predict`.

use crate::arguments::Predict;
use crate::baselines::Baselines;
use crate::errors::{Failure, first};
use crate::recorded::{self, Gated, Given};
use crate::report::{About, Reports};
use crate::screen::screen;
use crate::trace::TraceFile;
use crate::values::thread_list;
use crate::{call_path, output, progress, trace};
use lockyard_lab::predict::{self, PredictRequest, Predictions};
use lockyard_measure::cpus::usual_threads;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::recorded::Recorded;
use lockyard_predict::simulate::Runs;
use lockyard_predict::{evidence, explain, names, sensitivity};
use lockyard_results::cell_key::CellKey;
use lockyard_results::compare::Planned;
use lockyard_results::compare::read::FigureKind;
use lockyard_results::fairness::TOO_FEW_WAITS;
use lockyard_results::published;
use lockyard_results::render::{Document, Extent, Format};
use lockyard_results::row::Row;
use lockyard_results::scaling::{self, VariantFit};
use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_support::nearest;

pub(crate) fn run(options: &Predict, locks: &LockKinds) -> Result<(), Failure> {
    call_path::no_scenario(&options.scenario)?;
    let (recorded, script) = match recorded::of(options, locks)? {
        Given::Recording(mut recorded) => {
            recorded::open(options, &mut recorded)?;
            let script = recorded.script.clone();
            (Some(*recorded), script)
        }
        Given::Scenario(script) => (None, *script),
    };
    let machines = machines(&options.machines, recorded.as_ref())?;
    let threads = match &options.threads {
        Some(list) => thread_list(list)?,
        // All machines can have these.
        None => {
            let least = machines.iter().map(Machine::hardware_threads).min();
            usual_threads(least.unwrap_or(1))
        }
    };
    let reports = Reports::of_threads(&options.pages, &threads)?;
    if options.fit {
        scaling::check(&threads)?;
    }
    let mut requests = Vec::new();
    for machine in &machines {
        let mut request = request(options, &script, machine, &threads)?;
        if recorded.is_some() && request.variants.is_empty() {
            request.variants = recorded::variants(options, &script);
        }
        requests.push(request);
    }
    let baselines = Baselines::prepare(&options.baselines)?;
    let trace = options.trace.as_deref().map(|path| TraceFile::at(path, &reports));
    let trace = trace.transpose()?;
    // Check the numbers of threads for all machines before the first one is simulated.
    let parts = |request: &PredictRequest| match recorded {
        Some(_) => recorded::apart(request),
        None => vec![request.clone()],
    };
    let mut runs: Vec<Vec<PredictRequest>> = requests.iter().map(parts).collect();
    runs.iter().flatten().try_for_each(predict::check)?;
    let gated = recorded.as_ref().map(recorded::gate).transpose()?;
    let names: Vec<&str> = machines.iter().map(Machine::name).collect();
    let title = format!("{} on {}", script.name, names.join(", "));
    let about = About { title: &title, machines: &machines, in_detail: true };
    if let Some(gated) = &gated {
        let format: Format = options.common.output.format.into();
        let is_said = matches!(format, Format::Table | Format::Markdown);
        if let Some(refusal) = gated.refusal(options, is_said) {
            // The facts of the recorded run need no model.
            let mut document =
                Document { environment: environment(&requests), ..Document::default() };
            gated.add_to(&mut document);
            output::print(&document, format)?;
            return first([Err(refusal), reports.write(&document, &about)]);
        }
        runs.iter_mut().flatten().for_each(|request| request.limit = Some(gated.limit()));
    }
    let mark = gated.as_ref().map_or("", Gated::mark);
    baselines.check(|| Ok::<_, Failure>(planned(&requests, mark)))?;
    let Found { mut predictions, fits } = simulate(&runs, options, gated.as_ref())?;
    let mut document = Document {
        rows: std::mem::take(&mut predictions.rows),
        fits,
        environment: environment(&requests),
        notes: notes(&script, &machines),
        ..Document::default()
    };
    document.notes.extend(of_figures(&document.rows, recorded.is_some()));
    let extent = Extent::rows(document.rows.len(), predictions.asked);
    document.rows.extend(std::mem::take(&mut predictions.figures));
    document.rows.extend(std::mem::take(&mut predictions.listings));
    if let Some(gated) = gated {
        gated.add_to(&mut document);
    }
    explain_rows(&mut document, &predictions, options.explain, machines.len() > 1);
    let refused = document.rows.iter().filter(|row| row.reason.is_some()).count();
    let is_nothing = refused > 0 && refused == extent.finished;
    let traced = &predictions.traced;
    let finished = baselines.finish(document, None, extent, &options.common.output, |document| {
        let pages = reports.write(document, &about);
        let traced = match (trace, requests.as_slice()) {
            (Some(file), [request]) if document.partial.is_none() => {
                let of_trace = trace::about(request, &document.environment);
                file.write(traced, &request.machine, of_trace)
            }
            _ => Ok(()),
        };
        first([pages, traced])
    });
    let nothing = "predict: no figure: each is refused, for the reason of its row";
    let nothing = is_nothing.then(|| Err(Failure::Run(nothing.to_owned())));
    first([finished].into_iter().chain(nothing))
}

/// Returns the machines with these names, without duplicates.
///
/// With a recording, its host is the machine of the name `host`.
fn machines(names: &[String], recorded: Option<&Recorded>) -> Result<Vec<Machine>, Failure> {
    let mut found: Vec<Machine> = Vec::new();
    for name in names {
        let machine = match recorded.filter(|_| name.trim() == recorded::HOST) {
            Some(recorded) => recorded.host().cloned().map_err(|why| {
                let allowed = "allowed: a name of `lockyard machines`, or a file";
                Failure::Input(format!("--machine: `{}`: {why}; {allowed}", recorded::HOST))
            })?,
            None => names::machine(name.trim()).map_err(|error| {
                // The host of a recording is no shipped machine.
                let is_near = recorded.is_some() && nearest(name, &[recorded::HOST]).is_some();
                if !is_near {
                    return Failure::from(error);
                }
                let (name, host) = (lockyard_support::printable(name), recorded::HOST);
                Failure::Input(format!("there is no machine `{name}`; did you mean `{host}`?"))
            })?,
        };
        // The measured rates are compared with replays on the host: both need the same numbers.
        let of_rates = recorded.filter(|recorded| recorded.several.is_some());
        let host = of_rates.and_then(|recorded| recorded.host().ok());
        let machine = match host.filter(|host| host.name() == machine.name()) {
            Some(host) => host.clone(),
            None => machine,
        };
        if found.iter().any(|other| other.name() == machine.name()) {
            return Err(Failure::Input(format!(
                "--machine: `{}` is given twice; allowed: each machine once",
                lockyard_support::printable(name)
            )));
        }
        found.push(machine);
    }
    Ok(found)
}

fn request(
    options: &Predict,
    script: &Script,
    machine: &Machine,
    threads: &[usize],
) -> Result<PredictRequest, Failure> {
    if options.trace.is_some() && options.machines.len() > 1 {
        let why = "--trace: there are several machines; allowed: one";
        return Err(Failure::Input(why.to_owned()));
    }
    let placement = options.placement.as_deref();
    Ok(PredictRequest {
        script: script.clone(),
        machine: machine.clone(),
        variants: options.variants.clone(),
        threads: threads.to_vec(),
        placement: placement.map(|text| MachinePlacement::parse(text, machine)).transpose()?,
        runs: Runs::default(),
        intervals: true,
        sensitivity: options.sensitivity,
        attribution: options.attribution,
        trace: options.trace.is_some(),
        limit: None,
        jobs: options.common.jobs(),
    })
}

/// Predictions for all machines, and the laws fitted to them.
#[derive(Default)]
struct Found {
    predictions: Predictions,
    fits: Vec<VariantFit>,
}

/// Simulates the cells of all machines, each in one run or more.
fn simulate(
    runs: &[Vec<PredictRequest>],
    options: &Predict,
    gated: Option<&Gated>,
) -> Result<Found, Failure> {
    let each = |request: &PredictRequest| {
        let variants = match request.variants.len() {
            0 => request.script.variants.len(),
            some => some,
        };
        let inputs = if request.sensitivity { sensitivity::count(&request.machine) } else { 0 };
        request.threads.len() * variants * (1 + inputs)
    };
    let bar = progress::bar(runs.iter().flatten().map(each).sum(), "cells simulated");
    let tables = published::shipped()?;
    let mut all = Found::default();
    for of_machine in runs {
        let mut found = Predictions::default();
        for request in of_machine {
            let part = predict::run(request, &tables, &|| bar.inc(1));
            if part.is_err() {
                bar.finish_and_clear();
            }
            found.append(part?);
        }
        if let (Some(gated), Some(request)) = (gated, of_machine.first()) {
            gated.correct(&mut found.rows, &request.machine);
        }
        if options.fit {
            all.fits.extend(scaling::of_rows(&mut found.rows));
        }
        all.predictions.append(found);
    }
    bar.finish_and_clear();
    progress::note_speed();
    Ok(all)
}

/// Returns what is known of the results before the work. The names of variants end with `mark`.
fn planned(requests: &[PredictRequest], mark: &str) -> Planned {
    let of_request = |request: &PredictRequest| {
        let all = request.script.variants.iter().map(|variant| variant.name.clone());
        let variants: Vec<String> = match request.variants.as_slice() {
            [] => all.collect(),
            some => some.to_vec(),
        };
        let cell = |variant: &str, threads: usize| CellKey {
            machine: request.machine.name().to_owned(),
            ..CellKey::here(&request.script.name, &format!("{variant}{mark}"), threads, "", "")
        };
        let cells = variants
            .iter()
            .flat_map(|variant| request.threads.iter().map(move |&threads| cell(variant, threads)));
        cells.collect::<Vec<CellKey>>()
    };
    Planned {
        kind: FigureKind::Simulated,
        environment: environment(requests),
        cells: requests.iter().flat_map(of_request).collect(),
    }
}

/// Returns the environment of the figures.
pub(crate) fn environment(requests: &[PredictRequest]) -> Vec<(String, String)> {
    let of_each = |value: &dyn Fn(&PredictRequest) -> String| match requests {
        [one] => value(one),
        some => {
            let each = some.iter().map(|of| format!("{}: {}", of.machine.name(), value(of)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let names: Vec<&str> = requests.iter().map(|request| request.machine.name()).collect();
    let assumed = of_each(&|request| format!("{:.0} %", request.machine.assumed_share() * 100.0));
    let placed = requests.first().map(|request| match &request.placement {
        Some(placement) => placement.describe(),
        None => request.script.order.name().to_owned(),
    });
    let mut environment = output::environment([
        ("machine", names.join(", ")),
        ("machine_assumed_share", assumed),
        ("placement", placed.unwrap_or_default()),
    ]);
    let of_machines: Vec<String> =
        requests.iter().flat_map(|request| request.machine.notes().to_vec()).collect();
    if !of_machines.is_empty() {
        environment.push(("machine_notes".to_owned(), of_machines.join("; ")));
    }
    environment
}

/// Returns notes on the scenario, its local work and the machines.
pub(crate) fn notes(script: &Script, machines: &[Machine]) -> Vec<String> {
    let work = match &script.calibration {
        Some(calibration) if calibration.gives_local_work() => format!(
            "Local work: calibrated on {}{}, in nanoseconds, and reused here.",
            calibration.machines.join(" and "),
            match calibration.threads {
                Some(threads) => format!(" at {}", lockyard_support::threads(threads)),
                None => String::new(),
            }
        ),
        _ => "Local work: as the script says.".to_owned(),
    };
    let mut notes = vec![format!("{}: {}.", script.name, script.operation), work];
    for machine in machines {
        let of_machine = machine.notes().iter();
        notes.extend(of_machine.map(|note| format!("Note on {}: {note}.", machine.name())));
    }
    notes
}

/// Adds the explanations of the rows that the user asked for.
fn explain_rows(document: &mut Document, found: &Predictions, explain: bool, many: bool) {
    let heading = |row: &Row| {
        let on = if many { format!(" on {}", row.key.machine) } else { String::new() };
        format!("{}, {}{on}", row.key.variant, row.key.threads_in_words())
    };
    let rows = || Predictions::explained(&document.rows, &found.costs);
    let mut explanations: Vec<String> = Vec::new();
    if explain {
        explanations.extend(rows().map(|(row, costs)| costs.table_on(&heading(row), &screen())));
    }
    let sensitive = rows().zip(&found.sensitivities);
    explanations
        .extend(sensitive.map(|((row, costs), s)| s.table(&heading(row), &row.key.unit, costs)));
    document.explanations = explanations;
    if explain {
        document.notes.push(explain::legend());
    }
}

/// Returns notes on the rows' intervals, errors and percentiles.
pub(crate) fn of_figures(rows: &[Row], recorded: bool) -> Vec<String> {
    let simulated = || rows.iter().filter_map(|row| row.details.simulated.as_ref());
    let mut notes = Vec::new();
    if simulated().any(|detail| detail.interval.is_some()) {
        notes.push(if recorded { OF_RECORDED } else { INTERVAL }.to_owned());
    }
    notes.extend(evidence::sentences(simulated()));
    if simulated().any(|detail| detail.waits.is_some_and(|waits| waits.lacks_percentiles())) {
        notes.push(TOO_FEW_WAITS.to_owned());
    }
    notes
}

/// Sentence about the intervals of predicted figures.
const INTERVAL: &str = "Intervals cover the spread over seeds, errors of 20 % in the clock, in the \
                        latencies between cores and in the local work, and numbers that one host \
                        decides. They do not bound the error.";

/// The same for recorded programs.
const OF_RECORDED: &str = "Intervals hold nine of ten measured rates of twelve other programs, as \
                           many times the recorded number of threads away.";
