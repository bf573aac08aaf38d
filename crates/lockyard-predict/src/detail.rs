//! Details of a predicted row: what is known beside its figure.

use crate::local_work::LocalWork;
use crate::simulate::{self, Prediction};
use lockyard_results::row::Detail;
use lockyard_results::row::keys::{ORDER_SPREAD, ORDERS_AGREE, ORDERS_DIFFER, PREDICTED};
use lockyard_scenarios::{Figure, Metric, Script};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

/// Details of rows, by name.
type Details = BTreeMap<String, Detail>;

/// Adds what a figure of a script's run was simulated with: the machine and the number of `seeds`.
pub fn identify_figure(
    script: &Script,
    machine: &Machine,
    figure: &Figure,
    mut seeds: usize,
    detail: &mut Details,
) {
    if let (Figure::Sample { .. }, Some(samples)) = (figure, script.samples) {
        seeds = simulate::SEEDS_OF_SAMPLES;
        let simulated = samples.simulated_seconds;
        detail.insert("simulated_sample_seconds".to_owned(), Detail::Number(simulated));
        if simulated != samples.seconds {
            let mut notes = format!(
                "a simulated sample lasts {} ms and a published one {} s; both are in operations \
                 a second",
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

/// Returns the details of a cell's row: figures in the terms of `metric`, and notes for people.
pub fn detail(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    work: Option<LocalWork>,
) -> Details {
    let mut detail = BTreeMap::new();
    figures(metric, prediction, threads, &mut detail);
    prediction.fairness.detail(PREDICTED, &mut detail);
    if let Some(waits) = prediction.waits {
        waits.detail(PREDICTED, &mut detail);
    }
    prediction.costs.detail(&mut detail);
    let mut notes = Vec::new();
    if prediction.locked > 0 && prediction.long.is_none() {
        notes.push(String::from(
            "in some cells operations exhausted their retries and took the lock (`lock_fallbacks` \
             in JSON); others then queue behind them, so the figure depends on the simulated \
             duration",
        ));
    }
    notes.extend(of_long_run(metric, prediction, threads, &mut detail));
    notes.extend(of_the_time_when_all_go_on(metric, prediction, threads, &mut detail));
    notes.extend(of_orders(prediction, &mut detail));
    notes.extend(of_siblings(metric, prediction, threads, &mut detail));
    if let Some(work) = work {
        notes.extend(of_work(work, &mut detail));
    }
    if !notes.is_empty() {
        detail.insert("note".to_owned(), Detail::Text(notes.join("; ")));
    }
    detail
}

/// Adds the figures that every cell has.
fn figures(metric: Metric, prediction: &Prediction, threads: usize, detail: &mut Details) {
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
    let (slowest, fastest) = prediction.per_thread;
    detail.insert("operations_of_slowest_thread".to_owned(), Detail::Count(slowest));
    detail.insert("operations_of_fastest_thread".to_owned(), Detail::Count(fastest));
    detail.insert("lock_fallbacks".to_owned(), Detail::Count(prediction.locked));
}

/// Adds what a fallback makes of a long run; returns a note about it.
fn of_long_run(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    detail: &mut Details,
) -> Option<String> {
    let long = prediction.long?;
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
    Some(format!(
        "some figures are means over a run of {} s: at some moment an operation exhausts its \
         retries and takes the lock, and the others then queue behind it and stay on the slow \
         path (docs/model/runs-of-seconds.md; `until_a_lock_fallback` and \
         `from_a_lock_fallback_on` in JSON); the other details of such a cell describe the longer \
         part of the run",
        long.seconds
    ))
}

/// Adds the figure while all tasks go on, where the figure is another one; returns a note about it.
fn of_the_time_when_all_go_on(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    detail: &mut Details,
) -> Option<String> {
    let figure = metric.figure(prediction.while_all_go_on?, threads);
    detail.insert("while_all_go_on".to_owned(), Detail::Number(figure));
    Some(String::from(
        "figures cover tasks that are timed until each is done; \
         the explanation covers the time while all tasks run",
    ))
}

/// Adds whether start orders agree; returns a note if they do not.
fn of_orders(prediction: &Prediction, detail: &mut Details) -> Option<String> {
    let orders = prediction.orders?;
    detail.insert(ORDER_SPREAD.to_owned(), Detail::Number(orders.spread));
    let agree = if orders.agree { "yes" } else { ORDERS_DIFFER };
    detail.insert(ORDERS_AGREE.to_owned(), Detail::Text(agree.to_owned()));
    (!orders.agree).then(|| {
        format!(
            "in rows marked `order matters` the runs began in different orders and do not agree: \
             the figure is their mean (`{ORDER_SPREAD}` in JSON; docs/evidence/start-order.md)"
        )
    })
}

/// Adds the figure if siblings share nothing; returns a note about it.
fn of_siblings(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    detail: &mut Details,
) -> Option<String> {
    let figure = metric.figure(prediction.siblings_apart?, threads);
    detail.insert("siblings_share_nothing".to_owned(), Detail::Number(figure));
    Some(String::from(
        "how much of a line's ownership SMT siblings share is not settled \
         (docs/evidence/siblings.md); `siblings apart` is the figure if they share nothing",
    ))
}

/// Adds the calibrated local work; returns notes where its calibration cell is missed, or leaves it
/// open.
fn of_work(work: LocalWork, detail: &mut Details) -> Vec<String> {
    let mut number = |name: &str, value: f64| {
        detail.insert(name.to_owned(), Detail::Number(value));
    };
    number("local_work_ns", work.nanoseconds);
    number("calibration_miss", work.miss);
    number("local_work_least_ns", work.as_good.0);
    number("local_work_greatest_ns", work.as_good.1);
    let mut notes = Vec::new();
    if !work.is_met() {
        notes.push(format!("the calibration cell is missed by {:+.1} %", work.miss * 100.0));
    }
    if !work.is_determined() {
        notes.push(format!(
            "the calibration cell does not determine the local work: \
             {:.0} ns was taken, but values from {:.0} to {:.0} ns are among those that also meet \
             it within 5 %",
            work.nanoseconds, work.as_good.0, work.as_good.1
        ));
    }
    notes
}
