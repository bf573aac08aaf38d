//! Prediction of a scenario's cells. If a request names a peer, its error explains that native code
//! can only be measured.

use lockyard_measure::peers;
use lockyard_predict::failure::Failure;
use lockyard_predict::request;
use lockyard_results::published::PublishedTable;

pub use lockyard_predict::request::{PredictRequest, Predictions};

/// Checks a request without simulating anything.
///
/// # Errors
///
/// If the input is wrong, or a variant is native code.
pub fn check(request: &PredictRequest) -> Result<(), Failure> {
    peers::variants(&request.script, &request.variants)?;
    Ok(request::check(request)?)
}

/// Predicts the cells of a request.
///
/// # Errors
///
/// If the input is invalid, a variant is native code, or a run fails.
pub fn run(
    request: &PredictRequest,
    tables: &[PublishedTable],
    done: &(impl Fn() + Sync),
) -> Result<Predictions, Failure> {
    check(request)?;
    request::run(request, tables, done)
}
