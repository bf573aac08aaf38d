//! Peers, in one binary: their rows, their tables, what their loops compile to.

mod listings;
mod rows;
mod tables;
