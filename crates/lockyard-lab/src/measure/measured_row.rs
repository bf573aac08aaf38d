//! Row of a measured figure: its key, and all details.

use lockyard_measure::peers;
use lockyard_measure::scenario::detail::detail;
use lockyard_measure::scenario::rounds::{Result as Measurement, Results, Task};
use lockyard_measure::scenario::warnings;
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{Details, RatioDetail};
use lockyard_results::row::Row;
use lockyard_results::statistics;
use lockyard_scenarios::{Metric, Script, Variant};

/// Returns the key of a task's figure.
pub(super) fn key(script: &Script, task: &Task, metric: &str, unit: &str) -> CellKey {
    CellKey::here(&script.name, &task.variant.name, task.threads, metric, unit)
}

/// Cells of one measurement.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    /// Scenario.
    pub(super) script: &'a Script,
    /// Variant that is the base of the ratios.
    pub(super) relative_to: Option<&'a str>,
    /// True if waits were timed.
    pub(super) waits: bool,
    /// Tasks, one per cell.
    pub(super) tasks: &'a [Task],
    /// Results, in the order of the tasks.
    pub(super) measured: &'a Results,
    /// Number of CPUs in the placement.
    pub(super) places: usize,
}

impl Cells<'_> {
    /// Returns the row of a task.
    pub(super) fn row(&self, task: &Task, result: &Measurement) -> Row {
        let Cells { script, relative_to, waits, tasks, measured, places } = *self;
        let mut beside = detail(result, Metric::OPERATIONS, task.threads);
        beside.clock_ns = measured.clock_ns;
        beside.peer = peers::described(&task.variant);
        let reference = tasks.iter().zip(&measured.results).find(|(other, _)| {
            Some(other.variant.name.as_str()) == relative_to && other.threads == task.threads
        });
        beside.ratio = reference
            .and_then(|(other, of_other)| ratio(result, &other.variant, of_other.as_ref()?));
        if measured.no_counters.is_some() {
            beside.counters_not_available.clone_from(&measured.no_counters);
        }
        if waits && result.handovers.is_none() {
            let reason = "no step of an operation takes a lock".to_owned();
            beside.handovers_not_available = Some(reason);
        }
        beside.placement_cpus = Some(places as u64);
        beside.warnings = warnings::of_cell(result, places);
        let details = Details { measured: Some(beside), ..Details::of_local_work(task.local_work) };
        let key = key(script, task, "throughput", "op/s");
        Row::measured(key, result.measured, details)
    }
}

/// Returns the ratio of a result to the result of variant `to`, round by round.
fn ratio(result: &Measurement, to: &Variant, other: &Measurement) -> Option<RatioDetail> {
    let (value, interval) = result.relative_to(other)?;
    Some(RatioDetail {
        to: to.name.clone(),
        value,
        ci_low: interval.low,
        ci_high: interval.high,
        bootstrap: statistics::bootstrap_median(&result.ratios(other)).map(Into::into),
    })
}
