//! The checked host: slots, queue nodes, parking and allocation inside a model.

use super::super::{
    Announcement, Event, Host, HostWithSlots, NEST_LEVELS, Ordering, QueueNode, Slot, U32, Word,
};
use super::memory::{CheckedAtomics, Newest};
use super::waiting;
use core::alloc::Layout;
use core::ptr::NonNull;
use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::thread::panicking;
use std::vec::Vec;

/// The host of a model: its threads are loom's.
///
/// Slots are given in the order in which threads ask, from 0; one thread keeps its slot to its end.
/// There is one NUMA node, and no clock but by [`with_clock`]. [`fatal`](Host::fatal) panics, which is how a model fails.
#[derive(Debug)]
pub struct Checked(());

/// Slots: as many as loom has threads.
const SLOTS: u32 = loom::MAX_THREADS as u32;

/// Announcements that there is room for: fewer than loom has threads, so that models come to a full table. On a host with a
/// clock there is one more, so that two waiters beside a queue can announce themselves.
const ANNOUNCEMENTS: usize = 2;

/// One thread in `park`.
struct Parked {
    slot: Slot,
    word: *const U32<Checked>,
    woken: bool,
}

/// What belongs to one execution and is no part of the modelled memory, except where it says so.
struct World {
    nodes: Vec<QueueNode<CheckedAtomics>>,
    announcements: Vec<Announcement<CheckedAtomics>>,
    next_slot: Cell<u32>,
    parked: RefCell<Vec<Parked>>,
    /// Slots whose thread has returned from a park for no reason.
    returned_once: RefCell<Vec<Slot>>,
    /// The time, where there is a clock.
    clock: Cell<Duration>,
    /// Of modelled memory: changed, relaxed, by every park and unpark, so that loom explores both
    /// orders of the two. Relaxed, so that they order nothing else.
    parking: U32<Checked>,
}

loom::lazy_static! {
    static ref WORLD: World = World {
        nodes: (0..SLOTS * NEST_LEVELS).map(|_| QueueNode::new()).collect(),
        announcements: (0..ANNOUNCEMENTS + 1).map(|_| Announcement::new()).collect(),
        next_slot: Cell::new(0),
        parked: RefCell::new(Vec::new()),
        returned_once: RefCell::new(Vec::new()),
        clock: Cell::new(Duration::from_secs(1)),
        parking: Word::new(0),
    };
}

loom::thread_local! {
    static SLOT: Slot = {
        let slot = WORLD.next_slot.get();
        assert!(slot < SLOTS, "more threads than slots");
        WORLD.next_slot.set(slot + 1);
        Slot(slot)
    };
}

/// How [`Host::park`] behaves in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parking {
    /// It returns when the thread is unparked, and not before.
    Exact,
    /// It returns at once, always: a spurious return, which its contract allows. For waits that do not depend on it.
    Spurious,
    /// The first of each thread returns at once; those that follow are exact.
    SpuriousOnce,
}

std::thread_local! {
    static PARKING: Cell<Parking> = const { Cell::new(Parking::Exact) };
    static SHORT: Cell<Option<Duration>> = const { Cell::new(None) };
    static ALLOCATIONS_BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Runs `check` (a call of loom's `check`) with parks as `parking` says; without it they are
/// [`Parking::Exact`]. A primitive that parks is checked both ways.
pub fn with_parking<R>(parking: Parking, check: impl FnOnce() -> R) -> R {
    struct Restore(Parking);
    impl Drop for Restore {
        fn drop(&mut self) {
            PARKING.set(self.0);
        }
    }
    let _restore = Restore(PARKING.replace(parking));
    check()
}

/// Runs `check` (a call of loom's `check`) on a host with a clock; without it there is none. It stands still, but for timeouts:
/// a park with one of at most `short` returns at once, and the clock has gone on by that. One with a longer timeout
/// lasts until it is woken. So waits that give up and waits that must be woken can meet in one model.
pub fn with_clock<R>(short: Duration, check: impl FnOnce() -> R) -> R {
    struct Restore(Option<Duration>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHORT.set(self.0);
        }
    }
    let _restore = Restore(SHORT.replace(Some(short)));
    check()
}

/// Makes the allocation after the next `successes` ones fail, once. To be called inside the model,
/// at its start.
pub fn fail_allocation(successes: u32) {
    ALLOCATIONS_BEFORE_FAILURE.set(Some(successes));
}

impl Checked {
    /// Creates what an execution needs, in the thread that calls. To be called at the start of a
    /// model whose threads use slots, queue nodes or parking: created by the first thread that
    /// needs it, it would order that thread before all later users, and hide a missing ordering.
    pub fn begin() {
        ALLOCATIONS_BEFORE_FAILURE.set(None);
        let world: &World = &WORLD;
        world.next_slot.set(0);
    }
}

// SAFETY: a slot is handed to one thread of an execution; queue nodes are one for each slot and
// level and live until loom drops its statics, after all threads have ended; memory comes from the
// global allocator. `fatal` unwinds, and so ends the model: from then on nothing in it is shared or guarded.
unsafe impl Host for Checked {
    type Atomics = CheckedAtomics;
    const SLOTS: u32 = SLOTS;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        // A check that failed drops guards when the execution is gone.
        if panicking() { None } else { SLOT.try_with(|&slot| slot).ok() }
    }

    fn numa_node() -> u32 {
        0
    }

    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<CheckedAtomics> {
        assert!(slot.0 < SLOTS && level < NEST_LEVELS, "there is no such queue node");
        let world: &'static World = &WORLD;
        &world.nodes[(slot.0 * NEST_LEVELS + level) as usize]
    }

    /// The same words for all locks.
    fn announcements(_lock: usize, _turn: u32) -> &'static [Announcement<CheckedAtomics>] {
        if panicking() {
            return &[];
        }
        let world: &'static World = &WORLD;
        &world.announcements[..ANNOUNCEMENTS + usize::from(SHORT.get().is_some())]
    }

    /// Does nothing: a pause orders nothing, and a thread that goes on at once is one of the
    /// schedules to explore.
    fn relax() {}

    fn yield_now() {
        if !panicking() {
            loom::thread::yield_now();
        }
    }

    fn now() -> Duration {
        if panicking() || SHORT.get().is_none() {
            return Duration::ZERO;
        }
        let world: &World = &WORLD;
        world.clock.get()
    }

    /// With a timeout it returns at once, but by [`with_clock`]: the time may have passed.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        if panicking() || PARKING.get() == Parking::Spurious {
            return;
        }
        if let Some(timeout) = timeout
            && SHORT.get().is_none_or(|short| timeout <= short)
        {
            let world: &World = &WORLD;
            return world.clock.set(world.clock.get() + timeout);
        }
        let slot = Self::slot().expect("a thread that is being torn down parks");
        let world: &World = &WORLD;
        if PARKING.get() == Parking::SpuriousOnce && !world.returned_once.borrow().contains(&slot) {
            world.returned_once.borrow_mut().push(slot);
            return;
        }
        // Announced before the comparison, so no unpark after the comparison can miss it.
        // Relaxed: parking orders nothing.
        world.parking.fetch_add(1, Ordering::Relaxed);
        world.parked.borrow_mut().push(Parked { slot, word, woken: false });
        let leave = || {
            let mut parked = world.parked.borrow_mut();
            let place = parked.iter().position(|p| p.slot == slot);
            parked.swap_remove(place.expect("a parked thread removes itself"));
        };
        // The comparison of a futex is with the newest value, and what the thread loads later is not
        // older. Relaxed: it orders nothing.
        let value = waiting::wait(
            || true,
            || {
                let value = word.load(Ordering::Relaxed);
                (value == word.newest()).then_some(value)
            },
        );
        if value != expected {
            return leave();
        }
        let woken = || world.parked.borrow().iter().any(|p| p.slot == slot && p.woken);
        waiting::wait(woken, || {
            // A transition of the model, so that the order against unparks is explored. Relaxed.
            world.parking.load(Ordering::Relaxed);
            woken().then_some(())
        });
        leave();
    }

    fn unpark(word: *const U32<Self>, count: u32) {
        if panicking() {
            return;
        }
        let world: &World = &WORLD;
        // Relaxed: parking orders nothing.
        world.parking.fetch_add(1, Ordering::Relaxed);
        let mut parked = world.parked.borrow_mut();
        let waiting = parked.iter_mut().filter(|p| core::ptr::eq(p.word, word) && !p.woken);
        for thread in waiting.take(count as usize) {
            thread.woken = true;
        }
    }

    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        let _ = node;
        match ALLOCATIONS_BEFORE_FAILURE.get() {
            Some(0) => {
                ALLOCATIONS_BEFORE_FAILURE.set(None);
                return None;
            }
            Some(left) => ALLOCATIONS_BEFORE_FAILURE.set(Some(left - 1)),
            None => {}
        }
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the layout's size is not zero.
        NonNull::new(unsafe { std::alloc::alloc(layout) })
    }

    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller says that `allocate` returned it for this layout.
        unsafe { std::alloc::dealloc(memory.as_ptr(), layout) }
    }

    fn count(event: Event) {
        let _ = event;
    }

    /// A wait that yields is a wait: a yield orders nothing.
    fn wait_yielding<W: Word>(
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
impl HostWithSlots for Checked {}
