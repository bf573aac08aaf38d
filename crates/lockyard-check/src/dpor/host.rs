//! The host of a model: slots, queue nodes, parking and allocation.

use super::allocations;
use super::current::{self, is_running, with_run};
use super::graph::{Location, MOST_THREADS};
use super::memory::{At, DporAtomics, exchange, wait};
use super::run::{JOINS_QUEUE, Phase};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::time::Duration;
use lockyard::platform::{
    Announcement, Event, Host, HostWithSlots, NEST_LEVELS, Ordering, QueueNode, Slot, U32,
};
use std::cell::RefCell;
use std::thread::panicking;

/// The host of a model that [`explore`](super::explore) explores. A thread's slot has the thread's
/// number. Threads do not give slots back. There is one NUMA node, and no clock: a park with a
/// timeout returns immediately. [`fatal`](Host::fatal) panics, which makes the model fail.
#[derive(Debug)]
pub struct Dpor(());

/// The last slot is for code before the threads start, and after they have ended.
const SLOTS: usize = MOST_THREADS + 1;
/// Number of places for announcements, as on the host of loom's models.
const ANNOUNCEMENTS: usize = 2;
/// Origins of the host's own locations.
const NODES: u8 = 16;
const PLACES: u8 = NODES + SLOTS as u8;

type Node = QueueNode<DporAtomics>;
type Place = Announcement<DporAtomics>;

/// The host's words. They are names of locations, which hold 0 when an execution begins, so they
/// serve all executions of an OS thread, and are never freed.
struct Words {
    nodes: [Option<&'static [Node]>; SLOTS],
    places: Option<&'static [Place]>,
}

std::thread_local! {
    static WORDS: RefCell<Words> =
        const { RefCell::new(Words { nodes: [None; SLOTS], places: None }) };
}

/// Creates words of the host, whose locations have this origin.
fn named<T>(origin: u8, create: impl FnOnce() -> Vec<T>) -> &'static [T] {
    with_run(|run| run.named = Some(Location { origin, number: 0 }));
    let created = create();
    with_run(|run| run.named = None);
    created.leak()
}

/// The queue of the threads that are parked on a word is one more location. It holds their slots
/// plus one, 4 bits each, the first one lowest. Returns true if `slot` is one of them.
fn is_in(queue: u64, slot: u64) -> bool {
    (0..u64::BITS / 4).any(|place| queue >> (4 * place) & 15 == slot)
}

/// Returns the queue with `slot` behind the others.
fn pushed(queue: u64, slot: u64) -> u64 {
    queue | slot << (u64::BITS - queue.leading_zeros()).next_multiple_of(4)
}

/// Returns the queue without `slot`.
fn without(queue: u64, slot: u64) -> u64 {
    let slots = (0..u64::BITS / 4).map(|place| queue >> (4 * place) & 15);
    slots.filter(|&other| other != 0 && other != slot).fold(0, pushed)
}

/// Returns the queue without its first `count` slots.
fn without_first(queue: u64, count: u32) -> u64 {
    queue.checked_shr(count.saturating_mul(4)).unwrap_or(0)
}

/// The queue of a word. It has no address, because a call for it does not use the word.
fn queue_of(word: Location) -> At {
    At { location: word.queue(), address: 0 }
}

const UNORDERED: (Ordering, Ordering) = (Ordering::Relaxed, Ordering::Relaxed);

// SAFETY: each thread of an execution has a separate slot, with one queue node for each level.
// Nodes are never freed. Memory comes from the global allocator. `fatal` unwinds and so ends the
// model, and after that nothing in the model is shared or guarded.
unsafe impl Host for Dpor {
    type Atomics = DporAtomics;
    const SLOTS: u32 = SLOTS as u32;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        if panicking() || !is_running() {
            return None;
        }
        with_run(|run| {
            let threads = run.phase == Phase::Threads;
            Some(Slot(if threads { run.running as u32 } else { MOST_THREADS as u32 }))
        })
    }

    fn numa_node() -> u32 {
        0
    }

    fn queue_node(slot: Slot, level: u32) -> &'static Node {
        let index = slot.0 as usize;
        let nodes = WORDS.with_borrow(|words| words.nodes[index]).unwrap_or_else(|| {
            let make = || (0..NEST_LEVELS).map(|_| Node::new()).collect();
            let nodes = named(NODES + index as u8, make);
            WORDS.with_borrow_mut(|words| words.nodes[index] = Some(nodes));
            nodes
        });
        &nodes[level as usize]
    }

    /// Returns the same words for all locks.
    fn announcements(_lock: usize, _turn: u32) -> &'static [Place] {
        if panicking() {
            return &[];
        }
        WORDS.with_borrow(|words| words.places).unwrap_or_else(|| {
            let places = named(PLACES, || (0..ANNOUNCEMENTS).map(|_| Place::new()).collect());
            WORDS.with_borrow_mut(|words| words.places = Some(places));
            places
        })
    }

    fn relax() {}

    fn yield_now() {}

    fn now() -> Duration {
        Duration::ZERO
    }

    /// The thread joins the word's queue, compares the word, and waits until it is no longer in the
    /// queue. All operations are relaxed: parking orders nothing.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        if panicking() || timeout.is_some() {
            return;
        }
        let at = word.at();
        let queue = queue_of(at.location);
        let me = u64::from(Self::slot().expect("it runs").0) + 1;
        exchange(queue, (JOINS_QUEUE, Ordering::Relaxed), &|queue| Some(pushed(queue, me)));
        // A futex compares the newest value: a read-modify-write that stores the same value.
        let expected = u64::from(expected);
        let is_expected = |value: u64| (value == expected).then_some(value);
        if exchange(at, UNORDERED, &is_expected) == expected {
            wait(queue, Ordering::Relaxed, |queue| !is_in(queue, me));
        } else {
            // A wake-up that has reached this thread meanwhile is meant for another wait.
            let left =
                |queue| if is_in(queue, me) { without(queue, me) } else { without_first(queue, 1) };
            exchange(queue, UNORDERED, &|queue| Some(left(queue)));
        }
    }

    fn unpark(word: *const U32<Self>, count: u32) {
        if panicking() {
            return;
        }
        // A thread wakes others only after it has changed the word.
        let known = with_run(|run| run.known_at(word.addr()));
        let queue = queue_of(known.expect("the thread has used the word"));
        exchange(queue, UNORDERED, &|queue| Some(without_first(queue, count)));
    }

    fn allocate(layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        allocations::allocate(layout)
    }

    /// The memory stays until the next execution begins, so that a later use of the memory is a
    /// finding.
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        let start = memory.addr().get();
        current::freed(&(start..start + layout.size()));
    }

    fn count(_event: Event) {}

    fn wait_yielding<W: lockyard::platform::Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        Self::wait_until(word, order, predicate)
    }

    fn fatal(message: &'static str) -> ! {
        panic!("{message}")
    }
}

#[diagnostic::do_not_recommend]
impl HostWithSlots for Dpor {}
