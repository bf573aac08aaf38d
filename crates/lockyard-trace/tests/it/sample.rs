//! A small trace with every kind of track and event.

use lockyard_trace::{Event, Kind, Process, Trace, Track, What};

fn track(name: &str, kind: Kind, parent: Option<usize>) -> Track {
    Track { name: name.to_owned(), kind, parent }
}

fn begin(time: u64, track: usize, name: usize) -> Event {
    Event { time, track, what: What::Begin { name, incoming: None, outgoing: None } }
}

fn end(time: u64, track: usize) -> Event {
    Event { time, track, what: What::End }
}

fn count(time: u64, track: usize, value: i64) -> Event {
    Event { time, track, what: What::Count(value) }
}

/// Returns a trace of two threads that hold a lock one after another, and of a second process.
pub(crate) fn trace() -> Trace {
    let tracks = vec![
        track("task 0", Kind::Thread, None),
        track("task \"1\"", Kind::Thread, None),
        track("locks", Kind::Group, None),
        track("lock: a", Kind::Slices, Some(2)),
        track("waiting for a", Kind::Counter, Some(2)),
    ];
    let arrow = |time, track, incoming, outgoing| Event {
        time,
        track,
        what: What::Begin { name: 0, incoming, outgoing },
    };
    let events = vec![
        count(0, 4, 0),
        arrow(5, 0, None, Some(7)),
        begin(5, 3, 2),
        begin(300, 1, 1),
        count(300, 4, 1),
        end(1_234_567, 0),
        end(1_234_567, 3),
        end(1_234_700, 1),
        count(1_234_700, 4, 0),
        arrow(1_234_700, 1, Some(7), None),
        end(5_000_000_000, 1),
    ];
    let first = Process { name: "queued, 2 threads".to_owned(), tracks, events };
    let second = Process {
        name: "ticket, 1 thread".to_owned(),
        tracks: vec![track("task 0", Kind::Thread, None)],
        events: vec![begin(0, 0, 1), begin(1, 0, 0), end(2, 0), end(3, 0)],
    };
    Trace {
        about: vec![("scenario".to_owned(), "x".to_owned()), ("seed".to_owned(), "1".to_owned())],
        names: vec!["holds a".to_owned(), "waits for a".to_owned(), "task 0".to_owned()],
        processes: vec![first, second],
    }
}
