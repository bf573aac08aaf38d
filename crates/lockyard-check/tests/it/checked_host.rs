//! Checks that the checked host keeps its contract. Parks behave like a futex and order nothing. An
//! exchange of a part is one step, slots differ, and allocation fails on demand.

use core::alloc::Layout;
use lockyard::platform::checked::{
    Checked, CheckedCell, CheckedU32, Parking, fail_allocation, with_parking,
};
use lockyard::platform::{DataCell, Host, Ordering, Part, Slot, Word};
use lockyard_check::explore::{Bounds, Explored, Failed, explore};
use lockyard_check::finding::Finding;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Runs two threads on `shared`: `main` on the model's main thread, `other` on a second one.
fn two<S: Send + Sync + 'static>(
    shared: fn() -> S,
    main: fn(&S),
    other: fn(&S),
) -> Result<Explored, Failed> {
    let result = explore(2, Bounds::ALL, move || {
        Checked::begin();
        let mine = Arc::new(shared());
        let theirs = Arc::clone(&mine);
        let thread = loom::thread::spawn(move || other(&theirs));
        main(&mine);
        thread.join().unwrap();
    });
    match &result {
        Ok(explored) => println!("{explored}"),
        Err(failed) => println!("{} in execution {}", failed.caught, failed.executions),
    }
    result
}

struct Event {
    flag: CheckedU32,
    data: CheckedCell<u32>,
}

fn event() -> Event {
    Event { flag: Word::new(0), data: DataCell::new(0) }
}

fn announce(event: &Event) {
    // SAFETY: the waiter reads the cell after the flag; otherwise the model reports a race.
    event.data.with_mut(|data| unsafe { *data = 1 });
    // Release: pairs with the waiter's load, if that is an acquire.
    event.flag.store(1, Ordering::Release);
    Checked::unpark(&event.flag, 1);
}

fn await_it(event: &Event, order: Ordering) {
    while event.flag.load(order) == 0 {
        Checked::park(&event.flag, 0, None);
    }
    // SAFETY: the cell was written before the flag was set, which this thread has seen; otherwise
    // the model reports a race.
    assert_eq!(event.data.with(|data| unsafe { *data }), 1);
}

#[test]
fn a_park_misses_no_unpark() {
    two(event, |event| await_it(event, Ordering::Acquire), announce).unwrap();
}

#[test]
fn a_park_that_nobody_ends_is_reported() {
    let nobody = |event: &Event| event.flag.store(1, Ordering::Release);
    let failed = two(event, |event| await_it(event, Ordering::Acquire), nobody).unwrap_err();
    assert_eq!(failed.caught.finding, Finding::Stuck);
}

#[test]
fn a_park_may_return_for_no_reason() {
    let failed = with_parking(Parking::Spurious, || {
        two(
            event,
            |event| {
                Checked::park(&event.flag, 0, None);
                assert_eq!(event.flag.load(Ordering::Acquire), 1, "parks are trusted");
            },
            announce,
        )
    });
    assert_eq!(failed.unwrap_err().caught.finding, Finding::Assertion);
}

/// A missing acquire shows even if the waiter was woken after the write.
#[test]
fn parks_and_unparks_order_nothing() {
    let failed = two(event, |event| await_it(event, Ordering::Relaxed), announce).unwrap_err();
    assert_eq!(failed.caught.finding, Finding::Race);
}

#[test]
fn an_exchange_of_a_part_is_one_step_in_every_order() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let all = Arc::clone(&seen);
    let explored = explore(3, Bounds::ALL, move || {
        let word = Arc::new(CheckedU32::new(7));
        let spawn = |value: u16| {
            let word = Arc::clone(&word);
            loom::thread::spawn(move || Part::<u16>::swap_part(&*word, 1, value, Ordering::AcqRel))
        };
        let (first, second) = (spawn(1), spawn(2));
        word.fetch_add(1, Ordering::Relaxed);
        let found = (first.join().unwrap(), second.join().unwrap());
        let left = word.load(Ordering::Relaxed);
        assert_eq!(left & 0xffff, 8, "the other part was disturbed");
        all.lock().unwrap().insert((found, left >> 16));
    });
    println!("{}", explored.unwrap());
    // Only the two possible orders of the exchanges.
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([((0, 1), 2), ((2, 0), 1)]));
}

#[test]
fn threads_have_slots_and_nodes_of_their_own() {
    let slots = || Mutex::new(Vec::new());
    let ask = |slots: &Mutex<Vec<Slot>>| {
        let slot = Checked::slot().unwrap();
        assert_eq!(Checked::slot(), Some(slot));
        let node = Checked::queue_node(slot, 0);
        assert!(std::ptr::eq(node, Checked::queue_node(slot, 0)));
        assert!(!std::ptr::eq(node, Checked::queue_node(slot, 1)));
        let mut slots = slots.lock().unwrap();
        assert!(!slots.contains(&slot));
        slots.push(slot);
    };
    two(slots, ask, ask).unwrap();
}

#[test]
fn an_allocation_fails_when_it_is_told_to_and_only_then() {
    let explored = explore(1, Bounds::ALL, || {
        Checked::begin();
        fail_allocation(1);
        let layout = Layout::new::<u64>();
        let first = Checked::allocate(layout, None).unwrap();
        assert!(Checked::allocate(layout, None).is_none());
        let third = Checked::allocate(layout, Some(0)).unwrap();
        for memory in [first, third] {
            // SAFETY: allocated above, and unused.
            unsafe { Checked::deallocate(memory, layout) };
        }
    });
    explored.unwrap();
}
