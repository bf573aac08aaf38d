//! Scaling described by three numbers: the Universal Scalability Law, fitted to figures at several
//! thread counts.
//!
//! [`usl`] holds the law, and `solve` finds its parameters. Their intervals come from a bootstrap
//! over rounds.
//!
//! A slow moment of the host affects all figures of a round. So the bootstrap draws whole rounds,
//! with replacement, each with the figures of all thread counts. It takes medians and fits the law
//! again.
//!
//! The intervals thus include the variation between rounds. They do not include the error of a
//! wrong law. For that, look at R squared and the greatest residual.

mod fit;
mod report;
mod search;
mod solve;
pub mod usl;

pub use fit::{FEWEST_POINTS, FEWEST_ROUNDS, Fit, Intervals, Point, check, fit};
pub use report::{VariantFit, of_rows};
pub use usl::Usl;
