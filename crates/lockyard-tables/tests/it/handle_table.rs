//! The handle table compared with a simple model, and under faults: no place, no memory at any
//! point, a reader that stays, a panic in the middle. The tests are bounded by operations, not by
//! time.

#![cfg(feature = "std")]

mod threads;

use crate::support::failing::Failing;
use crate::support::{NoPreemption, OFF, Random, Witness};
use lockyard::Context;
use lockyard::lock::{Adaptive, LaneLock, Queued};
use lockyard::platform::{HostWithSlots, Native};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, InsertError, Shared};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

type Counted = crate::support::Counted<2>;
/// A lock that sleeps, and one that queues.
type Sleeping = Exclusive<Adaptive>;
type Queueing = Exclusive<Queued>;

/// Operations of the tests on a table with either access.
trait Works<T: Send + Sync>: Send + Sync {
    /// Calls `look` with the object.
    fn look<R>(&self, handle: Handle, look: impl FnOnce(&T) -> R) -> Option<R>;
    /// Returns true if it removed the object.
    fn discard(&self, handle: Handle) -> bool;
}

impl<T: Send + Sync, H: HostWithSlots, C: Context> Works<T> for HandleTable<T, Shared, H, C> {
    fn look<R>(&self, handle: Handle, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.get(handle).map(|object| look(&object))
    }
    fn discard(&self, handle: Handle) -> bool {
        self.remove(handle)
    }
}

impl<T: Send + Sync, K: LaneLock<H>, H: HostWithSlots, C: Context> Works<T>
    for HandleTable<T, Exclusive<K>, H, C>
{
    fn look<R>(&self, handle: Handle, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.lock(handle).map(|object| look(&object))
    }
    fn discard(&self, handle: Handle) -> bool {
        self.remove(handle).is_some()
    }
}

/// Performs random operations on a table and on a map, which must agree after each. Removed handles
/// are kept, and must find nothing for ever.
fn agrees_with_the_model<A: Access<Native>>(limit: u32, operations: u64, seed: u64)
where
    HandleTable<Arc<u64>, A, Native>: Works<Arc<u64>>,
{
    let table: HandleTable<Arc<u64>, A, Native> = HandleTable::with_limit(limit);
    let mut model: BTreeMap<Handle, Arc<u64>> = BTreeMap::new();
    let mut every: Vec<Handle> = Vec::new();
    let mut random = Random(seed);
    let mut filling = 3;
    for step in 0..operations {
        if step % 500 == 0 {
            filling = [1, 3, 5][random.below(3) as usize];
        }
        let any = |random: &mut Random| match every.len() as u64 {
            0 => Handle::from_bits(random.below(8) << 32 | random.below(40)),
            all => Some(every[random.below(all) as usize]),
        };
        match random.below(8) {
            choice if choice < filling => {
                let value = Arc::new(step);
                match table.insert(Arc::clone(&value)) {
                    Ok(handle) => {
                        assert!(handle.index() < limit && model.len() < limit as usize);
                        assert!(!model.keys().any(|known| known.index() == handle.index()));
                        assert!(!every.contains(&handle), "a handle names one object only");
                        every.push(handle);
                        model.insert(handle, value);
                    }
                    Err(InsertError::Exhausted(back)) => {
                        assert!(Arc::ptr_eq(&back, &value));
                        assert_eq!(model.len(), limit as usize, "no reader keeps a place");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            6 => {
                let Ok(place) = table.vacant_entry() else { continue };
                let handle = place.handle();
                assert!(!table.contains(handle) && !every.contains(&handle));
                assert!(table.look(handle, |_| ()).is_none());
                every.push(handle);
                if step % 2 == 0 {
                    let value = Arc::new(step);
                    assert_eq!(place.insert(Arc::clone(&value)), handle);
                    model.insert(handle, value);
                } else {
                    drop(place); // Its handle then finds nothing for ever.
                }
            }
            7 => {
                let Some(handle) = any(&mut random) else { continue };
                let found = table.look(handle, |found| **found);
                assert_eq!(found, model.get(&handle).map(|value| **value), "{handle:?}");
                assert_eq!(table.contains(handle), found.is_some());
            }
            _ => {
                let Some(handle) = any(&mut random) else { continue };
                assert_eq!(table.discard(handle), model.remove(&handle).is_some(), "{handle:?}");
            }
        }
        assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
        if step % 100 == 0 {
            let mut handles: Vec<Handle> = table.handles().collect();
            assert!(handles.is_sorted_by_key(|handle| handle.index()));
            handles.sort();
            assert_eq!(handles, model.keys().copied().collect::<Vec<_>>());
        }
    }
    assert_eq!(table.collect(), 0);
    assert!(model.values().all(|value| Arc::strong_count(value) == 2), "each object is there once");
    let usage = table.usage();
    assert_eq!((usage.objects, usage.waiting, usage.worn_out), (model.len(), 0, 0));
    assert_eq!(usage.capacity, table.capacity());
    drop(table);
    assert!(model.values().all(|value| Arc::strong_count(value) == 1), "each was dropped once");
}

#[test]
fn it_agrees_with_a_map_whatever_is_done_to_it() {
    for seed in 0..4 {
        for limit in [1, 16, 17, 200, 1_500] {
            agrees_with_the_model::<Shared>(limit, 2_000, seed);
            agrees_with_the_model::<Sleeping>(limit, 2_000, seed);
            agrees_with_the_model::<Queueing>(limit, 2_000, seed);
        }
    }
}

#[test]
fn a_number_that_is_no_handle_of_the_table_finds_nothing() {
    let table: lockyard_tables::HandleTable<u32> = HandleTable::new();
    let handle = table.insert(7).unwrap();
    assert_eq!((handle.index(), handle.generation() & 1), (0, 1));
    assert_eq!(Handle::from_bits(handle.to_bits()), Some(handle));
    assert_eq!(size_of::<Option<Handle>>(), 8);
    for index in [0, 1, 15, 16, u32::MAX - 1, u32::MAX] {
        for generation in [0, 1, 2, 3, 4, 5, u32::MAX - 1, u32::MAX] {
            let bits = u64::from(generation) << 32 | u64::from(index);
            let Some(other) = Handle::from_bits(bits) else {
                assert_eq!(generation % 2, 0);
                continue;
            };
            if other != handle {
                assert!(table.get(other).is_none() && !table.remove(other));
            }
        }
    }
    assert_eq!(table.get(handle).as_deref(), Some(&7));
    assert_eq!(table.limit(), lockyard_tables::handle_table::MAX_HANDLES);
    let table: lockyard_tables::HandleTable<()> = HandleTable::with_limit(0);
    assert_eq!(table.insert(()), Err(InsertError::Exhausted(())));
    assert_eq!(table.vacant_entry().unwrap_err(), InsertError::Exhausted(()));
}

#[test]
fn a_removed_object_lives_as_long_as_its_readers_and_keeps_its_place() {
    let table: lockyard_tables::HandleTable<Arc<u32>> = HandleTable::with_limit(3);
    let objects: Vec<Arc<u32>> = (0..3).map(Arc::new).collect();
    let handles: Vec<Handle> =
        objects.iter().map(|object| table.insert(Arc::clone(object)).unwrap()).collect();
    let reader = table.get(handles[1]).unwrap();
    assert!(reader.is_in_table() && reader.handle() == handles[1]);
    assert!(reader.remove() && !reader.remove() && !table.remove(handles[1]));
    assert!(!reader.is_in_table() && table.get(handles[1]).is_none());
    assert_eq!((table.len(), table.collect(), **reader), (2, 1, 1), "it waits for its reader");
    assert!(matches!(table.insert(Arc::new(9)), Err(InsertError::Exhausted(_))));
    assert_eq!(Arc::strong_count(&objects[1]), 2);
    drop(reader);
    let again = table.insert(Arc::new(9)).unwrap();
    assert_eq!((again.index(), Arc::strong_count(&objects[1])), (1, 1), "dropped, and used again");
    assert!(table.get(handles[1]).is_none());
    assert_eq!(table.get(again).as_deref().map(|nine| **nine), Some(9));
}

/// Makes each allocation of an insertion fail: the first, the second and so on, until none is left.
fn every_allocation_may_fail<A: Access<Counted>>()
where
    HandleTable<Arc<()>, A, Counted>: Works<Arc<()>>,
{
    let table = HandleTable::<Arc<()>, A, Counted>::new();
    let object = Arc::new(());
    let mut failures = 0;
    let mut handles = Vec::new();
    for expected in 0..200 {
        for successes in 0.. {
            let before = table.usage();
            let (result, failed) = Failing::after(successes, || table.insert(Arc::clone(&object)));
            if !failed {
                handles.push(result.unwrap());
                break;
            }
            failures += 1;
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), "the host has no memory");
            assert!(matches!(error, InsertError::OutOfMemory(back) if Arc::ptr_eq(&back, &object)));
            let mut usage = table.usage();
            if expected == 0 {
                usage.bytes = before.bytes; // The shards are kept for the next insertion.
            }
            assert_eq!((usage, table.len()), (before, expected));
            assert_eq!(Arc::strong_count(&object), expected + 1, "nothing is kept");
        }
    }
    // The shards, and the pages of 16, 32, 64 and 128 slots.
    assert_eq!(failures, 5);
    // A look-up and a removal need no memory. A slot asks for memory when it first enters, and
    // works without it.
    let (found, _) = Failing::after(0, || table.look(handles[3], |_| ()).is_some());
    assert!(found);
    let (removed, _) = Failing::after(0, || table.discard(handles[3]));
    assert!(removed);
    let (reserved, failed) = Failing::after(0, || table.reserve(1_000));
    assert!(failed && reserved.is_err() && table.capacity() == 240);
    assert!(table.reserve(1_000).is_ok() && table.capacity() == 1_008);
    drop(table);
    assert_eq!(Arc::strong_count(&object), 1);
}

#[test]
fn an_allocation_that_fails_leaves_the_table_as_it_was() {
    Counted::counting(|| {
        every_allocation_may_fail::<Shared>();
        every_allocation_may_fail::<Exclusive>();
        Failing::without_slot(every_allocation_may_fail::<Shared>);
    });
}

#[test]
fn without_memory_for_a_page_a_place_of_another_thread_is_used() {
    Counted::counting(|| {
        let table = HandleTable::<u32, Exclusive, Counted>::new();
        let handles: Vec<Handle> = (0..16).map(|n| table.insert(n).unwrap()).collect();
        thread::scope(|scope| {
            let table = &table;
            scope.spawn(move || handles.iter().for_each(|&h| assert!(table.remove(h).is_some())));
        });
        for n in 0..16 {
            let (inserted, _) = Failing::after(0, || table.insert(n));
            assert!(inserted.is_ok(), "{n}: {inserted:?}");
        }
        let (inserted, failed) = Failing::after(0, || table.insert(16));
        assert!(failed && matches!(inserted, Err(InsertError::OutOfMemory(16))));
    });
}

#[test]
fn a_panic_while_an_object_is_used_leaves_it_in_the_table() {
    let table: lockyard_tables::LockedHandleTable<u64> = HandleTable::new();
    let handle = table.insert(1).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut entry = table.lock(handle).unwrap();
        *entry = 2;
        assert!(table.try_lock(handle).is_none(), "it is locked");
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(table.try_lock(handle).as_deref(), Some(&2), "it is as the panic left it");
    assert_eq!(table.remove(handle), Some(2));

    let table: lockyard_tables::HandleTable<u64> = HandleTable::new();
    let handle = table.insert(1).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _reader = table.get(handle).unwrap();
        panic!("on purpose");
    }));
    assert!(panicked.is_err() && table.remove(handle));
    assert_eq!(table.collect(), 0, "the guard was left");
}

#[test]
fn a_destructor_that_panics_keeps_no_other_object_from_being_dropped() {
    struct Bomb(Arc<AtomicUsize>, bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            assert!(!self.1, "on purpose");
        }
    }
    fn check<A: Access<Counted>>(removed: usize)
    where
        HandleTable<Bomb, A, Counted>: Works<Bomb>,
    {
        let dropped = Arc::new(AtomicUsize::new(0));
        let table = HandleTable::<Bomb, A, Counted>::new();
        let handles: Vec<Handle> = (0..200)
            .map(|index| table.insert(Bomb(Arc::clone(&dropped), index == 5)).ok().unwrap())
            .collect();
        let mut panics = 0;
        let mut panicking = |run: &mut dyn FnMut()| {
            panics += usize::from(catch_unwind(AssertUnwindSafe(run)).is_err());
        };
        for &handle in &handles[..removed] {
            panicking(&mut || assert!(table.discard(handle)));
        }
        panicking(&mut || assert_eq!(table.collect(), 0));
        assert_eq!((table.collect(), table.len()), (0, 200 - removed));
        assert_eq!(dropped.load(Ordering::Relaxed), removed);
        // All places are free again.
        for _ in 0..removed {
            table.insert(Bomb(Arc::clone(&dropped), false)).ok().unwrap();
        }
        assert_eq!(table.capacity(), 240);
        let mut table = Some(table);
        panicking(&mut || drop(table.take()));
        assert_eq!((panics, dropped.load(Ordering::Relaxed)), (1, 200 + removed));
    }
    Counted::counting(|| {
        for removed in [0, 10, 100, 200] {
            check::<Shared>(removed);
            check::<Exclusive>(removed);
        }
    });
}

#[test]
fn an_object_whose_destructor_runs_is_not_dropped_yet() {
    /// An object whose destructor says that it has begun, and waits for a word.
    struct Slow(Arc<Barrier>);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.wait();
            self.0.wait();
        }
    }
    let barrier = Arc::new(Barrier::new(2));
    let table: lockyard_tables::HandleTable<Slow> = HandleTable::with_limit(1);
    let handle = table.insert(Slow(Arc::clone(&barrier))).ok().unwrap();
    assert!(table.remove(handle));
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(table.collect(), 0));
        barrier.wait();
        assert_eq!((table.collect(), table.usage().waiting), (1, 1));
        assert_eq!(table.vacant_entry().unwrap_err(), InsertError::Exhausted(()));
        barrier.wait();
    });
    assert_eq!((table.collect(), table.usage().waiting), (0, 0));
    drop(table.vacant_entry().unwrap());
}

#[test]
fn look_ups_and_iterations_inside_a_guard_that_is_kept_need_no_other() {
    let table: lockyard_tables::HandleTable<u64> = HandleTable::new();
    let mut guard = table.domain().enter();
    for round in 0..1_000 {
        let handle = table.insert(round).unwrap();
        assert_eq!(table.get_in(&guard, handle), Some(&round));
        assert_eq!(table.iter_in(&guard).collect::<Vec<_>>(), [(handle, &round)]);
        assert!(table.remove(handle) && table.get_in(&guard, handle).is_none());
        guard.pass_quiescent_state();
    }
    assert!(table.usage().waiting <= 192, "{:?}", table.usage());
    assert!(table.usage().capacity <= 240, "{:?}", table.usage());
    drop(guard);
    let mut sum = 0;
    let handles: Vec<Handle> = (0..100).map(|n| table.insert(n).unwrap()).collect();
    table.for_each(|_, value| sum += value);
    assert_eq!((sum, handles.len()), (4950, table.len()));
    let other: lockyard_tables::HandleTable<u64> = HandleTable::new();
    let of_other = other.domain().enter();
    let refused = catch_unwind(AssertUnwindSafe(|| table.get_in(&of_other, handles[0]).is_some()));
    assert!(refused.is_err(), "a guard of another domain protects nothing here");
}

#[test]
fn at_a_million_the_bytes_for_each_object_are_what_is_said() {
    const MILLION: usize = 1_000_000;
    const SHARDS: usize = 2112;
    fn check<A: Access<Counted>>(slot: usize)
    where
        HandleTable<u64, A, Counted>: Works<u64>,
    {
        let before = Counted::bytes();
        let table = HandleTable::<u64, A, Counted>::new();
        let mut handles: Vec<Handle> =
            (0..MILLION).map(|value| table.insert(value as u64).unwrap()).collect();
        let bytes = (Counted::bytes() - before) as usize;
        assert_eq!(HandleTable::<u64, A, Counted>::slot_bytes(), slot);
        assert_eq!(table.capacity(), (1 << 20) - 16);
        let records = table.domain().record_bytes();
        assert_eq!(bytes, table.capacity() * slot + SHARDS + records);
        assert_eq!(table.usage().bytes, bytes + size_of_val(&table));
        let each = bytes as f64 / MILLION as f64;
        println!("{MILLION} objects of 8 bytes, {slot} bytes a slot: {each:.2} bytes each");
        // The size stays the same under churn: each object is replaced about three times.
        let mut random = Random(1);
        for _ in 0..3 * MILLION {
            let at = random.below(MILLION as u64) as usize;
            let value = table.look(handles[at], |&value| value).unwrap();
            assert!(table.discard(handles[at]));
            let new = table.insert(value).unwrap();
            assert_ne!(new, handles[at]);
            handles[at] = new;
        }
        assert_eq!(table.len(), MILLION);
        let after = (Counted::bytes() - before) as usize;
        assert!(after <= bytes + 120 * 64, "{after} after {bytes}");
    }
    Counted::counting(|| {
        check::<Shared>(16);
        check::<Exclusive>(24);
    });
}

#[test]
fn it_is_a_static_as_well() {
    static TABLE: lockyard_tables::LockedHandleTable<String> = HandleTable::with_limit(10);
    let handle = TABLE.insert("static".into()).unwrap();
    assert_eq!(TABLE.lock(handle).as_deref().map(String::as_str), Some("static"));
    assert!(format!("{TABLE:?} {:?}", TABLE.lock(handle)).contains("exclusive"));
    assert!(size_of_val(&TABLE) <= 512, "{} bytes", size_of_val(&TABLE));
}

#[test]
fn what_a_context_switches_off_is_off_while_any_lock_or_guard_of_the_table_is_held() {
    fn check<A: Access<Native>>()
    where
        HandleTable<Witness, A, Native, NoPreemption>: Works<Witness>,
    {
        let table = HandleTable::<Witness, A, Native, NoPreemption>::new();
        for _ in 0..300 {
            let handle = table.insert(Witness).ok().unwrap();
            assert_eq!(OFF.get(), 0);
            assert_eq!(table.look(handle, |_| OFF.get()), Some(1));
            assert!(table.discard(handle) && !table.discard(handle));
            assert_eq!(OFF.get(), 0);
        }
        assert_eq!((table.collect(), OFF.get()), (0, 0));
        table.insert(Witness).ok().unwrap();
    }
    check::<Shared>();
    check::<Exclusive>();
}
