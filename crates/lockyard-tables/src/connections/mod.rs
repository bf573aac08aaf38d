//! The connection table: a hash of connections with expiry. A connection is found by protocol,
//! addresses and ports, in either direction.
//!
//! ```text
//!   tuple --in order--> key --SipHash, seeded--> bucket (of 2^bits)
//!   bucket: lock | first --> entry --> entry --> ...
//! ```
//!
//! A connection is inserted with the tuple of its first packet, a value, and a *deadline*. A packet
//! of either direction finds it and gets a [`Connection`]. That is a reference, which keeps the
//! connection alive whether or not it is still in the table. It also moves the deadline
//! ([`Connection::renew`]). [`ConnectionTable::expire`] takes out connections whose deadline has
//! come, some buckets at a time.
//!
//! # Number of buckets
//!
//! The number of buckets is a power of two. Its default is given when the program is compiled
//! ([`ConnectionTable::new`], [`Bits::DEFAULT`]). A configuration can choose it at start-up
//! ([`ConnectionTable::set_bits`]; from a command line or an environment variable as [`Settings`]),
//! until the first insertion makes the buckets. Chains grow with the number of connections: with a
//! million in 4,096 buckets a chain has 244, and a look-up walks half of it.
//! [`Bits::for_connections`] says how many bits are enough.
//!
//! Memory, natively, without what the allocator adds: 16 bytes a bucket, and for each connection 64
//! bytes and the value (with [`Rcu`] at least 80 in all). Measured at a million connections without
//! values and as many buckets: 96.8 bytes a connection with [`Rcu`], 80.8 with [`Locked`]. The
//! allocator adds 16 to each. [`ConnectionTable::bytes`] returns what a table takes. Of connections
//! that are gone, only the entries that wait for look-ups are kept. So memory is steady under
//! churn. `cargo run --release -p lockyard-tables --example connections` measures both, with a
//! million connections.
//!
//! # How look-ups go on while a chain changes
//!
//! The [`LookUp`] decides this. With [`Rcu`], the default, a look-up takes no lock, and entries are
//! freed by [reclamation](lockyard::reclaim). With [`Locked`] it takes the bucket's lock. Either
//! way a connection that was found stays alive by a reference of its own.
//!
//! # What each operation costs
//!
//! - **Look-up**: the hash (nine rounds of SipHash), the bucket's line, a line or two for each
//!   entry of the chain up to the wanted one, a read-modify-write of the reference count.
//! - **Dropping the connection**: a read-modify-write of the same.
//! - **Renewal**: a load; a read-modify-write when the deadline moves. A caller that renews by
//!   large steps seldom pays for it.
//! - **Insertion, removal**: one allocation or none, the bucket's lock, a walk along its chain.
//! - **Expiry**: the bucket's lock and a walk, for each bucket.
//!
//! # Faults
//!
//! - **`bits` out of range, in a program, or in [`Settings`] as text**: refused, with the range
//!   ([`BitsError`], [`SettingsError`]); nothing has changed.
//! - **A choice of `bits` or of the seed after the first insertion**: refused ([`AlreadyInUse`]);
//!   the table stays as it is.
//! - **No memory for the buckets or an entry**: the insertion is refused and returns the value
//!   ([`Refused`]); the table is as it was. Look-ups, removals and expiry need none.
//! - **The caller's function panics in
//!   [`get_or_insert_with`](ConnectionTable::get_or_insert_with)**: nothing has changed.
//! - **It panics in [`expire`](ConnectionTable::expire)**: the connection that it was called for,
//!   and at most 15 that were taken out with it, are out of the table and dropped; all others are
//!   still there.
//! - **A value's destructor panics**: it unwinds from where the last reference was dropped; memory
//!   is freed all the same.
//! - **A look-up that never ends ([`Rcu`]: its thread stops in the middle, for good)**: everything
//!   goes on, and values are dropped. The memory of entries that leave the table from then on is
//!   not freed, [this many bytes](ConnectionTable::bytes_of_a_connection) each;
//!   [`waiting`](ConnectionTable::waiting) counts them.
//! - **A handle is forgotten**: the connection is never freed; removal and expiry still take it out
//!   of the table.
//!
//! # Source
//!
//! The experiment is that of the connection tables of Linux (IPVS, whose number of buckets became a
//! start-up parameter). The table is written from textbooks. A hash with chaining: D. Knuth, *The
//! Art of Computer Programming*, volume 3, section 6.4. Unlinking under readers: McKenney and
//! Slingwine, *Read-copy update*, 1998. One key serves both directions, because its endpoints are
//! put in order.

mod bucket;
mod configuration;
mod connection;
mod entry;
mod expiry;
mod hash;
mod key;
mod look_up;
mod removal;
#[cfg(feature = "alloc")]
mod settings;
mod table;

pub use configuration::{AlreadyInUse, Bits, BitsError};
pub use connection::{Connection, Inserted, Refused, Why};
pub use entry::NEVER;
pub use hash::Seed;
pub use key::{Direction, Endpoint, Tuple};
pub use look_up::{Locked, LookUp, Rcu};
#[cfg(feature = "alloc")]
pub use settings::{Settings, SettingsError};
pub use table::ConnectionTable;

use crate::memory::AllocationFailed;
use bucket::Bucket;
use core::ptr::NonNull;
use key::{Key, StoredKey};
use lockyard::Context;
use lockyard::platform::{Host, Region, during};
use look_up::Readers;
use table::EntryOf;

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> ConnectionTable<T, P, H, C> {
    /// Makes the entry of a new connection, which nobody knows yet; returns it with its key and its
    /// bucket, or the value if there is no memory.
    #[expect(
        clippy::type_complexity,
        reason = "three things that belong together for one statement"
    )]
    fn prepare(
        &self,
        tuple: &Tuple,
        value: T,
        deadline: u64,
    ) -> Result<(Key, &Bucket<P::Lock, H, C>, NonNull<EntryOf<T, P, H, C>>), T> {
        let made = self.buckets().map_or_else(|| self.make_buckets(), Ok);
        let Ok(buckets) = made else { return Err(value) };
        let (key, in_order) = Key::of(tuple);
        let new = EntryOf::<T, P, H, C>::allocate(StoredKey::new(key, in_order), value, deadline)?;
        Ok((key, self.bucket(buckets, &key), new))
    }

    /// Returns the connection of a packet with `tuple`, and the packet's direction.
    #[inline]
    pub fn look_up(&self, tuple: &Tuple) -> Option<(Connection<'_, T, P, H, C>, Direction)> {
        let (entry, in_order) = during::<H, _>(Region::LookUp, || {
            let buckets = self.buckets()?;
            let (key, in_order) = Key::of(tuple);
            let bucket = self.bucket(buckets, &key);
            // SAFETY: the chains of this table have entries of this type, and `reading` keeps them
            // from being freed.
            let entry = self.readers.reading(bucket, || unsafe { bucket.find(&key) })?;
            Some((entry, in_order))
        })?;
        // SAFETY: `find` took a reference.
        let connection = unsafe { Connection::new(self, entry) };
        let direction = connection.direction_of(in_order);
        Some((connection, direction))
    }

    /// Inserts a connection. `tuple` is that of a packet in the original direction. The connection
    /// expires at `deadline`, in the caller's unit of time. [`NEVER`] never comes.
    ///
    /// # Errors
    ///
    /// If there is already a connection of the tuple, in either direction: the error holds it. Or
    /// if there is no memory. The error holds the value, too.
    pub fn insert(&self, tuple: &Tuple, value: T, deadline: u64) -> Inserted<'_, T, P, H, C> {
        let (key, bucket, new) = self
            .prepare(tuple, value, deadline)
            .map_err(|value| Refused { value, why: Why::NoMemory })?;
        let there = bucket.locked(|| {
            // SAFETY: the lock is held: nothing is taken out, so nothing is freed.
            let there = during::<H, _>(Region::LookUp, || unsafe { bucket.find(&key) });
            if there.is_none() {
                // SAFETY: the lock is held; one of the new entry's references is the table's.
                unsafe { bucket.push(new) };
            }
            there
        });
        match there {
            // SAFETY: the other one of the new entry's references.
            None => Ok(unsafe { Connection::new(self, new) }),
            Some(there) => {
                // SAFETY: it was not published.
                let value = unsafe { EntryOf::<T, P, H, C>::take_back(new) };
                // SAFETY: `find` took a reference.
                let there = unsafe { Connection::new(self, there) };
                Err(Refused { value, why: Why::Exists(there) })
            }
        }
    }

    /// Inserts a connection that the caller knows to be absent. The chain is not walked, so loading
    /// a table costs the same for each connection, however long its chains are. If the connection
    /// is there after all, look-ups find the new one until it is removed, and then the other.
    ///
    /// # Errors
    ///
    /// The value, if there is no memory.
    pub fn insert_absent(
        &self,
        tuple: &Tuple,
        value: T,
        deadline: u64,
    ) -> Result<Connection<'_, T, P, H, C>, T> {
        let (_, bucket, new) = self.prepare(tuple, value, deadline)?;
        // SAFETY: the lock is held; one of the new entry's references is the table's.
        bucket.locked(|| unsafe { bucket.push(new) });
        // SAFETY: the other one.
        Ok(unsafe { Connection::new(self, new) })
    }

    /// Returns the connection of a packet with `tuple`, or inserts one with what `make` returns. A
    /// caller that loses a race gets the winner's connection, and its own value is dropped.
    ///
    /// # Errors
    ///
    /// If there is no memory for a new one. What `make` returned is dropped.
    pub fn get_or_insert_with(
        &self,
        tuple: &Tuple,
        deadline: u64,
        make: impl FnOnce() -> T,
    ) -> Result<Connection<'_, T, P, H, C>, AllocationFailed> {
        if let Some((there, _)) = self.look_up(tuple) {
            return Ok(there);
        }
        match self.insert(tuple, make(), deadline) {
            Ok(new) => Ok(new),
            Err(Refused { why: Why::Exists(there), .. }) => Ok(there),
            Err(Refused { why: Why::NoMemory, .. }) => Err(AllocationFailed),
        }
    }

    /// Takes the connection of `tuple` out of the table. Existing references stay valid.
    pub fn remove(&self, tuple: &Tuple) -> Option<Connection<'_, T, P, H, C>> {
        let (connection, _) = self.look_up(tuple)?;
        connection.remove().then_some(connection)
    }
}
