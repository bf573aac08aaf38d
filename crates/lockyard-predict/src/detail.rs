//! What a predicted row says beside its figure.

use crate::local_work::LocalWork;
use crate::simulate::{self, Prediction};
use lockyard_results::row::Detail;
use lockyard_results::row::keys::{ORDER_SPREAD, ORDERS_AGREE, ORDERS_DIFFER, PREDICTED};
use lockyard_scenarios::{Figure, Metric, Script};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

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
                "simulated samples are of {} ms, in operations a second all the same; published \
                ones are of {} s",
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
            "operations of some cells gave up their compare-exchange and took the lock (see \
            `lock_fallbacks` in JSON); then \
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
            "some figures are means over a run of {} s, in which an operation is to be expected \
            to give up its compare-exchange and take the \
             lock; from then on operations keep each other there (docs/degradation.md; \
             `until_a_lock_fallback` and \
             `from_a_lock_fallback_on` in JSON); all else that is said of such a cell is of the \
             longer part of the run",
            long.seconds
        ));
    }
    if let Some(all) = prediction.while_all_go_on {
        let figure = metric.figure(all, threads);
        detail.insert("while_all_go_on".to_owned(), Detail::Number(figure));
        notes.push(String::from(
            "figures are of tasks that are timed until each is done; what explains them is of the \
            time when all go on",
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
            "what the threads of a core share of a line is not settled (docs/machines.md); \
            `siblings apart` is the figure if they \
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
                "the calibration cell does not determine the local work: {:.0} ns was taken, and \
                works \
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
