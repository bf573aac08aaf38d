//! Explanation of a predicted figure: the cycles of all threads by phase, by lock and by line, the
//! throughput with ideal locks, and a few sentences that name the dominating cost.
//! [`Cause`] states the rules.

mod bound;
mod cause;
mod costs;
mod ideal;
mod lock_time;
mod locks;
mod sentence;

pub use bound::Bound;
pub use cause::Cause;
pub use costs::{Costs, legend};
pub use ideal::LITTLE;
pub use lock_time::LockTime;
pub use locks::SATURATED;
