//! Identifier tables. An object is found by a small number.
//!
//! Ours and `sharded-slab` choose the number. For the hash tables it is a key, hashed by one
//! multiplication.

use super::look_up::{IdHash, LookUp, Object, Session, room, table};
use super::subject::{SubjectRole, SubjectRow, rows};
use super::work::{Done, Load};
use lockyard::Native;
use lockyard::lock::{Adaptive, LaneLock, Queued};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, Shared};
use lockyard_tables::id_table::{self, IdTable, Rcu};
use parking_lot::Mutex;
use seize::Guard as _;

const FULL: &str = "there is no memory for the table's objects";

/// Counts a use of an object to which the row has exclusive access.
#[inline(always)]
fn used<const ADD: bool>(object: &mut Object) -> u64 {
    if ADD {
        object.uses += 1;
    }
    object.value
}

/// Ours. `KEPT`: one guard for the whole session, quiescent after each look-up.
struct Ours<V: id_table::Variant, const KEPT: bool, const ADD: bool>(IdTable<Object, V, Native>);

impl<V: id_table::Variant, const KEPT: bool, const ADD: bool> Ours<V, KEPT, ADD> {
    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let table = IdTable::default();
        let insert = |n| table.insert(Object::numbered(n)).map_err(|_| FULL.to_owned());
        let keys = (0..u64::from(load.objects)).map(insert).collect::<Result<_, _>>()?;
        Ok((Ours(table), keys))
    }

    #[inline(always)]
    fn exchange(&self, number: u32) {
        let id = self.0.insert(Object::numbered(u64::from(number)));
        let id = id.expect("there is memory for one more");
        assert!(self.0.remove(id).is_some(), "only this thread has the identifier");
    }

    fn uses(&self, id: u32) -> Option<u64> {
        ADD.then(|| self.0.lock(id).map_or(0, |object| object.uses))
    }
}

/// Writes an `impl LookUp for Ours`, except the session.
macro_rules! ours {
    () => {
        type Key = u32;

        fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
            Ours::filled(load)
        }
        #[inline(always)]
        fn read(&self, &id: &u32) -> Option<u64> {
            self.0.lock(id).map(|mut object| used::<ADD>(&mut object))
        }
        #[inline(always)]
        fn change(&self, number: u32) {
            self.exchange(number);
        }
        fn objects(&self) -> usize {
            self.0.len()
        }
        fn uses(&self, &id: &u32) -> Option<u64> {
            Ours::uses(self, id)
        }
    };
}

impl<V: id_table::Variant, const ADD: bool> LookUp for Ours<V, false, ADD> {
    ours!();
}

impl<const ADD: bool> LookUp for Ours<Rcu, true, ADD> {
    ours!();
    fn session(&self, session: Session<u32>) -> Done {
        let mut guard = self.0.domain().enter();
        session.run(
            |&id| {
                let found = self.0.lock_in(&guard, id);
                let value = found.map(|mut object| used::<ADD>(&mut object));
                guard.pass_quiescent_state();
                value
            },
            |number| self.exchange(number),
        )
    }
}

/// A handle table with objects, and their handles.
type Filled<A> = (HandleTable<Object, A, Native>, Vec<Handle>);

/// Returns a handle table with the objects of `load`.
fn filled_handles<A: Access<Native>>(load: &Load) -> Result<Filled<A>, String> {
    let table = HandleTable::default();
    let insert = |n| table.insert(Object::numbered(n)).map_err(|_| FULL.to_owned());
    let keys = (0..u64::from(load.objects)).map(insert).collect::<Result<_, _>>()?;
    Ok((table, keys))
}

/// Our handle table, shared. `KEPT`: one guard for the whole session, quiescent after each look-up.
struct Handles<const KEPT: bool>(HandleTable<Object, Shared, Native>);

impl<const KEPT: bool> LookUp for Handles<KEPT> {
    type Key = Handle;

    fn filled(load: &Load) -> Result<(Self, Vec<Handle>), String> {
        let (table, keys) = filled_handles(load)?;
        Ok((Handles(table), keys))
    }
    #[inline(always)]
    fn read(&self, &handle: &Handle) -> Option<u64> {
        self.0.get(handle).map(|object| object.value)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let handle = self.0.insert(Object::numbered(u64::from(number)));
        let handle = handle.expect("there is memory for one more");
        assert!(self.0.remove(handle), "only this thread has the handle");
    }
    fn session(&self, session: Session<Handle>) -> Done {
        if !KEPT {
            return session.run(|handle| self.read(handle), |number| self.change(number));
        }
        let mut guard = self.0.domain().enter();
        session.run(
            |&handle| {
                let value = self.0.get_in(&guard, handle).map(|object| object.value);
                guard.pass_quiescent_state();
                value
            },
            |number| self.change(number),
        )
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// Our handle table, exclusive, with locks of algorithm `K`.
struct LockedHandles<K: LaneLock<Native>>(HandleTable<Object, Exclusive<K>, Native>);

impl<K: LaneLock<Native>> LookUp for LockedHandles<K> {
    type Key = Handle;

    fn filled(load: &Load) -> Result<(Self, Vec<Handle>), String> {
        let (table, keys) = filled_handles(load)?;
        Ok((LockedHandles(table), keys))
    }
    #[inline(always)]
    fn read(&self, &handle: &Handle) -> Option<u64> {
        self.0.lock(handle).map(|mut object| used::<true>(&mut object))
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        let handle = self.0.insert(Object::numbered(u64::from(number)));
        let handle = handle.expect("there is memory for one more");
        assert!(self.0.remove(handle).is_some(), "only this thread has the handle");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
    fn uses(&self, &handle: &Handle) -> Option<u64> {
        Some(self.0.lock(handle).map_or(0, |object| object.uses))
    }
}

/// `papaya`, with the object in place. `KEPT`: one guard for the whole session, refreshed after
/// each look-up.
struct Papaya<const KEPT: bool>(papaya::HashMap<u32, Object, IdHash>);

impl<const KEPT: bool> LookUp for Papaya<KEPT> {
    type Key = u32;

    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let capacity = room(load);
        let map = papaya::HashMap::with_capacity_and_hasher(capacity, IdHash::default());
        for id in 0..load.objects {
            map.pin().insert(id, Object::numbered(u64::from(id)));
        }
        Ok((Papaya(map), (0..load.objects).collect()))
    }
    #[inline(always)]
    fn read(&self, id: &u32) -> Option<u64> {
        self.0.pin().get(id).map(|object| object.value)
    }
    #[inline(always)]
    fn change(&self, id: u32) {
        let map = self.0.pin();
        map.insert(id, Object::numbered(u64::from(id)));
        assert!(map.remove(&id).is_some(), "only this thread has the key");
    }
    fn session(&self, session: Session<u32>) -> Done {
        if !KEPT {
            return session.run(|id| self.read(id), |number| self.change(number));
        }
        let mut guard = self.0.guard();
        session.run(
            |id| {
                let value = self.0.get(id, &guard).map(|object| object.value);
                guard.refresh();
                value
            },
            |number| self.change(number),
        )
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// `papaya`, with each object in a mutex.
struct PapayaMutex(papaya::HashMap<u32, Mutex<Object>, IdHash>);

impl LookUp for PapayaMutex {
    type Key = u32;

    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let capacity = room(load);
        let map = papaya::HashMap::with_capacity_and_hasher(capacity, IdHash::default());
        for id in 0..load.objects {
            map.pin().insert(id, Mutex::new(Object::numbered(u64::from(id))));
        }
        Ok((PapayaMutex(map), (0..load.objects).collect()))
    }
    #[inline(always)]
    fn read(&self, id: &u32) -> Option<u64> {
        self.0.pin().get(id).map(|object| used::<true>(&mut object.lock()))
    }
    #[inline(always)]
    fn change(&self, id: u32) {
        let map = self.0.pin();
        map.insert(id, Mutex::new(Object::numbered(u64::from(id))));
        assert!(map.remove(&id).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
    fn uses(&self, id: &u32) -> Option<u64> {
        Some(self.0.pin().get(id).map_or(0, |object| object.lock().uses))
    }
}

/// `dashmap`. `ADD`: uses `get_mut`, otherwise `get`.
struct Dash<const ADD: bool>(dashmap::DashMap<u32, Object, IdHash>);

impl<const ADD: bool> LookUp for Dash<ADD> {
    type Key = u32;

    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let capacity = room(load);
        let map = dashmap::DashMap::with_capacity_and_hasher(capacity, IdHash::default());
        for id in 0..load.objects {
            map.insert(id, Object::numbered(u64::from(id)));
        }
        Ok((Dash(map), (0..load.objects).collect()))
    }
    #[inline(always)]
    fn read(&self, id: &u32) -> Option<u64> {
        if ADD {
            self.0.get_mut(id).map(|mut object| used::<true>(&mut object))
        } else {
            self.0.get(id).map(|object| object.value)
        }
    }
    #[inline(always)]
    fn change(&self, id: u32) {
        self.0.insert(id, Object::numbered(u64::from(id)));
        assert!(self.0.remove(&id).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
    fn uses(&self, id: &u32) -> Option<u64> {
        ADD.then(|| self.0.get(id).map_or(0, |object| object.uses))
    }
}

/// `scc::HashMap`. Reads with `get_sync`, which is exclusive, if `ADD` is true, and otherwise with
/// `read_sync`.
struct SccMap<const ADD: bool>(scc::HashMap<u32, Object, IdHash>);

impl<const ADD: bool> LookUp for SccMap<ADD> {
    type Key = u32;

    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let capacity = room(load);
        let map = scc::HashMap::with_capacity_and_hasher(capacity, IdHash::default());
        for id in 0..load.objects {
            map.insert_sync(id, Object::numbered(u64::from(id))).expect("each key comes once");
        }
        Ok((SccMap(map), (0..load.objects).collect()))
    }
    #[inline(always)]
    fn read(&self, id: &u32) -> Option<u64> {
        if ADD {
            self.0.get_sync(id).map(|mut object| used::<true>(&mut object))
        } else {
            self.0.read_sync(id, |_, object| object.value)
        }
    }
    #[inline(always)]
    fn change(&self, id: u32) {
        let inserted = self.0.insert_sync(id, Object::numbered(u64::from(id))).is_ok();
        assert!(inserted && self.0.remove_sync(&id).is_some(), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
    fn uses(&self, id: &u32) -> Option<u64> {
        ADD.then(|| self.0.read_sync(id, |_, object| object.uses).unwrap_or(0))
    }
}

/// `scc::HashIndex`.
struct SccIndex(scc::HashIndex<u32, Object, IdHash>);

impl LookUp for SccIndex {
    type Key = u32;

    fn filled(load: &Load) -> Result<(Self, Vec<u32>), String> {
        let capacity = room(load);
        let map = scc::HashIndex::with_capacity_and_hasher(capacity, IdHash::default());
        for id in 0..load.objects {
            map.insert_sync(id, Object::numbered(u64::from(id))).expect("each key comes once");
        }
        Ok((SccIndex(map), (0..load.objects).collect()))
    }
    #[inline(always)]
    fn read(&self, id: &u32) -> Option<u64> {
        self.0.peek_with(id, |_, object| object.value)
    }
    #[inline(always)]
    fn change(&self, id: u32) {
        let inserted = self.0.insert_sync(id, Object::numbered(u64::from(id))).is_ok();
        assert!(inserted && self.0.remove_sync(&id), "only this thread has the key");
    }
    fn objects(&self) -> usize {
        self.0.len()
    }
}

/// `sharded-slab`; `T` is the object, or a mutex with it.
struct Slab<T>(sharded_slab::Slab<T>, u32);

impl<T: Send + Sync + 'static> Slab<T> {
    fn filled(load: &Load, of: fn(Object) -> T) -> Result<(Self, Vec<usize>), String> {
        let slab = sharded_slab::Slab::new();
        let insert = |n| slab.insert(of(Object::numbered(n))).ok_or_else(|| FULL.to_owned());
        let keys = (0..u64::from(load.objects)).map(insert).collect::<Result<_, _>>()?;
        Ok((Slab(slab, load.objects), keys))
    }

    #[inline(always)]
    fn exchange(&self, object: T) {
        let key = self.0.insert(object).expect("there is room for one more");
        assert!(self.0.remove(key), "only this thread has the key");
    }
}

impl LookUp for Slab<Object> {
    type Key = usize;

    fn filled(load: &Load) -> Result<(Self, Vec<usize>), String> {
        Slab::filled(load, |object| object)
    }
    #[inline(always)]
    fn read(&self, &key: &usize) -> Option<u64> {
        self.0.get(key).map(|object| object.value)
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        self.exchange(Object::numbered(u64::from(number)));
    }
    fn objects(&self) -> usize {
        // The slab does not count its objects.
        self.1 as usize
    }
}

impl LookUp for Slab<Mutex<Object>> {
    type Key = usize;

    fn filled(load: &Load) -> Result<(Self, Vec<usize>), String> {
        Slab::filled(load, Mutex::new)
    }
    #[inline(always)]
    fn read(&self, &key: &usize) -> Option<u64> {
        self.0.get(key).map(|object| used::<true>(&mut object.lock()))
    }
    #[inline(always)]
    fn change(&self, number: u32) {
        self.exchange(Mutex::new(Object::numbered(u64::from(number))));
    }
    fn objects(&self) -> usize {
        self.1 as usize
    }
    fn uses(&self, &key: &usize) -> Option<u64> {
        Some(self.0.get(key).map_or(0, |object| object.lock().uses))
    }
}

/// The rows of `id-read`.
pub(super) const READ: &[SubjectRow] = rows! {
    "handle-table", Ours, "lockyard", "MIT OR Apache-2.0", Handles<false>,
        "enters an epoch, finds the object in its slot and compares the generation; the object is \
         shared";
    "handle-table-kept", Ours, "lockyard", "MIT OR Apache-2.0", Handles<true>,
        "the same inside one guard, quiescent after each look-up";
    "id-table-rcu", Ours, "lockyard", "MIT OR Apache-2.0", Ours<Rcu, false, false>,
        "enters an epoch, finds the object, takes the object's lock and validates it: \
         the reader has it exclusively";
    "id-table-rcu-kept", Ours, "lockyard", "MIT OR Apache-2.0", Ours<Rcu, true, false>,
        "the same inside one guard, quiescent after each look-up";
    "id-table-locked", Ours, "lockyard", "MIT OR Apache-2.0", Ours<id_table::Locked, false, false>,
        "the table's one lock, then the object's";
    "papaya", Peer, "papaya 0.2.5", "MIT", Papaya<false>,
        "a hash table read without locks; a guard of `seize` for each look-up; the object is \
         shared, so it cannot be changed";
    "papaya-kept", Peer, "papaya 0.2.5", "MIT", Papaya<true>,
        "the same inside one guard, refreshed after each look-up";
    "scc-index", Peer, "scc 3.8.8", "Apache-2.0", SccIndex,
        "`HashIndex::peek_with`: a hash table read without locks; the object is shared";
    "scc-map", Peer, "scc 3.8.8", "Apache-2.0", SccMap<false>,
        "`HashMap::read_sync`: under the bucket's reader-writer lock";
    "dashmap", Peer, "dashmap 6.2.1", "MIT", Dash<false>,
        "`get`: a reader-writer lock for each shard of a hash table";
    "sharded-slab", Peer, "sharded-slab 0.1.7", "MIT", Slab<Object>,
        "slots in pages of the thread that inserted; a look-up takes and drops a reference; \
         the object is shared; identifiers have generations, and are not the lowest free ones";
};

/// The rows of `id-lock`.
pub(super) const LOCK: &[SubjectRow] = rows! {
    "handle-table", Ours, "lockyard", "MIT OR Apache-2.0", LockedHandles<Adaptive>,
        "finds the object in its slot, takes the slot's lock, which sleeps, and compares the \
         generation";
    "handle-table-queued", Ours, "lockyard", "MIT OR Apache-2.0", LockedHandles<Queued>,
        "the same with a queued spinlock";
    "id-table-rcu", Ours, "lockyard", "MIT OR Apache-2.0", Ours<Rcu, false, true>,
        "enters an epoch, finds the object, takes the object's lock and validates it";
    "id-table-rcu-kept", Ours, "lockyard", "MIT OR Apache-2.0", Ours<Rcu, true, true>,
        "the same inside one guard, quiescent after each look-up";
    "id-table-locked", Ours, "lockyard", "MIT OR Apache-2.0", Ours<id_table::Locked, false, true>,
        "the table's one lock, then the object's";
    "papaya-mutex", Peer, "papaya 0.2.5", "MIT", PapayaMutex,
        "a guard of `seize`, then the object's `parking_lot::Mutex`; does not notice if the \
         object was removed meanwhile";
    "scc-map", Peer, "scc 3.8.8", "Apache-2.0", SccMap<true>,
        "`HashMap::get_sync`: under the bucket's lock, so that others of the bucket wait";
    "dashmap", Peer, "dashmap 6.2.1", "MIT", Dash<true>,
        "`get_mut`: under the shard's lock, so that others of the shard wait";
    "sharded-slab-mutex", Peer, "sharded-slab 0.1.7", "MIT", Slab<Mutex<Object>>,
        "a reference, then the object's `parking_lot::Mutex`";
};
