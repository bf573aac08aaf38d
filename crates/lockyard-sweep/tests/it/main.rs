//! Plans, rows, shards and merging.

mod bundles;
mod plans;
mod rows;
mod support;
