//! The rules of ARCHITECTURE.md that a test can hold by reading the sources, apart from the model
//! checks: they are built and run in seconds.

mod arrows;
mod dependencies;
mod one_source;
mod workspace;
