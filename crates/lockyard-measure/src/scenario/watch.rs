//! State of a run that its threads share, and the main thread's access to it.

use crate::cpus::placement::Placement;
use crate::watchdog::{Progress, Watchdog};
use lockyard_scenarios::{Prepared, Samples, Stage, Variant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Cell to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCell<'a> {
    pub(crate) variant: &'a Variant,
    pub(crate) threads: usize,
    pub(crate) local_work: f64,
    pub(crate) placement: &'a Placement,
    /// Samples of the window, and the disturbances in them. Without samples, the window is not
    /// divided.
    pub(crate) samples: Option<Samples>,
}

/// State that the threads of a run share.
pub(crate) struct Shared<S: Stage> {
    /// Objects of each guest.
    pub(crate) prepared: Vec<Prepared<S>>,
    pub(super) progress: Vec<Progress>,
    /// Number of threads that are ready.
    pub(super) ready: AtomicUsize,
    pub(super) go: AtomicBool,
}

/// Main thread's access to a run.
pub(crate) struct Watch<'a, S: Stage> {
    pub(crate) cell: HostCell<'a>,
    pub(crate) shared: &'a Arc<Shared<S>>,
    pub(crate) dog: Watchdog<'a>,
}
