//! `cargo evidence measure-tables`.

use super::arguments::MeasureTables;
use super::{TablesRequest, run as measure};
use lockyard_cli::study::{self, Begin, Failure, Finished};
use lockyard_measure::cpus::{Cpus, Placement, usual_threads};

/// Measures what the options ask for, and prints it.
///
/// # Errors
///
/// Bad input, or a measurement that failed.
pub fn run(options: &MeasureTables) -> Result<(), Failure> {
    let cpus = Cpus::allowed();
    let placement = Placement::parse(&options.placement, &cpus)?;
    let threads = match &options.threads {
        Some(list) => study::thread_list(list)?,
        None => usual_threads(placement.cpus(&cpus)),
    };
    let reads = options.reads.as_deref();
    let reads = reads.map(|list| study::number_list("--reads", "per cent", list)).transpose()?;
    let effort = study::effort(&options.rounds, &options.stall);
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
    let mut conditions = vec![("placement".to_owned(), request.placement.describe())];
    conditions.extend(request.effort.describe());
    let begin = Begin {
        rounds: super::rounds(&request)?,
        effort,
        conditions,
        baselines: &options.baselines,
        output: &options.output,
    };
    study::measure(begin, |done| {
        let report = measure(&request, done)?;
        let super::TablesReport { extent, rows, failure, notes, environment } = report;
        Ok(Finished { extent, rows, failure, notes, environment })
    })
}
