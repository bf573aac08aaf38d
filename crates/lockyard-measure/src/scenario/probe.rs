//! Observations that a pass makes on each thread in addition to its operations: none, its waits,
//! previous lock holders, its phases, or hardware counters.

use super::handover::{self, Handovers, Holders};
use super::stage::{OnHost, OnHostHolders, OnHostTimed, begin_waits, take_waits};
use crate::attribution::{self, OnHostAttributed, Registered, Sampler, Tally, Watched};
use crate::counters::{Counters, Reading, Source};
use hdrhistogram::Histogram;
use lockyard_scenarios::Stage;
use std::sync::{Arc, Mutex, PoisonError};

/// Observer of a run's threads.
pub(crate) trait Probe: Send + Sync + 'static {
    /// Minimum number of finished operations before a run may end. On a host with other load, a
    /// short window may pass without any operation, and would leave nothing to observe.
    const LEAST_OPERATIONS: u64 = 2;

    /// Stage on which the scenario runs.
    type Stage: Stage;
    /// State that a thread prepares before the run begins.
    type Ready;
    /// Observation made on a thread.
    type Found: Send;
    /// Observation made by the main thread while the window is open.
    type Seen;

    /// Prepares thread number `thread`. `cpu` is set if the thread is pinned.
    fn prepare(&self, thread: usize, cpu: Option<usize>) -> Self::Ready;
    /// Begins the observation of the thread.
    fn begin(_ready: &mut Self::Ready) {}
    /// Ends the observation of the thread.
    fn end(ready: Self::Ready) -> Self::Found;
    /// Observes the window as it opens; by then all threads are ready and running. The returned
    /// function is called on the same thread when the window closes.
    fn watch(&self) -> Box<dyn FnOnce() -> Self::Seen>;
}

/// Observes nothing.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Probe for Nothing {
    // A round keeps its length, and zero operations are a valid figure.
    const LEAST_OPERATIONS: u64 = 0;
    type Stage = OnHost;
    type Ready = ();
    type Found = ();
    type Seen = ();

    fn prepare(&self, _: usize, _: Option<usize>) {}
    fn end((): ()) {}
    fn watch(&self) -> Box<dyn FnOnce()> {
        Box::new(|| ())
    }
}

/// Observes the duration of each wait.
#[derive(Debug)]
pub(crate) struct WaitTimes;

impl Probe for WaitTimes {
    type Stage = OnHostTimed;
    type Ready = ();
    type Found = Option<Histogram<u64>>;
    type Seen = ();

    fn prepare(&self, _: usize, _: Option<usize>) {
        begin_waits();
    }
    fn end((): ()) -> Option<Histogram<u64>> {
        take_waits()
    }
    fn watch(&self) -> Box<dyn FnOnce()> {
        Box::new(|| ())
    }
}

/// Observes the previous holder of each lock.
#[derive(Debug)]
pub(crate) struct Previous(pub(crate) Arc<Holders>);

impl Probe for Previous {
    type Stage = OnHostHolders;
    type Ready = ();
    type Found = Handovers;
    type Seen = ();

    fn prepare(&self, thread: usize, cpu: Option<usize>) {
        handover::begin(Arc::clone(&self.0), thread, cpu);
    }
    fn end((): ()) -> Handovers {
        handover::end()
    }
    fn watch(&self) -> Box<dyn FnOnce()> {
        Box::new(|| ())
    }
}

/// Reads the hardware counters.
pub(crate) struct Counting(pub(crate) Arc<dyn Source>);

impl Probe for Counting {
    type Stage = OnHost;
    type Ready = Box<dyn Counters>;
    type Found = Reading;
    type Seen = ();

    fn prepare(&self, _: usize, _: Option<usize>) -> Box<dyn Counters> {
        self.0.open()
    }
    fn begin(counters: &mut Box<dyn Counters>) {
        counters.start();
    }
    fn end(mut counters: Box<dyn Counters>) -> Reading {
        counters.stop()
    }
    fn watch(&self) -> Box<dyn FnOnce()> {
        Box::new(|| ())
    }
}

/// Samples each thread's phase and activity.
#[derive(Debug)]
pub(crate) struct Phases {
    /// Number of region parts named by the script's steps.
    parts: usize,
    /// Threads that are ready, or the reason why one cannot be observed.
    threads: Mutex<Vec<std::io::Result<Watched>>>,
}

impl Phases {
    pub(crate) fn new(parts: usize) -> Self {
        Phases { parts, threads: Mutex::default() }
    }
}

impl Probe for Phases {
    type Stage = OnHostAttributed;
    /// Registration with a line for the thread. The line is returned when the thread ends.
    type Ready = Option<Registered>;
    type Found = ();
    type Seen = std::io::Result<Tally>;

    fn prepare(&self, _: usize, _: Option<usize>) -> Option<Registered> {
        let (registered, watched) = match Registered::new() {
            Ok((registered, watched)) => (Some(registered), Ok(watched)),
            Err(error) => (None, Err(error)),
        };
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        registered
    }
    fn end(_: Option<Registered>) {}
    fn watch(&self) -> Box<dyn FnOnce() -> std::io::Result<Tally>> {
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let watched: std::io::Result<Vec<Watched>> = threads.into_iter().collect();
        let numbers = attribution::numbers(self.parts);
        let sampler =
            watched.and_then(|threads| Sampler::start(threads, numbers, attribution::INTERVAL));
        Box::new(|| sampler.map(Sampler::finish))
    }
}
