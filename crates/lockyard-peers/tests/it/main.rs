//! All tests of the peers, in one binary: their rows, their tables, and the assembly of their
//! loops.

mod listings;
mod rows;
