//! Predicting cells of a scenario on a machine.

mod calibration;

pub use calibration::{
    Calibrated, calibrated, calibration_cell, calibration_throughput, local_work,
};

use crate::calibrate::LocalWork;
use crate::explain::Costs;
use crate::figures::Outcome;
use crate::placement::Placement;
use crate::published::Table;
use crate::rows::{Detail, Row, Status};
use crate::sensitivity::{self, Sensitivity};
use crate::simulate::{self, Prediction};
use crate::{InputError, jobs, listing, peers};
use lockyard_scenarios::{Figure, Metric, Script, Variant};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

/// A prediction cannot be made: bad input, or a run that failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The input is wrong.
    Input(InputError),
    /// A run failed.
    Run(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Run(message) => f.write_str(message),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Failure::Input(error)
    }
}

/// What to predict.
#[derive(Clone, Debug)]
pub struct Request {
    /// The scenario.
    pub script: Script,
    /// The machine.
    pub machine: Machine,
    /// The names of variants; all if empty.
    pub variants: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Where they run; as the script says if not given.
    pub placement: Option<Placement>,
    /// Whether to simulate each cell with every input changed, too.
    pub sensitivity: bool,
    /// Whether to list where CPU time went.
    pub attribution: bool,
    /// How many cells are simulated at the same time.
    pub jobs: usize,
}

/// The variants of a script with these names; all if there are none.
///
/// # Errors
///
/// If it has no such variant.
pub fn variants<'s>(script: &'s Script, names: &[String]) -> Result<Vec<&'s Variant>, InputError> {
    if names.is_empty() {
        return Ok(script.variants.iter().collect());
    }
    let one = |name: &String| {
        script.variant(name).ok_or_else(|| {
            if let Some(why) = peers::hint_at(name) {
                return InputError(why);
            }
            let all: Vec<&str> = script.variants.iter().map(|v| v.name.as_str()).collect();
            InputError(format!(
                "scenario `{}` has no variant `{}`; {}",
                script.name,
                lockyard_input::printable(name),
                lockyard_input::hint(name, &all, "there are")
            ))
        })
    };
    names.iter().map(one).collect()
}

/// # Errors
///
/// If the machine has fewer hardware threads, or none are asked for.
pub fn check_threads(machine: &Machine, threads: usize) -> Result<(), InputError> {
    let all = machine.hardware_threads();
    if threads == 0 || threads > all {
        return Err(InputError(format!(
            "{threads} threads on machine `{}`; allowed: 1 to {all}",
            machine.name()
        )));
    }
    Ok(())
}

/// What a request came to.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// The rows.
    pub rows: Vec<Row>,
    /// Number of rows that were asked for.
    pub asked: usize,
    /// Where the cycles of each went.
    pub costs: Vec<Costs>,
    /// Rows of the figures that the runs have beside the script's metric.
    pub figures: Vec<Row>,
    /// Where the CPU time of each went, as rows of a profiler's listing, if that was asked for.
    pub listings: Vec<Row>,
    /// How each depends on the inputs, if that was asked for.
    pub sensitivities: Vec<Sensitivity>,
}

/// Predicts the cells of a request: variant by variant, in the order of `threads`. A row whose cell was
/// published has the published figure too, if its tasks run where the script says.
///
/// # Errors
///
/// If the input is wrong or a run fails.
pub fn run(
    request: &Request,
    tables: &[Table],
    done: &(impl Fn() + Sync),
) -> Result<Predictions, Failure> {
    let script = &request.script;
    let variants = variants(script, &request.variants)?;
    variants.iter().try_for_each(|variant| peers::refuse(variant))?;
    let scripted = Placement::Order(script.order);
    let placement = request.placement.as_ref().unwrap_or(&scripted);
    for &threads in &request.threads {
        check_threads(&request.machine, threads)?;
        let room = placement.room(&request.machine);
        if threads > room {
            let what = placement.describe();
            return Err(Failure::Input(InputError(format!(
                "{threads} threads on {what}; allowed: 1 to {room}"
            ))));
        }
    }
    let asked = variants.len() * request.threads.len();
    let works = jobs::run(
        &variants,
        request.jobs,
        |variant| calibrated(script, variant, request.machine.name(), tables),
        || {},
    );
    let mut cells = Vec::new();
    for (variant, work) in variants.into_iter().zip(works) {
        let Some(work) = work else {
            return Ok(Predictions { asked, ..Predictions::default() });
        };
        let work = work?;
        cells.extend(request.threads.iter().map(|&threads| (variant, threads, work)));
    }
    let predictions = jobs::run(
        &cells,
        request.jobs,
        |&(variant, threads, work)| {
            let work = work.nanoseconds();
            let placement = (placement, script.home);
            let of = (script.samples, &script.run);
            simulate::cell_with_siblings(&request.machine, variant, placement, threads, work, of)
        },
        done,
    );
    let mut found = Predictions { asked, ..Predictions::default() };
    for ((variant, threads, calibrated), prediction) in cells.into_iter().zip(predictions) {
        let Some(prediction) = prediction else { continue };
        let prediction = prediction
            .map_err(|e| Failure::Run(format!("{}, {}: {e}", script.name, variant.name)))?;
        // A figure that was published for other places, in some run, is no figure to compare with.
        let places = |of: &Placement, seed| of.places(&request.machine, threads, seed);
        let same_places = (1..=2).all(|seed| places(placement, seed) == places(&scripted, seed));
        let published = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            same_places
                && cell.experiment == script.name
                && cell.machine == request.machine.name()
                && cell.variant == variant.name
                && script.tasks(cell.threads) == Some(threads)
                && cell.metric == script.metric.name()
                && cell.unit == script.metric.unit()
        });
        let Calibrated { work, metric } = calibrated;
        let mut detail = detail(metric, &prediction, threads, work);
        simulate::identify(&request.machine, prediction.runs.len(), &mut detail);
        if request.sensitivity {
            let cell = sensitivity::Cell {
                machine: &request.machine,
                variant,
                placement: (placement, script.home),
                threads,
                local_work: calibrated.nanoseconds(),
                metric,
                run: &script.run,
            };
            let failed = |e| Failure::Run(format!("{}, {}: {e}", script.name, variant.name));
            let Some(one) = sensitivity::of(cell, request.jobs, done).map_err(failed)? else {
                break;
            };
            let one = one.around(metric.figure(prediction.throughput, threads));
            one.detail(&mut detail);
            found.sensitivities.push(one);
        }
        let outcome = Outcome::of_prediction(&prediction, metric, threads);
        let of = (variant.name.as_str(), threads, same_places);
        found.figures.extend(figures(request, outcome, of, work, tables));
        if request.attribution {
            let machine = Some(request.machine.name());
            let listed = listing::Of { script, machine, variant: &variant.name, threads };
            let tables_of = if same_places { tables } else { &[] };
            found.listings.extend(listing::rows(&prediction.listing, listed, tables_of));
        }
        let calibration = calibration_cell(script, &variant.name, request.machine.name(), tables);
        let is_calibration = published.is_some() && published == calibration;
        found.rows.push(Row {
            table: String::new(),
            experiment: script.name.clone(),
            machine: request.machine.name().to_owned(),
            variant: variant.name.clone(),
            threads: Some(threads),
            metric: script.metric.name().to_owned(),
            unit: script.metric.unit().to_owned(),
            published: published.map(|cell| cell.value),
            predicted: Some(metric.figure(prediction.throughput, threads)),
            trivial: None,
            measured: None,
            status: if is_calibration { Status::Calibration } else { Status::Predicted },
            reason: None,
            detail,
        });
        found.costs.push(prediction.costs);
    }
    Ok(found)
}

/// The rows of the figures that runs of a variant have beside the script's metric.
fn figures(
    request: &Request,
    outcome: Outcome,
    (variant, threads, same_places): (&str, usize, bool),
    work: Option<LocalWork>,
    tables: &[Table],
) -> Vec<Row> {
    let script = &request.script;
    let calibration = calibration_cell(script, variant, request.machine.name(), tables);
    let mut rows = Vec::new();
    for (metric, unit, figure) in script.figures() {
        let published = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            same_places
                && cell.experiment == script.name
                && cell.machine == request.machine.name()
                && cell.variant == variant
                && script.tasks(cell.threads) == Some(threads)
                && cell.metric == metric
                && cell.unit == unit
        });
        let mut detail = BTreeMap::new();
        if let Some(work) = work {
            detail.insert("local_work_ns".to_owned(), Detail::Number(work.nanoseconds));
        }
        identify_figure(script, &request.machine, (&figure, outcome.runs.len()), &mut detail);
        rows.push(Row {
            table: String::new(),
            experiment: script.name.clone(),
            machine: request.machine.name().to_owned(),
            variant: variant.to_owned(),
            threads: Some(threads),
            metric,
            unit: unit.to_owned(),
            published: published.map(|cell| cell.value),
            predicted: outcome.figure(&figure, None),
            trivial: None,
            measured: None,
            status: if published.is_some() && published == calibration {
                Status::Calibration
            } else {
                Status::Predicted
            },
            reason: None,
            detail,
        });
    }
    rows
}

/// Says in the details of a figure of a script's run what it was simulated with.
pub fn identify_figure(
    script: &Script,
    machine: &Machine,
    (figure, mut seeds): (&Figure, usize),
    detail: &mut BTreeMap<String, Detail>,
) {
    if let (Figure::Sample { .. }, Some(samples)) = (figure, script.samples) {
        seeds = simulate::SEEDS_OF_SAMPLES;
        let simulated = samples.simulated_seconds;
        detail.insert("simulated_sample_seconds".to_owned(), Detail::Number(simulated));
        if simulated != samples.seconds {
            let mut notes = format!(
                "simulated samples are of {} ms, in operations a second all the same; published ones are of {} s",
                simulated * 1e3,
                samples.seconds
            );
            if let Some(Detail::Text(other)) = detail.get("note") {
                notes = format!("{notes}; {other}");
            }
            detail.insert("note".to_owned(), Detail::Text(notes));
        }
    }
    simulate::identify(machine, seeds, detail);
}

/// What the names of predicted figures begin with that may be measured beside them.
pub const PREDICTED: &str = "predicted_";

/// In the details of a row: the highest figure of a start order over the lowest, less 1.
pub(crate) const ORDER_SPREAD: &str = "start_order_spread";
/// In the details of a row: whether the figures of its start orders agree.
pub(crate) const ORDERS_AGREE: &str = "start_orders_agree";
/// They do not.
pub(crate) const ORDERS_DIFFER: &str = "no";

/// What a row says beside its figure.
pub fn detail(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    work: Option<LocalWork>,
) -> BTreeMap<String, Detail> {
    let mut detail = BTreeMap::new();
    let mut number = |name: &str, value: f64| {
        detail.insert(name.to_owned(), Detail::Number(value));
    };
    let (low, high) = metric.range(prediction.range, threads);
    number("predicted_low", low);
    number("predicted_high", high);
    number("predicted_throughput", prediction.throughput);
    number("failed_compare_exchanges_per_success", prediction.failed_per_success);
    number("rmws_per_ownership", prediction.rmws_per_ownership);
    number("local_transfers_per_operation", prediction.local_transfers);
    number("remote_transfers_per_operation", prediction.remote_transfers);
    number("lock_fallbacks_per_second", prediction.fallbacks_per_second);
    if let Some((least, greatest)) = prediction.fallbacks_interval {
        number("lock_fallbacks_per_second_low", least);
        number("lock_fallbacks_per_second_high", greatest);
    }
    prediction.fairness.detail(PREDICTED, &mut detail);
    if let Some(waits) = prediction.waits {
        waits.detail(PREDICTED, &mut detail);
    }
    prediction.costs.detail(&mut detail);
    let mut notes = Vec::new();
    if prediction.locked > 0 && prediction.long.is_none() {
        notes.push(String::from(
            "operations of some cells gave up their compare-exchange and took the lock (see `lock_fallbacks` in JSON); then \
             operations keep each other there, so the figure depends on how long is simulated",
        ));
    }
    if let Some(long) = prediction.long {
        for (name, value) in [
            ("run_seconds", long.seconds),
            ("until_a_lock_fallback", metric.figure(long.until, threads)),
            ("from_a_lock_fallback_on", metric.figure(long.from_then, threads)),
            ("share_until_a_lock_fallback", long.share),
        ] {
            detail.insert(name.to_owned(), Detail::Number(value));
        }
        if let Some(range) = long.by_rate {
            let (low, high) = metric.range(range, threads);
            detail.insert("predicted_low_by_lock_fallbacks".to_owned(), Detail::Number(low));
            detail.insert("predicted_high_by_lock_fallbacks".to_owned(), Detail::Number(high));
        }
        notes.push(format!(
            "some figures are means over a run of {} s, in which an operation is to be expected to give up its compare-exchange and take the \
             lock; from then on operations keep each other there (docs/model/runs-of-seconds.md; `until_a_lock_fallback` and \
             `from_a_lock_fallback_on` in JSON); all else that is said of such a cell is of the longer part of the run",
            long.seconds
        ));
    }
    if let Some(all) = prediction.while_all_go_on {
        let figure = metric.figure(all, threads);
        detail.insert("while_all_go_on".to_owned(), Detail::Number(figure));
        notes.push(String::from(
            "figures are of tasks that are timed until each is done; what explains them is of the time when all go on",
        ));
    }
    if let Some(orders) = prediction.orders {
        detail.insert(ORDER_SPREAD.to_owned(), Detail::Number(orders.spread));
        let agree = if orders.agree { "yes" } else { ORDERS_DIFFER };
        detail.insert(ORDERS_AGREE.to_owned(), Detail::Text(agree.to_owned()));
        if !orders.agree {
            notes.push(format!(
                "in rows marked `order matters` the runs, each of which began in another order, do \
                 not agree: the figure is their mean (`{ORDER_SPREAD}` in JSON; \
                 docs/evidence/start-order.md)"
            ));
        }
    }
    if let Some(apart) = prediction.siblings_apart {
        let figure = metric.figure(apart, threads);
        detail.insert("siblings_share_nothing".to_owned(), Detail::Number(figure));
        notes.push(String::from(
            "what the threads of a core share of a line is not settled (docs/evidence/siblings.md); `siblings apart` is the figure if they \
             share nothing of an ownership",
        ));
    }
    if let Some(work) = work {
        let mut number = |name: &str, value: f64| {
            detail.insert(name.to_owned(), Detail::Number(value));
        };
        number("local_work_ns", work.nanoseconds);
        number("calibration_miss", work.miss);
        number("local_work_least_ns", work.as_good.0);
        number("local_work_greatest_ns", work.as_good.1);
        if !work.is_met() {
            notes.push(format!("the calibration cell is missed by {:+.1} %", work.miss * 100.0));
        }
        if !work.is_determined() {
            notes.push(format!(
                "the calibration cell does not determine the local work: {:.0} ns was taken, and works \
                 from {:.0} to {:.0} ns are among those that meet it within 5 %",
                work.nanoseconds, work.as_good.0, work.as_good.1
            ));
        }
    }
    if !notes.is_empty() {
        detail.insert("note".to_owned(), Detail::Text(notes.join("; ")));
    }
    detail
        .insert("operations_of_slowest_thread".to_owned(), Detail::Count(prediction.per_thread.0));
    detail
        .insert("operations_of_fastest_thread".to_owned(), Detail::Count(prediction.per_thread.1));
    detail.insert("lock_fallbacks".to_owned(), Detail::Count(prediction.locked));
    detail
}
