//! Details of a predicted row, in addition to its figure.

use crate::local_work::LocalWork;
use crate::simulate::{self, Prediction};
use lockyard_results::details::{
    Details, FallbacksDetail, LocalWorkDetail, LongRunDetail, Range, SimulatedDetail,
    StartOrdersDetail, ThreadOperations,
};
use lockyard_scenarios::{Figure, Metric, Script};
use lockyard_sim::Machine;

/// Adds the machine and the number of `seeds` that were used to simulate a figure of a script's
/// run. A figure from samples gets the samples' number of seeds instead.
pub fn identify_figure(
    script: &Script,
    machine: &Machine,
    figure: &Figure,
    mut seeds: usize,
    simulated: &mut SimulatedDetail,
) {
    if let (Figure::Sample { .. }, Some(samples)) = (figure, script.samples) {
        seeds = simulate::SEEDS_OF_SAMPLES;
        let seconds = samples.simulated_seconds;
        simulated.sample_seconds = Some(seconds);
        if seconds != samples.seconds {
            let note = format!(
                "a simulated sample lasts {} ms and a published one {} s; both are in operations \
                 a second",
                seconds * 1e3,
                samples.seconds
            );
            simulated.notes.insert(0, note);
        }
    }
    simulate::identify(machine, seeds, simulated);
}

/// Returns the details of a cell's row: figures in the unit of `metric`, and notes for display.
pub fn detail(
    metric: Metric,
    prediction: &Prediction,
    threads: usize,
    work: Option<LocalWork>,
) -> Details {
    let in_metric = |range| Range::from(metric.range(range, threads));
    let figure = |throughput| metric.figure(throughput, threads);
    let (slowest_thread, fastest_thread) = prediction.per_thread;
    let simulated = SimulatedDetail {
        throughput: Some(prediction.throughput),
        range: Some(in_metric(prediction.range)),
        failed_compare_exchanges_per_success: Some(prediction.failed_per_success),
        failed_compare_exchanges_per_operation: prediction.costs.failed_exchanges,
        rmws_per_ownership: Some(prediction.rmws_per_ownership),
        local_transfers_per_operation: Some(prediction.local_transfers),
        remote_transfers_per_operation: Some(prediction.remote_transfers),
        sleeps: Some(prediction.sleeps),
        lock_fallbacks: Some(FallbacksDetail {
            count: prediction.locked,
            per_second: prediction.fallbacks_per_second,
            per_second_range: prediction.fallbacks_interval.map(Range::from),
        }),
        operations: Some(ThreadOperations { slowest_thread, fastest_thread }),
        fairness: Some(prediction.fairness),
        waits: prediction.waits,
        requests: prediction.requests,
        costs: Some(prediction.costs.detail()),
        long_run: prediction.long.map(|long| LongRunDetail {
            seconds: long.seconds,
            until_a_lock_fallback: figure(long.until),
            from_a_lock_fallback_on: figure(long.from_then),
            share_until_a_lock_fallback: long.share,
            range_by_rate: long.by_rate.map(in_metric),
        }),
        while_all_go_on: prediction.while_all_go_on.map(figure),
        start_orders: prediction
            .orders
            .map(|orders| StartOrdersDetail { spread: orders.spread, agree: Some(orders.agree) }),
        siblings_share_nothing: prediction.siblings_apart.map(figure),
        notes: notes(prediction, work),
        ..SimulatedDetail::default()
    };
    let local_work = work.map(|work| LocalWorkDetail {
        ns: work.nanoseconds,
        calibration_miss: Some(work.miss),
        least_ns: Some(work.as_good.0),
        greatest_ns: Some(work.as_good.1),
    });
    Details { local_work, ..Details::of_simulated(simulated) }
}

/// Returns notes about a prediction, for display.
fn notes(prediction: &Prediction, work: Option<LocalWork>) -> Vec<String> {
    let mut notes = Vec::new();
    if prediction.locked > 0 && prediction.long.is_none() {
        notes.push(String::from(
            "in some cells operations exhausted their retries and took the lock, and others then \
             queued behind them, so the figure depends on the simulated duration \
             (`lock_fallbacks` in JSON)",
        ));
    }
    if let Some(long) = prediction.long {
        notes.push(format!(
            "some figures are means over a run of {} s: at some moment an operation exhausts its \
             retries and takes the lock, and the others then queue behind it and stay on the slow \
             path (docs/model/runs-of-seconds.md; `long_run` in JSON); the other details of such \
             a cell describe the longer part of the run",
            long.seconds
        ));
    }
    if prediction.while_all_go_on.is_some() {
        notes.push(String::from(
            "figures cover tasks that are timed until each is done; \
             the explanation covers the time while all tasks run",
        ));
    }
    if prediction.orders.is_some_and(|orders| !orders.agree) {
        notes.push(String::from(
            "in rows marked `order matters` the runs began in different orders and do not agree: \
             the figure is their mean (`start_orders` in JSON; docs/evidence/assumptions.md)",
        ));
    }
    if prediction.siblings_apart.is_some() {
        notes.push(String::from(
            "how much of a line's ownership SMT siblings share is not settled \
             (docs/evidence/assumptions.md); `siblings apart` is the figure if they share nothing",
        ));
    }
    notes.extend(work.into_iter().flat_map(of_work));
    notes
}

/// Returns a note if the calibration cell is missed, and another one if it does not determine the
/// work.
fn of_work(work: LocalWork) -> Vec<String> {
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
