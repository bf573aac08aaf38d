//! The table itself: its buckets, created at the first insertion, and the choices that are open
//! until then.

use super::bucket::{Bucket, Buckets};
use super::configuration::{AlreadyInUse, Bits, Configuration};
use super::entry::Entry;
use super::hash::Seed;
use super::key::{Key, Tuple};
use super::look_up::{ConstReaders, LookUp, Readers};
use crate::memory::{AllocationFailed, Values, from_word, to_word};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lock_api::RawMutex;
use lockyard::RawSpinLock;
use lockyard::platform::{
    Cell, DataCell, Host, Native, NativeAtomics, NativeCell, NativeU64, Ordering, U64, Word,
};
use lockyard::{Context, NoContext};

pub(super) type ReadersOf<P, H, C> = <P as LookUp<H>>::Readers<C>;
pub(super) type DeferredOf<P, H, C> =
    <ReadersOf<P, H, C> as Readers<<P as LookUp<H>>::Lock, H, C>>::Deferred;
pub(super) type EntryOf<T, P, H, C> = Entry<T, H, DeferredOf<P, H, C>>;
pub(super) type BucketsOf<P, H, C> = Buckets<<P as LookUp<H>>::Lock, H, C>;

/// A table of connections with values `T`. See the [module documentation](super).
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
pub struct ConnectionTable<T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The address of the [`Buckets`], or 0 before the first insertion.
    buckets: U64<H>,
    /// Held by the thread that creates or configures the buckets.
    setup: RawSpinLock<P::Lock, H, C>,
    configuration: Cell<H, Configuration>,
    /// The bucket at which the next sweep begins.
    pub(super) swept: U64<H>,
    pub(super) readers: ReadersOf<P, H, C>,
    _entries: Values<T>,
}

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
    pub(super) fn buckets(&self) -> Option<NonNull<BucketsOf<P, H, C>>> {
        // Acquire: pairs with the release in `make_buckets`.
        NonNull::new(from_word(self.buckets.load(Ordering::Acquire)))
    }

    /// Runs `f` while nobody else creates or configures the buckets. `f` must not unwind.
    fn setting_up<R>(&self, f: impl FnOnce(Option<NonNull<BucketsOf<P, H, C>>>) -> R) -> R {
        let held = self.setup.acquire();
        // Relaxed: written under the lock.
        let result = f(NonNull::new(from_word(self.buckets.load(Ordering::Relaxed))));
        // SAFETY: `held` belongs to this lock.
        unsafe { self.setup.release(held) };
        result
    }

    fn configure(&self, change: impl FnOnce(&mut Configuration)) -> Result<(), AlreadyInUse> {
        self.setting_up(|buckets| match buckets {
            // SAFETY: published buckets live as long as the table.
            Some(buckets) => Err(AlreadyInUse { bits: unsafe { buckets.as_ref() }.bits() }),
            None => {
                // SAFETY: accessed only under the lock.
                self.configuration.with_mut(|all| change(unsafe { &mut *all }));
                Ok(())
            }
        })
    }

    /// Chooses the number of buckets, at start-up, for example from a configuration.
    ///
    /// # Errors
    ///
    /// Fails after the first insertion; the table is unchanged.
    pub fn set_bits(&self, bits: Bits) -> Result<(), AlreadyInUse> {
        self.configure(|all| all.bits = bits)
    }

    /// Chooses the key of the hash.
    ///
    /// # Errors
    ///
    /// Fails after the first insertion; the table is unchanged.
    pub fn set_seed(&self, seed: Seed) -> Result<(), AlreadyInUse> {
        self.configure(|all| all.seed = Some(seed))
    }

    /// Creates the buckets now. Otherwise the first insertion allocates them while others wait.
    /// After this call neither bits nor seed can be chosen.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The next insertion tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.make_buckets().map(drop)
    }

    #[cold]
    pub(super) fn make_buckets(&self) -> Result<NonNull<BucketsOf<P, H, C>>, AllocationFailed> {
        // SAFETY: accessed only under the lock.
        let wanted = self.setting_up(|_| self.configuration.with(|all| unsafe { *all }));
        // This runs outside the lock, as the standard library may ask the operating system.
        let seed = wanted.seed();
        self.setting_up(|buckets| {
            if let Some(buckets) = buckets {
                return Ok(buckets);
            }
            // SAFETY: as above. The table may have been configured in between.
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
    pub(super) fn bucket(
        &self,
        buckets: NonNull<BucketsOf<P, H, C>>,
        key: &Key,
    ) -> &Bucket<P::Lock, H, C> {
        // SAFETY: published buckets live as long as the table.
        unsafe { Buckets::of_key(buckets, key) }
    }

    /// Number of removed entries that wait to be freed because a look-up may still reach them.
    /// Always 0 with [`Locked`](super::Locked).
    pub fn waiting(&self) -> u64 {
        self.readers.waiting()
    }

    /// Number of connections in the table. A snapshot; exact when nobody inserts or removes. Reads
    /// every bucket.
    pub fn len(&self) -> usize {
        let Some(all) = self.buckets() else { return 0 };
        // SAFETY: published buckets live as long as the table.
        let number = unsafe { all.as_ref() }.bits().buckets();
        // SAFETY: as above; the index is below the number of buckets.
        (0..number).map(|index| unsafe { Buckets::at(all, index) }.entries() as usize).sum()
    }

    /// Returns true if there are no connections. A snapshot; reads every bucket.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the table's bits. Before the first insertion: the bits currently configured.
    pub fn bits(&self) -> Bits {
        self.setting_up(|buckets| match buckets {
            // SAFETY: published buckets live as long as the table.
            Some(buckets) => unsafe { buckets.as_ref() }.bits(),
            // SAFETY: accessed only under the lock.
            None => self.configuration.with(|all| unsafe { (*all).bits }),
        })
    }

    /// Index of the bucket to which a packet's connection belongs, for diagnosis; `None` before the
    /// first insertion.
    pub fn bucket_of(&self, tuple: &Tuple) -> Option<usize> {
        // SAFETY: published buckets live as long as the table.
        self.buckets().map(|all| unsafe { Buckets::index(all, &Key::of(tuple).0) })
    }

    /// Bytes of one connection with its value, without its share of the buckets and without the
    /// allocator's overhead.
    pub const fn bytes_of_a_connection() -> usize {
        size_of::<EntryOf<T, P, H, C>>()
    }

    /// Bytes of the table with its connections, without the allocator's overhead. Removed
    /// connections that [wait](Self::waiting) or are still referenced are not counted. Reads every
    /// bucket.
    pub fn bytes(&self) -> usize {
        let buckets = self.buckets().map_or(0, |all| {
            // SAFETY: published buckets live as long as the table.
            BucketsOf::<P, H, C>::bytes(unsafe { all.as_ref() }.bits())
        });
        size_of::<Self>() + buckets + self.len() * Self::bytes_of_a_connection()
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop for ConnectionTable<T, P, H, C> {
    fn drop(&mut self) {
        if let Some(buckets) = NonNull::new(from_word::<BucketsOf<P, H, C>>(self.buckets.get())) {
            // SAFETY: handles borrow the table, so none is left (a forgotten one cannot be used);
            // the chains have entries of this type.
            unsafe { Buckets::free::<T, DeferredOf<P, H, C>>(buckets) };
        }
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug for ConnectionTable<T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionTable").field("bits", &self.bits()).finish_non_exhaustive()
    }
}
