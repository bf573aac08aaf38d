//! The cache itself: its shards, created at the first miss, its limit, and its destruction.

use super::configuration::Configuration;
use super::entry::Entry;
use super::index::Index;
use super::key::{CacheKey, Hashes};
use super::shard::{Shard, Shards};
use super::switches::{Allocate, Initialise, Promote, Switches};
use super::wanted::Wanted;
use crate::memory::{AllocationFailed, Values, from_word, to_word};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, MaybeUninit};
use core::ptr::NonNull;
use lock_api::RawMutex;
use lockyard::RawSpinLock;
use lockyard::platform::{
    Cell, ConstAtomics, DataCell, HostWithSlots, NativeAtomics, NativeCell, NativeU64, Ordering,
    U64, Word,
};
use lockyard::reclaim::Domain;
use lockyard::{Context, NoContext};

pub(super) type LockOf<Q, S, H> = <<S as Switches<H, Q>>::Index as Index<H, Q>>::Lock;
pub(super) type EntryOf<Q, T, S, H, C> = Entry<Q, T, LockOf<Q, S, H>, H, C>;
pub(super) type ShardsOf<Q, S, H, C> = Shards<LockOf<Q, S, H>, H, C>;

/// A shard, and the state that all shards share.
pub(super) struct Part<'c, Q: CacheKey, S: Switches<H, Q>, H: HostWithSlots, C: Context> {
    pub(super) shard: &'c Shard<LockOf<Q, S, H>, H, C>,
    pub(super) all: &'c ShardsOf<Q, S, H, C>,
}

/// A cache of buffers with keys `Q` and values `T`. See the [module documentation](super).
///
/// ```
/// use lockyard_tables::BufferCache;
/// use lockyard_tables::buffers::Configuration;
///
/// let pages = BufferCache::<String, usize>::new(Configuration::DEFAULT.with_limit(1_000));
/// let page = pages.get_or_fill("/index".to_string(), || Ok::<_, ()>(7)).unwrap();
/// assert_eq!((*page, page.key().as_str()), (7, "/index"));
/// ```
///
/// A cache of [blocks](super::BlockCache), which two numbers identify:
///
/// ```
/// use lockyard_tables::BlockCache;
/// use lockyard_tables::buffers::{Configuration, GetError, Key};
///
/// static CACHE: BlockCache<Vec<u8>> = BlockCache::new(Configuration::DEFAULT.with_limit(2));
/// let read = |block: u64| move || Ok::<_, std::io::Error>(vec![block as u8; 4096]);
///
/// let superblock = CACHE.get_or_fill(Key::new(0, 1), read(1))?;
/// assert_eq!(superblock[0], 1);
/// let again = CACHE.get_or_fill(Key::new(0, 1), read(9))?;
/// assert_eq!(again[0], 1, "it is there, and is not filled again");
/// assert!(std::ptr::eq(&*superblock, &*again), "the same buffer");
///
/// // A second one, which no thread keeps, makes room for a third; the first is referenced.
/// CACHE.get_or_fill(Key::new(0, 2), read(2))?;
/// let third = CACHE.get_or_fill(Key::new(0, 3), read(3))?;
/// assert!(CACHE.look_up(Key::new(0, 2)).is_none() && CACHE.look_up(Key::new(0, 1)).is_some());
/// assert!(matches!(CACHE.get_or_fill(Key::new(0, 4), read(4)), Err(GetError::Full)));
///
/// drop(third);
/// assert_eq!(CACHE.reclaim(usize::MAX), 1);
/// assert_eq!((CACHE.len(), CACHE.referenced()), (1, 1));
/// # Ok::<(), GetError<std::io::Error>>(())
/// ```
///
/// Parameters: key and value, the hasher (a [`BuildHasher`](core::hash::BuildHasher) that has a
/// default), the [`Switches`], the [`Host`](lockyard::platform::Host), and the
/// [`Context`] of all locks and guards.
pub struct BufferCache<
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context = NoContext,
> {
    /// The address of the [`Shards`], or 0 before the first miss.
    shards: U64<H>,
    /// Maximum number of buffers.
    pub(super) limit: U64<H>,
    configuration: Configuration,
    /// The hasher, once there are shards.
    hasher: Cell<H, MaybeUninit<B>>,
    /// The domain of look-ups that take no lock.
    pub(super) domain: Domain<H, C>,
    /// Lock of the thread that creates the shards.
    setup: RawSpinLock<LockOf<Q, S, H>, H, C>,
    /// Number of buffers that exist or are being created.
    pub(super) living: U64<H>,
    /// The shard from which buffers were last reclaimed.
    pub(super) hand: U64<H>,
    _buffers: Values<(Q, T, B)>,
}

impl<
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots<Atomics = NativeAtomics>,
    C: Context,
> BufferCache<Q, T, B, S, H, C>
where
    H::Atomics: ConstAtomics,
{
    /// Returns an empty cache. Also works in a static.
    pub const fn new(configuration: Configuration) -> Self {
        BufferCache {
            shards: NativeU64::new(0),
            limit: NativeU64::new(configuration.limit),
            configuration,
            hasher: NativeCell::new(MaybeUninit::uninit()),
            domain: Domain::new(),
            setup: <RawSpinLock<LockOf<Q, S, H>, H, C> as RawMutex>::INIT,
            living: NativeU64::new(0),
            hand: NativeU64::new(0),
            _buffers: PhantomData,
        }
    }
}

/// An empty cache with [`Configuration::DEFAULT`].
impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Default for BufferCache<Q, T, B, S, H, C>
{
    fn default() -> Self {
        Self::with_configuration(Configuration::DEFAULT)
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Returns an empty cache, on any platform.
    pub fn with_configuration(configuration: Configuration) -> Self {
        BufferCache {
            shards: Word::new(0),
            limit: Word::new(configuration.limit),
            configuration,
            hasher: DataCell::new(MaybeUninit::uninit()),
            domain: Domain::default(),
            setup: RawSpinLock::new(),
            living: Word::new(0),
            hand: Word::new(0),
            _buffers: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn shards(&self) -> Option<NonNull<ShardsOf<Q, S, H, C>>> {
        // Acquire: pairs with the release in `make_shards`.
        NonNull::new(from_word(self.shards.load(Ordering::Acquire)))
    }

    /// Returns the shard of `wanted`, and the state that all shards share.
    ///
    /// # Safety
    ///
    /// The shards must belong to this cache.
    #[inline(always)]
    pub(super) unsafe fn part(
        &self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
    ) -> Part<'_, Q, S, H, C> {
        // SAFETY: published shards live as long as the cache.
        let all = unsafe { shards.as_ref() };
        // SAFETY: as above; the index returns a shard below their number.
        let shard = unsafe { Shards::at(shards, S::Index::shard(wanted, all.number())) };
        Part { shard, all }
    }

    /// Returns a key with its hash.
    ///
    /// # Safety
    ///
    /// The cache must have shards.
    #[inline(always)]
    pub(super) unsafe fn wanted<'q>(&self, key: &'q Q) -> Wanted<'q, Q> {
        // SAFETY: the hasher was written before the shards were published, and has not been written
        // since.
        let hash = self.hasher.with(|hasher| unsafe { (*hasher).assume_init_ref() }.hash_of(key));
        Wanted { key, hash }
    }

    /// Returns the key of a buffer with the hash by which the buffer was inserted. A caller's
    /// hasher might now return another hash.
    #[inline(always)]
    pub(super) fn wanted_of<'e>(&self, entry: &'e EntryOf<Q, T, S, H, C>) -> Wanted<'e, Q> {
        // Only `WideHash` records hashes. The others find a buffer again by the hash of blocks.
        const {
            assert!(
                B::TRUSTED || !S::Index::LOCKS,
                "`FixedHash` and `TreePerGroup` take only the hash of blocks"
            );
        }
        if B::TRUSTED {
            // SAFETY: there is a buffer, so there are shards.
            unsafe { self.wanted(entry.key()) }
        } else {
            Wanted { key: entry.key(), hash: S::Index::hash(entry) }
        }
    }

    /// Takes a buffer out of the index and out of its shard's list.
    ///
    /// # Safety
    ///
    /// The shard must be the shard of `wanted`, the caller must hold the shard's lock, and the
    /// buffer must be in the index and in the list.
    pub(super) unsafe fn take_out(
        Part { shard, all }: Part<'_, Q, S, H, C>,
        wanted: &Wanted<'_, Q>,
        entry: NonNull<EntryOf<Q, T, S, H, C>>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            S::Index::remove(all, shard, wanted, entry);
            shard.take(entry);
        }
    }

    /// Allocates now what the cache needs for its first buffer. Otherwise the first miss allocates
    /// it while others wait.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The next miss tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.make_shards().map(drop)
    }

    #[cold]
    pub(super) fn make_shards(&self) -> Result<NonNull<ShardsOf<Q, S, H, C>>, AllocationFailed> {
        // The hasher is made outside the lock, because the standard library may ask the operating
        // system for a seed. A hasher that is not needed is also dropped outside the lock.
        let mut hasher = Some(B::default());
        let held = self.setup.acquire();
        // Relaxed: written under the lock.
        let there = NonNull::new(from_word(self.shards.load(Ordering::Relaxed)));
        let shards = there.map_or_else(
            || {
                let new = Shards::allocate(S::Index::shards(&self.configuration))?;
                if let Some(hasher) = hasher.take() {
                    // SAFETY: written once, under the lock, before there are shards.
                    self.hasher.with_mut(|place| unsafe {
                        (*place).write(hasher);
                    });
                }
                // Release: pairs with the acquire in `shards`.
                self.shards.store(to_word(new.as_ptr()), Ordering::Release);
                Ok(new)
            },
            Ok,
        );
        // SAFETY: `held` belongs to this lock, and nothing in between unwinds.
        unsafe { self.setup.release(held) };
        shards
    }

    /// Maximum number of buffers.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the maximum number of buffers. If there are already more, the next miss reclaims
    /// unused buffers above the limit, 16 at a time. Call [`reclaim`](Self::reclaim) first to spare
    /// the miss this work.
    pub fn set_limit(&self, limit: u64) {
        // Relaxed: only a number; it orders nothing.
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Number of buffers in the cache. A snapshot; exact when no thread changes it. Reads every
    /// shard.
    pub fn len(&self) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards live as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        // SAFETY: as above; below the number.
        (0..number).map(|index| unsafe { Shards::at(shards, index) }.buffers() as usize).sum()
    }

    /// Returns true if there are no buffers. A snapshot; reads every shard.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of buffers that count towards the limit: buffers in the cache, and removed buffers
    /// that are still referenced. A snapshot.
    pub fn living(&self) -> u64 {
        self.living.load(Ordering::Relaxed)
    }

    /// Number of freed buffers whose memory waits because a look-up may still reach it. Their
    /// values are dropped. Always 0 where look-ups take a lock.
    pub fn waiting(&self) -> u64 {
        self.domain.pending()
    }

    /// Bytes of one buffer with its value, without its share of the chains and without the
    /// allocator's overhead.
    pub const fn bytes_of_a_buffer() -> usize {
        size_of::<EntryOf<Q, T, S, H, C>>()
    }

    /// Bytes of the cache with its [living](Self::living) buffers. This excludes buffers that
    /// [wait](Self::waiting), the records of look-ups ([`Domain::record_bytes`]), and the
    /// allocator's overhead.
    pub fn bytes(&self) -> usize {
        let shards = self.shards().map_or(0, |shards| {
            // SAFETY: published shards live as long as the cache.
            let shards = unsafe { shards.as_ref() };
            shards.bytes() + S::Index::bytes(shards)
        });
        size_of::<Self>() + shards + self.living() as usize * Self::bytes_of_a_buffer()
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Drop for BufferCache<Q, T, B, S, H, C>
{
    /// Drops all buffers. Handles borrow the cache, so there are none left; a forgotten handle
    /// cannot be used. If a value's destructor panics, the others are still dropped.
    fn drop(&mut self) {
        struct Rest<
            Q: CacheKey,
            T: Send + Sync,
            B: Hashes<Q>,
            S: Switches<H, Q>,
            H: HostWithSlots,
            C: Context,
        >(NonNull<ShardsOf<Q, S, H, C>>, usize, PhantomData<fn() -> (Q, T, B)>);
        impl<
            Q: CacheKey,
            T: Send + Sync,
            B: Hashes<Q>,
            S: Switches<H, Q>,
            H: HostWithSlots,
            C: Context,
        > Rest<Q, T, B, S, H, C>
        {
            fn free_buffers(&mut self) {
                // SAFETY: the shards are alive until `drop`.
                while self.1 < unsafe { self.0.as_ref() }.number() {
                    // SAFETY: as above; below their number.
                    let shard = unsafe { Shards::at(self.0, self.1) };
                    // SAFETY: no other thread has the cache; the shard's buffers are of this type.
                    while let Some(entry) = unsafe { shard.oldest::<Q, T>() } {
                        // SAFETY: as above; the buffer is in the list, and no thread uses it.
                        unsafe {
                            shard.take(entry);
                            Entry::destroy(entry, |tail| EntryOf::<Q, T, S, H, C>::free(tail));
                        }
                    }
                    self.1 += 1;
                }
            }
        }
        impl<Q, T, B, S, H, C> Drop for Rest<Q, T, B, S, H, C>
        where
            Q: CacheKey,
            T: Send + Sync,
            B: Hashes<Q>,
            S: Switches<H, Q>,
            H: HostWithSlots,
            C: Context,
        {
            fn drop(&mut self) {
                self.free_buffers();
                // SAFETY: no thread uses them any more.
                unsafe {
                    S::Index::free(self.0.as_mut());
                    Shards::free(self.0);
                }
            }
        }
        if let Some(shards) = NonNull::new(from_word::<ShardsOf<Q, S, H, C>>(self.shards.get())) {
            if mem::needs_drop::<B>() {
                // SAFETY: there are shards, so there is a hasher. It is dropped once, here.
                self.hasher.with_mut(|hasher| unsafe { (*hasher).assume_init_drop() });
            }
            Rest::<Q, T, B, S, H, C>(shards, 0, PhantomData).free_buffers();
        }
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    fmt::Debug for BufferCache<Q, T, B, S, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferCache")
            .field("allocate", &S::Allocate::NAME)
            .field("initialise", &S::Initialise::NAME)
            .field("promote", &S::Promote::NAME)
            .field("index", &S::Index::NAME)
            .field("len", &self.len())
            .finish()
    }
}
