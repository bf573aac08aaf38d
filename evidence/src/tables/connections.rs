//! Connection tables. A connection is found by the tuple of a packet in either direction.
//!
//! Half of the packets have one direction, and half the other. A table that needs one key per
//! connection gets the tuple with its endpoints sorted. The sorting is part of the operation, as in
//! our table of packets. Each table hashes the same 40 bytes with the same SipHash, lockyard's
//! [`Seed`], and a random key.

use super::look_up::{LookUp, Object, Session, room, table};
use super::subject::{SubjectRole, SubjectRow, rows};
use super::work::{Done, Load};
use lockyard::Native;
use lockyard_tables::Connections;
use lockyard_tables::connections::{self, Bits, ConnectionTable, NEVER, Seed, Tuple};
use seize::Guard as _;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Returns the tuple of connection `number`. For odd numbers, `packet` returns the tuple of a
/// reply.
fn tuple(number: u32) -> Tuple {
    let source: IpAddr = Ipv4Addr::from_bits(0x0a00_0000 + number / 8).into();
    let destination: IpAddr = Ipv4Addr::new(192, 0, 2, (number % 251) as u8).into();
    let port = 1024 + (number.wrapping_mul(40_503) % 60_000) as u16;
    Tuple { protocol: 6, source: (source, port), destination: (destination, 443) }
}

fn packet(number: u32) -> Tuple {
    let tuple = tuple(number);
    if number.is_multiple_of(2) { tuple } else { tuple.reversed() }
}

fn packets(load: &Load) -> Vec<Tuple> {
    (0..load.objects).map(packet).collect()
}

/// The key of a connection for tables with any keys, as in lockyard's: ports and protocol, then the
/// addresses, the lower endpoint first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key([u64; 5]);

impl Key {
    #[inline(always)]
    fn of(tuple: &Tuple) -> Key {
        let (lower, upper) = if tuple.source <= tuple.destination {
            (&tuple.source, &tuple.destination)
        } else {
            (&tuple.destination, &tuple.source)
        };
        let words = |address: IpAddr| match address {
            IpAddr::V4(v4) => (u64::from(v4.to_bits()), 0, 0),
            IpAddr::V6(v6) => (v6.to_bits() as u64, (v6.to_bits() >> 64) as u64, 1),
        };
        let ((a0, a1, a6), (b0, b1, b6)) = (words(lower.0), words(upper.0));
        let ports = u64::from(lower.1) | u64::from(upper.1) << 16;
        let first = ports | u64::from(tuple.protocol) << 32 | a6 << 40 | b6 << 41;
        Key([first, a0, a1, b0, b1])
    }
}

impl Hash for Key {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|&word| state.write_u64(word));
    }
}

const FULL: &str = "there is no memory for the table's connections";

/// Ours, with one or two buckets for each connection.
struct Ours<P: connections::LookUp<Native>>(ConnectionTable<Object, P>);

impl<P: connections::LookUp<Native>> LookUp for Ours<P> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let bits = Bits::for_connections(load.objects as usize);
        let table = ConnectionTable::with_bits(bits, None);
        for number in 0..load.objects {
            let object = Object::numbered(u64::from(number));
            table.insert(&tuple(number), object, NEVER).map_err(|_| FULL.to_owned())?;
        }
        Ok((Ours(table), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        self.0.look_up(tuple).map(|(connection, _)| connection.value)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let tuple = tuple(number);
        let inserted = self.0.insert(&tuple, Object::numbered(0), NEVER).is_ok();
        assert!(inserted && self.0.remove(&tuple).is_some(), "only this thread has the tuple");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// Ours with any keys, with a bucket or two for each object. `HOLDS` is true if a look-up takes a
/// reference, and false if it reads in place.
struct Keyed<const HOLDS: bool>(Connections<Key, Object>);

impl<const HOLDS: bool> LookUp for Keyed<HOLDS> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let table = Connections::with_capacity(room(load));
        for number in 0..load.objects {
            let object = Object::numbered(u64::from(number));
            table.insert(Key::of(&tuple(number)), object).map_err(|_| FULL.to_owned())?;
        }
        Ok((Keyed(table), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        let key = Key::of(tuple);
        if HOLDS {
            self.0.get(&key).map(|held| held.value)
        } else {
            self.0.read(&key, |object| object.value)
        }
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let key = Key::of(&tuple(number));
        assert!(self.0.insert(key, Object::numbered(0)).is_ok(), "{FULL}");
        assert!(self.0.remove(&key).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// A table where a thread can keep a reader or a guard.
trait Keep: LookUp<Key = Tuple> {
    /// As [`LookUp::session`], in one reader or guard, quiescent after each look-up.
    fn kept(&self, session: Session<Tuple>) -> Done;
}

/// The same table; each thread keeps one reader or guard.
struct Kept<T>(T);

impl<T: Keep> LookUp for Kept<T> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        T::filled(load).map(|(table, keys)| (Kept(table), keys))
    }
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        self.0.read(tuple)
    }
    fn change(&self, number: u32) {
        self.0.change(number);
    }
    fn session(&self, session: Session<Tuple>) -> Done {
        self.0.kept(session)
    }
    fn objects(&self) -> usize {
        self.0.objects()
    }
}

impl Keep for Keyed<false> {
    fn kept(&self, session: Session<Tuple>) -> Done {
        let mut reader = self.0.reader();
        let read = |tuple: &Tuple| {
            let found = reader.get(&Key::of(tuple)).map(|object| object.value);
            reader.pass_quiescent_state();
            found
        };
        session.run(read, |number| self.change(number))
    }
}

/// A value in a table: the object, or a reference to it that outlives its removal.
trait Value: Clone + Send + Sync + 'static {
    /// Result of a look-up: the value that was read in place, or a separate reference.
    type Found;
    fn numbered(number: u32) -> Self;
    fn find(&self) -> Self::Found;
    /// Reads the result, and drops it.
    fn read(found: Self::Found) -> u64;
}

impl Value for Object {
    type Found = u64;
    fn numbered(number: u32) -> Object {
        Object::numbered(u64::from(number))
    }
    #[inline(always)]
    fn find(&self) -> u64 {
        self.value
    }
    #[inline(always)]
    fn read(value: u64) -> u64 {
        value
    }
}

impl Value for Arc<Object> {
    type Found = Arc<Object>;
    fn numbered(number: u32) -> Arc<Object> {
        Arc::new(Object::numbered(u64::from(number)))
    }
    #[inline(always)]
    fn find(&self) -> Arc<Object> {
        Arc::clone(self)
    }
    #[inline(always)]
    fn read(found: Arc<Object>) -> u64 {
        found.value
    }
}

struct Papaya<V>(papaya::HashMap<Key, V, Seed>);

impl<V: Value> LookUp for Papaya<V> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let map = papaya::HashMap::with_capacity_and_hasher(room(load), Seed::random());
        for number in 0..load.objects {
            map.pin().insert(Key::of(&tuple(number)), V::numbered(number));
        }
        Ok((Papaya(map), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        let found = self.0.pin().get(&Key::of(tuple)).map(V::find);
        found.map(V::read)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let (map, key) = (self.0.pin(), Key::of(&tuple(number)));
        map.insert(key, V::numbered(0));
        assert!(map.remove(&key).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

impl Keep for Papaya<Object> {
    fn kept(&self, session: Session<Tuple>) -> Done {
        let mut guard = self.0.guard();
        let read = |tuple: &Tuple| {
            let found = self.0.get(&Key::of(tuple), &guard).map(|object| object.value);
            guard.refresh();
            found
        };
        session.run(read, |number| self.change(number))
    }
}

struct Dash<V>(dashmap::DashMap<Key, V, Seed>);

impl<V: Value> LookUp for Dash<V> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let map = dashmap::DashMap::with_capacity_and_hasher(room(load), Seed::random());
        for number in 0..load.objects {
            map.insert(Key::of(&tuple(number)), V::numbered(number));
        }
        Ok((Dash(map), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        let found = self.0.get(&Key::of(tuple)).map(|value| value.find());
        found.map(V::read)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let key = Key::of(&tuple(number));
        self.0.insert(key, V::numbered(0));
        assert!(self.0.remove(&key).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

struct SccMap<V>(scc::HashMap<Key, V, Seed>);

impl<V: Value> LookUp for SccMap<V> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let map = scc::HashMap::with_capacity_and_hasher(room(load), Seed::random());
        for number in 0..load.objects {
            let inserted = map.insert_sync(Key::of(&tuple(number)), V::numbered(number)).is_ok();
            assert!(inserted, "each key comes once");
        }
        Ok((SccMap(map), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        let found = self.0.read_sync(&Key::of(tuple), |_, value| value.find());
        found.map(V::read)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let key = Key::of(&tuple(number));
        let inserted = self.0.insert_sync(key, V::numbered(0)).is_ok();
        assert!(inserted && self.0.remove_sync(&key).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

struct SccIndex<V: 'static>(scc::HashIndex<Key, V, Seed>);

impl<V: Value> LookUp for SccIndex<V> {
    type Key = Tuple;

    fn filled(load: &Load) -> Result<(Self, Vec<Tuple>), String> {
        let map = scc::HashIndex::with_capacity_and_hasher(room(load), Seed::random());
        for number in 0..load.objects {
            let inserted = map.insert_sync(Key::of(&tuple(number)), V::numbered(number)).is_ok();
            assert!(inserted, "each key comes once");
        }
        Ok((SccIndex(map), packets(load)))
    }
    #[inline(always)]
    fn read(&self, tuple: &Tuple) -> Option<u64> {
        let found = self.0.peek_with(&Key::of(tuple), |_, value| value.find());
        found.map(V::read)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let key = Key::of(&tuple(number));
        let inserted = self.0.insert_sync(key, V::numbered(0)).is_ok();
        assert!(inserted && self.0.remove_sync(&key), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// The rows of `connection-read`.
pub(super) const READ: &[SubjectRow] = rows! {
    "connections-rcu", Ours, "lockyard", "MIT OR Apache-2.0", Ours<connections::Rcu>,
        "a chain walked inside an epoch, then a reference that the reader takes and drops: \
         the connection may be held for any time, reports the packet's direction, and expires";
    "connections-locked", Ours, "lockyard", "MIT OR Apache-2.0", Ours<connections::Locked>,
        "the same under the bucket's lock";
    "connections", Ours, "lockyard", "MIT OR Apache-2.0", Keyed<false>,
        "any keys; a chain walked inside an epoch, read in place; \
         the value may also be held, replaced without a gap, and expires";
    "connections-kept", Ours, "lockyard", "MIT OR Apache-2.0", Kept<Keyed<false>>,
        "the same in one reader for all look-ups, quiescent after each";
    "papaya", Peer, "papaya 0.2.5", "MIT", Papaya<Object>,
        "a hash table read without locks; a guard of `seize` for each look-up; read in place, \
         inside the guard";
    "papaya-kept", Peer, "papaya 0.2.5", "MIT", Kept<Papaya<Object>>,
        "the same in one guard for all look-ups, refreshed after each";
    "scc-index", Peer, "scc 3.8.8", "Apache-2.0", SccIndex<Object>,
        "`HashIndex::peek_with`: a hash table read without locks; read in place";
    "scc-map", Peer, "scc 3.8.8", "Apache-2.0", SccMap<Object>,
        "`HashMap::read_sync`: under the bucket's reader-writer lock; read in place";
    "dashmap", Peer, "dashmap 6.2.1", "MIT", Dash<Object>,
        "`get`: a reader-writer lock for each shard of a hash table; read in place";
};

/// The rows of `connection-hold`.
pub(super) const HOLD: &[SubjectRow] = rows! {
    "connections-rcu", Ours, "lockyard", "MIT OR Apache-2.0", Ours<connections::Rcu>,
        "a chain walked inside an epoch, then a reference; \
         reports the packet's direction, and expires";
    "connections-locked", Ours, "lockyard", "MIT OR Apache-2.0", Ours<connections::Locked>,
        "the same under the bucket's lock";
    "connections", Ours, "lockyard", "MIT OR Apache-2.0", Keyed<true>,
        "any keys; a chain walked inside an epoch, then a reference; \
         the value may also be read in place, replaced without a gap, and expires";
    "papaya-arc", Peer, "papaya 0.2.5", "MIT", Papaya<Arc<Object>>,
        "as in connection-read, and a clone of an `Arc`";
    "scc-index-arc", Peer, "scc 3.8.8", "Apache-2.0", SccIndex<Arc<Object>>,
        "as in connection-read, and a clone of an `Arc`";
    "scc-map-arc", Peer, "scc 3.8.8", "Apache-2.0", SccMap<Arc<Object>>,
        "as in connection-read, and a clone of an `Arc`";
    "dashmap-arc", Peer, "dashmap 6.2.1", "MIT", Dash<Arc<Object>>,
        "as in connection-read, and a clone of an `Arc`";
};
