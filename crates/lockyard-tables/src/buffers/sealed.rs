//! A trait that no other crate can name, so that switches and indices are this crate's only.

pub trait Sealed {}
