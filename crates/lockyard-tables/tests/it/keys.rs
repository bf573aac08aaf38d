//! Tables with any keys on the native host: random operations beside a `HashMap`, replacement under
//! look-ups, iteration, faults, and real threads. The tests are bounded by operations, not by time.

use crate::buffers::Random;
use crate::buffers::faults::Value;
use crate::support::Counted;
use lockyard::Native;
use lockyard_tables::connections::{
    Bits, Connections, Held, InPlace, Locked, LookUp, NEVER, Rcu, Seed,
};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Performs random operations on a table and on a map, which must agree after each.
// Longer than a screen, because it has one arm for each operation.
fn behaves<P: LookUp<Native>>(bits: u32, seed: u64) {
    let table: Connections<String, u64, Seed, P> =
        Connections::with_hasher(Bits::new(bits).unwrap(), Seed::new(5));
    let mut random = Random(seed);
    // The value and the deadline of each key.
    let mut model: HashMap<String, (u64, u64)> = HashMap::new();
    let mut kept: Vec<(Held<'_, String, u64, Seed, P>, u64)> = Vec::new();
    let mut now = 100;
    for step in 0..6_000u64 {
        let at = format!("seed {seed} step {step}");
        let key = format!("key {}", random.below(40));
        let there = model.get(&key).copied();
        let value = there.map(|(value, _)| value);
        match random.below(12) {
            0 | 1 => {
                let old = table.insert(key.clone(), step).expect("there is memory");
                assert_eq!(old.as_deref().copied(), value, "{at}");
                assert!(old.is_none_or(|old| old.deadline().is_none() && !old.remove()), "{at}");
                model.insert(key, (step, NEVER));
            }
            2 => {
                let until = now + random.below(30);
                match table.try_insert_until(key.clone(), step, until) {
                    Ok(new) => {
                        assert_eq!((value, *new, new.key()), (None, step, &key), "{at}");
                        model.insert(key, (step, until));
                        kept.push((new, step));
                    }
                    Err(refused) => {
                        assert_eq!((&refused.key, refused.value), (&key, step), "{at}");
                        assert_eq!(refused.there.as_deref().copied(), value, "{at}");
                        assert!(value.is_some(), "{at}");
                    }
                }
            }
            3..5 => {
                let found = table.get(key.as_str());
                assert_eq!(found.as_deref().copied(), value, "{at}");
                assert_eq!(found.as_ref().and_then(Held::deadline), there.map(|t| t.1), "{at}");
                assert_eq!(table.contains_key(&key), there.is_some(), "{at}");
                kept.extend(found.zip(value));
            }
            5 => {
                let removed = table.remove(key.as_str());
                assert_eq!(removed.as_deref().copied(), value, "{at}");
                model.remove(&key);
            }
            6 => {
                let leaves = random.below(2) == 0;
                let removed = table.remove_if(key.as_str(), |_| leaves);
                assert_eq!(removed.as_deref().copied(), value.filter(|_| leaves), "{at}");
                if leaves {
                    model.remove(&key);
                }
            }
            7 => {
                let made = table.get_or_insert_with(key.clone(), || step).expect("memory");
                assert_eq!(*made, value.unwrap_or(step), "{at}");
                model.entry(key).or_insert((step, NEVER));
            }
            8 => {
                let new = table.update(key.as_str(), |old| old + 1).expect("there is memory");
                assert_eq!(new.as_deref().copied(), value.map(|value| value + 1), "{at}");
                assert_eq!(new.as_ref().and_then(Held::deadline), there.map(|t| t.1), "{at}");
                if let Some((value, _)) = model.get_mut(&key) {
                    *value += 1;
                }
            }
            9 if random.below(20) == 0 => {
                now += random.below(20);
                let gone = table.expire(now, usize::MAX, |_| ());
                let before = model.len();
                model.retain(|_, (_, until)| *until > now);
                assert_eq!(gone, before - model.len(), "{at}");
            }
            9 if random.below(40) == 0 => {
                table.clear();
                model.clear();
            }
            10 => {
                let until = now + random.below(60);
                if let Some(found) = table.get(&key) {
                    assert!(found.renew(until), "{at}");
                    let (_, deadline) = model.get_mut(&key).expect(&at);
                    *deadline = until.max(*deadline);
                }
            }
            _ if !kept.is_empty() => {
                // Handles stay valid in any case.
                let (held, value) = kept.swap_remove(random.below(kept.len() as u64) as usize);
                assert_eq!(*held.clone(), value, "{at}");
            }
            _ => {}
        }
        assert_eq!(table.len(), model.len(), "{at}");
        assert_eq!(table.occupancy().entries, model.len(), "{at}");
    }
    assert!(model.len() > 5);
    for (key, (value, _)) in &model {
        assert_eq!(table.get(key).as_deref(), Some(value));
    }
}

#[test]
fn a_table_behaves_as_a_map() {
    for seed in 1..=4 {
        for bits in [1, 4, 10] {
            behaves::<Rcu>(bits, seed);
            behaves::<InPlace>(bits, seed);
            behaves::<Locked>(bits, seed);
        }
    }
}

type Table<K, V> = lockyard_tables::Connections<K, V>;

#[test]
fn reading_in_place_and_iterating_see_what_is_there() {
    let table: Table<u32, String> = Table::new(Bits::new(3).unwrap());
    assert_eq!(table.read(&1, String::len), None);
    assert_eq!(table.reader().iter().count(), 0);
    for key in 0..100 {
        assert!(table.insert(key, format!("{key}")).unwrap().is_none());
    }
    let mut reader = table.reader();
    let mut seen: Vec<(u32, String)> = reader.iter().map(|(k, v)| (*k, v.clone())).collect();
    seen.sort();
    assert!(seen.iter().map(|s| s.0).eq(0..100));
    assert!(seen.iter().all(|(key, value)| *value == format!("{key}")));
    // A value that was found stays while the reader does, even if it leaves the table.
    let found = reader.get(&7).unwrap();
    assert!(table.remove(&7).is_some() && table.get(&7).is_none());
    assert_eq!(found, "7");
    assert!(reader.get(&7).is_none());
    reader.pass_quiescent_state();
    assert_eq!(reader.get(&8).map(String::as_str), Some("8"));
    drop(reader);
    table.retain(|key, value| key % 2 == 0 && value.len() == 2);
    assert_eq!(table.len(), 45);
    assert!((10..100).step_by(2).all(|key| table.contains_key(&key)));
    table.clear();
    assert!(table.is_empty() && table.reader().iter().next().is_none());
}

/// While one thread replaces values, a key that is never removed is always found, and its values
/// come in order. Other threads insert and remove in the same chains.
fn replaced_values_leave_no_gap<P: LookUp<Native>>(
    find: impl Fn(&Connections<u32, u64, Seed, P>, u32) -> Option<u64> + Sync,
) {
    const CHANGES: u64 = 20_000;
    let table: Connections<u32, u64, Seed, P> = Connections::with_hasher(Bits::MIN, Seed::new(3));
    for key in 0..8 {
        assert!(table.insert(key, 0).unwrap().is_none());
    }
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (table, over, find) = (&table, &over, &find);
        scope.spawn(move || {
            for change in 1..=CHANGES {
                let key = change as u32 % 4;
                if change % 2 == 0 {
                    let old = table.insert(key, change).unwrap();
                    assert!(old.is_some_and(|old| *old < change));
                } else {
                    let new = table.update(&key, |_| change).unwrap();
                    assert_eq!(new.as_deref(), Some(&change));
                }
                if change % 16 == 0 {
                    thread::yield_now();
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        scope.spawn(move || {
            let mut key = 100;
            while !over.load(Ordering::Relaxed) {
                key += 1;
                assert!(table.insert(key, 0).unwrap().is_none());
                let (first, second) = (4 + key % 4, table.remove(&key));
                assert!(second.is_some() && table.remove(&first).is_some());
                assert!(table.insert(first, 0).unwrap().is_none());
                thread::yield_now();
            }
        });
        for _ in 0..2 {
            scope.spawn(move || {
                let mut last = [0; 4];
                while !over.load(Ordering::Relaxed) {
                    for (key, last) in last.iter_mut().enumerate() {
                        let found = find(table, key as u32).expect("it is always there");
                        assert!(found >= *last, "{found} after {last}");
                        *last = found;
                    }
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(table.len(), 8);
}

#[test]
fn a_key_whose_value_is_replaced_is_always_found() {
    replaced_values_leave_no_gap::<InPlace>(|table, key| table.read(&key, |value| *value));
    replaced_values_leave_no_gap::<InPlace>(|table, key| table.get(&key).as_deref().copied());
    replaced_values_leave_no_gap::<Rcu>(|table, key| table.get(&key).as_deref().copied());
    replaced_values_leave_no_gap::<Locked>(|table, key| table.get(&key).as_deref().copied());
}

/// Threads add to the same counters; no addition is lost.
#[test]
fn updates_of_threads_are_all_kept() {
    const EACH: u64 = 3_000;
    let table: Table<&str, u64> = Table::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..EACH {
                    let key = ["a", "b"][round as usize % 2];
                    table.get_or_insert_with(key, || 0).unwrap();
                    assert!(table.update(key, |sum| sum + 1).unwrap().is_some());
                    if round % 32 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    let sums = ["a", "b"].map(|key| table.read(key, |sum| *sum));
    assert_eq!(sums, [Some(3 * EACH / 2); 2]);
}

/// An iteration shows each entry that stays, once, while others come and go and are replaced.
#[test]
fn an_iteration_misses_nothing_that_stays() {
    let table: Table<u32, u32> = Table::new(Bits::new(4).unwrap());
    for key in 0..64 {
        assert!(table.insert(key, 0).unwrap().is_none());
    }
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (table, over) = (&table, &over);
        scope.spawn(move || {
            for round in 0..20_000 {
                let other = 64 + round % 64;
                assert!(table.insert(other, 1).unwrap().is_none());
                assert!(table.insert(round % 64, round).unwrap().is_some());
                assert!(table.remove(&other).is_some());
            }
            over.store(true, Ordering::Relaxed);
        });
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let reader = table.reader();
                let mut seen = [0; 64];
                let stays = reader.iter().filter(|(key, _)| **key < 64);
                stays.for_each(|(key, _)| seen[*key as usize] += 1);
                assert_eq!(seen, [1; 64]);
            }
        });
    });
}

/// A hasher whose hashes are the keys themselves.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are words");
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

#[test]
fn the_default_hash_is_seeded_and_a_weak_one_still_fills_all_buckets() {
    assert_ne!(Seed::default().hash_one(1), Seed::default().hash_one(1));
    let table: lockyard_tables::Connections<u64, (), BuildHasherDefault<Identity>> =
        Connections::with_hasher(Bits::for_connections(4096), Default::default());
    assert_eq!(table.capacity(), 4096);
    for key in 0..4096 {
        table.insert(key, ()).unwrap();
    }
    let all = table.occupancy();
    assert_eq!((all.buckets, all.entries), (4096, 4096));
    assert!(all.longest <= 4 && all.empty < 2048, "{all:?}");
}

/// A key that panics when it is compared, on demand.
#[derive(Clone, Debug)]
struct Panics(u32, Arc<AtomicBool>);

impl Hash for Panics {
    fn hash<S: Hasher>(&self, state: &mut S) {
        state.write_u32(self.0 % 2);
    }
}
impl PartialEq for Panics {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.1.load(Ordering::Relaxed), "the caller's");
        self.0 == other.0
    }
}
impl Eq for Panics {}

fn a_panic_leaves_the_table_as_it_was<P: LookUp<Native>>() {
    let (panics, living) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let key = |number| Panics(number, Arc::clone(&panics));
    let table: Connections<Panics, Value, Seed, P> =
        Connections::with_hasher(Bits::MIN, Seed::new(1));
    for number in 0..4 {
        assert!(table.insert(key(number), Value::new(&living)).unwrap().is_none());
    }
    panics.store(true, Ordering::Relaxed);
    let operations: [&dyn Fn(); 6] = [
        &|| drop(table.insert(key(1), Value::new(&living))),
        &|| drop(table.try_insert(key(1), Value::new(&living))),
        &|| drop(table.remove(&key(1))),
        &|| drop(table.get(&key(1))),
        &|| drop(table.update(&key(1), |_| Value::new(&living))),
        &|| drop(table.get_or_insert_with(key(9), || Value::new(&living))),
    ];
    for operation in operations {
        assert!(catch_unwind(AssertUnwindSafe(operation)).is_err());
        assert_eq!((table.len(), living.load(Ordering::Relaxed)), (4, 4));
    }
    panics.store(false, Ordering::Relaxed);
    let caller = || {
        catch_unwind(AssertUnwindSafe(|| {
            table.update(&key(1), |_| panic!("the caller's")).map(|new| new.is_some())
        }))
    };
    assert!(caller().is_err());
    for number in 0..4 {
        assert!(table.remove(&key(number)).is_some(), "the locks are free");
    }
    drop(table);
    assert_eq!(living.load(Ordering::Relaxed), 0);
}

#[test]
fn a_key_that_panics_when_it_is_compared_leaves_the_table_as_it_was() {
    a_panic_leaves_the_table_as_it_was::<Rcu>();
    a_panic_leaves_the_table_as_it_was::<InPlace>();
    a_panic_leaves_the_table_as_it_was::<Locked>();
}

/// A key whose hash is another one each time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fickle(u32);

impl Hash for Fickle {
    fn hash<S: Hasher>(&self, state: &mut S) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        state.write_usize(CALLS.fetch_add(1, Ordering::Relaxed));
    }
}

/// Tables then find less, or keep a key twice. All memory is still freed once.
#[test]
fn a_hash_that_changes_makes_wrong_results_and_nothing_worse() {
    use lockyard_tables::buffers::Configuration;
    let living = Arc::new(AtomicUsize::new(0));
    let table: Table<Fickle, Value> = Table::new(Bits::new(2).unwrap());
    let cache: lockyard_tables::BufferCache<Fickle, Value> =
        lockyard_tables::BufferCache::new(Configuration::DEFAULT.with_limit(300));
    let mut found = 0;
    for number in 0..3_000 {
        let key = Fickle(number % 40);
        found += u32::from(table.insert(key.clone(), Value::new(&living)).unwrap().is_some());
        found += u32::from(table.remove(&key).is_some());
        found += u32::from(table.get(&key).is_some_and(|held| held.remove()));
        let got = cache.get_or_fill(key.clone(), || Ok::<_, ()>(Value::new(&living)));
        assert!(got.is_ok_and(|got| number % 3 > 0 || got.remove()));
        found += u32::from(cache.remove(&key).is_some());
    }
    assert!(found > 100, "{found}");
    drop((table, cache));
    assert_eq!(living.load(Ordering::Relaxed), 0);
}

/// Threads do everything at once; then each key and value is dropped once.
fn torture<P: LookUp<Native>>(bits: u32) {
    let living = Arc::new(AtomicUsize::new(0));
    let table: Connections<Box<u64>, Value, Seed, P> =
        Connections::with_hasher(Bits::new(bits).unwrap(), Seed::new(2));
    thread::scope(|scope| {
        for me in 1..=4 {
            let (table, living) = (&table, &living);
            scope.spawn(move || {
                let mut random = Random(me * 7919);
                let mut kept = Vec::new();
                for round in 0..4_000 {
                    let key = Box::new(random.below(32));
                    match random.below(8) {
                        0 => kept.extend(table.insert(key, Value::new(living)).unwrap()),
                        1 => drop(table.try_insert_until(key, Value::new(living), round)),
                        2 => kept.extend(table.update(&key, |_| Value::new(living)).unwrap()),
                        3 => drop(table.remove(&key)),
                        4 => drop(table.remove_if(&key, |_| round % 2 == 0)),
                        5 => {
                            table.expire(round, 3, |gone| assert!(**gone.key() < 32));
                        }
                        _ => {
                            if let Some(found) = table.get(&key) {
                                assert!(
                                    found.key() == &key && found.living.load(Ordering::Relaxed) > 0
                                );
                                kept.push(found);
                            }
                        }
                    }
                    kept.truncate(8);
                    if round % 32 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert!(living.load(Ordering::Relaxed) >= table.len());
    table.clear();
    assert!(table.is_empty());
    drop(table);
    assert_eq!(living.load(Ordering::Relaxed), 0);
}

#[test]
fn threads_that_do_everything_at_once_lose_nothing() {
    for bits in [1, 4] {
        torture::<Rcu>(bits);
        torture::<InPlace>(bits);
        torture::<Locked>(bits);
    }
}

/// Whichever allocation fails, the operation is refused, returns what it got, and changes nothing.
#[test]
fn without_memory_nothing_changes_and_nothing_leaks() {
    use crate::support::failing::Failing;
    type Host = Counted<0>;
    Host::counting(|| {
        for failing in 0..8 {
            let table: Connections<String, Vec<u32>, Seed, InPlace, Host> =
                Connections::with_hasher(Bits::MIN, Seed::new(1));
            let (refused, failed) = Failing::after(failing, || {
                let mut refused = 0;
                for number in 0..4 {
                    let before = table.len();
                    if let Err(error) = table.insert(number.to_string(), vec![number]) {
                        assert!(error.there.is_none() && table.len() == before);
                        assert_eq!((error.key, error.value), (number.to_string(), vec![number]));
                        refused += 1;
                    }
                }
                refused += u32::from(table.update("0", |_| vec![9]).is_err());
                refused
            });
            // The domain of the look-ups allocates too, and can do without.
            assert!(refused <= u32::from(failed), "{failing}");
            assert!(failing > 4 || failed, "{failing}");
        }
    });
}

/// Memory is steady while entries come and go, and what waits is bounded.
#[test]
fn memory_is_steady_under_churn() {
    let table: Table<u64, u64> = Table::new(Bits::DEFAULT);
    let mut most = 0;
    for round in 0..20_000 {
        table.insert(round % 500, round).unwrap();
        most = most.max(table.waiting());
        if round % 3 == 0 {
            assert!(table.remove(&(round % 500)).is_some());
        }
    }
    assert!(most <= 192, "{most} entries waited");
    assert_eq!(Table::<u64, u64>::bytes_of_an_entry(), 64);
    assert_eq!(Connections::<u64, u64, Seed, Rcu>::bytes_of_an_entry(), 48);
    assert_eq!(Connections::<u64, u64, Seed, Locked>::bytes_of_an_entry(), 40);
}
