//! Stand-in for operating systems on which counters are not supported.

use super::{Counters, Event, Reading, Recorded, Source, Surroundings};

/// Source without any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct System(());

impl Source for System {
    fn open(&self) -> Box<dyn Counters> {
        Box::new(System(()))
    }
}

impl Counters for System {
    fn start(&mut self) {}
    fn stop(&mut self) -> Reading {
        let reason = || "counters are read on Linux only".to_owned();
        Event::ALL.map(|event| (event, Err(reason()))).to_vec()
    }
}

/// Returns a recording without counts: each event has error 38, function not implemented.
pub fn record(work: impl FnOnce()) -> Recorded {
    work();
    Recorded::new(Event::ALL.map(|event| (event, Err(38))).to_vec(), Surroundings::here())
}
