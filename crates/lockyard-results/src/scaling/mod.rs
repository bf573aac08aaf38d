//! Scaling in three numbers: the Universal Scalability Law, fitted to the figures of some numbers
//! of threads.
//!
//! [`usl`] has the law, `solve` finds the parameters. Their intervals are of the bootstrap over
//! rounds: the rounds are drawn again with replacement, each with the figures of all numbers of
//! threads, because what a slow moment of the host did to a round it did to all of them; medians
//! are taken and the law is fitted anew. So they contain what differs between rounds, and not that
//! the law may be wrong: that is what R squared and the greatest residual are for.

mod fit;
mod report;
mod solve;
pub mod usl;

pub use fit::{FEWEST_POINTS, FEWEST_ROUNDS, Fit, Intervals, Point, check, fit};
pub use report::{VariantFit, of_rows};
pub use usl::Usl;
