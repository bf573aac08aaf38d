//! Integration tests of the crate's public API.

mod pairs;
mod sleeps;
mod synthetic;
