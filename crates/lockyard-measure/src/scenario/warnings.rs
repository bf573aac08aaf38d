//! Warnings about measured figures, each with a remedy.

use crate::scenario::rounds::{Result as Measurement, Task};
use lockyard_results::statistics::Oddity;

/// Jain's index below which a variant is named as unfair, if another variant does better.
const UNFAIR: f64 = 0.8;

/// Returns the warnings about a cell, each with its remedy. The sentences do not name the cell.
pub fn of_cell(result: &Measurement, places: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    for oddity in &result.oddities {
        warnings.push(match oddity {
            Oddity::SlowFirst(share) => format!(
                "the first round was slow ({:.0} % of the median): \
                 something was still warming up, or another program was just ending; \
                 measure again, with a longer --seconds (a fifth of it warms up) if this recurs",
                share * 100.0
            ),
            Oddity::Outliers { rounds, farthest } => format!(
                "{} of {} rounds {} far from the others (the farthest {:.0} % of the median): \
                 the host was disturbed; stop other programs and measure again, \
                 or use more --repeats: the median tolerates such rounds",
                rounds.len(),
                result.rounds.len(),
                if rounds.len() == 1 { "is" } else { "are" },
                farthest * 100.0
            ),
        });
    }
    // With more threads than CPUs, not all threads can run. A single warning covers all such cells.
    let fit = result.operations.len() <= places;
    if let Some(presence) = result.presence.filter(|_| fit)
        && let Some(warning) = presence.warning(result.operations.len())
    {
        warnings.push(warning);
    }
    if !result.pinned {
        warnings.push(
            "threads could not be pinned: the system refuses it, \
             as a container's seccomp profile may; they ran where the system put them, \
             and figures vary more: allow sched_setaffinity, or compare only with unpinned figures"
                .to_owned(),
        );
    }
    warnings
}

/// Names variants that are much less fair than another variant with the same number of threads. The
/// other variants show whether the host let all threads run equally.
pub fn unfair(cells: &[(&Task, &Measurement)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (task, result) in cells {
        let others = cells.iter().filter(|(other, _)| other.threads == task.threads);
        let alike = others.fold(0.0f64, |most, (_, r)| most.max(r.fairness.jain));
        if result.fairness.jain < UNFAIR && alike > result.fairness.jain + 0.1 {
            notes.push(format!(
                "{} on {} threads is unfair: the slowest thread did {:.0} % of the mean, \
                 Jain's index {:.2}; another variant has {alike:.2}.",
                task.variant.name,
                task.threads,
                result.fairness.minimum * 100.0,
                result.fairness.jain
            ));
        }
    }
    notes
}
