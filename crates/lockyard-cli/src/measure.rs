//! `lockyard measure`.

use crate::arguments::Measure;
use crate::baselines::Baselines;
use crate::errors::Failure;
use crate::report::{About, Reports};
use crate::values::{check_most, thread_list};
use crate::{call_path, host, output, progress, standard};
use lockyard_lab::measure;
use lockyard_measure::cpus::usual_threads;
use lockyard_measure::cpus::{Cpus, MOST_THREADS, Placement};
use lockyard_measure::peers;
use lockyard_measure::scenario::rounds::Effort;
use lockyard_predict::names;
use lockyard_results::fairness::TOO_FEW_WAITS;
use lockyard_results::render::{Document, Extent};
use lockyard_results::row::Row;
use lockyard_results::{published, scaling};
use lockyard_scenarios::LockKinds;

pub(crate) fn run(options: &Measure, locks: &LockKinds) -> Result<(), Failure> {
    if let Some(seconds) = options.standard {
        return standard::run(options, seconds);
    }
    let Some(scenario) = &options.scenario else { unreachable!("the arguments need it") };
    call_path::no_scenario(scenario)?;
    let mut script = names::scenario(scenario, locks)?;
    let list = options.peers.as_deref();
    let variants = peers::choose(&mut script, &options.variants, list, &options.locks)?;
    let cpus = Cpus::allowed().all().len();
    let threads = match &options.threads {
        Some(list) => thread_list(list)?,
        None => usual_threads(cpus.max(1)),
    };
    check_most("--threads", "threads", &threads, MOST_THREADS)?;
    if options.fit {
        scaling::check(&threads)?;
    }
    let placement = options.placement.as_deref();
    let placement = placement.map(|text| Placement::parse(text, &Cpus::allowed())).transpose()?;
    let effort = Effort {
        warm_up: host::warm_up(options.rounds.seconds),
        window: options.rounds.seconds,
        repeats: usize::from(options.rounds.repeats),
        waits: true,
        attribution: options.attribution,
        stalled_after: options.stall.stalled_after,
    };
    let request = measure::MeasureRequest {
        script,
        variants,
        threads,
        placement,
        effort,
        relative_to: options.relative_to.clone(),
    };
    measure::check(&request)?;
    let baselines = Baselines::prepare(&options.baselines)?;
    baselines.check(|| measure::planned(&request))?;
    let reports = Reports::of_page(&options.report)?;
    host::warn();
    host::warn_of_sharing(request.threads.iter().copied().max().unwrap_or(0), cpus);
    let rounds = measure::rounds(&request)?;
    progress::announce((effort.warm_up + effort.window).mul_f64(rounds as f64));
    let bar = progress::bar(rounds, "rounds");
    let report = measure::run(&request, &published::shipped()?, &mut || bar.inc(1));
    bar.finish_and_clear();
    let mut report = report?;
    let extent = Extent::rows(report.rows.len(), report.asked);
    let fits = if options.fit { scaling::of_rows(&mut report.rows) } else { Vec::new() };
    report.rows.append(&mut report.samples);
    report.rows.append(&mut report.listings);
    let mut explanations = report.explanations;
    explanations.extend(report.pictures.into_iter().filter(|_| options.histogram));
    let mut notes = report.notes;
    notes.push(host::note(&report.environment));
    let waits = |row: &Row| row.details.measured.as_ref()?.waits;
    if report.rows.iter().filter_map(waits).any(|waits| waits.lacks_percentiles()) {
        notes.push(TOO_FEW_WAITS.to_owned());
    }
    let environment = output::environment(report.environment);
    let document = Document {
        rows: report.rows,
        fits,
        explanations,
        environment,
        notes,
        ..Document::default()
    };
    let title = format!("{} on this host", request.script.name);
    let about = About { title: &title, machines: &[], in_detail: true };
    let files = |document: &Document| reports.write(document, &about);
    baselines.finish(document, report.failure, extent, &options.output, files)
}
