//! Words, cells and fences whose operations are the events of a graph.
//!
//! A thread is suspended before each operation. While a graph is replayed, the operation takes its
//! result from the graph. After that it adds an event.
//!
//! While a panic unwinds, operations do nothing: the execution has failed.

use super::current::{abandon, suspend, with_run};
use super::graph::{Action, Location};
use super::run::{Change, Phase, State};
use crate::finding::STUCK;
use lockyard::platform::checked::BoxedWords;
use lockyard::platform::{
    Atomics, Budget, BudgetSpent, DataCell, Int, NoUninit, Ordering, Part, Word, part_of,
    store_part_by_rmw, with_part,
};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::thread::panicking;

/// The memory of a model.
#[derive(Debug)]
pub struct DporAtomics(());

/// A word of that memory.
#[derive(Debug)]
pub struct DporWord<I> {
    location: Location,
    int: PhantomData<I>,
}

/// A location, and the address at which it is used.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) location: Location,
    pub(super) address: usize,
}

/// Suspends the thread before an operation. Returns false if the operation is no event, because
/// the threads have not started, or have ended.
fn begin_operation() -> bool {
    let threads = with_run(|run| run.phase == Phase::Threads);
    if threads {
        suspend();
    }
    threads
}

pub(super) fn load(at: At, order: Ordering) -> u64 {
    if !begin_operation() {
        return with_run(|run| run.settled(at.location));
    }
    let value = with_run(|run| {
        run.touch(at.location, at.address, "a load");
        run.replay_read(at.location, |_| order).or_else(|| {
            let sources = run.sources(at.location);
            run.add_read(at.location, order, &sources, None).then(|| run.last_value())
        })
    });
    value.unwrap_or_else(|| abandon())
}

/// Waits until `holds` is true of the value.
pub(super) fn wait(at: At, order: Ordering, mut holds: impl FnMut(u64) -> bool) -> u64 {
    if !begin_operation() {
        let value = with_run(|run| run.settled(at.location));
        assert!(holds(value), "{STUCK}a wait outside of the threads");
        return value;
    }
    let replayed = with_run(|run| {
        run.touch(at.location, at.address, "a wait");
        run.replay_read(at.location, |_| order)
    });
    let mut value = match replayed {
        Some(value) => value,
        None => {
            let sources = with_run(|run| run.sources(at.location));
            let newest = sources[0];
            let satisfying: Vec<_> =
                sources.into_iter().filter(|&(_, value)| holds(value)).collect();
            let blocked = (satisfying.first() != Some(&newest)).then_some(newest);
            let value = with_run(|run| {
                let added = run.add_read(at.location, order, &satisfying, blocked);
                added.then(|| run.last_value())
            });
            value.unwrap_or_else(|| abandon())
        }
    };
    loop {
        let satisfied = holds(value);
        with_run(|run| run.looked(satisfied));
        if satisfied {
            return value;
        }
        suspend();
        value = with_run(|run| run.look_again());
    }
}

pub(super) fn store(at: At, value: u64, order: Ordering) {
    if !begin_operation() {
        return with_run(|run| run.settle(at.location, value));
    }
    let added = with_run(|run| {
        run.touch(at.location, at.address, "a store");
        run.replay(at.location, order, value, |action| matches!(action, Action::Write { .. }))
            || run.add_write(at.location, order, value, false)
    });
    if !added {
        abandon();
    }
}

/// A read-modify-write; returns the value before. `change` returns `None` to store nothing.
pub(super) fn exchange(at: At, orders: (Ordering, Ordering), change: Change<'_>) -> u64 {
    if !begin_operation() {
        return with_run(|run| {
            let before = run.settled(at.location);
            if let Some(value) = change(before) {
                run.settle(at.location, value);
            }
            before
        });
    }
    let replayed = with_run(|run| {
        run.touch(at.location, at.address, "a read-modify-write");
        let order = |before| if change(before).is_some() { orders.0 } else { orders.1 };
        let before = run.replay_read(at.location, order)?;
        let Some(new) = change(before) else { return Some((before, None)) };
        let is_half = |action: &Action| matches!(action, Action::Write { exclusive: true, .. });
        if run.replay(at.location, orders.0, new, is_half) {
            return Some((before, None));
        }
        run.states[run.running] = State::Exchanging;
        Some((before, Some(new)))
    });
    let before = match replayed {
        Some((before, None)) => Some(before),
        Some((before, Some(new))) => {
            suspend();
            with_run(|run| {
                run.states[run.running] = State::Ready;
                run.add_write(at.location, orders.0, new, true).then_some(before)
            })
        }
        None => with_run(|run| {
            let sources = run.sources(at.location);
            run.add_exchange(at.location, orders, &sources, change)
        }),
    };
    before.unwrap_or_else(|| abandon())
}

fn fence(order: Ordering) {
    if begin_operation() {
        other(Action::Fence, Location::NONE, order);
    }
}

/// An access to plain data. With `write`, also the exclusive access to a word.
fn plain(at: At, write: bool) {
    if begin_operation() {
        with_run(|run| run.touch(at.location, at.address, "an access to data"));
        other(Action::Plain { write }, at.location, Ordering::Relaxed);
    }
}

fn other(action: Action, location: Location, order: Ordering) {
    with_run(|run| {
        if !run.replay(location, order, 0, |known| *known == action) {
            run.add_other(action, location, order);
        }
    });
}

impl<I> DporWord<I> {
    pub(super) fn at(&self) -> At {
        At { location: self.location, address: std::ptr::from_ref(self).addr() }
    }
}

impl<I: Int> DporWord<I> {
    fn rmw(&self, order: Ordering, change: impl Fn(u64) -> u64) -> I {
        if panicking() {
            return I::default();
        }
        let change = |before| Some(I::truncate(change(before)).to_u64());
        I::truncate(exchange(self.at(), (order, Ordering::Relaxed), &change))
    }
}

impl<I: Int> Word for DporWord<I> {
    type Int = I;

    fn new(value: I) -> Self {
        let location =
            if panicking() { Location::NONE } else { with_run(|run| run.create(value.to_u64())) };
        DporWord { location, int: PhantomData }
    }
    fn get(&mut self) -> I {
        if panicking() {
            return I::default();
        }
        plain(self.at(), true);
        I::truncate(with_run(|run| run.settled(self.location)))
    }
    fn load(&self, order: Ordering) -> I {
        if panicking() {
            return I::default();
        }
        I::truncate(load(self.at(), order))
    }
    fn store(&self, value: I, order: Ordering) {
        if !panicking() {
            store(self.at(), value.to_u64(), order);
        }
    }
    fn swap(&self, value: I, order: Ordering) -> I {
        self.rmw(order, |_| value.to_u64())
    }
    fn compare_exchange(
        &self,
        current: I,
        new: I,
        success: Ordering,
        failure: Ordering,
    ) -> Result<I, I> {
        if panicking() {
            return Ok(current);
        }
        let change = |before| (before == current.to_u64()).then_some(new.to_u64());
        let before = I::truncate(exchange(self.at(), (success, failure), &change));
        if before == current { Ok(before) } else { Err(before) }
    }
    fn compare_exchange_weak(
        &self,
        current: I,
        new: I,
        success: Ordering,
        failure: Ordering,
    ) -> Result<I, I> {
        self.compare_exchange(current, new, success, failure)
    }
    fn fetch_add(&self, value: I, order: Ordering) -> I {
        self.rmw(order, |before| before.wrapping_add(value.to_u64()))
    }
    fn fetch_sub(&self, value: I, order: Ordering) -> I {
        self.rmw(order, |before| before.wrapping_sub(value.to_u64()))
    }
    fn fetch_or(&self, value: I, order: Ordering) -> I {
        self.rmw(order, |before| before | value.to_u64())
    }
    fn fetch_and(&self, value: I, order: Ordering) -> I {
        self.rmw(order, |before| before & value.to_u64())
    }
    /// A bounded wait is one poll: each state where a longer wait can end is also an end state
    /// of this one.
    fn wait_until(
        &self,
        order: Ordering,
        budget: Budget,
        _relax: fn(),
        mut predicate: impl FnMut(I) -> bool,
    ) -> Result<I, BudgetSpent<I>> {
        if panicking() {
            return Ok(I::default());
        }
        match budget {
            Budget::Unbounded => {
                Ok(I::truncate(wait(self.at(), order, |value| predicate(I::truncate(value)))))
            }
            Budget::Polls(_) => {
                let value = self.load(order);
                if predicate(value) { Ok(value) } else { Err(BudgetSpent(value)) }
            }
        }
    }
}

impl<I: Int, P: Int> Part<P> for DporWord<I> {
    fn store_part(&self, index: usize, old: P, new: P, order: Ordering) {
        if !panicking() {
            store_part_by_rmw(self, index, old, new, order);
        }
    }
    fn swap_part(&self, index: usize, new: P, order: Ordering) -> P {
        let changed = |before| with_part(I::truncate(before), index, new).to_u64();
        part_of(self.rmw(order, changed), index)
    }
}

/// A cell of that memory: accesses that have no order between them are a finding.
#[derive(Debug)]
pub struct DporCell<T> {
    location: Location,
    data: UnsafeCell<T>,
}

// SAFETY: the cell returns only raw pointers. Code that dereferences them must ensure exclusion
// (see `DataCell`), and each access is checked first.
unsafe impl<T: Send> Sync for DporCell<T> {}

impl<T> DporCell<T> {
    fn access(&self, write: bool) {
        if !panicking() {
            let address = std::ptr::from_ref(self).addr();
            plain(At { location: self.location, address }, write);
        }
    }
}

impl<T: Send> DataCell<T> for DporCell<T> {
    fn new(value: T) -> Self {
        let location = if panicking() { Location::NONE } else { with_run(|run| run.create(0)) };
        DporCell { location, data: UnsafeCell::new(value) }
    }
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.access(false);
        f(self.data.get())
    }
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.access(true);
        f(self.data.get())
    }
    fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

// SAFETY: an execution has the events of a graph that is consistent under the memory model of C11,
// without cycles of program order and reads. A part is one masked read-modify-write.
unsafe impl Atomics for DporAtomics {
    type U16 = DporWord<u16>;
    type U32 = DporWord<u32>;
    type U64 = DporWord<u64>;
    type Cell<T: Send> = DporCell<T>;
    type Words<T: NoUninit + Send> = BoxedWords<T, DporWord<u64>>;

    fn fence(order: Ordering) {
        if !panicking() {
            fence(order);
        }
    }
}
