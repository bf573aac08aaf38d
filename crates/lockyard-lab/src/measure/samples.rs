//! Rows for the samples of runs. There is one run for each variant and thread count, with the
//! disturbances of its script.

use super::measured_row::key;
use lockyard_measure::scenario::rounds::{self, Effort, Task};
use lockyard_results::details::{Details, MeasuredDetail};
use lockyard_results::row::{Measured, Row};
use lockyard_scenarios::{Figure, Script};
use lockyard_support::jobs;

/// Measures the samples of `tasks`, if the script has any. Returns the rows, and the reason why
/// remaining tasks were not measured.
pub(super) fn rows(
    script: &Script,
    tasks: &[Task],
    effort: Effort,
    done: &mut dyn FnMut(),
) -> (Vec<Row>, Option<String>) {
    let mut rows = Vec::new();
    let Some(samples) = script.samples else { return (rows, None) };
    for task in tasks {
        if jobs::interrupted() {
            break;
        }
        let found = match rounds::samples(task, samples, effort) {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(failure) => return (rows, Some(failure)),
        };
        for (metric, unit, figure) in script.figures() {
            let Figure::Sample { index, of } = figure else { continue };
            let value = found[index].of(of);
            let details = Details {
                measured: Some(MeasuredDetail::once(value)),
                ..Details::of_local_work(task.local_work)
            };
            let key = key(script, task, &metric, unit);
            rows.push(Row::measured(key, Measured::once(value), details));
        }
        done();
    }
    (rows, None)
}
