//! Exceptions. Their classes are Python's, in `lockyard/errors.py`.

use lockyard_predict::failure::Failure;
use lockyard_support::InputError;
use pyo3::prelude::*;

/// Returns an exception of this class of `lockyard.errors`.
fn raise(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made =
        py.import("lockyard.errors").and_then(|module| module.getattr(class)?.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Returns an exception for wrong input.
pub(crate) fn input(py: Python<'_>, error: &InputError) -> PyErr {
    raise(py, "InputError", error.to_string())
}

/// Returns an exception for work that failed.
pub(crate) fn run(py: Python<'_>, message: String) -> PyErr {
    raise(py, "SimulationError", message)
}

/// Returns an exception for a failed request.
pub(crate) fn failure(py: Python<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::Input(error) => input(py, &error),
        Failure::Run(message) => run(py, message),
    }
}
