//! `lockyard measure-tables`.

use crate::arguments::MeasureTables;
use crate::baselines::Baselines;
use crate::errors::Failure;
use crate::values::{number_list_from, thread_list};
use crate::{host, output, progress};
use lockyard_measure::cpus::{Cpus, Placement};
use lockyard_measure::measure_tables::{self, TablesRequest, usual_threads};
use lockyard_measure::scenario::rounds::Effort;
use lockyard_results::compare::Planned;
use lockyard_results::compare::read::FigureKind;
use lockyard_results::render::Document;

pub(crate) fn run(options: &MeasureTables) -> Result<(), Failure> {
    let cpus = Cpus::allowed();
    let placement = Placement::parse(&options.placement, &cpus)?;
    let threads = match &options.threads {
        Some(list) => thread_list(list)?,
        None => usual_threads(placement.cpus(&cpus)),
    };
    let reads = options.reads.as_deref();
    let reads = reads.map(|list| number_list_from(0, "--reads", "per cent", list)).transpose()?;
    let effort = Effort {
        warm_up: host::warm_up(options.rounds.seconds),
        window: options.rounds.seconds,
        repeats: usize::from(options.rounds.repeats),
        stalled_after: options.stall.stalled_after,
        ..Effort::USUAL
    };
    let names = |list: &Option<String>| -> Vec<String> {
        let names = list.iter().flat_map(|list| list.split(','));
        names.map(|name| name.trim().to_owned()).collect()
    };
    let request = TablesRequest {
        groups: options.groups.clone(),
        only: names(&options.only),
        reads,
        threads,
        objects: options.objects,
        placement,
        effort,
        relative_to: options.relative_to.clone(),
    };
    let rounds = measure_tables::rounds(&request)?;
    let baselines = Baselines::prepare(&options.baselines)?;
    baselines.check(|| Ok::<_, Failure>(planned(&request)))?;
    host::warn();
    progress::announce((request.effort.warm_up + request.effort.window).mul_f64(rounds as f64));
    let bar = progress::bar(rounds, "rounds");
    let report = measure_tables::run(&request, &mut || bar.inc(1));
    bar.finish_and_clear();
    let report = report?;
    let mut notes = report.notes;
    notes.push(host::note(&report.environment));
    let environment = output::environment(report.environment);
    let document = Document { rows: report.rows, environment, notes, ..Document::default() };
    baselines.finish(document, report.failure, report.extent, &options.output, |_| Ok(()))
}

/// Returns what is known of the results before the work.
fn planned(request: &TablesRequest) -> Planned {
    let mut environment = vec![("placement".to_owned(), request.placement.describe())];
    environment.extend(request.effort.describe());
    let host = host::environment().into_iter();
    environment.extend(host.map(|(name, value)| (name.to_owned(), value)));
    Planned { kind: FigureKind::Measured, environment, cells: Vec::new() }
}
