//! Pages of results, of comparisons and of profiles.

mod comparison;
mod document;
mod frame;
mod profile;
mod tables;

pub use comparison::comparison;
pub use document::{Report, document};
pub use frame::{is_page, is_partial};
pub use profile::profile;
