//! The table itself: its buckets, created at the first insertion, and the choices that are open
//! until then.

use super::bucket::{Bucket, Buckets, Look};
use super::configuration::{AlreadyInUse, Bits, Configuration, Hasher};
use super::entry::Entry;
use super::look_up::{ConstReaders, LookUp, Readers};
use crate::memory::{AllocationFailed, Values, from_word, to_word};
use crate::seed::{HashOf, Seed};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};
use lock_api::RawMutex;
use lockyard::RawSpinLock;
use lockyard::platform::{
    Atomics, Cell, DataCell, Host, Native, NativeAtomics, NativeCell, NativeU64, Ordering, U64,
    Word,
};
use lockyard::{Context, NoContext};

pub(super) type ReadersOf<P, H, C> = <P as LookUp<H>>::Readers<C>;
pub(super) type DeferredOf<P, H, C> =
    <ReadersOf<P, H, C> as Readers<<P as LookUp<H>>::Lock, H, C>>::Deferred;
pub(super) type EntryOf<K, V, P, H, C> =
    Entry<K, V, H, DeferredOf<P, H, C>, <P as LookUp<H>>::Moment>;
pub(super) type BucketOf<P, H, C> = Bucket<<P as LookUp<H>>::Lock, H, C>;
pub(super) type BucketsOf<S, P, H, C> = Buckets<S, <P as LookUp<H>>::Lock, H, C>;

/// A table of values `V` with keys `K`. See the [module documentation](super).
///
/// ```
/// use lockyard_tables::Connections;
///
/// let sessions: Connections<String, u64> = Connections::with_capacity(10_000);
/// sessions.insert("alice".into(), 7).expect("memory is left");
///
/// // Read in place: no lock, and nothing that other look-ups share is written.
/// assert_eq!(sessions.read("alice", |number| *number), Some(7));
///
/// // Hold: the value may leave the table meanwhile.
/// let held = sessions.get("alice").expect("it is there");
/// assert!(sessions.remove("alice").is_some() && sessions.get("alice").is_none());
/// assert_eq!((*held, held.key().as_str()), (7, "alice"));
/// ```
///
/// Parameters: key and value, the [hasher](core::hash::BuildHasher), the [`LookUp`], the [`Host`],
/// and the [`Context`] of the buckets' locks.
pub struct Connections<
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host = Native,
    C: Context = NoContext,
> {
    /// The address of the [`Buckets`], or 0 before the first insertion.
    buckets: U64<H>,
    /// Held by the thread that creates or configures the buckets.
    setup: RawSpinLock<P::Lock, H, C>,
    configuration: Cell<H, Configuration<S>>,
    /// The bucket where the next sweep begins.
    pub(super) swept: U64<H>,
    pub(super) readers: ReadersOf<P, H, C>,
    _entries: Values<(K, V, S)>,
}

impl<K: Send + Sync, V: Send + Sync, P: LookUp<H>, H: Host<Atomics = NativeAtomics>, C: Context>
    Connections<K, V, Seed, P, H, C>
where
    ReadersOf<P, H, C>: ConstReaders,
{
    /// Returns an empty table with 2^`bits` buckets, for statics. `bits` is the compiled default.
    /// Before the first insertion another number can be [chosen](Self::set_bits).
    ///
    /// The hash is keyed with a [random seed](Seed::random). Without the feature `std` you must
    /// [set the seed](Self::set_hasher). Otherwise anyone can find keys that share a chain.
    pub const fn new(bits: Bits) -> Self {
        Connections {
            buckets: NativeU64::new(0),
            setup: <RawSpinLock<P::Lock, H, C> as RawMutex>::INIT,
            configuration: NativeCell::new(Configuration::new(
                bits,
                Hasher::Default(Seed::default),
            )),
            swept: NativeU64::new(0),
            readers: <ReadersOf<P, H, C> as ConstReaders>::NEW,
            _entries: PhantomData,
        }
    }
}

impl<K: Send + Sync, V: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, Seed, P, H, C>
{
    /// Returns an empty table with a bucket for each of `entries` entries, on any platform. The
    /// hash is keyed as in [`new`](Self::new).
    pub fn with_capacity(entries: usize) -> Self {
        let (bits, hasher) = (Bits::for_connections(entries), Hasher::Default(Seed::default));
        Self::with_configuration(Configuration::new(bits, hasher))
    }
}

/// Returns an empty table with [`Bits::DEFAULT`], which can be changed before the first insertion.
impl<K: Send + Sync, V: Send + Sync, S: Send + Sync + Default, P: LookUp<H>, H: Host, C: Context>
    Default for Connections<K, V, S, P, H, C>
{
    fn default() -> Self {
        let hasher = Hasher::Default(S::default);
        Self::with_configuration(Configuration::new(Bits::DEFAULT, hasher))
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, S, P, H, C>
{
    /// Returns an empty table with 2^`bits` buckets, on any platform.
    pub fn with_hasher(bits: Bits, hasher: S) -> Self {
        Self::with_configuration(Configuration::new(bits, Hasher::Given(hasher)))
    }

    pub(super) fn with_configuration(configuration: Configuration<S>) -> Self {
        Connections {
            buckets: Word::new(0),
            setup: RawSpinLock::new(),
            configuration: DataCell::new(configuration),
            swept: Word::new(0),
            readers: Default::default(),
            _entries: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn buckets(&self) -> Option<NonNull<BucketsOf<S, P, H, C>>> {
        // Acquire: pairs with the release in `make_buckets`.
        NonNull::new(from_word(self.buckets.load(Ordering::Acquire)))
    }

    /// Runs `f` while no other thread creates or configures the buckets. `f` must not unwind.
    fn setting_up<R>(&self, f: impl FnOnce(Option<NonNull<BucketsOf<S, P, H, C>>>) -> R) -> R {
        let held = self.setup.acquire();
        // Relaxed: written under the lock.
        let result = f(NonNull::new(from_word(self.buckets.load(Ordering::Relaxed))));
        // SAFETY: `held` belongs to this lock.
        unsafe { self.setup.release(held) };
        result
    }

    fn configure<R>(
        &self,
        change: impl FnOnce(&mut Configuration<S>) -> R,
    ) -> Result<R, AlreadyInUse> {
        self.setting_up(|buckets| match buckets {
            // SAFETY: published buckets live as long as the table.
            Some(buckets) => Err(AlreadyInUse { bits: unsafe { buckets.as_ref() }.bits() }),
            // SAFETY: accessed only under the lock.
            None => Ok(self.configuration.with_mut(|all| change(unsafe { &mut *all }))),
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

    /// Chooses the hasher.
    ///
    /// # Errors
    ///
    /// Fails after the first insertion; the table is unchanged.
    pub fn set_hasher(&self, hasher: S) -> Result<(), AlreadyInUse> {
        let mut hasher = ManuallyDrop::new(Hasher::Given(hasher));
        let chosen = self.configure(|all| mem::swap(&mut all.hasher, &mut hasher));
        // The former hasher, or the refused one, is dropped outside the lock.
        drop(ManuallyDrop::into_inner(hasher));
        chosen
    }

    /// Creates the buckets now. Otherwise the first insertion allocates them while others wait.
    /// After this call neither bits nor hasher can be chosen.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The next insertion tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.make_buckets().map(drop)
    }

    #[cold]
    pub(super) fn make_buckets(&self) -> Result<NonNull<BucketsOf<S, P, H, C>>, AllocationFailed> {
        let default = self.setting_up(|buckets| match buckets {
            Some(_) => None,
            // SAFETY: accessed only under the lock, and only before there are buckets.
            None => self.configuration.with(|all| unsafe { (*all).default() }),
        });
        // This runs outside the lock, as the standard library may ask the operating system.
        let mut made = default.map(|make| make());
        self.setting_up(|buckets| {
            if let Some(buckets) = buckets {
                return Ok(buckets);
            }
            // SAFETY: accessed only under the lock. The table may have been configured in between.
            let bits = self.configuration.with(|all| unsafe { (*all).bits });
            // SAFETY: as above. The copy is used only if the buckets are made, and from then on the
            // original is not used.
            let hasher =
                self.configuration.with(|all| unsafe { ptr::read(&raw const (*all).hasher) });
            let buckets =
                BucketsOf::<S, P, H, C>::allocate(bits, || {
                    match ManuallyDrop::into_inner(hasher) {
                        Hasher::Given(hasher) => hasher,
                        Hasher::Default(make) => made.take().unwrap_or_else(make),
                    }
                })?;
            // Release: pairs with the acquire in `buckets`.
            self.buckets.store(to_word(buckets.as_ptr()), Ordering::Release);
            Ok(buckets)
        })
    }

    /// Returns the bucket of a key.
    #[inline(always)]
    pub(super) fn bucket<Q: ?Sized>(
        &self,
        buckets: NonNull<BucketsOf<S, P, H, C>>,
        key: &Q,
    ) -> &BucketOf<P, H, C>
    where
        S: HashOf<Q>,
    {
        // SAFETY: published buckets live as long as the table.
        unsafe { Buckets::of_key(buckets, |hasher| hasher.hash_of(key)) }
    }

    /// Returns the entry in `bucket` whose key `is` accepts, with a reference.
    ///
    /// # Safety
    ///
    /// The bucket must belong to this table, and its entries must not be freed during the call.
    #[inline(always)]
    pub(super) unsafe fn find_in<const REPLACED: bool>(
        bucket: &BucketOf<P, H, C>,
        is: impl Fn(&K) -> bool,
    ) -> Option<NonNull<EntryOf<K, V, P, H, C>>> {
        let look = |entry: &EntryOf<K, V, P, H, C>| {
            if !is(entry.key()) {
                return if REPLACED { Look::OnInReplaced } else { Look::On };
            }
            if entry.references.get_not_zero() {
                return Look::Found;
            }
            // An entry without a reference has already been removed.
            if REPLACED {
                // Acquire: pairs with the release by which the remover dropped the table's
                // reference. The next walk does not find this entry.
                H::Atomics::fence(Ordering::Acquire);
                Look::Again
            } else {
                Look::On
            }
        };
        // SAFETY: the caller's promise.
        unsafe { bucket.walk(look) }
    }

    /// Number of removed entries that wait to be freed because a look-up may still reach them.
    /// Always 0 with [`Locked`](super::Locked).
    pub fn waiting(&self) -> u64 {
        self.readers.waiting()
    }

    /// Returns the buckets in order; none before the first insertion.
    pub(super) fn all_buckets(&self) -> impl Iterator<Item = &BucketOf<P, H, C>> {
        let buckets = self.buckets();
        // SAFETY: published buckets live as long as the table.
        let number = buckets.map_or(0, |all| unsafe { all.as_ref() }.bits().buckets());
        let all = buckets.into_iter().flat_map(move |all| (0..number).map(move |at| (all, at)));
        // SAFETY: as above; the index is below the number of buckets.
        all.map(|(all, at)| unsafe { Buckets::at(all, at) })
    }

    /// Number of entries in the table. A snapshot; exact when no thread inserts or removes. Reads
    /// every bucket.
    pub fn len(&self) -> usize {
        self.all_buckets().map(|bucket| bucket.entries() as usize).sum()
    }

    /// Returns true if there are no entries. A snapshot; reads every bucket.
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

    /// Number of buckets. With more entries the table still works, and its chains become longer.
    pub fn capacity(&self) -> usize {
        self.bits().buckets()
    }

    /// Bytes of one entry with key and value, without its share of the buckets and without the
    /// allocator's overhead.
    pub const fn bytes_of_an_entry() -> usize {
        size_of::<EntryOf<K, V, P, H, C>>()
    }

    /// Bytes of the table with its entries, without what keys and values own and without the
    /// allocator's overhead. Removed entries that [wait](Self::waiting) or are still referenced are
    /// not counted. Reads every bucket.
    pub fn bytes(&self) -> usize {
        let buckets = self.buckets().map_or(0, |all| {
            // SAFETY: published buckets live as long as the table.
            BucketsOf::<S, P, H, C>::bytes(unsafe { all.as_ref() }.bits())
        });
        size_of::<Self>() + buckets + self.len() * Self::bytes_of_an_entry()
    }

    /// Returns how the entries are spread over the buckets. A snapshot; reads every bucket.
    pub fn occupancy(&self) -> Occupancy {
        let none = Occupancy { buckets: 0, entries: 0, empty: 0, longest: 0 };
        self.all_buckets().map(Bucket::entries).fold(none, |all, entries| Occupancy {
            buckets: all.buckets + 1,
            entries: all.entries + entries as usize,
            empty: all.empty + usize::from(entries == 0),
            longest: all.longest.max(entries as usize),
        })
    }
}

/// The spread of a table's entries over its buckets, for diagnosis. A [longest](Self::longest)
/// chain of more than some ten entries says that there are too few buckets, or that the hasher does
/// not fit the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Number of buckets; 0 before the first insertion.
    pub buckets: usize,
    /// Number of entries.
    pub entries: usize,
    /// Number of buckets without an entry.
    pub empty: usize,
    /// Number of entries of the longest chain.
    pub longest: usize,
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop
    for Connections<K, V, S, P, H, C>
{
    fn drop(&mut self) {
        let buckets = NonNull::new(from_word::<BucketsOf<S, P, H, C>>(self.buckets.get()));
        if let Some(buckets) = buckets {
            // SAFETY: handles borrow the table, so none is left (a forgotten one cannot be used);
            // the chains have entries of this type.
            unsafe { Buckets::free::<K, V, DeferredOf<P, H, C>, P::Moment>(buckets) };
        } else if mem::needs_drop::<Hasher<S>>() {
            // SAFETY: there are no buckets that took over the hasher, and no other thread has the
            // table.
            self.configuration.with_mut(|all| unsafe { ManuallyDrop::drop(&mut (*all).hasher) });
        }
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug
    for Connections<K, V, S, P, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("bits", &self.bits()).finish_non_exhaustive()
    }
}
