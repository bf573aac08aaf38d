//! A trait that no other crate can name. It keeps other crates from adding switches and indices.

pub trait Sealed {}
