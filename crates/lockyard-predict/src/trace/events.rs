//! The events of a process during construction.

use super::names::Names;
use lockyard_trace::{Event, Kind, Process, Track, What};

/// A process to which tracks and events are added. Events of one track must come in order of time.
pub(super) struct Events<'a> {
    process: Process,
    names: &'a mut Names,
}

impl<'a> Events<'a> {
    pub(super) fn new(name: &str, names: &'a mut Names) -> Events<'a> {
        Events { process: Process { name: name.to_owned(), ..Process::default() }, names }
    }

    /// Adds a track. Returns its number.
    pub(super) fn track(&mut self, name: &str, kind: Kind, parent: Option<usize>) -> usize {
        self.process.tracks.push(Track { name: name.to_owned(), kind, parent });
        self.process.tracks.len() - 1
    }

    fn add(&mut self, time: u64, track: usize, what: What) -> usize {
        self.process.events.push(Event { time, track, what });
        self.process.events.len() - 1
    }

    /// Begins a slice. Returns the number of the event.
    pub(super) fn begin(&mut self, time: u64, track: usize, name: &str) -> usize {
        let name = self.names.number(name);
        self.add(time, track, What::Begin { name, incoming: None, outgoing: None })
    }

    /// Ends the innermost slice.
    pub(super) fn end(&mut self, time: u64, track: usize) {
        self.add(time, track, What::End);
    }

    pub(super) fn count(&mut self, time: u64, track: usize, value: i64) {
        self.add(time, track, What::Count(value));
    }

    /// Adds an arrow from the end of one slice to another slice. `from` and `to` are the slices'
    /// first events.
    pub(super) fn arrow(&mut self, number: u64, from: usize, to: usize) {
        if let What::Begin { outgoing, .. } = &mut self.process.events[from].what {
            *outgoing = Some(number);
        }
        if let What::Begin { incoming, .. } = &mut self.process.events[to].what {
            *incoming = Some(number);
        }
    }

    /// Returns the process, with its events in order of time.
    pub(super) fn finish(mut self) -> Process {
        // A stable sort: simultaneous events of one track keep their order.
        self.process.events.sort_by_key(|event| event.time);
        self.process
    }
}
