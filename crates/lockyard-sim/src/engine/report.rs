//! Reports of threads that panicked, stopped, or have not finished.

use std::panic::Location;

/// A run that ended early, and why.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Panicked { thread: u32, message: String },
    Fatal { thread: u32, message: &'static str },
}

/// Last operation of a thread that had not finished when a run ended.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// Index of the hardware thread.
    pub thread: usize,
    /// Description of the operation.
    pub operation: String,
    /// Source location of the operation.
    pub location: Option<&'static Location<'static>>,
}
