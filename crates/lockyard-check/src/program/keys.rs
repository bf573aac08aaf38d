//! The program for a table with any keys. Threads read in place, look up, replace, update, insert
//! and remove entries that share a chain.

use super::connections::Canary;
use super::parts::{Outcome, Program, Seen, linger};
use crate::finding::COUNT;
use crate::{hooks, ration};
use lockyard::lock::TestAndSet;
use lockyard::platform::HostWithSlots;
use lockyard_tables::connections::{Bits, Connections, InPlace};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering as Plain};

/// Operation of a thread on the table. Keys 0, 1, ... are in the table at the beginning, and in one
/// chain. The highest one is in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOp {
    /// Reads the value in place.
    Read(u32),
    /// Reads all values in place.
    ReadAll,
    /// Takes a reference, and uses it.
    Get(u32),
    /// Inserts the key, replacing the present entry.
    Replace(u32),
    /// Inserts the key, if it is not there.
    TryInsert(u32),
    /// Replaces the value by one computed from it, if the key is there.
    Update(u32),
    /// Removes the key, if it is there.
    Remove(u32),
}

impl KeyOp {
    /// Returns true if the operation may remove `key`.
    fn may_remove(self, key: u32) -> bool {
        self == KeyOp::Remove(key)
    }
}

/// The number of keys.
const KEYS: u32 = 3;

/// Threads that use one table of two buckets. `THERE` keys are in it at the beginning.
pub struct KeyProgram<H: HostWithSlots, const THERE: u32> {
    table: Connections<u32, Value<H>, OneChain, InPlace<TestAndSet>, H>,
    ops: Vec<KeyOp>,
    seen: Seen,
    alive: Arc<AtomicI64>,
    /// Insertions minus removals of each key, counted by the threads that did them.
    there: [AtomicI64; KEYS as usize],
}

/// A value, and the number of times that it was updated.
struct Value<H: HostWithSlots>(Canary<H>, i64);

/// A hasher that puts all keys into one chain.
#[derive(Clone, Default)]
struct OneChain;

impl std::hash::BuildHasher for OneChain {
    type Hasher = Zero;
    fn build_hasher(&self) -> Zero {
        Zero
    }
}

struct Zero;

impl std::hash::Hasher for Zero {
    fn write(&mut self, _: &[u8]) {}
    fn finish(&self) -> u64 {
        0
    }
}

impl<H: HostWithSlots, const THERE: u32> KeyProgram<H, THERE> {
    fn value(&self, updates: i64) -> Value<H> {
        Value(Canary::new(&self.alive), updates)
    }

    fn changed(&self, key: u32, by: i64) {
        self.there[key as usize].fetch_add(by, Plain::Relaxed);
    }

    /// Checks the value found for `key`: the number of its updates.
    fn found(&self, thread: usize, key: u32, updates: Option<i64>) {
        let must = key < THERE && !self.ops.iter().any(|op| op.may_remove(key));
        assert!(updates.is_some() || !must, "{COUNT}key {key} is there and was not found");
        self.seen.note(thread, updates.map_or(0, |updates| 1 + updates));
    }
}

impl<H: HostWithSlots, const THERE: u32> Program for KeyProgram<H, THERE> {
    type Op = KeyOp;

    fn new(ops: &[KeyOp], _rounds: u32) -> Self {
        hooks::free_nothing();
        ration::begin();
        let program = KeyProgram {
            table: Connections::with_hasher(Bits::MIN, OneChain),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            alive: Arc::new(AtomicI64::new(0)),
            there: std::array::from_fn(|key| AtomicI64::new(i64::from((key as u32) < THERE))),
        };
        for key in 0..THERE {
            let inserted = program.table.try_insert(key, program.value(0));
            assert!(inserted.is_ok(), "there is memory");
        }
        program
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            KeyOp::Read(key) => {
                let read = |value: &Value<H>| {
                    linger::<H>();
                    value.0.must_be_alive();
                    value.1
                };
                self.found(thread, key, self.table.read(&key, read));
            }
            KeyOp::ReadAll => {
                let mut updates = [None; KEYS as usize];
                let reader = self.table.reader();
                for (key, value) in reader.iter() {
                    value.0.must_be_alive();
                    updates[*key as usize] = Some(value.1);
                }
                for (key, updates) in (0..).zip(updates) {
                    self.found(thread, key, updates);
                }
            }
            KeyOp::Get(key) => {
                let held = self.table.get(&key);
                linger::<H>();
                let updates = held.map(|held| {
                    held.0.must_be_alive();
                    assert!(*held.key() == key, "{COUNT}another key was found");
                    held.1
                });
                self.found(thread, key, updates);
            }
            KeyOp::Replace(key) => {
                let old = self.table.insert(key, self.value(10));
                let Ok(old) = old else { unreachable!("there is memory") };
                self.changed(key, i64::from(old.is_none()));
                let updates = old.map(|old| {
                    old.0.must_be_alive();
                    assert!(!old.remove(), "{COUNT}a replaced entry was removed");
                    old.1
                });
                self.found(thread, key, updates);
            }
            KeyOp::TryInsert(key) => {
                let inserted = self.table.try_insert(key, self.value(0));
                self.changed(key, i64::from(inserted.is_ok()));
                self.seen.note(thread, i64::from(inserted.is_ok()));
            }
            KeyOp::Update(key) => {
                let new = self.table.update(&key, |old| {
                    old.0.must_be_alive();
                    self.value(old.1 + 1)
                });
                let Ok(new) = new else { unreachable!("there is memory") };
                self.found(thread, key, new.map(|new| new.1));
            }
            KeyOp::Remove(key) => {
                let removed = self.table.remove(&key);
                self.changed(key, -i64::from(removed.is_some()));
                self.seen.note(thread, removed.map_or(0, |removed| 1 + removed.1));
            }
        }
    }

    fn finish(&self) {
        let mut sum = 0;
        for key in 0..KEYS {
            let there = self.there[key as usize].load(Plain::Relaxed);
            let found = self.table.get(&key).map(|held| held.1);
            let is = i64::from(found.is_some());
            assert!(is == there, "{COUNT}key {key}: {there} should be there, {is} is");
            let count = |of: KeyOp| self.ops.iter().filter(|op| **op == of).count() as i64;
            let others = count(KeyOp::Replace(key)) + count(KeyOp::Remove(key));
            let updates = count(KeyOp::Update(key));
            assert!(
                key >= THERE || others > 0 || found == Some(updates),
                "{COUNT}key {key}: {updates} updates, {found:?} are kept"
            );
            sum += there;
        }
        let (len, alive) = (self.table.len() as i64, self.alive.load(Plain::Relaxed));
        let waiting = self.table.waiting() as i64;
        assert!(
            len == sum && (sum..=sum + waiting).contains(&alive),
            "{COUNT}{sum} keys, {len} entries, {alive} values, {waiting} wait"
        );
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        outcome.extend(self.there.iter().map(|there| there.load(Plain::Relaxed)));
        outcome
    }
}
