//! Other people's measurements beside a machine's predictions: `lockyard fit`.
//!
//! A curve is one scenario and variant at several numbers of threads. Its row with the fewest
//! threads gives the local work of an operation: it is calibration, and not scored. All other rows
//! are scored.
//!
//! One number is fitted: a factor on the latencies between cores. Each curve is also scored with
//! the factor that fits the *other* curves best (leave-one-out), which is a fair test of the
//! factor.
//!
//! | module | content |
//! | --- | --- |
//! | `data` | the curves of a CSV file, or of a standard measurement |
//! | `score` | predictions, the fit, and errors |
//! | `report` | the output |

mod data;
mod report;
mod score;

pub use data::{Curve, MAX_BYTES, curves};
pub use report::render;
pub use score::{Fit, FitRow, Prepared, cells, fit, prepare};
