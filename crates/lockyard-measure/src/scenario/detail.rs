//! Details of a measured row, beside its figure.

use super::rounds::Result as Measurement;
use lockyard_results::row::Detail;
use lockyard_results::row::keys::{NOT_PINNED, ROUNDS};
use lockyard_scenarios::Metric;
use std::collections::BTreeMap;

/// Returns the details of a measured row of `threads` tasks, beside its figure; the rounds are in
/// the metric's terms.
pub fn detail(result: &Measurement, metric: Metric, threads: usize) -> BTreeMap<String, Detail> {
    let mut detail = BTreeMap::new();
    let mut put = |name: &str, value: Detail| {
        detail.insert(name.to_owned(), value);
    };
    put("measured_ci_coverage", Detail::Number(result.coverage));
    let rounds = result.rounds.iter().map(|&round| metric.figure(round, threads)).collect();
    put(ROUNDS, Detail::Numbers(rounds));
    let (low, high) = metric.range(result.bootstrap, threads);
    put("bootstrap_low", Detail::Number(low));
    put("bootstrap_high", Detail::Number(high));
    put("operations_of_each_thread", Detail::Counts(result.operations.clone()));
    if !result.pinned {
        put("measured_note", Detail::Text(NOT_PINNED.to_owned()));
    }
    result.fairness.detail("", &mut detail);
    if let Some(cpu_ns) = result.cpu_ns {
        detail.insert("cpu_ns_per_operation".to_owned(), Detail::Number(cpu_ns));
    }
    if let Some(waits) = result.waits {
        waits.detail("", &mut detail);
        detail.insert("wait_histogram_ns".to_owned(), Detail::Buckets(result.histogram.clone()));
    }
    if let Some(presence) = result.presence {
        presence.detail(&mut detail);
    }
    if let Some(handovers) = result.handovers {
        handovers.detail(&mut detail);
    }
    if let Some(recording) = result.recording {
        detail.insert("handover_recording".to_owned(), Detail::Number(recording));
    }
    if let Some(counted) = &result.counted {
        counted.detail(&mut detail);
    }
    if let Some(attribution) = &result.attribution {
        attribution.detail(&mut detail);
    }
    detail
}
