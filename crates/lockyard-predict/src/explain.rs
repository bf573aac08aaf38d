//! Explanation of a predicted figure. It has the cycles of all threads by phase, by lock and by
//! line, and the throughput with ideal locks. A few sentences name the dominating cost.
//! [`Costs::cause`] states the rules.

mod bound;
mod cause;
mod causes;
mod costs;
mod facts;
mod ideal;
mod lock_time;
mod locks;
mod sentence;

pub use bound::Bound;
pub use causes::Cause;
pub use costs::{Costs, legend};
pub use ideal::LITTLE;
pub use lock_time::{CallTime, LockTime};
pub use locks::SATURATED;
