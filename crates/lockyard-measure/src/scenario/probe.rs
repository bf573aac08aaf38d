//! What a pass records of each thread beside its operations: nothing, its waits, who held a lock
//! before it, its phases, or the processor's counters.

use super::handover::{self, Handovers, Holders};
use super::stage::{OnHost, OnHostHolders, OnHostTimed, begin_waits, take_waits};
use crate::attribution::{self, OnHostAttributed, Registered, Sampler, Tally, Watched};
use crate::counters::{Counters, Reading, Source};
use hdrhistogram::Histogram;
use lockyard_scenarios::Stage;
use std::sync::{Arc, Mutex, PoisonError};

/// A way to look at threads.
pub(crate) trait Probe: Send + Sync + 'static {
    /// A run ends no sooner than so many operations are finished: on a host whose CPUs others use,
    /// a short window may pass without any, and then there would be nothing to look at.
    const LEAST_OPERATIONS: u64 = 2;

    /// Where the scenario is performed.
    type Stage: Stage;
    /// What is made ready on a thread before the run begins.
    type Ready;
    /// What is found on it.
    type Found: Send;
    /// What is seen from the main thread, while the window is open.
    type Seen;

    /// Makes ready, on the thread with this index, which is pinned to this CPU, if to any.
    fn prepare(&self, thread: usize, cpu: Option<usize>) -> Self::Ready;
    /// The thread begins.
    fn begin(_ready: &mut Self::Ready) {}
    /// It has ended.
    fn end(ready: Self::Ready) -> Self::Found;
    /// The window opens: all threads are ready, and run. What is returned is called, on the same
    /// thread, when it closes.
    fn watch(&self) -> Box<dyn FnOnce() -> Self::Seen>;
}

/// Looks at nothing.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Probe for Nothing {
    // A round is as long as it is, and none is a figure too.
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

/// The time that each wait takes.
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

/// Who held each lock before.
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

/// The processor's counters.
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

/// In which phase each thread is and what it does, as a sampler sees it.
#[derive(Debug)]
pub(crate) struct Phases {
    /// How many parts of regions the script's steps name.
    parts: usize,
    /// The threads that are ready; or why one cannot be watched.
    threads: Mutex<Vec<std::io::Result<Watched>>>,
}

impl Phases {
    pub(crate) fn new(parts: usize) -> Self {
        Phases { parts, threads: Mutex::default() }
    }
}

impl Probe for Phases {
    type Stage = OnHostAttributed;
    /// The thread's line, which is given back when it ends.
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
