//! Rows for the measured rounds: for this host only, and next to the published table.

use super::{CallPathEffort, CallPathMetric, Rounds, Way, measure};
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{CallPathDetail, MeasuredDetail, NOT_PINNED};
use lockyard_results::row::{Row, Status};
use lockyard_support::jobs;

/// Name of the experiment, and of its published table.
pub const EXPERIMENT: &str = "lock-call-path";

/// Unit of the rows for this host that compare with the direct call.
const UNIT: &str = "% of direct";

/// Metric and unit of the rows for this host that give the time itself.
const TIME: (&str, &str) = ("time", "ns");

/// Rows and notes of a measurement.
#[derive(Debug)]
pub struct CallPathReport {
    /// One row per way and metric, and one per way for the time in nanoseconds.
    pub rows: Vec<Row>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Returns the rows for a measurement on this host only.
pub fn rows(rounds: &Rounds) -> CallPathReport {
    use CallPathMetric::Wallclock;
    // Times first: many hosts have no counters.
    let counted = CallPathMetric::ALL.into_iter().filter(|metric| *metric != Wallclock);
    let mut all = rows_of(rounds, Wallclock, Scale::Absolute);
    all.extend(rows_of(rounds, Wallclock, Scale::OfDirect));
    all.extend(counted.flat_map(|metric| rows_of(rounds, metric, Scale::OfDirect)));
    let mut notes = vec![format!(
        "An uncontended lock and unlock of the {} lock, on one CPU: the median of {} rounds of {} \
         each. Percentages are of the direct call in the same round.",
        rounds.kind,
        rounds.finished(),
        rounds.times
    )];
    if let Some((_, reason)) = rounds.refused.first() {
        let ways: Vec<&str> = rounds.refused.iter().map(|(way, _)| way.name()).collect();
        notes.push(format!("{}: {reason}.", ways.join(", ")));
    }
    if let Err(reason) = rounds.figures(Way::Direct, CallPathMetric::ALL[0]) {
        notes.push(format!("Counters: {reason}."));
    }
    if !rounds.pinned {
        notes.push("The thread was not pinned to a CPU: the system does not allow it.".to_owned());
    }
    CallPathReport { rows: all, notes }
}

/// Scale of a row's figure.
#[derive(Clone, Copy)]
enum Scale {
    /// Per cent of the direct call.
    OfDirect,
    /// The unit of the metric.
    Absolute,
}

/// Returns a metric's row of each way, for this host only.
fn rows_of(rounds: &Rounds, metric: CallPathMetric, scale: Scale) -> Vec<Row> {
    let (name, unit) = match scale {
        Scale::Absolute => TIME,
        Scale::OfDirect => (metric.name(), UNIT),
    };
    let row = |way: Way| {
        let key = CellKey::here(EXPERIMENT, way.name(), 1, name, unit);
        let mut row = Row::new(key, Status::NotModelled);
        fill(&mut row, rounds, way, metric, scale);
        row
    };
    Way::ALL.into_iter().map(row).collect()
}

/// Fills a row with the figure of a way and a metric, or with the reason why the figure is missing.
fn fill(row: &mut Row, rounds: &Rounds, way: Way, metric: CallPathMetric, scale: Scale) {
    let mut call_path =
        CallPathDetail { lock: rounds.kind.name(), way: way.name(), per_lock_and_unlock: None };
    let mut measured = MeasuredDetail::default();
    match rounds.figures(way, metric) {
        Ok(figures) => {
            call_path.per_lock_and_unlock = Some(figures.absolute.measured.value);
            let found = match scale {
                Scale::OfDirect => figures.relative,
                Scale::Absolute => figures.absolute,
            };
            row.status = Status::Measured;
            row.measured = Some(found.measured);
            row.reason = None;
            measured.ci_coverage = Some(found.coverage);
            measured.rounds = found.rounds;
            measured.note = (!rounds.pinned).then(|| NOT_PINNED.to_owned());
        }
        Err(reason) => {
            row.status = Status::NotModelled;
            row.reason = Some(reason);
        }
    }
    measured.call_path = Some(call_path);
    row.details.measured = Some(measured);
}

/// Returns true if a row of the published table is the reference, which is 100 by definition.
pub fn is_reference(experiment: &str, variant: &str) -> bool {
    experiment == EXPERIMENT && Some(variant) == Way::Direct.published()
}

/// Returns the reason why a row of the published table is not modelled. It applies as long as
/// nothing is measured. `None` for other experiments.
pub fn without_measurement(experiment: &str) -> Option<String> {
    let why =
        "how instructions are fetched is not modelled: it is measured on this host, or not at all";
    (experiment == EXPERIMENT).then(|| why.to_owned())
}

/// Measures the rows of the published table as far as this host allows, and reports what was
/// measured. Does not change other rows.
///
/// # Errors
///
/// If the harness is broken.
pub fn measure_published<'r>(
    rows: impl Iterator<Item = &'r mut Row>,
) -> Result<Option<String>, String> {
    let mut rows: Vec<&mut Row> = rows.filter(|row| row.key.experiment == EXPERIMENT).collect();
    if rows.is_empty() || jobs::interrupted() {
        return Ok(None);
    }
    let rounds = measure(CallPathEffort::USUAL, &mut || ())?;
    if rounds.finished() == 0 {
        // After an interrupt, nothing is known about these rows.
        return Ok(None);
    }
    for row in &mut rows {
        let way =
            Way::ALL.into_iter().find(|way| way.published() == Some(row.key.variant.as_str()));
        let metric = CallPathMetric::ALL.into_iter().find(|metric| metric.name() == row.key.metric);
        let (Some(way), Some(metric)) = (way, metric) else { continue };
        if !is_reference(&row.key.experiment, &row.key.variant) {
            fill(row, &rounds, way, metric, Scale::OfDirect);
        }
    }
    let all = rows.len();
    let measured = rows.iter().filter(|row| row.measured.is_some()).count();
    let mut text = format!("{EXPERIMENT}: {measured} of {all} rows were measured");
    for row in &rows {
        if let Some(reason) = &row.reason
            && !text.contains(reason.as_str())
            && !is_reference(&row.key.experiment, &row.key.variant)
        {
            text.push_str("; ");
            text.push_str(reason);
        }
    }
    Ok(Some(text))
}
