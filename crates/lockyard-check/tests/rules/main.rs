//! The rules of ARCHITECTURE.md that a test can check by reading the sources. They are separate
//! from the model checks, because they build and run in seconds.

mod arrows;
mod dependencies;
mod one_source;
mod surface;
mod words;
mod workspace;
