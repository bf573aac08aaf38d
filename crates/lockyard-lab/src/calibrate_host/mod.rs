//! Machine file for this host, derived from measured costs. With this file, the simulated machine
//! predicts contended figures of the host. Those figures are not inputs of the file.
//!
//! | module | contents |
//! | --- | --- |
//! | `layout` | the CPUs that share a core, complex or package; their regular machine |
//! | `processor` | the processor, and its nearest relative among the shipped machines |
//! | `alone`, `pair`, `lines` | samples: one CPU by itself, two CPUs |
//! | `trials`, `contended` | scenarios on 1, 2, 4, ... CPUs |
//! | `share` | the check that a thread had its CPU throughout |
//! | `rounds` | all measurements, in shuffled rounds and bounded time |
//! | `measurements` | the measurements as data: everything after them can be repeated |
//! | `inputs` | the numbers of the file that are measured as they are, or taken from a relative |
//! | `steady` | the check that each figure is one value over time |
//! | `solve` | the numbers of the file that make simulated hand-overs cost what measured ones do |
//! | `draft` | the file |
//! | `figures` | measured beside predicted |
//! | `report` | output for users and programs |

mod alone;
mod contended;
mod draft;
mod figures;
mod inputs;
mod layout;
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
pub use draft::slug;
pub use figures::{CalibrationRow, FigureRole, Figures, cells, compare, measured};
pub use layout::{CpuAt, Layout};
pub use lockyard_sim::LineDistance;
pub use measurements::{Contended, Measurements, PairFigure};
pub use pair::Pair;
pub use processor::CalibratedProcessor;
pub use report::render;
pub use rounds::{LEAST_SECONDS, MOST_SECONDS, measure};
pub use solve::{Calibrated, calibrate};
pub use steady::{ADVICE, Steadiness, differs, steadiness};
