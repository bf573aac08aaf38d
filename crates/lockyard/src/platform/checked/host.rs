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

/// The host of a model, whose threads are loom's threads.
///
/// Threads get slots in the order in which they ask, from 0, and keep them until they end. There is
/// one NUMA node. There is no clock, except under [`with_clock`]. [`fatal`](Host::fatal) panics,
/// which makes the model fail.
#[derive(Debug)]
pub struct Checked(());

/// Number of slots: loom's maximum number of threads.
const SLOTS: u32 = loom::MAX_THREADS as u32;

/// Number of places for announcements. It is below loom's maximum number of threads, so models
/// reach a full table. A host with a clock has one more place, so that two timed waiters can
/// announce themselves.
const ANNOUNCEMENTS: usize = 2;

/// A thread that is in `park`.
struct Parked {
    slot: Slot,
    word: *const U32<Checked>,
    woken: bool,
}

/// The state of one execution. It is outside the modelled memory, except where a field says
/// otherwise.
struct World {
    nodes: Vec<QueueNode<CheckedAtomics>>,
    announcements: Vec<Announcement<CheckedAtomics>>,
    next_slot: Cell<u32>,
    parked: RefCell<Vec<Parked>>,
    /// Slots in which a park has already returned spuriously.
    returned_once: RefCell<Vec<Slot>>,
    /// Number of other threads' changes of memory at the end of each slot's last nap. Before the
    /// first nap: number of all changes before this execution.
    seen_at_nap: RefCell<[u64; SLOTS as usize]>,
    /// The time, if there is a clock.
    clock: Cell<Duration>,
    /// A word of modelled memory that every park and unpark changes, so that loom explores a park
    /// and an unpark in both orders. It is relaxed, and so orders nothing else.
    parking: U32<Checked>,
}

loom::lazy_static! {
    static ref WORLD: World = World {
        nodes: (0..SLOTS * NEST_LEVELS).map(|_| QueueNode::new()).collect(),
        announcements: (0..ANNOUNCEMENTS + 1).map(|_| Announcement::new()).collect(),
        next_slot: Cell::new(0),
        parked: RefCell::new(Vec::new()),
        returned_once: RefCell::new(Vec::new()),
        seen_at_nap: RefCell::new([waiting::changes(); SLOTS as usize]),
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

/// The behaviour of [`Host::park`] in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parking {
    /// The park returns only when the thread is unparked.
    Exact,
    /// The park always returns immediately. The contract of `park` allows such a spurious return.
    /// For waits that do not depend on parking.
    Spurious,
    /// The first park of each thread returns immediately. Later parks are exact.
    SpuriousOnce,
    /// A park with a timeout also ends when another thread has changed memory since the last such
    /// end. So a waiter that looks at the memory after each timeout sees every state, and the model
    /// is finite. Parks without a timeout are exact.
    Naps,
}

std::thread_local! {
    static PARKING: Cell<Parking> = const { Cell::new(Parking::Exact) };
    static SHORT: Cell<Option<Duration>> = const { Cell::new(None) };
    static ALLOCATIONS_BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Runs `check` (a call of loom's `check`) with the given behaviour of parks. Outside this call,
/// parks are [`Parking::Exact`]. A primitive that parks is checked with several behaviours.
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

/// Runs `check` (a call of loom's `check`) on a host with a clock. Outside this call there is no
/// clock.
///
/// Only timeouts advance the clock. A park with a timeout of at most `short` returns immediately,
/// and advances the clock by that timeout. A park with a longer timeout lasts until it is woken. So
/// one model can contain waits that give up and waits that must be woken.
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

/// Makes one allocation fail, after `successes` successful ones. Call it inside the model, at its
/// start.
pub fn fail_allocation(successes: u32) {
    ALLOCATIONS_BEFORE_FAILURE.set(Some(successes));
}

impl Checked {
    /// Creates the state of an execution, in the calling thread. Call it at the start of a model
    /// whose threads use slots, queue nodes or parking. Otherwise the first thread that needs the
    /// state creates it. That creation would order the creating thread before all later users, and
    /// hide a missing ordering.
    pub fn begin() {
        ALLOCATIONS_BEFORE_FAILURE.set(None);
        let world: &World = &WORLD;
        world.next_slot.set(0);
    }
}

// SAFETY: each slot goes to one thread of an execution. There is one queue node for each slot and
// level, and it lives until loom drops its statics, after all threads have ended. Memory comes from
// the global allocator. `fatal` unwinds and so ends the model, and after that nothing in the model
// is shared or guarded.
unsafe impl Host for Checked {
    type Atomics = CheckedAtomics;
    const SLOTS: u32 = SLOTS;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        // A failed check drops guards after the execution is gone.
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

    /// Returns the same words for all locks.
    fn announcements(_lock: usize, _turn: u32) -> &'static [Announcement<CheckedAtomics>] {
        if panicking() {
            return &[];
        }
        let world: &'static World = &WORLD;
        &world.announcements[..ANNOUNCEMENTS + usize::from(SHORT.get().is_some())]
    }

    /// Does nothing. A pause orders nothing, and loom explores the schedule in which the thread
    /// continues immediately.
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

    /// With a timeout the park may return immediately, because the time may have passed. Under
    /// [`with_clock`] the timeout decides.
    fn park(word: &U32<Self>, expected: u32, timeout: Option<Duration>) {
        if panicking() || PARKING.get() == Parking::Spurious {
            return;
        }
        let naps = PARKING.get() == Parking::Naps && timeout.is_some();
        if let Some(timeout) = timeout
            && !(naps && SHORT.get().is_none())
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
        // Registered before the comparison, so that an unpark after the comparison finds it.
        // Relaxed: parking orders nothing.
        world.parking.fetch_add(1, Ordering::Relaxed);
        world.parked.borrow_mut().push(Parked { slot, word, woken: false });
        let leave = || {
            let mut parked = world.parked.borrow_mut();
            let place = parked.iter().position(|p| p.slot == slot);
            parked.swap_remove(place.expect("a parked thread removes itself"));
        };
        // A futex compares the newest value, and later loads of the thread return no older value.
        // Relaxed: the load orders nothing.
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
        let rested =
            || naps && waiting::changes_of_others() > world.seen_at_nap.borrow()[slot.0 as usize];
        let woken = || world.parked.borrow().iter().any(|p| p.slot == slot && p.woken) || rested();
        waiting::wait(woken, || {
            // Relaxed: this load is a transition of the model, so loom explores its order with
            // unparks.
            world.parking.load(Ordering::Relaxed);
            woken().then_some(())
        });
        world.seen_at_nap.borrow_mut()[slot.0 as usize] = waiting::changes_of_others();
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
        // SAFETY: the caller promises that `allocate` returned the memory for this layout.
        unsafe { std::alloc::dealloc(memory.as_ptr(), layout) }
    }

    fn count(event: Event) {
        let _ = event;
    }

    /// Waits without yielding, because a yield orders nothing.
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
