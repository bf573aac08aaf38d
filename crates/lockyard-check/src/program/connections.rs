//! The program for a connection table. Threads look up, insert, remove, renew and expire
//! connections that share a chain.

use super::parts::{Outcome, Program, Seen, linger, read, write};
use crate::finding::{COUNT, FREED};
use crate::{hooks, ration};
use lockyard::platform::{Cell, DataCell, HostWithSlots};
use lockyard_tables::connections::{
    Bits, Connection, ConnectionTable, Direction, LookUp, Seed, Tuple, Why,
};
use std::alloc::Layout;
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering as Plain};

/// Operation of a thread on the table. Connections 0, 1, ... are in the table at the beginning, and
/// in the chain. The connection with the highest number is in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnOp {
    /// Looks the connection up and uses it.
    LookUp(usize),
    /// Inserts the connection, if it is not there.
    Insert(usize),
    /// Inserts the connection and removes it again.
    InsertRemove(usize),
    /// Removes the connection, if it is there.
    Remove(usize),
    /// Looks the connection up and renews it.
    Renew(usize),
    /// Removes the connections that were not renewed.
    Expire,
}

impl ConnOp {
    /// Returns true if the operation may remove connection `k`.
    fn may_remove(self, k: usize) -> bool {
        self == ConnOp::Remove(k) || self == ConnOp::InsertRemove(k) || self == ConnOp::Expire
    }
}

const KEYS: usize = 3;
const ALIVE: u64 = 7;
const DEADLINE: u64 = 5;

/// A value that must not be used after its drop, and must be dropped once.
pub(super) struct Canary<H: HostWithSlots> {
    state: Cell<H, u64>,
    alive: Arc<AtomicI64>,
}

impl<H: HostWithSlots> Canary<H> {
    pub(super) fn new(alive: &Arc<AtomicI64>) -> Self {
        alive.fetch_add(1, Plain::Relaxed);
        Canary { state: DataCell::new(ALIVE), alive: Arc::clone(alive) }
    }

    /// Drops a value that was never in the table. A simulated machine cannot do this, as it knows
    /// no memory outside the table.
    fn was_refused(self) {
        self.alive.fetch_sub(1, Plain::Relaxed);
        let canary = std::mem::ManuallyDrop::new(self);
        // SAFETY: the canary is not used again, and is not dropped.
        drop(unsafe { std::ptr::read(&raw const canary.alive) });
    }

    pub(super) fn must_be_alive(&self) {
        assert!(read(&self.state) == ALIVE, "{FREED}an object is used after its last reference");
    }
}

impl<H: HostWithSlots> Drop for Canary<H> {
    fn drop(&mut self) {
        // A panic that unwinds has already reported a finding.
        if !std::thread::panicking() {
            self.must_be_alive();
            write(&self.state, 0);
        }
        self.alive.fetch_sub(1, Plain::Relaxed);
    }
}

/// A table in memory from the host. The program uses the table before the program itself has its
/// final address, and a simulated machine knows only memory from its host.
struct Placed<P: LookUp<H>, H: HostWithSlots>(NonNull<ConnectionTable<Canary<H>, P, H>>);

// SAFETY: it owns the table, which is `Send` and `Sync`.
unsafe impl<P: LookUp<H>, H: HostWithSlots> Send for Placed<P, H> {}
// SAFETY: as above.
unsafe impl<P: LookUp<H>, H: HostWithSlots> Sync for Placed<P, H> {}

impl<P: LookUp<H>, H: HostWithSlots> Placed<P, H> {
    fn new(table: ConnectionTable<Canary<H>, P, H>) -> Self {
        let memory = H::allocate(Layout::for_value(&table), None).expect("there is memory").cast();
        // SAFETY: the memory is for a table.
        unsafe { memory.write(table) };
        Placed(memory)
    }
}

impl<P: LookUp<H>, H: HostWithSlots> Deref for Placed<P, H> {
    type Target = ConnectionTable<Canary<H>, P, H>;
    fn deref(&self) -> &Self::Target {
        // SAFETY: alive until `drop`.
        unsafe { self.0.as_ref() }
    }
}

impl<P: LookUp<H>, H: HostWithSlots> Drop for Placed<P, H> {
    fn drop(&mut self) {
        let layout = Layout::for_value(&**self);
        // SAFETY: made by `new` with this layout, and no longer used.
        unsafe {
            self.0.drop_in_place();
            H::deallocate(self.0.cast(), layout);
        }
    }
}

/// Threads that use one table of two buckets. `THERE` connections are in it at the beginning. If
/// there are none, the first insertion makes the buckets, and connections may be in either.
pub struct ConnProgram<P: LookUp<H>, H: HostWithSlots, const THERE: usize> {
    table: Placed<P, H>,
    keys: [Tuple; KEYS],
    ops: Vec<ConnOp>,
    seen: Seen,
    /// Number of values that were made and not dropped.
    alive: Arc<AtomicI64>,
    /// Insertions minus removals of each connection, counted by the threads that did them.
    there: [AtomicI64; KEYS],
}

fn tuple(number: u32) -> Tuple {
    let end = |last, port| (Ipv4Addr::new(10, 0, 0, last).into(), port);
    Tuple { protocol: 6, source: end(1, number as u16), destination: end(2, 80) }
}

impl<P: LookUp<H>, H: HostWithSlots, const THERE: usize> ConnProgram<P, H, THERE> {
    fn insert(&self, thread: usize, k: usize) -> Option<Connection<'_, Canary<H>, P, H>> {
        match self.table.insert(&self.keys[k], Canary::new(&self.alive), DEADLINE) {
            Ok(connection) => {
                self.there[k].fetch_add(1, Plain::Relaxed);
                self.seen.note(thread, 1);
                Some(connection)
            }
            Err(refused) => {
                refused.value.was_refused();
                let Why::Exists(there) = refused.why else {
                    self.seen.note(thread, 2);
                    return None;
                };
                there.must_be_alive();
                self.seen.note(thread, 0);
                None
            }
        }
    }

    fn remove(&self, thread: usize, k: usize) {
        let removed = self.table.remove(&self.keys[k]);
        self.seen.note(thread, i64::from(removed.is_some()));
        if let Some(removed) = removed {
            self.there[k].fetch_sub(1, Plain::Relaxed);
            assert!(removed.tuple() == self.keys[k], "{COUNT}another connection was removed");
            removed.must_be_alive();
            assert!(removed.deadline().is_none() && !removed.remove(), "{COUNT}removed twice");
        }
    }

    /// Returns true if connection `k` must be in the table all the time.
    fn must_be_there(&self, k: usize) -> bool {
        k < THERE && !self.ops.iter().any(|op| op.may_remove(k))
    }

    fn find(&self, k: usize) -> Option<Connection<'_, Canary<H>, P, H>> {
        // Every second connection is looked up by a packet of the reply direction.
        let reply = k.is_multiple_of(2);
        let packet = if reply { self.keys[k].reversed() } else { self.keys[k] };
        let Some((found, direction)) = self.table.look_up(&packet) else {
            assert!(!self.must_be_there(k), "{COUNT}connection {k} is there and was not found");
            return None;
        };
        found.must_be_alive();
        assert!(found.tuple() == self.keys[k], "{COUNT}another connection was found");
        assert!((direction == Direction::Reply) == reply, "{COUNT}it goes {direction:?}");
        Some(found)
    }
}

impl<P: LookUp<H>, H: HostWithSlots, const THERE: usize> Program for ConnProgram<P, H, THERE> {
    type Op = ConnOp;

    fn new(ops: &[ConnOp], _rounds: u32) -> Self {
        hooks::free_nothing();
        ration::begin();
        let alive = Arc::new(AtomicI64::new(0));
        let table = Placed::new(ConnectionTable::with_bits(Bits::MIN, Some(Seed::new(1))));
        if THERE > 0 {
            table.start().expect("there is memory");
        }
        let mut one_bucket =
            (1..).map(tuple).filter(|tuple| matches!(table.bucket_of(tuple), None | Some(0)));
        let keys = std::array::from_fn(|_| one_bucket.next().expect("there are more"));
        for key in &keys[..THERE] {
            let inserted = table.insert(key, Canary::new(&alive), DEADLINE);
            assert!(inserted.is_ok(), "there is memory");
        }
        let there = std::array::from_fn(|k| AtomicI64::new(i64::from(k < THERE)));
        let (ops, seen) = (ops.to_vec(), Seen::new(ops.len()));
        ConnProgram { table, keys, ops, seen, alive, there }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            ConnOp::LookUp(k) => {
                let found = self.find(k);
                self.seen.note(thread, i64::from(found.is_some()));
                linger::<H>();
                if let Some(found) = found {
                    found.clone().must_be_alive();
                }
            }
            ConnOp::Insert(k) => {
                if let Some(new) = self.insert(thread, k) {
                    new.must_be_alive();
                }
            }
            ConnOp::InsertRemove(k) => {
                if let Some(new) = self.insert(thread, k) {
                    linger::<H>();
                    if new.remove() {
                        self.there[k].fetch_sub(1, Plain::Relaxed);
                    }
                    new.must_be_alive();
                }
            }
            ConnOp::Remove(k) => self.remove(thread, k),
            ConnOp::Renew(k) => {
                let renewed = self.find(k).map(|found| {
                    let renewed = found.renew(2 * DEADLINE);
                    found.must_be_alive();
                    renewed
                });
                self.seen.note(thread, renewed.map_or(2, i64::from));
                // A renewal is kept: from now on only an explicit removal removes the connection.
                if renewed == Some(true) && !self.ops.contains(&ConnOp::Remove(k)) {
                    let there = self.table.look_up(&self.keys[k]);
                    assert!(there.is_some(), "{COUNT}a connection expired that was renewed");
                }
            }
            ConnOp::Expire => {
                let expired = self.table.expire(DEADLINE, usize::MAX, |gone| {
                    gone.must_be_alive();
                    let k = self.keys.iter().position(|key| *key == gone.tuple());
                    self.there[k.expect("it is one of them")].fetch_sub(1, Plain::Relaxed);
                    assert!(!gone.renew(3 * DEADLINE), "{COUNT}it is out of the table");
                });
                self.seen.note(thread, expired as i64);
            }
        }
    }

    fn finish(&self) {
        let mut sum = 0;
        for (k, there) in self.there.iter().enumerate() {
            let there = there.load(Plain::Relaxed);
            let found = i64::from(self.find(k).is_some());
            assert!(found == there, "{COUNT}connection {k}: {there} should be there, {found} is");
            sum += there;
        }
        let (len, alive) = (self.table.len() as i64, self.alive.load(Plain::Relaxed));
        assert!(
            len == sum && alive == sum,
            "{COUNT}{sum} connections, {len} entries, {alive} values"
        );
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        outcome.extend(self.there.iter().map(|there| there.load(Plain::Relaxed)));
        outcome
    }
}
