//! Fields in the header of a script: the metric, left-out metrics, and doubtful published cells.

use super::source::{Result, Source};
use crate::model::{Doubtful, LeftOut, Metric, Rate};
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeftOutEntry {
    metric: Spanned<String>,
    reason: Spanned<String>,
    #[serde(default)]
    input: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DoubtfulEntry {
    machine: Spanned<String>,
    threads: Vec<u32>,
    reason: Spanned<String>,
}

/// The fields that define the metric.
pub(super) struct MetricEntry<'a> {
    /// Name of the metric. Without a name, the metric is a throughput.
    pub(super) metric: Option<&'a Spanned<String>>,
    /// Unit of the metric. By default it is the metric's first unit.
    pub(super) unit: Option<&'a Spanned<String>>,
    pub(super) operations: Option<&'a Spanned<u64>>,
    pub(super) per_operation: Option<&'a Spanned<f64>>,
    /// `true` if the calibration cell gives the amount of the unit per operation.
    pub(super) calibrated: bool,
}

/// Reads the metric of a script.
pub(super) fn metric(source: &Source, entry: &MetricEntry) -> Result<Metric> {
    let MetricEntry { metric: name, unit, operations, per_operation, calibrated } = *entry;
    let count = operations.map_or(1, |operations| *operations.get_ref());
    let metrics = [Metric::OPERATIONS, Metric::Elapsed { operations: count }, Metric::Cpu]
        .map(|m| (m.name(), m));
    let mut metric =
        name.map_or(Ok(Metric::OPERATIONS), |name| source.choose("metric", name, &metrics))?;
    let at = name.map_or(0..0, Spanned::span);
    let what = format!("{} unit", metric.name());
    if let Metric::Throughput(_) = metric {
        let rates: Vec<_> =
            Rate::units().filter_map(|unit| Some((unit, Rate::of(unit)?))).collect();
        let unit = unit.map_or(Ok(Rate::OPERATIONS), |unit| source.choose(&what, unit, &rates))?;
        metric = Metric::Throughput(rate(source, unit, entry)?);
    } else {
        unit.map_or(Ok(()), |unit| source.choose(&what, unit, &[(metric.unit(), ())]))?;
        let no_rate = format!("is not allowed with the metric `{}`", metric.name());
        if let Some(per_operation) = per_operation {
            return Err(source.error(per_operation.span(), format!("`per_operation` {no_rate}")));
        }
        if calibrated {
            let message = format!("a calibration that gives `unit` {no_rate}");
            return Err(source.error(at, message));
        }
    }
    match (metric, operations) {
        (Metric::Elapsed { .. }, None) => Err(source.error(
            at,
            "the metric `elapsed` needs `operations`, the number of operations of each task",
        )),
        (Metric::Elapsed { .. }, Some(operations)) if !(1..=1 << 40).contains(&count) => {
            let message = format!("`operations` is {count}; allowed: 1 to {}", 1u64 << 40);
            Err(source.error(operations.span(), message))
        }
        (Metric::Throughput(_) | Metric::Cpu, Some(operations)) => Err(source.error(
            operations.span(),
            format!("`operations` is not allowed with the metric `{}`", metric.name()),
        )),
        _ => Ok(metric),
    }
}

/// Reads the unit of a throughput, and its amount per operation. The amount comes from the script,
/// or later from the calibration.
fn rate(source: &Source, rate: Rate, entry: &MetricEntry) -> Result<Rate> {
    let at = entry.unit.map_or(0..0, Spanned::span);
    let is_operations = rate == Rate::OPERATIONS;
    match entry.per_operation {
        Some(amount) if is_operations || entry.calibrated => {
            let why =
                if is_operations { "one operation is one" } else { "the calibration gives it" };
            Err(source.error(amount.span(), format!("`per_operation` is not allowed: {why}")))
        }
        Some(amount) => {
            let amount = source.positive("per_operation", amount, 1e12, "1e12")?;
            Ok(rate.with_per_operation(amount))
        }
        None if is_operations && entry.calibrated => Err(source.error(
            at,
            "one operation is one op: a calibration that gives `unit` is only for units other \
             than op/s",
        )),
        None if is_operations || entry.calibrated => Ok(rate),
        None => Err(source.error(
            at,
            format!(
                "`{}` needs `per_operation`, the amount of this unit in one operation, \
                 or a calibration that gives `unit`",
                rate.unit()
            ),
        )),
    }
}

/// Reads the entries `[[left_out]]`.
pub(super) fn left_out(source: &Source, entries: &[Spanned<LeftOutEntry>]) -> Result<Vec<LeftOut>> {
    let one = |entry: &Spanned<LeftOutEntry>| {
        let entry = entry.get_ref();
        Ok(LeftOut {
            metric: source.name("metric", &entry.metric)?,
            reason: source.text("reason", &entry.reason)?,
            input: entry.input,
        })
    };
    entries.iter().map(one).collect()
}

/// Reads the entries `[[doubtful]]`.
pub(super) fn doubtful(
    source: &Source,
    entries: &[Spanned<DoubtfulEntry>],
) -> Result<Vec<Doubtful>> {
    let one = |entry: &Spanned<DoubtfulEntry>| {
        let span = entry.span();
        let entry = entry.get_ref();
        if entry.threads.is_empty() {
            return Err(source.error(span, "`threads` of [[doubtful]] is an empty list"));
        }
        Ok(Doubtful {
            machine: source.name("machine", &entry.machine)?,
            threads: entry.threads.iter().map(|&threads| threads as usize).collect(),
            reason: source.text("reason", &entry.reason)?,
        })
    };
    entries.iter().map(one).collect()
}
