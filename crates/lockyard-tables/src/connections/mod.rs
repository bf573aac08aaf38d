//! The connection table: a hash of connections that expire. A connection is found by protocol,
//! addresses and ports, in either direction.
//!
//! ```text
//!   tuple --in order--> key --SipHash, seeded--> bucket (of 2^bits)
//!   bucket: lock | first --> entry --> entry --> ...
//! ```
//!
//! A connection is inserted with the tuple of its first packet, a value, and a *deadline*. A packet
//! of either direction finds it and gets a [`Connection`]. This reference keeps the connection
//! alive, even after it has left the table. It can also move the deadline ([`Connection::renew`]).
//! [`ConnectionTable::expire`] removes connections past their deadline, a few buckets at a time.
//!
//! # Number of buckets
//!
//! The number of buckets is a power of two. Its default is set at compile time
//! ([`ConnectionTable::new`], [`Bits::DEFAULT`]). At start-up a configuration can change it
//! ([`ConnectionTable::set_bits`]; from a command line or an environment variable as [`Settings`]).
//! The first insertion creates the buckets and fixes their number. Chains grow with the number of
//! connections. With a million in 4,096 buckets a chain has 244, and a look-up walks half of it.
//! [`Bits::for_connections`] returns a sufficient number of bits.
//!
//! Memory on the native host, without the allocator's overhead: 16 bytes per bucket, and for each
//! connection 64 bytes plus the value (with [`Rcu`] at least 80 in all). With a million connections
//! without values and as many buckets, measurement gives 96.8 bytes per connection with [`Rcu`],
//! and 80.8 with [`Locked`]. The allocator adds 16 to each. [`ConnectionTable::bytes`] returns the
//! memory of a table. Of former connections, only the entries that wait for look-ups are kept.
//! Memory is therefore steady under churn. `cargo run --release -p lockyard-tables --example
//! connections` measures both, with a million connections.
//!
//! # How look-ups go on while a chain changes
//!
//! The [`LookUp`] decides if look-ups take a lock. With [`Rcu`], the default, they take none, and
//! entries are freed by [reclamation](lockyard::reclaim). With [`Locked`], a look-up takes the
//! bucket's lock. In both cases a found connection is kept alive by its own reference.
//!
//! # What each operation costs
//!
//! - **Look-up**: the hash (nine rounds of SipHash), the bucket's line, one or two lines for each
//!   entry of the chain up to the wanted one, a read-modify-write of the reference count.
//! - **Dropping the connection**: a read-modify-write of the reference count.
//! - **Renewal**: a load, and a read-modify-write if the deadline moves. A caller that renews in
//!   large steps rarely pays for the second.
//! - **Insertion, removal**: at most one allocation, the bucket's lock, a walk along its chain.
//! - **Expiry**: for each bucket, its lock and a walk along its chain.
//!
//! # Faults
//!
//! - **`bits` out of range, in a program, or in [`Settings`] as text**: refused with the valid
//!   range ([`BitsError`], [`SettingsError`]); the table is unchanged.
//! - **A choice of `bits` or of the seed after the first insertion**: refused ([`AlreadyInUse`]);
//!   the table is unchanged.
//! - **No memory for the buckets or an entry**: the insertion is refused and returns the value
//!   ([`Refused`]); the table is unchanged. Look-ups, removals and expiry need no memory.
//! - **The caller's function panics in
//!   [`get_or_insert_with`](ConnectionTable::get_or_insert_with)**: the table is unchanged.
//! - **The caller's function panics in [`expire`](ConnectionTable::expire)**: its connection, and
//!   at most 15 that were removed with it, are out of the table and dropped; all others are still
//!   there.
//! - **A value's destructor panics**: the panic leaves the drop of the last reference; the memory
//!   is still freed.
//! - **A look-up never ends ([`Rcu`]: its thread stops in the middle, for good)**: the table keeps
//!   working, and values are dropped. Entries that leave the table from then on keep their memory,
//!   [this many bytes](ConnectionTable::bytes_of_a_connection) each;
//!   [`waiting`](ConnectionTable::waiting) counts them.
//! - **A handle is forgotten**: the connection is never freed. Removal and expiry still take it out
//!   of the table.
//!
//! # Source
//!
//! The experiment is the one with the connection tables of Linux (IPVS), where the number of
//! buckets became a start-up parameter. This table is written from textbooks. Hash with chaining:
//! D. Knuth, *The Art of Computer Programming*, volume 3, section 6.4. Unlinking under readers:
//! McKenney and Slingwine, *Read-copy update*, 1998. One key serves both directions, because its
//! endpoints are sorted.

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
    /// Makes the entry of a new connection, not yet published. Returns the entry with its key and
    /// its bucket, or the value if there is no memory.
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

    /// Inserts a connection. `tuple` comes from a packet in the original direction. The connection
    /// expires at `deadline`, in the caller's unit of time. [`NEVER`] means no expiry.
    ///
    /// # Errors
    ///
    /// Fails if the table already has a connection of the tuple, in either direction: the error
    /// holds that connection. Fails if there is no memory. The error also holds the value.
    pub fn insert(&self, tuple: &Tuple, value: T, deadline: u64) -> Inserted<'_, T, P, H, C> {
        let (key, bucket, new) = self
            .prepare(tuple, value, deadline)
            .map_err(|value| Refused { value, why: Why::NoMemory })?;
        let there = bucket.locked(|| {
            // SAFETY: the lock is held. Nothing is removed meanwhile, so nothing is freed.
            let there = during::<H, _>(Region::LookUp, || unsafe { bucket.find(&key) });
            if there.is_none() {
                // SAFETY: the lock is held; one of the new entry's two references belongs to the
                // table.
                unsafe { bucket.push(new) };
            }
            there
        });
        match there {
            // SAFETY: this is the other reference of the new entry.
            None => Ok(unsafe { Connection::new(self, new) }),
            Some(there) => {
                // SAFETY: the entry was not published.
                let value = unsafe { EntryOf::<T, P, H, C>::take_back(new) };
                // SAFETY: `find` took a reference.
                let there = unsafe { Connection::new(self, there) };
                Err(Refused { value, why: Why::Exists(there) })
            }
        }
    }

    /// Inserts a connection that the caller knows to be absent. The chain is not walked, so loading
    /// a table costs the same per connection for any length of chain. If the connection is present
    /// after all, look-ups find the new one until it is removed, and then the old one.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The error is the value.
    pub fn insert_absent(
        &self,
        tuple: &Tuple,
        value: T,
        deadline: u64,
    ) -> Result<Connection<'_, T, P, H, C>, T> {
        let (_, bucket, new) = self.prepare(tuple, value, deadline)?;
        // SAFETY: the lock is held; one of the new entry's two references belongs to the table.
        bucket.locked(|| unsafe { bucket.push(new) });
        // SAFETY: this is the other reference.
        Ok(unsafe { Connection::new(self, new) })
    }

    /// Returns the connection of a packet with `tuple`, or inserts one with the value that `make`
    /// returns. A caller that loses a race gets the winner's connection, and its own value is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory for a new connection. The value from `make` is dropped.
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

    /// Removes the connection of `tuple` from the table. Existing references stay valid.
    pub fn remove(&self, tuple: &Tuple) -> Option<Connection<'_, T, P, H, C>> {
        let (connection, _) = self.look_up(tuple)?;
        connection.remove().then_some(connection)
    }
}
