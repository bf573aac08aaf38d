//! The identifier table compared with a simple model, on real threads, and under faults: no
//! identifier, no memory at any point, a panic in the middle. The tests are bounded by operations,
//! not by time.

#![cfg(feature = "std")]

use lockyard::Context;
use lockyard::platform::{Host, Native};
use lockyard_tables::id_table::{IdTable, InsertError, Locked, Rcu, Variant};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::support::failing::Failing;
use crate::support::{NoPreemption, OFF, Random, Witness};
type Counted = crate::support::Counted<0>;

/// Returns the lowest number that is not a key.
fn lowest_free<T>(model: &BTreeMap<u32, T>) -> u32 {
    let taken = model.keys().enumerate().take_while(|&(index, &id)| index as u32 == id);
    taken.count() as u32
}

/// Performs random operations on a table and on a map, which must agree after each.
fn agrees_with_the_model<V: Variant>(limit: u32, operations: u32, seed: u64) {
    let table: IdTable<u64, V, Native> = IdTable::with_limit(limit);
    let mut model: BTreeMap<u32, u64> = BTreeMap::new();
    let mut random = Random(seed);
    // Phases that fill and phases that empty the table.
    let mut filling = 3;
    for step in 0..operations {
        if step % 500 == 0 {
            filling = [1, 3, 5][random.below(3) as usize];
        }
        let id = random.below(u64::from(limit) + 5) as u32;
        match random.below(8) {
            choice if choice < filling => {
                let value = u64::from(step);
                let inserted = table.insert(value);
                if model.len() == limit as usize {
                    assert_eq!(inserted.unwrap_err(), InsertError::Exhausted(value));
                } else {
                    let expected = lowest_free(&model);
                    assert_eq!(inserted.unwrap(), expected, "the lowest free identifier");
                    model.insert(expected, value);
                }
            }
            6 => {
                let found = table.lock(id).map(|mut entry| {
                    assert_eq!(entry.id(), id);
                    *entry += 1_000_000;
                    *entry
                });
                let expected = model.get_mut(&id).map(|value| {
                    *value += 1_000_000;
                    *value
                });
                assert_eq!(found, expected);
            }
            7 => assert_eq!(table.lock(id).map(|entry| *entry), model.get(&id).copied()),
            _ => assert_eq!(table.remove(id), model.remove(&id)),
        }
        assert_eq!(table.len(), model.len());
        assert_eq!(table.is_empty(), model.is_empty());
    }
}

#[test]
fn it_agrees_with_a_map_whatever_is_done_to_it() {
    for seed in 0..6 {
        for limit in [1, 16, 17, 200, 1_500] {
            agrees_with_the_model::<Rcu>(limit, 3_000, seed);
            agrees_with_the_model::<Locked>(limit, 3_000, seed);
        }
    }
}

#[test]
fn identifiers_that_are_beyond_all_segments_are_not_there() {
    let table: lockyard_tables::IdTable<()> = IdTable::new();
    for id in [0, 1, 15, 16, u32::MAX - 1, u32::MAX] {
        assert!(table.lock(id).is_none() && table.remove(id).is_none());
    }
    assert_eq!(table.limit(), lockyard_tables::id_table::MAX_IDS);
    let table: lockyard_tables::IdTable<()> = IdTable::with_limit(0);
    assert_eq!(table.insert(()), Err(InsertError::Exhausted(())));
}

#[test]
fn the_last_identifier_is_given_and_then_refused_until_one_is_free() {
    fn check<V: Variant>() {
        let table: IdTable<String, V, Native> = IdTable::with_limit(40);
        for id in 0..40 {
            assert_eq!(table.insert(id.to_string()).unwrap(), id);
        }
        let refused = table.insert("one more".into()).unwrap_err();
        assert_eq!(refused.to_string(), "no identifier is free");
        assert_eq!(refused.into_inner(), "one more", "the object comes back");
        assert_eq!(table.remove(17).as_deref(), Some("17"));
        assert_eq!(table.insert("again".into()).unwrap(), 17);
        assert_eq!(table.lock(17).as_deref().map(String::as_str), Some("again"));
    }
    check::<Rcu>();
    check::<Locked>();
}

/// Makes each allocation of an insertion fail: the first, the second and so on, until none is left.
fn every_allocation_may_fail<V: Variant>() {
    let table = IdTable::<Arc<()>, V, Counted>::new();
    let object = Arc::new(());
    let mut failures = 0;
    for expected in 0..200 {
        for successes in 0.. {
            let (bytes, before) = (table.table_bytes(), table.len());
            let (result, failed) = Failing::after(successes, || table.insert(Arc::clone(&object)));
            if !failed {
                assert_eq!(result.unwrap(), expected);
                break;
            }
            failures += 1;
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), "the host has no memory");
            assert!(matches!(error, InsertError::OutOfMemory(back) if Arc::ptr_eq(&back, &object)));
            assert_eq!((table.table_bytes(), table.len()), (bytes, before));
            assert!(table.lock(expected).is_none());
            assert_eq!(Arc::strong_count(&object), before + 1, "nothing is kept");
        }
    }
    // One allocation for each object, and four for the segments of 16, 32, 64 and 128.
    assert_eq!(failures, 200 + 4);
    // A look-up and a removal need no memory. A slot asks for memory when it first enters, and
    // works without it.
    let (found, _) = Failing::after(0, || table.lock(3).is_some());
    assert!(found);
    let (removed, _) = Failing::after(0, || table.remove(3));
    assert!(removed.is_some());
    drop(removed);
    drop(table);
    assert_eq!(Arc::strong_count(&object), 1);
}

#[test]
fn an_allocation_that_fails_leaves_the_table_as_it_was() {
    Counted::counting(|| {
        every_allocation_may_fail::<Rcu>();
        every_allocation_may_fail::<Locked>();
        Failing::without_slot(every_allocation_may_fail::<Rcu>);
    });
}

#[test]
fn a_panic_while_an_object_is_locked_releases_it() {
    fn check<V: Variant>() {
        let table: IdTable<u64, V, Native> = IdTable::new();
        let id = table.insert(1).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut entry = table.lock(id).unwrap();
            *entry = 2;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(table.lock(id).as_deref(), Some(&2), "it is as the panic left it");
        assert_eq!(table.remove(id), Some(2));
        table.domain().barrier();
        assert_eq!(table.domain().pending(), 0, "the guard was left too");
        assert_eq!(table.insert(3).unwrap(), id);
    }
    check::<Rcu>();
    check::<Locked>();
}

#[test]
fn a_destructor_that_panics_keeps_no_other_object_from_being_dropped() {
    static DROPPED: AtomicU64 = AtomicU64::new(0);
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            assert!(!self.0, "on purpose");
        }
    }
    Counted::counting(|| {
        for (test, limit) in [(0, 100), (1, 100), (2, 10)] {
            DROPPED.store(0, Ordering::Relaxed);
            let table = IdTable::<Bomb, Rcu, Counted>::with_limit(limit);
            for index in 0..100 {
                // The caller drops a refused object.
                let _ = table.insert(Bomb(index == 5));
            }
            if test == 1 {
                let removed = catch_unwind(AssertUnwindSafe(|| drop(table.remove(5))));
                assert!(removed.is_err());
                assert_eq!(table.len(), 99);
                drop(table);
            } else {
                assert!(catch_unwind(AssertUnwindSafe(|| drop(table))).is_err());
            }
            assert_eq!(DROPPED.load(Ordering::Relaxed), 100);
        }
    });
}

/// A value that counts its live instances, and knows its identifier.
struct Tracked {
    id: Option<u32>,
    visits: u64,
    alive: Arc<AtomicUsize>,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads insert, look up and remove identifiers, including those of other threads, at random.
fn torture<V: Variant>(ids: u64) {
    const THREADS: u64 = 3;
    // The lock is first come, first served. On a machine with fewer CPUs than threads, every
    // hand-over may cost a time slice.
    const ROUNDS: u64 = 600;
    let alive = Arc::new(AtomicUsize::new(0));
    let (inserted, removed, visits) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let seen = AtomicU64::new(0);
    let table = IdTable::<Tracked, V, Native>::with_limit(ids as u32);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, alive) = (&table, &alive);
            let (inserted, removed, visits, seen) = (&inserted, &removed, &visits, &seen);
            scope.spawn(move || {
                let mut random = Random(thread + 1);
                for _ in 0..ROUNDS {
                    let id = random.below(ids) as u32;
                    match random.below(4) {
                        0 => {
                            alive.fetch_add(1, Ordering::Relaxed);
                            let new = Tracked { id: None, visits: 0, alive: Arc::clone(alive) };
                            if let Ok(id) = table.insert(new) {
                                inserted.fetch_add(1, Ordering::Relaxed);
                                // The object may have been removed meanwhile, and replaced by
                                // another.
                                if let Some(mut entry) = table.lock(id) {
                                    entry.id.get_or_insert(id);
                                }
                            }
                        }
                        1 => {
                            if let Some(object) = table.remove(id) {
                                removed.fetch_add(1, Ordering::Relaxed);
                                assert!(object.id.is_none_or(|was| was == id));
                                seen.fetch_add(object.visits, Ordering::Relaxed);
                            }
                        }
                        _ => {
                            if let Some(mut entry) = table.lock(id) {
                                assert!(entry.id.is_none_or(|was| was == id));
                                entry.visits += 1;
                                visits.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                }
            });
        }
    });
    let left = inserted.load(Ordering::Relaxed) - removed.load(Ordering::Relaxed);
    assert_eq!(table.len() as u64, left);
    assert_eq!(alive.load(Ordering::Relaxed) as u64, left, "nothing is lost");
    for id in 0..ids as u32 {
        seen.fetch_add(table.remove(id).map_or(0, |object| object.visits), Ordering::Relaxed);
    }
    assert_eq!(seen.load(Ordering::Relaxed), visits.load(Ordering::Relaxed), "no visit is lost");
    assert!(table.is_empty());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    table.domain().barrier();
    assert_eq!(table.domain().pending(), 0);
}

#[test]
fn threads_lose_nothing_and_nobody_sees_a_removed_object() {
    for ids in [1, 4, 100] {
        torture::<Rcu>(ids);
        torture::<Locked>(ids);
    }
}

#[test]
fn look_ups_inside_a_guard_that_is_kept_need_no_other() {
    let table: lockyard_tables::IdTable<u64> = IdTable::new();
    let mut guard = table.domain().enter();
    for round in 0..1_000 {
        let id = table.insert(round).unwrap();
        assert_eq!(table.lock_in(&guard, id).as_deref(), Some(&round));
        assert_eq!(table.lock_in(&guard, id).map(|entry| entry.remove()), Some(round));
        assert!(table.lock_in(&guard, id).is_none());
        guard.pass_quiescent_state();
    }
    assert!(table.domain().pending() <= 192, "{} wait", table.domain().pending());
    drop(guard);
    let other: lockyard_tables::IdTable<u64> = IdTable::new();
    let id = table.insert(1).unwrap();
    let of_other = other.domain().enter();
    let refused = catch_unwind(AssertUnwindSafe(|| table.lock_in(&of_other, id).is_some()));
    assert!(refused.is_err(), "a guard of another domain protects nothing here");
}

#[test]
fn at_a_million_the_bytes_for_each_object_are_what_is_said() {
    const MILLION: usize = 1_000_000;
    Counted::counting(|| {
        let before = Counted::bytes();
        let table = IdTable::<u64, Rcu, Counted>::new();
        for value in 0..MILLION {
            assert_eq!(table.insert(value as u64).unwrap(), value as u32);
        }
        let bytes = (Counted::bytes() - before) as usize;
        let object = IdTable::<u64, Rcu, Counted>::object_bytes();
        let records = table.domain().record_bytes();
        assert_eq!(bytes, MILLION * object + table.table_bytes() + records);
        println!(
            "{MILLION} objects of 8 bytes: {:.2} bytes each: {object} for the object, {:.2} for \
             the table",
            bytes as f64 / MILLION as f64,
            table.table_bytes() as f64 / MILLION as f64,
        );
        assert_eq!(object - size_of::<Option<u64>>(), 32);
        // 2^20 - 16 entries of 8 bytes, and a bit for each plus the higher levels of the bitmap.
        assert_eq!(table.table_bytes(), 8 * ((1 << 20) - 16) + 133_232);

        // The size stays the same under churn: each object is replaced about three times.
        let mut random = Random(1);
        let mut most = 0;
        for _ in 0..3 * MILLION {
            let id = random.below(MILLION as u64) as u32;
            let value = table.remove(id).unwrap();
            assert_eq!(table.insert(value).unwrap(), id);
            most = most.max(Counted::bytes() - before);
        }
        assert_eq!(table.len(), MILLION);
        let waiting = 192 * object as i64;
        println!("the most under churn: {:.2} bytes each", most as f64 / MILLION as f64);
        assert!(most <= bytes as i64 + records as i64 + 24 * 64 + waiting, "{most} after {bytes}");
    });
}

#[test]
fn it_is_a_static_as_well() {
    static TABLE: IdTable<String, Locked, Native> = IdTable::with_limit(10);
    let id = TABLE.insert("static".into()).unwrap();
    assert_eq!(TABLE.lock(id).as_deref().map(String::as_str), Some("static"));
    assert!(format!("{TABLE:?}").contains("locked"));
    assert!(Native::slot().is_some());
}

#[test]
fn what_a_context_switches_off_is_off_while_any_lock_or_guard_of_the_table_is_held() {
    fn check<V: Variant>(of_an_entry: u32) {
        let table = IdTable::<Witness, V, Native, NoPreemption>::new();
        for round in 0..3 {
            let id = table.insert(Witness).ok().unwrap();
            assert_eq!((id, OFF.get()), (0, 0));
            let entry = table.lock(id).unwrap();
            assert_eq!(OFF.get(), of_an_entry);
            if round == 1 {
                drop(entry.remove());
            } else {
                drop(entry);
                assert_eq!(OFF.get(), 0);
                drop(table.remove(id));
            }
            assert_eq!(OFF.get(), 0);
            assert!(table.lock(id).is_none() && table.remove(id).is_none());
            assert_eq!(OFF.get(), 0);
        }
        table.domain().barrier();
        assert_eq!(OFF.get(), 0);
        table.insert(Witness).ok().unwrap();
    }
    check::<Rcu>(2);
    check::<Locked>(2);
}

#[test]
fn a_context_that_restores_what_was_before_nests_in_a_table_with_one_lock() {
    thread_local!(static ON: std::cell::Cell<bool> = const { std::cell::Cell::new(true) });
    struct SavesFlags;
    impl Context for SavesFlags {
        type State = bool;
        fn enter() -> bool {
            ON.replace(false)
        }
        fn leave(before: bool) {
            ON.set(before);
        }
    }
    fn check<V: Variant>() {
        let table = IdTable::<u32, V, Native, SavesFlags>::new();
        let id = table.insert(7).unwrap();
        let entry = table.lock(id).unwrap();
        assert!(!ON.get(), "while the object is locked");
        drop(entry);
        assert!(ON.get(), "afterwards");
        assert!(table.lock(id + 1).is_none() && ON.get());
        assert_eq!((table.remove(id), ON.get()), (Some(7), true));
    }
    check::<Rcu>();
    check::<Locked>();
}

#[test]
fn as_many_objects_may_be_held_as_there_are() {
    const OBJECTS: u32 = 5_000; // more than the guards that a record of the table's domain counts
    let table: lockyard_tables::IdTable<u32> = IdTable::new();
    let ids: Vec<u32> = (0..OBJECTS).map(|n| table.insert(n).unwrap()).collect();
    let held: Vec<_> = ids.iter().map(|&id| table.lock(id).unwrap()).collect();
    assert!(held.iter().zip(0..).all(|(entry, n)| **entry == n));
    drop(held);
    assert!(ids.iter().all(|&id| table.remove(id) == Some(id)));
    table.domain().barrier();
    assert_eq!(table.domain().pending(), 0);
}
