//! A run as its threads share it and its main thread sees it.

use crate::cpus::placement::Placement;
use crate::watchdog::{Progress, Watchdog};
use lockyard_scenarios::{Prepared, Samples, Stage, Variant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCell<'a> {
    pub(crate) variant: &'a Variant,
    pub(crate) threads: usize,
    pub(crate) local_work: f64,
    pub(crate) placement: &'a Placement,
    /// The samples of the window, and what happens in them; if there are none, the window is one.
    pub(crate) samples: Option<Samples>,
}

/// What the threads of a run share.
pub(crate) struct Shared<S: Stage> {
    /// The objects of each guest.
    pub(crate) prepared: Vec<Prepared<S>>,
    pub(super) progress: Vec<Progress>,
    /// How many threads are ready.
    pub(super) ready: AtomicUsize,
    pub(super) go: AtomicBool,
}

/// The main thread's view of a run.
pub(crate) struct Watch<'a, S: Stage> {
    pub(crate) cell: HostCell<'a>,
    pub(crate) shared: &'a Arc<Shared<S>>,
    pub(crate) dog: Watchdog<'a>,
}
