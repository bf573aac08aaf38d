//! A machine file of this host: what it costs, measured; the file that follows; and what the
//! simulated machine then makes of contended figures of the host that are no inputs of the file.
//!
//! | module | what |
//! | --- | --- |
//! | `layout` | which of the process's CPUs share what, and the regular machine that has them |
//! | `processor` | which processor it is, and which shipped machine is its nearest relative |
//! | `alone`, `pair`, `lines` | samples: one CPU by itself, two CPUs |
//! | `trials`, `contended` | scenarios on 1, 2, 4, ... CPUs |
//! | `share` | whether a thread had its CPU all the time |
//! | `rounds` | everything in rounds, each round in an order of its own, in bounded time |
//! | `measurements` | what was measured, as data: all that follows can be repeated from it |
//! | `inputs` | the numbers of the file that are measured as they are, or taken from a relative |
//! | `steady` | whether each figure is one value over time |
//! | `solve` | the numbers of the file that make simulated hand-overs cost what measured ones do |
//! | `draft` | the file |
//! | `figures` | measured beside predicted |
//! | `report` | for people and programs |

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
pub use figures::{Figures, Role, Row, cells, compare, measured};
pub use layout::{CpuAt, Layout};
pub use lockyard_sim::Distance;
pub use measurements::{Contended, Measurements, PairFigure};
pub use pair::Pair;
pub use processor::Processor;
pub use report::render;
pub use rounds::{LEAST_SECONDS, MOST_SECONDS, measure};
pub use solve::{Calibrated, calibrate};
pub use steady::{ADVICE, Steadiness, differs, steadiness};
