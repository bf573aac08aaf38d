//! Machine file for this host, derived from measured costs. With this file, the simulated machine
//! predicts contended figures of the host. Those figures are not inputs of the file.
//!
//! | module | content |
//! | --- | --- |
//! | `layout` | CPUs that share a core, complex or package; a regular machine with room for them |
//! | `processor` | the processor, and its nearest relative among the shipped machines |
//! | `alone`, `pair`, `lines` | samples: a single CPU, two CPUs |
//! | `trials`, `contended` | scenarios on 1, 2, 4, ... CPUs |
//! | `share` | check that a thread had its CPU throughout |
//! | `rounds` | all measurements, in shuffled rounds and bounded time |
//! | `measurements` | measurements as data; all later steps can be repeated |
//! | `inputs` | numbers of the file that are measured directly, or taken from a relative |
//! | `kernel` | costs of the kernel's calls that sleep and wake |
//! | `steady` | check that each figure has a single value over time |
//! | `solve` | numbers that make simulated hand-overs as long as the measured ones |
//! | `line_spread` | how much the path of a line differs from line to line |
//! | `draft` | the file |
//! | `figures` | measured figures compared with predicted ones |
//! | `report` | output for readers and for programs |

mod alone;
mod contended;
mod draft;
mod figures;
mod inputs;
mod kernel;
mod layout;
mod line_spread;
mod lines;
mod measurements;
mod on_cpu;
mod pair;
mod processor;
mod report;
mod rounds;
mod share;
mod solve;
mod steady;
#[cfg(test)]
mod steady_tests;
#[cfg(test)]
mod tests;
mod trials;

pub use alone::Alone;
pub use contended::standard_variants;
pub use draft::slug;
pub use figures::{CalibrationRow, FigureRole, Figures, cells, compare, measured};
pub use layout::{CpuAt, Layout};
pub use lockyard_sim::LineDistance;
pub use measurements::{Contended, Given, Measurements, PairFigure, today};
pub use pair::Pair;
pub use processor::CalibratedProcessor;
pub use report::render;
pub use rounds::{LEAST_SECONDS, MOST_SECONDS, measure, measure_variants};
pub use solve::{Calibrated, calibrate};
pub use steady::{ADVICE, Steadiness, differs, steadiness};
