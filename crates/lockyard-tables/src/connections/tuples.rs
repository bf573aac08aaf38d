//! The connection table of network packets: a [`Connections`] whose keys are sorted tuples.

use super::bucket::Buckets;
use super::configuration::{AlreadyInUse, Bits, Configuration, Hasher};
use super::held::Held;
use super::key::{Direction, Key, StoredKey, Tuple};
use super::look_up::{ConstReaders, LookUp};
use super::table::{Connections, Occupancy, ReadersOf};
use crate::memory::AllocationFailed;
use crate::seed::{HashOf, Seed};
use core::fmt;
use lockyard::platform::{Host, Native, NativeAtomics};
use lockyard::{Context, NoContext};

/// A reference to a connection. It keeps the connection alive, even after the connection has left
/// the table, and dereferences to the value.
pub type Connection<'t, T, P, H = Native, C = NoContext> = Held<'t, StoredKey, T, Seed, P, H, C>;

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Connection<'_, T, P, H, C> {
    fn direction_of(&self, in_order: bool) -> Direction {
        if self.entry().key().original_in_order() == in_order {
            Direction::Original
        } else {
            Direction::Reply
        }
    }

    /// Returns the tuple with which the connection was inserted.
    pub fn tuple(&self) -> Tuple {
        let stored = self.entry().key();
        stored.key().tuple(stored.original_in_order())
    }
}

impl<T: Send + Sync + fmt::Debug, P: LookUp<H>, H: Host, C: Context> fmt::Debug
    for Connection<'_, T, P, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("tuple", &self.tuple())
            .field("deadline", &self.deadline())
            .field("value", &**self)
            .finish()
    }
}

/// A table of connections with values `T`: a [`Connections`] whose keys are [tuples](Tuple), found
/// in either direction. See the [module documentation](super).
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
/// assert_eq!(connection.load(Relaxed), 1, "a holder of a reference can still use it");
/// assert!(TABLE.set_bits(Bits::MIN).is_err(), "it is too late for that");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Parameters: the value, the [`LookUp`], the [`Host`], and the [`Context`] of the buckets' locks.
pub struct ConnectionTable<T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext>(
    Connections<StoredKey, T, Seed, P, H, C>,
);

impl<T: Send + Sync, P: LookUp<H>, H: Host<Atomics = NativeAtomics>, C: Context>
    ConnectionTable<T, P, H, C>
where
    ReadersOf<P, H, C>: ConstReaders,
{
    /// Returns an empty table with 2^`bits` buckets, for statics. `bits` is the compiled default.
    /// Before the first insertion another number can be [chosen](Self::set_bits).
    ///
    /// The hash is keyed with a [random seed](Seed::random). Without the feature `std` you must
    /// [set the seed](Self::set_seed). Otherwise anyone can find connections that share a chain.
    pub const fn new(bits: Bits) -> Self {
        ConnectionTable(Connections::new(bits))
    }
}

/// Returns an empty table with [`Bits::DEFAULT`], which can be changed before the first insertion.
impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Default for ConnectionTable<T, P, H, C> {
    fn default() -> Self {
        Self::with_bits(Bits::DEFAULT, None)
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> ConnectionTable<T, P, H, C> {
    /// Returns an empty table with 2^`bits` buckets, on any platform. The number can be
    /// [changed](Self::set_bits) before the first insertion.
    ///
    /// The hash is keyed with `seed`; `None` means a [random one](Seed::random). Without the
    /// feature `std`, `None` means a fixed seed, which gives no protection.
    pub fn with_bits(bits: Bits, seed: Option<Seed>) -> Self {
        let hasher = seed.map_or(Hasher::Default(Seed::default), Hasher::Given);
        ConnectionTable(Connections::with_configuration(Configuration::new(bits, hasher)))
    }

    /// Chooses the number of buckets, at start-up, for example from a configuration.
    ///
    /// # Errors
    ///
    /// Fails after the first insertion; the table is unchanged.
    pub fn set_bits(&self, bits: Bits) -> Result<(), AlreadyInUse> {
        self.0.set_bits(bits)
    }

    /// Chooses the key of the hash.
    ///
    /// # Errors
    ///
    /// Fails after the first insertion; the table is unchanged.
    pub fn set_seed(&self, seed: Seed) -> Result<(), AlreadyInUse> {
        self.0.set_hasher(seed)
    }

    /// Creates the buckets now. Otherwise the first insertion allocates them while others wait.
    /// After this call neither bits nor seed can be chosen.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The next insertion tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.0.start()
    }

    /// Returns the connection of a packet with `tuple`, and the packet's direction.
    #[inline]
    pub fn look_up(&self, tuple: &Tuple) -> Option<(Connection<'_, T, P, H, C>, Direction)> {
        let (key, in_order) = Key::of(tuple);
        let stored = StoredKey::new(key, in_order);
        let connection = self.0.find::<false, _>(&stored, |stored| stored.is(&key))?;
        let direction = connection.direction_of(in_order);
        Some((connection, direction))
    }

    /// Inserts a connection. `tuple` comes from a packet in the original direction. The connection
    /// expires at `deadline`, in the caller's unit of time. [`NEVER`](super::NEVER) means no
    /// expiry.
    ///
    /// # Errors
    ///
    /// Fails if the table already has a connection of the tuple, in either direction: the error
    /// holds that connection. Also fails if there is no memory. In both cases the error holds the
    /// value.
    pub fn insert(&self, tuple: &Tuple, value: T, deadline: u64) -> Inserted<'_, T, P, H, C> {
        let (key, in_order) = Key::of(tuple);
        let stored = StoredKey::new(key, in_order);
        let inserted = self.0.put::<false>(stored, value, deadline, |stored| stored.is(&key));
        inserted.map_err(|refused| Refused {
            value: refused.value,
            why: refused.there.map_or(Why::NoMemory, Why::Exists),
        })
    }

    /// Inserts a connection that the caller knows to be absent. The chain is not walked, so loading
    /// a table costs the same per connection for any length of chain. If the table has the
    /// connection after all, look-ups find the new connection until it is removed, and then the old
    /// connection.
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
        let (key, in_order) = Key::of(tuple);
        self.0
            .put_absent(StoredKey::new(key, in_order), value, deadline)
            .map_err(|refused| refused.value)
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

    /// Removes connections whose deadline is `now` or before: see [`Connections::expire`].
    pub fn expire(
        &self,
        now: u64,
        buckets: usize,
        gone: impl FnMut(Connection<'_, T, P, H, C>),
    ) -> usize {
        self.0.expire(now, buckets, gone)
    }

    /// Number of removed connections that wait to be freed because a look-up may still reach them.
    /// Always 0 with [`Locked`](super::Locked).
    pub fn waiting(&self) -> u64 {
        self.0.waiting()
    }

    /// Number of connections in the table. A snapshot; exact when no thread inserts or removes.
    /// Reads every bucket.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no connections. A snapshot; reads every bucket.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the table's bits. Before the first insertion: the bits currently configured.
    pub fn bits(&self) -> Bits {
        self.0.bits()
    }

    /// Returns how the connections are spread over the buckets. A snapshot; reads every bucket.
    pub fn occupancy(&self) -> Occupancy {
        self.0.occupancy()
    }

    /// Index of the bucket to which a packet's connection belongs, for diagnosis; `None` before the
    /// first insertion.
    pub fn bucket_of(&self, tuple: &Tuple) -> Option<usize> {
        let (key, in_order) = Key::of(tuple);
        let key = StoredKey::new(key, in_order);
        // SAFETY: published buckets live as long as the table.
        self.0.buckets().map(|all| unsafe { Buckets::index(all, |seed| seed.hash_of(&key)) })
    }

    /// Bytes of one connection with its value, without its share of the buckets and without the
    /// allocator's overhead.
    pub const fn bytes_of_a_connection() -> usize {
        Connections::<StoredKey, T, Seed, P, H, C>::bytes_of_an_entry()
    }

    /// Bytes of the table with its connections: see [`Connections::bytes`].
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug for ConnectionTable<T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionTable").field("bits", &self.bits()).finish_non_exhaustive()
    }
}

/// Result of an insertion.
pub type Inserted<'t, T, P, H = Native, C = NoContext> =
    Result<Connection<'t, T, P, H, C>, Refused<'t, T, P, H, C>>;

/// A refused insertion: the reason, and the value.
pub struct Refused<'t, T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The value that was to be inserted.
    pub value: T,
    /// The reason.
    pub why: Why<'t, T, P, H, C>,
}

/// The reason why an insertion was refused.
#[non_exhaustive]
pub enum Why<'t, T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The table already has this connection of the tuple, in one direction or the other.
    Exists(Connection<'t, T, P, H, C>),
    /// The host has no memory for the buckets, or for the connection.
    NoMemory,
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Display for Refused<'_, T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.why {
            Why::Exists(_) => {
                "a connection with this protocol, these addresses and these ports already exists"
            }
            Why::NoMemory => "no memory could be allocated for the connection",
        })
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug for Refused<'_, T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({self})")
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> core::error::Error
    for Refused<'_, T, P, H, C>
{
}
