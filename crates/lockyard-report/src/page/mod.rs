//! Pages of results and of comparisons.

mod comparison;
mod document;
mod frame;
mod tables;

pub use comparison::comparison;
pub use document::{Report, document};
pub use frame::{is_page, is_partial};
