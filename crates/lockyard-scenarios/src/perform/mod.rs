//! Performs scenarios: lays out the objects of a variant, and runs its steps on a stage.

mod arrivals;
mod drawn;
mod ended;
mod exchanges;
mod exclusion;
mod inside;
mod interpreter;
mod locks;
mod meeting_steps;
mod meetings;
mod objects;
mod pages;
mod prepared;
mod random;
mod stage;
mod standstill;
mod tables;
mod task;
mod verify;
mod violation;
mod words;
mod work_variation;

pub use exchanges::Exchanges;
pub use meetings::Stuck;
pub use prepared::Prepared;
pub use stage::Stage;
pub use violation::Violation;
