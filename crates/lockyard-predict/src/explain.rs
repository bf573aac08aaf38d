//! Why a predicted figure is what it is: where the cycles of all threads went, by phase, by lock
//! and by line, what ideal locks would give, and a few sentences that name the cost that dominates
//! (the rules: [`Cause`]).

mod cause;
mod costs;
mod ideal;
mod lock_time;
mod locks;
mod sentence;

pub use cause::Cause;
pub use costs::{Costs, legend};
pub use ideal::{Bound, LITTLE};
pub use lock_time::LockTime;
pub use locks::SATURATED;
