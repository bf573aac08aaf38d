//! Model of a trace: processes with tracks, and events on the tracks.

/// A trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Facts about the trace, each with its name.
    pub about: Vec<(String, String)>,
    /// Names of slices; events give their index.
    pub names: Vec<String>,
    /// Its processes. They share one clock, which starts at 0.
    pub processes: Vec<Process>,
}

/// A group of tracks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Its tracks. A track comes after its parent.
    pub tracks: Vec<Track>,
    /// Its events, in order of time. The slices of a track are nested.
    pub events: Vec<Event>,
}

/// A track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub kind: Kind,
    /// Index of the group that contains this track.
    pub parent: Option<usize>,
}

/// Contents of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Other tracks.
    Group,
    /// Slices of a thread.
    Thread,
    /// Slices of something else.
    Slices,
    /// Values of a counter.
    Counter,
}

/// An event on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time in nanoseconds.
    pub time: u64,
    /// Index of its track.
    pub track: usize,
    /// The event.
    pub what: What,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A slice begins, nested in the open slices of its track.
    Begin {
        /// Index of its name.
        name: usize,
        /// Number of the arrow that ends at this slice.
        incoming: Option<u64>,
        /// Number of the arrow that begins at the end of this slice.
        outgoing: Option<u64>,
    },
    /// The innermost slice of the track ends.
    End,
    /// The counter has this value from now on.
    Count(i64),
}

impl Trace {
    /// Returns the time of the last event.
    pub fn end(&self) -> u64 {
        let last = |process: &Process| process.events.last().map_or(0, |event| event.time);
        self.processes.iter().map(last).max().unwrap_or(0)
    }

    /// Returns the number of events.
    pub fn events(&self) -> usize {
        self.processes.iter().map(|process| process.events.len()).sum()
    }
}
