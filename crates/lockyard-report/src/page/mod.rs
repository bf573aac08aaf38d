//! Pages of results, of comparisons, of profiles and of sweeps.

mod comparison;
mod document;
mod frame;
mod profile;
mod profile_tables;
mod recorded;
mod sweep;
mod tables;

pub use comparison::comparison;
pub use document::{Report, document};
pub use frame::{is_page, is_partial};
pub use profile::profile;
pub use sweep::sweep;
