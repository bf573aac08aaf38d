//! Details of a row that several outputs show: the measured ones, or else the simulated ones.

use crate::details::{MeasuredDetail, RatioDetail, SimulatedDetail};
use crate::fairness::{Fairness, Waits};
use crate::row::Row;

/// Returns the details of the row's measured figure.
pub(super) fn measured(row: &Row) -> Option<&MeasuredDetail> {
    row.details.measured.as_ref()
}

/// Returns the details of the row's simulated figure.
pub(super) fn simulated(row: &Row) -> Option<&SimulatedDetail> {
    row.details.simulated.as_ref()
}

/// Returns the figure for a machine where the siblings of a core share nothing during an
/// ownership.
pub(super) fn siblings_apart(row: &Row) -> Option<f64> {
    simulated(row)?.siblings_share_nothing
}

/// Returns the ratio of a measured row to the row with which it is compared.
pub(super) fn ratio(row: &Row) -> Option<&RatioDetail> {
    measured(row)?.ratio.as_ref()
}

/// Returns the fairness among the threads of a row: the measured one if there is one, otherwise the
/// simulated one.
pub(super) fn fairness(row: &Row) -> Option<Fairness> {
    measured(row).and_then(|m| m.fairness).or_else(|| simulated(row)?.fairness)
}

/// Returns the measured number of times that a thread slept per operation of a row.
pub(super) fn sleeps(row: &Row) -> Option<f64> {
    measured(row)?.sleeps
}

/// Returns the simulated number of times that a thread slept per operation of a row.
pub(super) fn simulated_sleeps(row: &Row) -> Option<f64> {
    simulated(row)?.sleeps
}

/// Returns the waits of a row: the measured ones if there are any, otherwise the simulated ones.
pub(super) fn waits(row: &Row) -> Option<Waits> {
    measured(row).and_then(|m| m.waits).or_else(|| simulated(row)?.waits)
}
