//! The row of a measured figure.

use lockyard_measure::scenario::rounds::Task;
use lockyard_results::row::{Detail, Measured, Row};
use lockyard_scenarios::Script;
use std::collections::BTreeMap;

/// Returns the row of a task's figure, with the metric's name and unit.
pub(super) fn row(
    script: &Script,
    task: &Task,
    metric: (&str, &str),
    measured: Measured,
    detail: BTreeMap<String, Detail>,
) -> Row {
    let row = Row::here(&script.name, &task.variant.name, task.threads, metric);
    Row { measured: Some(measured), detail, ..row }
}
