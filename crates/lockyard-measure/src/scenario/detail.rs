//! Details of a measured row.

use super::rounds::Result as Measurement;
use crate::attribution::Attribution;
use crate::counters::Counted;
use lockyard_results::details::{HandoversDetail, MeasuredDetail, NOT_PINNED};
use lockyard_scenarios::Metric;

/// Returns the details of a measured row of `threads` tasks. The rounds are converted to the
/// metric.
pub fn detail(result: &Measurement, metric: Metric, threads: usize) -> MeasuredDetail {
    let counted = result.counted.as_ref();
    MeasuredDetail {
        rounds: result.rounds.iter().map(|&round| metric.figure(round, threads)).collect(),
        ci_coverage: Some(result.coverage),
        bootstrap: Some(metric.range(result.bootstrap, threads).into()),
        operations_of_each_thread: result.operations.clone(),
        note: (!result.pinned).then(|| NOT_PINNED.to_owned()),
        fairness: Some(result.fairness),
        waits: result.waits,
        wait_histogram_ns: result.waits.map(|_| result.histogram.clone()).unwrap_or_default(),
        cpu_ns_per_operation: result.cpu_ns,
        sleeps: result.sleeps,
        failed_compare_exchanges_per_operation: result.failed_exchanges,
        presence: result.presence.map(|presence| presence.detail()),
        handovers: result
            .handovers
            .map(|handovers| HandoversDetail { recording: result.recording, ..handovers.detail() }),
        counters: counted.map(Counted::detail),
        counters_not_available: counted.and_then(Counted::missing),
        cpu_time: result.attribution.as_ref().and_then(Attribution::detail),
        ..MeasuredDetail::default()
    }
}
