//! Tables that are looked up without a lock: [`Connections`], with any keys, and
//! [`ConnectionTable`], whose keys are the tuples of network packets.
//!
//! ```text
//!   key --hash, seeded--> bucket (of 2^bits)
//!   bucket: lock | first --> entry --> entry --> ...
//! ```
//!
//! A program can *hold* what it finds, or *read it in place*:
//!
//! - [`Connections::get`] returns a [`Held`]. This reference keeps the entry alive, even after the
//!   entry has left the table.
//! - [`Connections::read`] calls a function with the value, and takes no reference. It writes
//!   nothing that look-ups share. A [`Reader`] is for several look-ups, and iterates.
//!
//! [`insert`](Connections::insert) replaces the value of a key: a look-up finds the old value or
//! the new one. [`try_insert`](Connections::try_insert) leaves the old value.
//! [`update`](Connections::update) and [`remove_if`](Connections::remove_if) depend on the old
//! value. All these run the caller's functions outside locks, except the comparison of keys.
//!
//! An entry may have a *deadline* ([`Connections::insert_until`]). A handle can move it
//! ([`Held::renew`]). [`Connections::expire`] removes entries past their deadline, a few buckets at
//! a time.
//!
//! A [`ConnectionTable`] puts the two endpoints of a packet in order, so a packet of either
//! direction finds the same connection. It has the same entries, chains and removal.
//!
//! # Number of buckets
//!
//! The number of buckets is a power of two. Its default is set at compile time
//! ([`Connections::new`], [`Bits::DEFAULT`]), or given by a capacity
//! ([`Connections::with_capacity`]). At start-up a configuration can change it
//! ([`Connections::set_bits`]; for a [`ConnectionTable`] from a command line or an environment
//! variable as [`Settings`]). The first insertion creates the buckets and fixes their number: **the
//! table does not grow**. Chains grow with the number of entries. With a million in 4,096 buckets a
//! chain has 244, and a look-up walks half of it. [`Bits::for_connections`] returns a sufficient
//! number of bits, and [`Connections::occupancy`] says how long the chains are.
//!
//! Memory on the native host, without the allocator's overhead: 16 bytes per bucket, and for each
//! entry 24 bytes, the key and the value (with [`Rcu`] at least 16). [`InPlace`] adds 24. A
//! connection's key has 40 bytes. With a million connections without values and as many buckets,
//! measurement gives 96.8 bytes per connection with [`Rcu`], and 80.8 with [`Locked`]. The
//! allocator adds 16 to each.
//! [`Connections::bytes`] returns the memory of a table. Of former entries, only those that wait
//! for look-ups are kept. Memory is therefore steady under churn.
//! `cargo study connections` measures both, with a million connections.
//!
//! # How look-ups continue while a chain changes
//!
//! The [`LookUp`] decides whether look-ups take a lock. With [`Rcu`], the default of a
//! [`ConnectionTable`], and [`InPlace`], the default of a [`Connections`], look-ups take no lock,
//! and entries are freed by [reclamation](lockyard::reclaim). With [`Locked`], a look-up takes the
//! bucket's lock. In all cases a held entry is kept alive by its own reference. With [`InPlace`] a
//! value is dropped after the look-ups that may read it, in a thread that removes something later.
//!
//! # What each operation costs
//!
//! - **Look-up**: the hash (nine rounds of SipHash for a tuple), the bucket's line, one or two
//!   lines for each entry of the chain up to the wanted one, a read-modify-write of the reference
//!   count.
//! - **Reading in place**: the same without the read-modify-write. With a [`Reader`] that is kept,
//!   also without the fence.
//! - **Dropping the handle**: a read-modify-write of the reference count.
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
//! - **A key's comparison or hash panics**: the locks are released, and the table is unchanged.
//! - **No memory for the buckets or an entry**: the insertion is refused and returns the value
//!   ([`Refused`]); the table is unchanged. Look-ups, removals and expiry need no memory.
//! - **The caller's function panics in
//!   [`get_or_insert_with`](ConnectionTable::get_or_insert_with)**: the table is unchanged.
//! - **The caller's function panics in [`expire`](ConnectionTable::expire)**: its connection, and
//!   at most 15 that were removed with it, are out of the table and dropped; all others are still
//!   there.
//! - **A value's destructor panics**: the panic leaves the drop of the last reference. With
//!   [`InPlace`] it leaves a later removal, or the drop of the table. The memory is still freed.
//! - **A look-up never ends ([`Rcu`]: its thread stops in the middle, for good)**: the table keeps
//!   working, and values are dropped (with [`InPlace`] they wait too). Entries that leave the table
//!   from then on keep their memory,
//!   [this many bytes](ConnectionTable::bytes_of_a_connection) each;
//!   [`waiting`](ConnectionTable::waiting) counts them.
//! - **A handle is forgotten**: the connection is never freed. Removal and expiry still take it out
//!   of the table.
//!
//! # Source
//!
//! The experiment was made with the connection tables of Linux (IPVS), where the number of buckets
//! became a start-up parameter. This table is written from textbooks. Hash with chaining: D. Knuth,
//! *The Art of Computer Programming*, volume 3, section 6.4. Unlinking under readers: McKenney and
//! Slingwine, *Read-copy update*, 1998. One key serves both directions, because its endpoints are
//! sorted.

#![expect(clippy::type_complexity, reason = "a table has a parameter for each choice")]

mod bucket;
mod configuration;
mod entry;
mod expiry;
mod hash;
mod held;
mod key;
mod look_up;
mod operations;
mod reader;
mod removal;
#[cfg(feature = "alloc")]
mod settings;
mod table;
mod tuples;

pub use crate::seed::{Seed, SeededHasher};
pub use configuration::{AlreadyInUse, Bits, BitsError};
pub use entry::NEVER;
pub use held::Held;
pub use key::{Direction, Endpoint, Tuple};
pub use look_up::{InPlace, Locked, LookUp, Rcu};
pub use operations::NotInserted;
pub use reader::Reader;
#[cfg(feature = "alloc")]
pub use settings::{Settings, SettingsError};
pub use table::{Connections, Occupancy};
pub use tuples::{Connection, ConnectionTable, Inserted, Refused, Why};
