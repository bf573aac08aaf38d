//! Programs that must not compile, in one binary.

mod locks;
mod tables;
