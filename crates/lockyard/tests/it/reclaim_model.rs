//! Reclamation compared with a simple model, by random sequences of all operations. Guards nest,
//! are dropped in any order and pass quiescent states, with and without slots. The operations also
//! include retirements, collections, attempts to wait, and failed allocations of records.
//!
//! One thread plays all readers, by setting its slot. So after each operation the model knows which
//! objects may be freed and which must not:
//!
//! - An object is freed once. It is not freed while a guard exists that was made before its
//!   retirement and has not been quiescent since.
//! - An object that was retired and not freed is pending.
//! - An attempt to wait succeeds if and only if no reader is inside.
//! - When no reader is inside, two ends of an epoch and a collection free everything, so every
//!   grace period ends.

use lockyard::Native;
use lockyard::platform::{Host, HostWithSlots, NativeAtomics, NativeU32, QueueNode, Slot};
use lockyard::reclaim::{Domain, Guard, Header};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::time::Duration;

/// Number of readers with a slot.
const SLOTS: u32 = 20;

/// A host whose only thread sets its own slot, and decides whether there is memory.
struct Many;

thread_local! {
    static CURRENT: Cell<Option<u32>> = const { Cell::new(None) };
    static MEMORY: Cell<bool> = const { Cell::new(true) };
    /// Objects that were freed since the last check.
    static FREED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

// SAFETY: there is one thread, and the native host provides everything else. A guard leaves the
// record in which it was made, even if the thread has set another slot.
unsafe impl Host for Many {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = SLOTS;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        CURRENT.get().map(Slot)
    }
    fn numa_node() -> u32 {
        0
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn relax() {}
    fn now() -> Duration {
        Duration::ZERO
    }
    fn park(_: &NativeU32, _: u32, _: Option<Duration>) {}
    fn unpark(_: *const NativeU32, _: u32) {}
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        MEMORY.get().then(|| Native::allocate(layout, node)).flatten()
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Native::deallocate(memory, layout) }
    }
    fn fatal(message: &'static str) -> ! {
        panic!("{message}")
    }
}

impl HostWithSlots for Many {}

#[repr(C)]
struct Object {
    header: Header<Many>,
    number: u64,
}

unsafe fn free(header: NonNull<Header<Many>>) {
    // SAFETY: `retire` made the header from a box, and it is freed once (the model checks that).
    let object = unsafe { Box::from_raw(header.cast::<Object>().as_ptr()) };
    FREED.with_borrow_mut(|freed| freed.push(object.number));
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Guards, by number, and the objects that each may still use.
struct Model<'d> {
    domain: &'d Domain<Many>,
    guards: Vec<(u64, Option<u32>, Guard<'d, Many>)>,
    /// Objects that were retired and not freed, with the guards that may use them.
    waiting: BTreeMap<u64, BTreeSet<u64>>,
    /// Number of guards and objects so far.
    numbers: u64,
    freed: u64,
    /// Number of guards made without a record, and of quiescent states.
    unrecorded: u32,
    quiescent: u32,
}

impl<'d> Model<'d> {
    fn new(domain: &'d Domain<Many>) -> Self {
        Model {
            domain,
            guards: Vec::new(),
            waiting: BTreeMap::new(),
            numbers: 0,
            freed: 0,
            unrecorded: 0,
            quiescent: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn enter(&mut self, memory: bool) {
        MEMORY.set(memory);
        let guard = self.domain.enter();
        MEMORY.set(true);
        let slot = format!("{guard:?}").contains("Some").then(|| CURRENT.get()).flatten();
        self.unrecorded += u32::from(slot.is_none());
        let number = self.number();
        self.guards.push((number, slot, guard));
    }

    fn leave(&mut self, index: usize) {
        let (number, _, guard) = self.guards.swap_remove(index);
        drop(guard);
        self.lets_go(number);
    }

    fn lets_go(&mut self, number: u64) {
        for readers in self.waiting.values_mut() {
            readers.remove(&number);
        }
    }

    fn quiescent(&mut self, index: usize) {
        let (number, slot, _) = self.guards[index];
        let alone = slot.is_none() || self.guards.iter().filter(|g| g.1 == slot).count() == 1;
        self.guards[index].2.pass_quiescent_state();
        // A quiescent state inside another guard of the slot has no effect.
        if alone {
            self.quiescent += 1;
            self.lets_go(number);
        }
    }

    fn retire(&mut self, later: bool) {
        let number = self.number();
        let readers = self.guards.iter().map(|(reader, ..)| *reader).collect();
        self.waiting.insert(number, readers);
        let object = Box::leak(Box::new(Object { header: Header::new(), number }));
        // SAFETY: no thread reads the object, and `free` frees it. The test checks that it is freed
        // once.
        unsafe {
            if later {
                self.domain.retire_later(NonNull::from(object).cast(), free);
            } else {
                self.domain.retire(NonNull::from(object).cast(), free);
            }
        }
    }

    fn check(&mut self, at: &str) {
        for number in FREED.take() {
            let readers = self.waiting.remove(&number);
            let readers = readers.unwrap_or_else(|| panic!("{at}: {number} is freed twice"));
            assert!(readers.is_empty(), "{at}: {number} is freed under the guards {readers:?}");
            self.freed += 1;
        }
        assert_eq!(self.domain.pending(), self.waiting.len() as u64, "{at}");
    }

    fn wait(&mut self, at: &str) {
        let inside = !self.guards.is_empty();
        let waited = self.domain.try_synchronize(3);
        assert_eq!(waited.is_err(), inside, "{at}: {waited:?}");
        if let Err(still) = waited {
            let named = |slot: &Option<u32>| slot.map(Slot) == still.slot;
            assert!(self.guards.iter().any(|(_, slot, _)| named(slot)), "{at}: {still}");
        }
    }

    /// Checks that everything is freed when no reader is inside.
    fn end(&mut self, at: &str) {
        for _ in 0..2 {
            assert_eq!(self.domain.try_advance(), Ok(()), "{at}: nobody is inside");
        }
        self.domain.collect();
        self.check(at);
        assert!(self.waiting.is_empty(), "{at}: {} wait for ever", self.waiting.len());
    }
}

/// Performs random operations with up to `most` guards at a time.
fn behaves(seed: u64, operations: u32, slots: u32, most: usize) -> (u64, u32, u32) {
    let domain = Domain::<Many>::new();
    let mut random = Random(seed);
    let mut model = Model::new(&domain);
    for step in 0..operations {
        let at = format!("seed {seed}, {slots} slots, step {step}");
        let slot = random.below(slots as usize + 1) as u32;
        CURRENT.set((slot < slots).then_some(slot));
        let any = random.below(model.guards.len().max(1));
        let there = !model.guards.is_empty();
        match random.below(16) {
            0..3 if model.guards.len() < most => model.enter(random.below(4) > 0),
            3..7 if there => model.leave(any),
            7 | 8 if there => model.quiescent(any),
            9..13 => model.retire(random.below(4) == 0),
            13 => _ = domain.try_advance(),
            14 => _ = domain.collect(),
            15 => model.wait(&at),
            _ => {}
        }
        model.check(&at);
        if model.guards.is_empty() && random.below(8) == 0 {
            model.end(&at);
        }
    }
    while !model.guards.is_empty() {
        model.leave(0);
    }
    model.end(&format!("seed {seed}, {slots} slots, at the end"));
    (model.freed, model.unrecorded, model.quiescent)
}

#[test]
fn every_object_is_freed_once_and_not_too_early() {
    let mut all = (0, 0, 0);
    for seed in 1..=40 {
        for (slots, most) in [(0, 3), (1, 4), (3, 1), (3, 6), (SLOTS, 12)] {
            let (freed, unrecorded, quiescent) = behaves(seed, 2_000, slots, most);
            all = (all.0 + freed, all.1 + unrecorded, all.2 + quiescent);
        }
    }
    println!(
        "{} objects freed; {} guards without a record; {} quiescent states",
        all.0, all.1, all.2
    );
    // The sequences are long enough to test something.
    assert!(all.0 > 50_000 && all.1 > 10_000 && all.2 > 10_000, "{all:?}");
}

#[test]
fn the_last_epochs_objects_are_dropped_with_the_domain_once() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let domain = Domain::<Many>::new();
        let mut model = Model::new(&domain);
        for _ in 0..random.below(300) {
            CURRENT.set([None, Some(random.below(SLOTS as usize) as u32)][random.below(2)]);
            match random.below(4) {
                0 => _ = domain.collect(),
                1 => drop(domain.enter()),
                _ => model.retire(random.below(2) == 0),
            }
        }
        model.check("before");
        let mut waiting: Vec<u64> = model.waiting.keys().copied().collect();
        drop(model);
        drop(domain);
        let mut freed = FREED.take();
        freed.sort_unstable();
        waiting.sort_unstable();
        assert_eq!(freed, waiting, "seed {seed}");
    }
}
