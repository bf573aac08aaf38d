//! Python bindings: predictions, explanations, measurements and sweeps. Results cross the border as
//! JSON text, which the Python side of the package turns into objects.
//!
//! Every function that works releases the interpreter's lock, so other Python threads run
//! meanwhile. An exception that a signal handler raises (Ctrl-C) ends the work within a second.

mod errors;
mod inputs;
mod machines;
mod measure;
mod predict;
mod sweep;
mod work;

use pyo3::prelude::*;

/// Functions and classes of the package `lockyard`.
#[pymodule]
fn _lockyard(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", lockyard_sweep::version::VERSION)?;
    module.add("SCHEMA", lockyard_sweep::SCHEMA)?;
    module.add_function(wrap_pyfunction!(predict::predict, module)?)?;
    module.add_function(wrap_pyfunction!(machines::machines, module)?)?;
    module.add_function(wrap_pyfunction!(machines::scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(measure::measure, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::merge, module)?)?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Store>()
}
