//! Scaling in three numbers: the Universal Scalability Law, fitted to figures at several thread
//! counts.
//!
//! [`usl`] has the law, and `solve` finds its parameters. Their intervals come from a bootstrap
//! over rounds. A slow moment of the host affects all figures of a round. So rounds are drawn
//! again, with replacement, each with the figures of all thread counts. Medians are taken, and the
//! law is fitted again. So the intervals include the variation between rounds. They do not include
//! the error of a wrong law: R squared and the greatest residual show that.

mod fit;
mod report;
mod solve;
pub mod usl;

pub use fit::{FEWEST_POINTS, FEWEST_ROUNDS, Fit, Intervals, Point, check, fit};
pub use report::{VariantFit, of_rows};
pub use usl::Usl;
