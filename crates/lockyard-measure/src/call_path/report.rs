//! Results of the rounds as rows: of this host alone, and beside the published table.

use super::{Effort, Metric, Rounds, Way, measure};
use lockyard_results::row::keys::{NOT_PINNED, ROUNDS};
use lockyard_results::row::{Detail, Row, Status};
use lockyard_support::jobs;

/// Name of the experiment and of the table.
pub const EXPERIMENT: &str = "lock-call-path";

/// Unit of this host's rows.
const UNIT: &str = "% of direct";

/// Rows and notes of a measurement.
#[derive(Debug)]
pub struct Report {
    /// One row for each way and metric.
    pub rows: Vec<Row>,
    /// Sentences for people.
    pub notes: Vec<String>,
}

/// Returns the rows of a measurement on this host alone.
pub fn rows(rounds: &Rounds) -> Report {
    let mut rows = Vec::new();
    for metric in Metric::ALL {
        for way in Way::ALL {
            let row = Row::here(EXPERIMENT, way.name(), 1, (metric.name(), UNIT));
            let mut row = Row { status: Status::NotModelled, ..row };
            fill(&mut row, rounds, way, metric);
            rows.push(row);
        }
    }
    let mut notes = vec![format!(
        "An uncontended lock and unlock of the {} lock, on one CPU: \
         per cent of the direct call in the same round, the median of {} rounds of {} each.",
        rounds.kind,
        rounds.finished(),
        rounds.times
    )];
    if let Some((_, reason)) = rounds.refused.first() {
        let ways: Vec<&str> = rounds.refused.iter().map(|(way, _)| way.name()).collect();
        notes.push(format!("{}: {reason}.", ways.join(", ")));
    }
    if let Err(reason) = rounds.relative(Way::Direct, Metric::ALL[0]) {
        notes.push(format!("Counters: {reason}."));
    }
    if !rounds.pinned {
        notes.push("The thread was not pinned to a CPU: the system does not allow it.".to_owned());
    }
    Report { rows, notes }
}

/// Fills a row with the figure of a way and a metric, or with the reason why there is none.
fn fill(row: &mut Row, rounds: &Rounds, way: Way, metric: Metric) {
    row.detail.insert("lock".to_owned(), Detail::Text(rounds.kind.name().to_owned()));
    row.detail.insert("way".to_owned(), Detail::Text(way.name().to_owned()));
    match rounds.relative(way, metric) {
        Ok(found) => {
            row.status = Status::Measured;
            row.measured = Some(found.measured);
            row.reason = None;
            let number = Detail::Number;
            row.detail.insert("measured_ci_coverage".to_owned(), number(found.coverage));
            row.detail.insert("per_lock_and_unlock".to_owned(), number(found.absolute));
            row.detail.insert(ROUNDS.to_owned(), Detail::Numbers(found.rounds));
            if !rounds.pinned {
                row.detail.insert("measured_note".to_owned(), Detail::Text(NOT_PINNED.to_owned()));
            }
        }
        Err(reason) => {
            row.status = Status::NotModelled;
            row.reason = Some(reason);
        }
    }
}

/// Returns whether a row of the published table is the reference of the others: 100 by definition.
pub fn is_reference(experiment: &str, variant: &str) -> bool {
    experiment == EXPERIMENT && Some(variant) == Way::Direct.published()
}

/// Returns why a row of the published table is not modelled, while nothing is measured; `None` for
/// other experiments.
pub fn without_measurement(experiment: &str) -> Option<String> {
    let why =
        "how instructions are fetched is not modelled: it is measured on this host, or not at all";
    (experiment == EXPERIMENT).then(|| why.to_owned())
}

/// Measures the rows of the published table, and says how far that was possible. Leaves other rows
/// alone.
///
/// # Errors
///
/// If the harness is broken.
pub fn measure_published<'r>(
    rows: impl Iterator<Item = &'r mut Row>,
) -> Result<Option<String>, String> {
    let mut rows: Vec<&mut Row> = rows.filter(|row| row.experiment == EXPERIMENT).collect();
    if rows.is_empty() || jobs::interrupted() {
        return Ok(None);
    }
    let rounds = measure(Effort::USUAL, &mut || ())?;
    if rounds.finished() == 0 {
        // After an interrupt nothing is known of them.
        return Ok(None);
    }
    for row in &mut rows {
        let way = Way::ALL.into_iter().find(|way| way.published() == Some(row.variant.as_str()));
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == row.metric);
        let (Some(way), Some(metric)) = (way, metric) else { continue };
        if !is_reference(&row.experiment, &row.variant) {
            fill(row, &rounds, way, metric);
        }
    }
    let all = rows.len();
    let measured = rows.iter().filter(|row| row.measured.is_some()).count();
    let mut text = format!("{EXPERIMENT}: {measured} of {all} rows were measured");
    for row in &rows {
        if let Some(reason) = &row.reason
            && !text.contains(reason.as_str())
            && !is_reference(&row.experiment, &row.variant)
        {
            text.push_str("; ");
            text.push_str(reason);
        }
    }
    Ok(Some(text))
}
