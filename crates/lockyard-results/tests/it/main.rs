//! Tests of the crate through its public items.

mod pairs;
mod synthetic;
