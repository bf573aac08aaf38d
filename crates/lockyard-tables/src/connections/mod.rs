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
#[cfg(feature = "alloc")]
mod settings;

pub use configuration::{AlreadyInUse, Bits, BitsError};
pub use connection::{Connection, Inserted, Refused, Why};
pub use entry::NEVER;
pub use hash::Seed;
pub use key::{Direction, Endpoint, Tuple};
pub use look_up::{Locked, LookUp, Rcu};
#[cfg(feature = "alloc")]
pub use settings::{Settings, SettingsError};

use crate::memory::{AllocationFailed, Values, from_word, to_word};
use bucket::{Bucket, Buckets};
use configuration::Configuration;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use entry::Entry;
use key::{Key, StoredKey};
use lock_api::RawMutex;
use lockyard::RawSpinLock;
use lockyard::platform::{
    Cell, DataCell, Host, Native, NativeAtomics, NativeCell, NativeU64, Ordering, Region, U64,
    Word, during,
};
use lockyard::{Context, NoContext};
use look_up::{ConstReaders, Readers};

type ReadersOf<P, H, C> = <P as LookUp<H>>::Readers<C>;
type DeferredOf<P, H, C> = <ReadersOf<P, H, C> as Readers<<P as LookUp<H>>::Lock, H, C>>::Deferred;
type EntryOf<T, P, H, C> = Entry<T, H, DeferredOf<P, H, C>>;
type BucketsOf<P, H, C> = Buckets<<P as LookUp<H>>::Lock, H, C>;

/// A table of connections with values `T`. See the [module documentation](self).
///
/// ```
/// use lockyard_tables::ConnectionTable;
/// use lockyard_tables::connections::{Bits, Direction, Tuple};
/// use std::net::Ipv4Addr;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// // Compiled for 4,096 buckets. The configuration wants more, and is read before the first
/// // packet.
/// static TABLE: ConnectionTable<AtomicU64> = ConnectionTable::new(Bits::DEFAULT);
/// TABLE.set_bits("14".parse()?)?;
///
/// let client = (Ipv4Addr::new(10, 0, 0, 1).into(), 40_000);
/// let server = (Ipv4Addr::new(192, 0, 2, 7).into(), 443);
/// let first = Tuple { protocol: 6, source: client, destination: server };
/// let now = 1_000;
/// TABLE.insert(&first, AtomicU64::new(0), now + 60).expect("it is new, and there is memory");
///
/// // A reply comes.
/// let (connection, direction) = TABLE.look_up(&first.reversed()).expect("it is there");
/// assert_eq!(direction, Direction::Reply);
/// connection.fetch_add(1, Relaxed);
/// assert!(connection.renew(now + 100));
///
/// assert_eq!(TABLE.expire(now + 99, usize::MAX, |_| ()), 0);
/// assert_eq!(TABLE.expire(now + 100, usize::MAX, |gone| assert_eq!(gone.load(Relaxed), 1)), 1);
/// assert!(TABLE.look_up(&first).is_none() && !connection.renew(now + 200));
/// assert_eq!(connection.load(Relaxed), 1, "who has a reference can use it still");
/// assert!(TABLE.set_bits(Bits::MIN).is_err(), "it is too late for that");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Parameters: the value, the [`LookUp`], the [`Host`], and the [`Context`] of the buckets' locks.
pub struct ConnectionTable<T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The address of the [`Buckets`], or 0 before the first insertion.
    buckets: U64<H>,
    /// Held by the thread that makes or configures the buckets.
    setup: RawSpinLock<P::Lock, H, C>,
    configuration: Cell<H, Configuration>,
    /// The bucket with which the next sweep begins.
    swept: U64<H>,
    readers: ReadersOf<P, H, C>,
    _entries: Values<T>,
}

impl<T: Send + Sync, P: LookUp<H>, H: Host<Atomics = NativeAtomics>, C: Context>
    ConnectionTable<T, P, H, C>
where
    ReadersOf<P, H, C>: ConstReaders,
{
    /// Returns an empty table with 2^`bits` buckets, for statics. `bits` is the default of the
    /// compiled program; it can be [chosen](Self::set_bits) anew before the first insertion.
    ///
    /// The hash is keyed with a [random seed](Seed::random). Without the feature `std` the seed
    /// must be [given](Self::set_seed), or anyone can find connections that share a chain.
    pub const fn new(bits: Bits) -> Self {
        ConnectionTable {
            buckets: NativeU64::new(0),
            setup: <RawSpinLock<P::Lock, H, C> as RawMutex>::INIT,
            configuration: NativeCell::new(Configuration { bits, seed: None }),
            swept: NativeU64::new(0),
            readers: <ReadersOf<P, H, C> as ConstReaders>::NEW,
            _entries: PhantomData,
        }
    }
}

/// An empty table with [`Bits::DEFAULT`], which can be chosen anew before the first insertion.
impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Default for ConnectionTable<T, P, H, C> {
    fn default() -> Self {
        Self::with_bits(Bits::DEFAULT, None)
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> ConnectionTable<T, P, H, C> {
    /// Returns an empty table with 2^`bits` buckets, on any platform. The number can be
    /// [chosen](Self::set_bits) anew before the first insertion.
    ///
    /// The hash is keyed with `seed`, or, if that is `None`, with a [random one](Seed::random).
    /// Without the feature `std` it is then a fixed one, which protects against nobody.
    pub fn with_bits(bits: Bits, seed: Option<Seed>) -> Self {
        ConnectionTable {
            buckets: Word::new(0),
            setup: RawSpinLock::new(),
            configuration: DataCell::new(Configuration { bits, seed }),
            swept: Word::new(0),
            readers: Default::default(),
            _entries: PhantomData,
        }
    }

    #[inline(always)]
    fn buckets(&self) -> Option<NonNull<BucketsOf<P, H, C>>> {
        // Acquire: pairs with the release in `make_buckets`.
        NonNull::new(from_word(self.buckets.load(Ordering::Acquire)))
    }

    /// Runs `f`, which must not unwind, while nobody else makes or configures the buckets.
    fn setting_up<R>(&self, f: impl FnOnce(Option<NonNull<BucketsOf<P, H, C>>>) -> R) -> R {
        let held = self.setup.acquire();
        // Relaxed: written under the lock.
        let result = f(NonNull::new(from_word(self.buckets.load(Ordering::Relaxed))));
        // SAFETY: `held` is this lock's.
        unsafe { self.setup.release(held) };
        result
    }

    fn configure(&self, change: impl FnOnce(&mut Configuration)) -> Result<(), AlreadyInUse> {
        self.setting_up(|buckets| match buckets {
            // SAFETY: published buckets are there as long as the table.
            Some(buckets) => Err(AlreadyInUse { bits: unsafe { buckets.as_ref() }.bits() }),
            None => {
                // SAFETY: accessed under the lock only.
                self.configuration.with_mut(|all| change(unsafe { &mut *all }));
                Ok(())
            }
        })
    }

    /// Chooses the number of buckets: at start-up, from a configuration.
    ///
    /// # Errors
    ///
    /// After the first insertion; the table stays as it is.
    pub fn set_bits(&self, bits: Bits) -> Result<(), AlreadyInUse> {
        self.configure(|all| all.bits = bits)
    }

    /// Chooses the key of the hash.
    ///
    /// # Errors
    ///
    /// After the first insertion; the table stays as it is.
    pub fn set_seed(&self, seed: Seed) -> Result<(), AlreadyInUse> {
        self.configure(|all| all.seed = Some(seed))
    }

    /// Makes the buckets now. Otherwise the first insertion allocates them, and others wait
    /// meanwhile. From here on neither bits nor seed can be chosen.
    ///
    /// # Errors
    ///
    /// If there is no memory; the next insertion tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.make_buckets().map(drop)
    }

    #[cold]
    fn make_buckets(&self) -> Result<NonNull<BucketsOf<P, H, C>>, AllocationFailed> {
        // SAFETY: accessed under the lock only.
        let wanted = self.setting_up(|_| self.configuration.with(|all| unsafe { *all }));
        // Outside the lock: the standard library may ask the operating system.
        let seed = wanted.seed();
        self.setting_up(|buckets| {
            if let Some(buckets) = buckets {
                return Ok(buckets);
            }
            // SAFETY: as above. It may have been configured in between.
            let bits = self.configuration.with(|all| unsafe { *all }).bits;
            // SAFETY: as above.
            let seed = self.configuration.with(|all| unsafe { *all }).seed.unwrap_or(seed);
            let buckets = BucketsOf::<P, H, C>::allocate(bits, seed)?;
            // Release: pairs with the acquire in `buckets`.
            self.buckets.store(to_word(buckets.as_ptr()), Ordering::Release);
            Ok(buckets)
        })
    }

    #[inline(always)]
    fn bucket(&self, buckets: NonNull<BucketsOf<P, H, C>>, key: &Key) -> &Bucket<P::Lock, H, C> {
        // SAFETY: published buckets are there as long as the table.
        unsafe { Buckets::of_key(buckets, key) }
    }

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

    /// Number of removed entries that wait to be freed because a look-up may stand on them. Always
    /// 0 with [`Locked`].
    pub fn waiting(&self) -> u64 {
        self.readers.waiting()
    }

    /// Number of connections in the table. A snapshot; exact when nobody inserts or removes. Reads
    /// every bucket.
    pub fn len(&self) -> usize {
        let Some(all) = self.buckets() else { return 0 };
        // SAFETY: published buckets are there as long as the table.
        let number = unsafe { all.as_ref() }.bits().buckets();
        // SAFETY: as above; below the number.
        (0..number).map(|index| unsafe { Buckets::at(all, index) }.entries() as usize).sum()
    }

    /// Returns true if there are no connections. A snapshot; reads every bucket.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table's bits. Before its first insertion: those that it would have.
    pub fn bits(&self) -> Bits {
        self.setting_up(|buckets| match buckets {
            // SAFETY: published buckets are there as long as the table.
            Some(buckets) => unsafe { buckets.as_ref() }.bits(),
            // SAFETY: accessed under the lock only.
            None => self.configuration.with(|all| unsafe { (*all).bits }),
        })
    }

    /// Index of the bucket in which a packet's connection would be, for diagnosis; `None` before
    /// the first insertion.
    pub fn bucket_of(&self, tuple: &Tuple) -> Option<usize> {
        // SAFETY: published buckets are there as long as the table.
        self.buckets().map(|all| unsafe { Buckets::index(all, &Key::of(tuple).0) })
    }

    /// Bytes of one connection with its value, without its share of the buckets and without what
    /// the allocator adds.
    pub const fn bytes_of_a_connection() -> usize {
        size_of::<EntryOf<T, P, H, C>>()
    }

    /// Bytes of the table with its connections, without what the allocator adds. Connections that
    /// were taken out and [wait](Self::waiting), or are still referenced, are not counted. Reads
    /// every bucket.
    pub fn bytes(&self) -> usize {
        let buckets = self.buckets().map_or(0, |all| {
            // SAFETY: published buckets are there as long as the table.
            BucketsOf::<P, H, C>::bytes(unsafe { all.as_ref() }.bits())
        });
        size_of::<Self>() + buckets + self.len() * Self::bytes_of_a_connection()
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop for ConnectionTable<T, P, H, C> {
    fn drop(&mut self) {
        if let Some(buckets) = NonNull::new(from_word::<BucketsOf<P, H, C>>(self.buckets.get())) {
            // SAFETY: handles borrow the table, so there are none (one that was forgotten cannot be
            // used); the chains have entries of this type.
            unsafe { Buckets::free::<T, DeferredOf<P, H, C>>(buckets) };
        }
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug for ConnectionTable<T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionTable").field("bits", &self.bits()).finish_non_exhaustive()
    }
}
