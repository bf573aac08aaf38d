//! Execution graphs: the events of each thread, the write that each read reads from, and the order
//! of the writes to each location.
//!
//! An execution *is* its graph. Two interleavings that differ only in the order of independent
//! steps have the same graph, and are explored once.

use lockyard::platform::Ordering;

/// Maximum number of threads of a model.
pub const MOST_THREADS: usize = 8;

/// Deletions to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletions {
    /// One deletion for each resulting graph.
    Needed,
    /// All deletions. Each graph is kept in memory, so that repetitions are noticed. For tests of
    /// `Needed`.
    All,
}

/// Name of an event: its thread, and its place among the thread's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) thread: u8,
    pub(super) index: u16,
}

impl Id {
    pub(super) fn thread(self) -> usize {
        usize::from(self.thread)
    }
    pub(super) fn index(self) -> usize {
        usize::from(self.index)
    }
}

/// For each thread, its number of events in some past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock([u16; MOST_THREADS]);

impl Clock {
    pub(super) fn has(&self, event: Id) -> bool {
        self.0[event.thread()] > event.index
    }
    pub(super) fn events_of(&self, thread: usize) -> u16 {
        self.0[thread]
    }
    pub(super) fn add(&mut self, event: Id) {
        self.0[event.thread()] = event.index + 1;
    }
    pub(super) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = theirs.max(*mine);
        }
    }
}

/// Name of a location: its creator (a thread, or another origin), and the number of locations that
/// the creator had before. It is the same in every execution that reaches the creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Location {
    pub(super) origin: u8,
    pub(super) number: u32,
}

impl Location {
    /// The location of events without a location.
    pub(super) const NONE: Location = Location { origin: u8::MAX, number: 0 };

    /// Added to the origin of a word, for the queue of the threads that are parked on it.
    const PARKING: u8 = 64;

    /// The queue of the threads that are parked on this word.
    pub(super) fn queue(self) -> Location {
        Location { origin: self.origin + Self::PARKING, ..self }
    }

    pub(super) fn is_queue(self) -> bool {
        (Self::PARKING..u8::MAX).contains(&self.origin)
    }
}

/// The step of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// Atomic read from a write; `None` is the location's initial value. A blocked read belongs to
    /// a wait whose predicate is false for the value. It is the last event of its thread.
    Read {
        from: Option<Id>,
        blocked: bool,
    },
    /// Atomic write. Writes to one location have rising ranks in their modification order. An
    /// exclusive write is the second half of a read-modify-write; the previous event is the first
    /// half.
    Write {
        rank: u32,
        exclusive: bool,
    },
    Fence,
    /// Access to data that is not atomic.
    Plain {
        write: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) action: Action,
    pub(super) location: Location,
    pub(super) order: Ordering,
    /// The value that was read or written. Each replay writes it again: it may be an address.
    pub(super) value: u64,
    /// Moment of the addition to the graph; for a wait, moment when it got its source.
    pub(super) stamp: u32,
}

/// The events of each thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) threads: Vec<Vec<Event>>,
}

impl Graph {
    pub(super) fn event(&self, id: Id) -> &Event {
        &self.threads[id.thread()][id.index()]
    }
    pub(super) fn event_mut(&mut self, id: Id) -> &mut Event {
        &mut self.threads[id.thread()][id.index()]
    }

    /// Appends an event to the thread's events.
    pub(super) fn push(&mut self, thread: usize, event: Event) -> Id {
        let id = self.next(thread);
        self.threads[thread].push(event);
        id
    }

    /// Returns the name of the thread's next event.
    pub(super) fn next(&self, thread: usize) -> Id {
        let index = u16::try_from(self.threads[thread].len()).expect("events are limited");
        Id { thread: thread as u8, index }
    }

    pub(super) fn events(&self) -> impl Iterator<Item = (Id, &Event)> {
        self.threads.iter().enumerate().flat_map(|(thread, events)| {
            events.iter().enumerate().map(move |(index, event)| {
                (Id { thread: thread as u8, index: index as u16 }, event)
            })
        })
    }

    /// Returns a stamp that is later than the stamps of all events.
    pub(super) fn next_stamp(&self) -> u32 {
        // The last event of a thread is its latest.
        self.threads
            .iter()
            .filter_map(|events| events.last())
            .map(|e| e.stamp + 1)
            .max()
            .unwrap_or(0)
    }

    /// Returns true if several threads have fences with `SeqCst`.
    pub(super) fn has_ordered_fences(&self) -> bool {
        let has_one = |events: &&Vec<Event>| {
            events.iter().any(|e| e.action == Action::Fence && e.order == Ordering::SeqCst)
        };
        self.threads.iter().filter(has_one).count() > 1
    }

    /// Returns the source of a read.
    pub(super) fn source(&self, read: Id) -> Option<Id> {
        match self.event(read).action {
            Action::Read { from, .. } => from,
            _ => unreachable!("only reads have a source"),
        }
    }

    pub(super) fn is_blocked(&self, id: Id) -> bool {
        matches!(self.event(id).action, Action::Read { blocked: true, .. })
    }

    pub(super) fn is_exclusive(&self, id: Id) -> bool {
        matches!(self.event(id).action, Action::Write { exclusive: true, .. })
    }

    fn rank(&self, id: Id) -> u32 {
        match self.event(id).action {
            Action::Write { rank, .. } => rank,
            _ => unreachable!("only writes have a rank"),
        }
    }

    /// Gives `writes`, which must be all writes of a location, the ranks 1, 2, ...
    pub(super) fn set_ranks(&mut self, writes: &[Id]) {
        for (&id, place) in writes.iter().zip(1..) {
            if let Action::Write { rank, .. } = &mut self.event_mut(id).action {
                *rank = place;
            }
        }
    }

    /// Sorts the writes of a location into their modification order.
    pub(super) fn sort_writes(&self, writes: &mut [Id]) {
        writes.sort_unstable_by_key(|&id| self.rank(id));
    }

    /// Returns the number of events that each thread keeps if `read` is changed to read from a new
    /// write with the past `past`. All events that are later than the read, and not in the write's
    /// past, are deleted. Returns `None` if another exploration has the result: the one in which
    /// the deleted events and the read were added in another way.
    ///
    /// The rule is that of TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, *Truly
    /// stateless, optimal dynamic partial order reduction*, POPL 2022): each deleted read must read
    /// from the newest write, and each deleted write must be the newest, among the writes that were
    /// added earlier or are in the new write's past. Also, no earlier read may read from a deleted
    /// write.
    pub(super) fn revisit(&self, read: Id, past: &Clock) -> Option<Vec<usize>> {
        let keep = self.kept(read, past);
        let deleted = self.events().filter(|(id, _)| id.index() >= keep[id.thread()]);
        deleted
            .chain(std::iter::once((read, self.event(read))))
            .all(|(id, event)| self.was_added_newest(id, event, past))
            .then_some(keep)
    }

    /// The same as [`revisit`](Self::revisit), but returns `None` only if the source of a read that
    /// remains would be deleted.
    pub(super) fn revisit_always(&self, read: Id, past: &Clock) -> Option<Vec<usize>> {
        let keep = self.kept(read, past);
        let kept = |id: Id| id.index() < keep[id.thread()];
        self.events()
            .filter(|(id, _)| *id != read && kept(*id))
            .all(|(_, event)| match event.action {
                Action::Read { from: Some(write), .. } => kept(write),
                _ => true,
            })
            .then_some(keep)
    }

    fn kept(&self, read: Id, past: &Clock) -> Vec<usize> {
        let since = self.event(read).stamp;
        let keep = self.threads.iter().enumerate().map(|(thread, events)| {
            let in_past = usize::from(past.events_of(thread));
            events.partition_point(|event| event.stamp <= since).max(in_past)
        });
        keep.collect()
    }

    fn was_added_newest(&self, id: Id, event: &Event, past: &Clock) -> bool {
        let previous = |other: Id, e: &Event| e.stamp <= event.stamp || past.has(other);
        let newest = match event.action {
            Action::Read { from, .. } => from.map_or(0, |write| self.rank(write)),
            Action::Write { rank, .. } => rank,
            Action::Fence | Action::Plain { .. } => return true,
        };
        let is_write = matches!(event.action, Action::Write { .. });
        self.events().filter(|(other, e)| e.location == event.location && previous(*other, e)).all(
            |(_, other)| match other.action {
                Action::Write { rank, .. } => rank <= newest,
                Action::Read { from, .. } => !(is_write && from == Some(id)),
                Action::Fence | Action::Plain { .. } => true,
            },
        )
    }

    /// Lets `read` read from `write`, which is new.
    pub(super) fn revisit_by(&mut self, read: Id, write: Id) {
        let event = self.event_mut(read);
        event.action = Action::Read { from: Some(write), blocked: false };
        // The replay determines the ordering: the success ordering or the failure ordering.
        event.order = Ordering::Relaxed;
    }

    /// Lets the blocked `read` read from `write`, which is new. The read's thread then looks at the
    /// value. A value that is not the newest must end the wait.
    pub(super) fn wake_by(&mut self, read: Id, write: Id, stamp: u32, is_newest: bool) {
        let event = self.event_mut(read);
        event.stamp = stamp;
        event.action = Action::Read { from: Some(write), blocked: is_newest };
    }

    /// Keeps the first `keep[t]` events of each thread `t`.
    pub(super) fn truncated(&self, keep: &[usize]) -> Graph {
        let threads = self.threads.iter().zip(keep).map(|(events, &n)| events[..n].to_vec());
        Graph { threads: threads.collect() }
    }
}
