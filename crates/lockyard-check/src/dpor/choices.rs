//! New events. A read may have several sources, and a write may have several places in the
//! modification order of its location. Earlier reads may read from a new write. Each choice is a
//! graph: one graph is explored at once, and the others go to the work list.

use super::fences::{self, Access};
use super::graph::{Action, Clock, Deletions, Event, Graph, Id, Location};
use super::run::{Change, Run, State, acquires};
use lockyard::platform::Ordering;

/// Returns the position of a write in the modification order `writes`; 0 is the initial value.
fn position(writes: &[Id], write: Option<Id>) -> usize {
    write.map_or(0, |write| {
        1 + writes.iter().position(|&w| w == write).expect("a source is in the order")
    })
}

/// Returns the least position in the modification order that a thread with the view `happened` may
/// read from, or write behind. The read `but` is ignored.
fn least_position(
    graph: &Graph,
    writes: &[Id],
    reads: &[Id],
    happened: &Clock,
    but: Option<Id>,
) -> usize {
    let seen = writes.iter().rposition(|&write| happened.has(write)).map_or(0, |at| at + 1);
    let reads = reads.iter().filter(|&&read| happened.has(read) && Some(read) != but);
    reads.map(|&read| position(writes, graph.source(read))).fold(seen, usize::max)
}

impl Run {
    /// Returns the sources that the running thread may now read from, newest first, each with its
    /// value.
    pub(super) fn sources(&self, location: Location) -> Vec<(Option<Id>, u64)> {
        let place = &self.places[&location];
        let views = &self.views[self.running];
        let mut seen = views.happened;
        seen.join(&views.compared);
        let least = least_position(&self.graph, &place.writes, &place.reads, &seen, None);
        (least..=place.writes.len())
            .rev()
            .map(|at| (at > 0).then(|| place.writes[at - 1]))
            .map(|from| (from, self.value_from(location, from)))
            .collect()
    }

    /// The place of an access in the location's order; see [`Access`].
    fn access_place(position: usize, is_read: bool) -> u32 {
        2 * position as u32 + u32::from(is_read)
    }

    /// Returns true if the fences have an order when two further accesses are added.
    fn fences_agree(&self, more: &[Access]) -> bool {
        let threads = self.fences.iter().map(|fence| fence.thread);
        if threads.clone().all(|thread| Some(thread) == threads.clone().next()) {
            return true;
        }
        let clock = |id: Id| self.derived[id.thread()][id.index()].happened;
        let fences: Vec<_> = self.fences.iter().map(|&fence| (fence, clock(fence))).collect();
        let mut accesses = Vec::new();
        for (&location, place) in &self.places {
            accesses.extend(more.iter().filter(|access| access.location == location));
            let done = |id: Id| id.index() < self.done[id.thread()];
            for (index, &id) in place.writes.iter().enumerate().filter(|(_, id)| done(**id)) {
                let place = Self::access_place(index + 1, false);
                accesses.push(Access { location, place, id, clock: clock(id) });
            }
            for &id in place.reads.iter().filter(|id| done(**id)) {
                let position = position(&place.writes, self.graph.source(id));
                let place = Self::access_place(position, true);
                accesses.push(Access { location, place, id, clock: clock(id) });
            }
        }
        fences::have_an_order(&fences, &accesses)
    }

    /// Returns true if all fences of the execution have an order.
    pub(super) fn fences_have_an_order(&self) -> bool {
        self.fences_agree(&[])
    }

    /// Returns true if the graph is still the graph of an execution after the running thread has
    /// written. Only then is a race real.
    fn is_an_execution(&mut self) -> bool {
        let agree = self.fences_have_an_order();
        if agree {
            let index = (self.done[self.running] - 1) as u16;
            self.check_races(Id { thread: self.running as u8, index });
        }
        agree
    }

    fn event(&self, action: Action, location: Location, order: Ordering, value: u64) -> Event {
        Event { action, location, order, value, stamp: self.graph.next_stamp() }
    }

    /// Adds a read of the running thread, which may read from each of `sources`, or block. Explores
    /// the first choice here, and leaves the others for later. Returns false if there is no choice.
    pub(super) fn add_read(
        &mut self,
        location: Location,
        order: Ordering,
        sources: &[(Option<Id>, u64)],
        blocked: Option<(Option<Id>, u64)>,
    ) -> bool {
        let me = self.running;
        let id = self.graph.next(me);
        let choices = sources.iter().map(|&source| (source, false));
        let choices = choices.chain(blocked.map(|source| (source, true)));
        let choices: Vec<_> =
            choices.filter(|((from, _), _)| self.read_agrees(id, location, order, *from)).collect();
        let Some((&((from, value), blocks), others)) = choices.split_first() else {
            return false;
        };
        for &((from, value), blocked) in others {
            let mut other = self.graph.clone();
            other.push(me, self.event(Action::Read { from, blocked }, location, order, value));
            self.work.push(other);
        }
        let event = self.event(Action::Read { from, blocked: blocks }, location, order, value);
        self.graph.push(me, event);
        self.place(location).reads.push(id);
        self.perform(id, value, order);
        self.check_races(id);
        if blocks {
            self.states[me] = State::Blocked;
        }
        true
    }

    fn read_agrees(&self, id: Id, location: Location, order: Ordering, from: Option<Id>) -> bool {
        let mut clock = self.views[id.thread()].happened;
        clock.add(id);
        if let Some(write) = from.filter(|_| acquires(order)) {
            clock.join(&self.derived[write.thread()][write.index()].message);
        }
        let position = position(&self.places[&location].writes, from);
        let place = Self::access_place(position, true);
        self.fences_agree(&[Access { location, place, id, clock }])
    }

    /// Adds a read-modify-write of the running thread. Returns the value that it read, or `None` if
    /// no execution contains the operation.
    pub(super) fn add_exchange(
        &mut self,
        location: Location,
        orders: (Ordering, Ordering),
        sources: &[(Option<Id>, u64)],
        change: Change<'_>,
    ) -> Option<u64> {
        let me = self.running;
        let id = self.graph.next(me);
        let (success, failure) = orders;
        let mut first = None;
        for &(from, value) in sources {
            let stored = change(value);
            let order = if stored.is_some() { success } else { failure };
            if !self.read_agrees(id, location, order, from) {
                continue;
            }
            let mut with_read = self.graph.clone();
            let read = self.event(Action::Read { from, blocked: false }, location, order, value);
            with_read.push(me, read);
            let mut graphs = Vec::new();
            if let Some(new) = stored {
                let mut past = self.views[me].past;
                past.add(id);
                if let Some(write) = from {
                    past.join(&self.derived[write.thread()][write.index()].past);
                }
                self.revisit_from(&with_read, me, location, (order, new), Some(from), &past);
                if self.exchange_after(&self.graph, location, from).is_none() {
                    let write = (order, new);
                    graphs = self.with_write(&with_read, me, location, write, Some(from), None);
                }
            } else {
                graphs.push(with_read);
            }
            for graph in graphs {
                if first.is_none() {
                    first = Some((graph, value, order, stored));
                } else {
                    self.work.push(graph);
                }
            }
        }
        let (graph, value, order, stored) = first?;
        self.take_over(graph, location);
        self.perform(id, value, order);
        if let Some(new) = stored {
            self.perform(Id { index: id.index + 1, ..id }, new, order);
        }
        self.is_an_execution().then_some(value)
    }

    /// Adds a write of the running thread. With `exchange`, it is the second half of a
    /// read-modify-write whose first half is in the graph. Returns false if no execution contains
    /// the write.
    pub(super) fn add_write(
        &mut self,
        location: Location,
        order: Ordering,
        value: u64,
        exchange: bool,
    ) -> bool {
        let me = self.running;
        let id = self.graph.next(me);
        let after = exchange.then(|| self.graph.source(Id { index: id.index - 1, ..id }));
        let past = self.views[me].past;
        let base = self.graph.clone();
        self.revisit_from(&base, me, location, (order, value), after, &past);
        let taken = after.is_some_and(|from| self.exchange_after(&base, location, from).is_some());
        let mut graphs = if taken {
            Vec::new()
        } else {
            self.with_write(&base, me, location, (order, value), after, None)
        };
        if graphs.is_empty() {
            return false;
        }
        let first = graphs.remove(0);
        self.work.append(&mut graphs);
        self.take_over(first, location);
        self.perform(id, value, order);
        self.is_an_execution()
    }

    /// Adds a fence or an access to plain data.
    pub(super) fn add_other(&mut self, action: Action, location: Location, order: Ordering) {
        let event = self.event(action, location, order, 0);
        let id = self.graph.push(self.running, event);
        self.perform(id, 0, order);
        self.check_races(id);
    }

    /// Returns the write of a read-modify-write that reads from `from`, if the graph has one.
    fn exchange_after(&self, graph: &Graph, location: Location, from: Option<Id>) -> Option<Id> {
        let place = &self.places[&location];
        place.writes.iter().copied().find(|&write| {
            write.index() < graph.threads[write.thread()].len()
                && graph.is_exclusive(write)
                && graph.source(Id { index: write.index - 1, ..write }) == from
        })
    }

    /// Pushes, for each read that could read from a new write of `thread`, the graphs in which it
    /// reads from that write. `base` ends before the write; `after` is the source of the first half
    /// of its exchange.
    fn revisit_from(
        &mut self,
        base: &Graph,
        thread: usize,
        location: Location,
        write: (Ordering, u64),
        after: Option<Option<Id>>,
        past: &Clock,
    ) {
        for read in self.places[&location].reads.clone() {
            if past.has(read) || read.thread() == thread || base.is_blocked(read) {
                continue;
            }
            let keep = match self.deletions {
                Deletions::Needed => base.revisit(read, past),
                Deletions::All => base.revisit_always(read, past),
            };
            let Some(keep) = keep else { continue };
            let kept = base.truncated(&keep);
            if let Some(from) = after
                && self.exchange_after(&kept, location, from).is_some()
            {
                continue;
            }
            let graphs = self.with_write(&kept, thread, location, write, after, Some(read));
            self.work.extend(graphs);
        }
    }

    /// Returns `base` with a new write of `thread`, once for each place in the modification order
    /// and each choice of the blocked reads that see it. The read `reader` reads from the new
    /// write. Each blocked read may see the write or not, unless the write is the newest, which all
    /// blocked reads see.
    fn with_write(
        &self,
        base: &Graph,
        thread: usize,
        location: Location,
        (order, value): (Ordering, u64),
        after: Option<Option<Id>>,
        reader: Option<Id>,
    ) -> Vec<Graph> {
        let id = base.next(thread);
        let kept = |id: &&Id| id.index() < base.threads[id.thread()].len();
        let place = &self.places[&location];
        let writes: Vec<Id> = place.writes.iter().filter(kept).copied().collect();
        let reads: Vec<Id> = place.reads.iter().filter(kept).copied().collect();
        // A read that has seen the write after a place cannot read from a write in that place.
        let may_see = |read: Id, at: usize| {
            let seen = match read.index.checked_sub(1) {
                Some(index) => self.derived[read.thread()][usize::from(index)].seen,
                None => Clock::default(),
            };
            least_position(base, &writes, &reads, &seen, Some(read)) <= at
        };
        let first = match after {
            Some(from) => position(&writes, from),
            None => {
                let happened = &self.views[thread].happened;
                least_position(base, &writes, &reads, happened, None)
            }
        };
        let last = if after.is_some() { first } else { writes.len() };
        let mut graphs = Vec::new();
        for at in (first..=last).rev() {
            // No write comes between the halves of a read-modify-write.
            let is_between = writes.get(at).is_some_and(|&next| base.is_exclusive(next));
            if is_between && after.is_none() || reader.is_some_and(|read| !may_see(read, at)) {
                continue;
            }
            let is_newest = at == writes.len();
            let blocked =
                reads.iter().copied().filter(|&r| base.is_blocked(r) && Some(r) != reader);
            let see: Vec<Id> = blocked.filter(|&read| may_see(read, at)).collect();
            let ways = if is_newest { 1 } else { 1 << see.len() };
            for way in 0..ways {
                let mut graph = base.clone();
                let stamp = graph.next_stamp();
                let action = Action::Write { rank: 0, exclusive: after.is_some() };
                graph.push(thread, Event { action, location, order, value, stamp });
                let mut writes = writes.clone();
                writes.insert(at, id);
                graph.set_ranks(&writes);
                if let Some(read) = reader {
                    graph.revisit_by(read, id);
                }
                let chosen = (0..).zip(&see).filter(|(bit, _)| is_newest || way >> bit & 1 == 1);
                for (later, (_, &read)) in (stamp + 1..).zip(chosen) {
                    graph.wake_by(read, id, later, is_newest);
                }
                graphs.push(graph);
            }
        }
        graphs
    }

    /// Continues with `graph`, which differs from the current one by a write to `location`, and by
    /// the sources of blocked reads, whose threads wake up.
    fn take_over(&mut self, graph: Graph, location: Location) {
        for thread in 0..self.states.len() {
            if self.states[thread] == State::Blocked {
                let wait = Id { thread: thread as u8, index: (self.done[thread] - 1) as u16 };
                if self.graph.source(wait) != graph.source(wait) {
                    self.states[thread] = State::Woken;
                }
            }
        }
        self.graph = graph;
        let me = self.running;
        let mut place = self.places.remove(&location).expect("it was read or written");
        for index in self.done[me]..self.graph.threads[me].len() {
            let id = Id { thread: me as u8, index: index as u16 };
            match self.graph.event(id).action {
                Action::Write { .. } => place.writes.push(id),
                _ => place.reads.push(id),
            }
        }
        self.graph.sort_writes(&mut place.writes);
        self.places.insert(location, place);
    }
}
