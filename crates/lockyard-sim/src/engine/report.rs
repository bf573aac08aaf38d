//! Reports of threads that panicked, stopped, or have not finished.

use std::panic::Location;

/// How a run ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Panicked { thread: u32, message: String },
    Fatal { thread: u32, message: &'static str },
}

/// Last operation of a thread that had not finished when a run ended.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// Number of the hardware thread.
    pub thread: usize,
    /// Description of its last operation.
    pub operation: String,
    /// Place in the source that asked for it.
    pub location: Option<&'static Location<'static>>,
}
