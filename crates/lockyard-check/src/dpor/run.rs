//! The state of one execution: its locations, each thread's view, and the replay of the events that
//! its graph already has.

use super::graph::{Action, Clock, Deletions, Event, Graph, Id, Location, MOST_THREADS};
use crate::finding::{FREED, RACE, STUCK};
use lockyard::platform::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of events of a thread after which it counts as making no progress.
const MOST_EVENTS: usize = 2_000;

/// Origin of locations that are created before the threads start.
pub(super) const BEFORE: u8 = MOST_THREADS as u8;
/// The ordering with which a thread joins the queue of a word. Other accesses of the queue are
/// relaxed. These accesses order only the comparison of the park.
pub(super) const JOINS_QUEUE: Ordering = Ordering::Acquire;

/// Part of the model that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the threads start: operations change initial values, and are no events.
    Before,
    Threads,
    /// After the threads have ended: operations change final values, and are no events.
    After,
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At an operation that is not in the graph yet.
    Ready,
    /// Between the two halves of a read-modify-write, of which the second is not in the graph.
    Exchanging,
    /// In a wait whose newest value does not satisfy it.
    Blocked,
    /// The newest value of the wait has changed.
    Woken,
    Ended,
}

/// The views of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Views {
    /// Events that happen before its next one.
    pub(super) happened: Clock,
    /// Events that an acquire fence would add to this view.
    pub(super) acquired: Clock,
    /// Events that happened before its last release fence.
    pub(super) released: Clock,
    /// The thread's events, and everything that these depend on.
    pub(super) past: Clock,
    /// Events that the comparison of a park must see, although the park orders nothing: the lock
    /// in a futex orders it after earlier calls for the word.
    pub(super) compared: Clock,
}

/// Clocks of an event.
#[derive(Clone, Copy, Default)]
pub(super) struct Derived {
    pub(super) happened: Clock,
    pub(super) past: Clock,
    /// For a write: events that a read with acquire adds to its thread's view.
    pub(super) message: Clock,
    /// Events that a read directly after the event must see.
    pub(super) seen: Clock,
}

/// A location in this execution.
#[derive(Default)]
pub(super) struct Place {
    pub(super) initial: u64,
    /// Number of the creator's events at the creation.
    pub(super) created: u16,
    /// Its writes in modification order, and its reads.
    pub(super) writes: Vec<Id>,
    pub(super) reads: Vec<Id>,
    /// Accesses that are not atomic, with true for those that write.
    pub(super) plain: Vec<(Id, bool)>,
    pub(super) address: usize,
    /// The value after the threads have ended.
    pub(super) settled: Option<u64>,
}

/// A read-modify-write: the new value for an old one; `None` if it stores nothing.
pub(super) type Change<'a> = &'a dyn Fn(u64) -> Option<u64>;

/// The state of an execution.
pub(super) struct Run {
    pub(super) graph: Graph,
    pub(super) phase: Phase,
    pub(super) running: usize,
    pub(super) states: Vec<State>,
    /// Number of each thread's events that have been replayed or added.
    pub(super) done: Vec<usize>,
    /// True if the run has ended early, because its graph belongs to no execution, or has a wait
    /// that must read again. Nothing below this graph is explored.
    pub(super) abandoned: bool,
    /// Graphs to explore.
    pub(super) work: Vec<Graph>,
    pub(super) deletions: Deletions,
    pub(super) views: Vec<Views>,
    /// The views of a blocked thread before its wait.
    unblocked: Vec<Views>,
    pub(super) derived: Vec<Vec<Derived>>,
    pub(super) places: BTreeMap<Location, Place>,
    created: [u32; MOST_THREADS + 1],
    /// The name of the next location that the host creates for itself.
    pub(super) named: Option<Location>,
    pub(super) fences: Vec<Id>,
    freed: Vec<Range<usize>>,
    /// For each thread, the addresses of the words that it has used, the latest last.
    used: Vec<Vec<(usize, Location)>>,
}

impl Run {
    pub(super) fn new(graph: Graph, deletions: Deletions) -> Self {
        let mut places: BTreeMap<Location, Place> = BTreeMap::new();
        for (id, event) in graph.events() {
            let place = places.entry(event.location).or_default();
            match event.action {
                Action::Write { .. } => place.writes.push(id),
                Action::Read { .. } => place.reads.push(id),
                Action::Fence | Action::Plain { .. } => {}
            }
        }
        for place in places.values_mut() {
            graph.sort_writes(&mut place.writes);
        }
        Run {
            phase: Phase::Before,
            running: 0,
            states: Vec::new(),
            done: Vec::new(),
            abandoned: false,
            work: Vec::new(),
            deletions,
            views: Vec::new(),
            unblocked: Vec::new(),
            derived: Vec::new(),
            places,
            created: [0; MOST_THREADS + 1],
            named: None,
            fences: Vec::new(),
            freed: Vec::new(),
            used: Vec::new(),
            graph,
        }
    }

    /// Starts the model's threads. Returns false if the graph belongs to no execution.
    pub(super) fn begin(&mut self, threads: usize) -> bool {
        self.phase = Phase::Threads;
        self.graph.threads.resize_with(threads, Vec::new);
        self.reset(threads);
        // This comes before code of the model runs in the thread.
        if self.graph.has_ordered_fences() {
            while let Some(thread) = self.next_replayed() {
                self.running = thread;
                let id = self.to_replay().expect("it is the next");
                let event = self.graph.event(id);
                let (value, order) = (event.value, event.order);
                self.perform(id, value, order);
            }
            self.abandoned = !self.fences_have_an_order();
            self.places.values_mut().for_each(|place| place.plain.clear());
            self.fences.clear();
            self.reset(threads);
        }
        !self.abandoned
    }

    fn reset(&mut self, threads: usize) {
        self.states = vec![State::Ready; threads];
        self.done = vec![0; threads];
        self.views = vec![Views::default(); threads];
        self.unblocked = vec![Views::default(); threads];
        self.derived = vec![Vec::new(); threads];
        self.used = vec![Vec::new(); threads];
    }

    /// Ends the replay: the graph must have been replayed as it is, and be consistent.
    pub(super) fn end_replay(&mut self) {
        if self.abandoned {
            return;
        }
        let replayed = self.graph.threads.iter().zip(&self.done).all(|(t, &done)| t.len() == done);
        assert!(replayed, "the model is not deterministic: it ended before its replay");
        self.abandoned = !self.fences_have_an_order();
    }

    /// Returns the thread that adds the next event.
    pub(super) fn next_extended(&self) -> Option<usize> {
        if self.abandoned {
            return None;
        }
        [State::Exchanging, State::Woken, State::Ready]
            .into_iter()
            .find_map(|next| self.states.iter().position(|&state| state == next))
    }

    /// Returns the value of the running thread's last event.
    pub(super) fn last_value(&self) -> u64 {
        self.graph.threads[self.running].last().expect("it has one").value
    }

    // ---- Locations.

    /// Creates a location that holds `initial`.
    pub(super) fn create(&mut self, initial: u64) -> Location {
        if let Some(name) = &mut self.named {
            let location = *name;
            name.number += 1;
            self.place(location).initial = initial;
            return location;
        }
        let (origin, created) = match self.phase {
            Phase::Threads => (self.running as u8, self.done[self.running] as u16),
            Phase::Before | Phase::After => (BEFORE, 0),
        };
        let number = self.created[usize::from(origin)];
        self.created[usize::from(origin)] += 1;
        let location = Location { origin, number };
        let place = self.places.entry(location).or_default();
        place.initial = initial;
        place.created = created;
        location
    }

    pub(super) fn place(&mut self, location: Location) -> &mut Place {
        self.places.entry(location).or_default()
    }

    /// Returns the value outside of the threads.
    pub(super) fn settled(&mut self, location: Location) -> u64 {
        let phase = self.phase;
        let place = self.places.entry(location).or_default();
        if phase == Phase::Before {
            return place.initial;
        }
        let newest = place.writes.last().map(|&write| self.graph.event(write).value);
        place.settled.or(newest).unwrap_or(place.initial)
    }

    pub(super) fn settle(&mut self, location: Location, value: u64) {
        let phase = self.phase;
        let place = self.place(location);
        if phase == Phase::Before {
            place.initial = value;
        } else {
            place.settled = Some(value);
        }
    }

    /// Records that the running thread uses the location at `address`.
    pub(super) fn touch(&mut self, location: Location, address: usize, what: &str) {
        let me = self.running;
        self.place(location).address = address;
        if self.used[me].last() != Some(&(address, location)) {
            self.used[me].push((address, location));
        }
        let freed = self.freed.iter().any(|range| range.contains(&address));
        assert!(!freed, "{FREED}{what}");
        let (origin, created) = (location.origin, self.place(location).created);
        if usize::from(origin) < MOST_THREADS && usize::from(origin) != me {
            let seen = self.views[me].happened.events_of(usize::from(origin));
            assert!(seen > created, "{RACE}{what}, without an order after its creation");
        }
    }

    /// Returns the location at `address`, as the running thread knows it.
    pub(super) fn known_at(&self, address: usize) -> Option<Location> {
        self.used[self.running].iter().rev().find(|(at, _)| *at == address).map(|(_, l)| *l)
    }

    /// Records that the running thread frees the memory in `range`.
    pub(super) fn free(&mut self, range: Range<usize>) {
        if self.phase != Phase::Threads {
            return;
        }
        let me = self.running;
        let happened = self.views[me].happened;
        // A call for the queue of a word does not use the word.
        let words = self.places.iter().filter(|(location, _)| !location.is_queue());
        for (_, place) in words.filter(|(_, place)| range.contains(&place.address)) {
            let users = place.writes.iter().chain(&place.reads);
            let users = users.chain(place.plain.iter().map(|(id, _)| id));
            let done = users.filter(|id| id.index() < self.done[id.thread()]);
            for &user in done.filter(|id| id.thread() != me) {
                assert!(happened.has(user), "{FREED}memory, without an order after its last use");
            }
        }
        self.freed.push(range);
    }

    // ---- Replay.

    /// Returns the running thread's next event to replay, if the replay is not over.
    fn to_replay(&self) -> Option<Id> {
        let index = self.done[self.running];
        let id = Id { thread: self.running as u8, index: index as u16 };
        (index < self.graph.threads[self.running].len()).then_some(id)
    }

    /// Returns the thread whose event comes next in a replay: the oldest whose source is done.
    pub(super) fn next_replayed(&self) -> Option<usize> {
        let next = |thread: usize| self.graph.threads[thread].get(self.done[thread]);
        (0..self.done.len())
            .filter(|&thread| self.states[thread] != State::Ended)
            .filter_map(|thread| next(thread).map(|event| (thread, event)))
            .filter(|(_, event)| match event.action {
                Action::Read { from: Some(write), .. } => write.index() < self.done[write.thread()],
                _ => true,
            })
            .min_by_key(|(_, event)| event.stamp)
            .map(|(thread, _)| thread)
    }

    /// Fails if the replayed event differs from the graph's event.
    fn expect(&self, id: Id, location: Location, is_it: impl FnOnce(&Action) -> bool) {
        let event = self.graph.event(id);
        assert!(
            event.location == location && is_it(&event.action),
            "the model is not deterministic: event {id:?} was {event:?}, and is of {location:?}"
        );
    }

    /// Returns the value of a read's source.
    pub(super) fn value_from(&self, location: Location, from: Option<Id>) -> u64 {
        match from {
            Some(write) => self.graph.event(write).value,
            None => self.places[&location].initial,
        }
    }

    /// Replays a read of the running thread, if it is in the graph: returns its value. `order`
    /// depends on the value.
    pub(super) fn replay_read(
        &mut self,
        location: Location,
        order: impl FnOnce(u64) -> Ordering,
    ) -> Option<u64> {
        let id = self.to_replay()?;
        self.expect(id, location, |action| matches!(action, Action::Read { .. }));
        let value = self.value_from(location, self.graph.source(id));
        self.perform(id, value, order(value));
        self.check_races(id);
        Some(value)
    }

    /// Replays another event of the running thread, if it is in the graph: returns true.
    pub(super) fn replay(
        &mut self,
        location: Location,
        order: Ordering,
        value: u64,
        is_it: impl FnOnce(&Action) -> bool,
    ) -> bool {
        let Some(id) = self.to_replay() else { return false };
        self.expect(id, location, is_it);
        self.perform(id, value, order);
        self.check_races(id);
        true
    }

    /// Performs the event `id` of the running thread, which is in the graph: updates its views.
    pub(super) fn perform(&mut self, id: Id, value: u64, order: Ordering) {
        let me = self.running;
        let event = self.graph.event_mut(id);
        (event.value, event.order) = (value, order);
        let (action, location) = (event.action, event.location);
        if self.done[me] >= MOST_EVENTS {
            panic!("{STUCK}a thread has {MOST_EVENTS} events");
        }
        let mut views = self.views[me];
        if matches!(action, Action::Read { .. }) {
            self.unblocked[me] = views;
        }
        views.happened.add(id);
        views.past.add(id);
        let mut message = Clock::default();
        let is_queue = location.is_queue();
        if !matches!(action, Action::Write { exclusive: true, .. }) {
            views.compared = Clock::default();
        }
        match action {
            Action::Read { from, .. } => {
                if let Some(write) = from {
                    let source = self.derived[write.thread()][write.index()];
                    views.past.join(&source.past);
                    if is_queue {
                        if order == JOINS_QUEUE {
                            views.compared = source.message;
                        }
                    } else {
                        views.acquired.join(&source.message);
                        if acquires(order) {
                            views.happened.join(&source.message);
                        }
                    }
                }
            }
            Action::Write { exclusive, .. } => {
                let all = is_queue || releases(order);
                message = if all { views.happened } else { views.released };
                if exclusive
                    && let Some(write) = self.graph.source(Id { index: id.index - 1, ..id })
                {
                    message.join(&self.derived[write.thread()][write.index()].message);
                }
            }
            Action::Fence => {
                if acquires(order) {
                    let acquired = views.acquired;
                    views.happened.join(&acquired);
                }
                if releases(order) {
                    views.released = views.happened;
                }
                if order == Ordering::SeqCst {
                    self.fences.push(id);
                }
            }
            Action::Plain { write } => self.place(location).plain.push((id, write)),
        }
        self.views[me] = views;
        let derived = &mut self.derived[me];
        derived.truncate(id.index());
        let mut seen = views.happened;
        seen.join(&views.compared);
        derived.push(Derived { happened: views.happened, past: views.past, message, seen });
        self.done[me] = id.index() + 1;
    }

    /// Fails if the event is not ordered with an earlier conflicting event.
    pub(super) fn check_races(&self, id: Id) {
        let Event { action, location, .. } = *self.graph.event(id);
        if action == Action::Fence {
            return;
        }
        let happened = self.derived[id.thread()][id.index()].happened;
        let place = &self.places[&location];
        let unordered = |other: &Id| {
            *other != id && other.index() < self.done[other.thread()] && !happened.has(*other)
        };
        let with_plain = |writes_only: bool| {
            place.plain.iter().any(|(other, write)| (*write || !writes_only) && unordered(other))
        };
        let races = match action {
            Action::Plain { write } => {
                with_plain(!write)
                    || place.writes.iter().any(unordered)
                    || write && place.reads.iter().any(unordered)
            }
            Action::Write { .. } => with_plain(false),
            _ => with_plain(true),
        };
        assert!(!races, "{RACE}two accesses of plain data have no order");
    }

    // ---- Waits.

    /// Looks again at the wait of the running thread, which was woken: returns its value.
    pub(super) fn look_again(&mut self) -> u64 {
        let me = self.running;
        self.done[me] -= 1;
        self.views[me] = self.unblocked[me];
        let id = Id { thread: me as u8, index: self.done[me] as u16 };
        let event = self.graph.event(id);
        let (location, order) = (event.location, event.order);
        let from = self.graph.source(id);
        let value = self.value_from(location, from);
        self.perform(id, value, order);
        value
    }

    /// Ends the running thread's check of the value of its wait.
    pub(super) fn looked(&mut self, satisfied: bool) {
        let me = self.running;
        let id = Id { thread: me as u8, index: (self.done[me] - 1) as u16 };
        let from = self.graph.source(id);
        let location = self.graph.event(id).location;
        let newest = self.places[&location].writes.last().copied();
        if !satisfied && from != newest {
            // The thread continues to wait with a value that is not the newest, so the wait must
            // read again.
            self.abandoned = true;
        }
        self.graph.event_mut(id).action = Action::Read { from, blocked: !satisfied };
        self.states[me] = if satisfied { State::Ready } else { State::Blocked };
    }
}

pub(super) fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

pub(super) fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}
