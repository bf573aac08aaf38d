//! The buffer cache: a concurrent index of reference-counted buffers. An unused buffer stays until
//! its room is wanted.
//!
//! A buffer is found by its [`Key`], and made by the first caller that wants it.
//! [`BufferCache::get_or_fill`] calls the caller's function for the contents, once, however many
//! callers want the buffer at the same time. It returns a [`Buffer`], which is a reference. A
//! buffer with a reference is neither freed nor reclaimed. When the last one is dropped, the buffer
//! stays in the cache. [`BufferCache::reclaim`], or a limit that is reached, takes out buffers that
//! have not been used for long.
//!
//! # A hit
//!
//! A hit takes a reference, and does nothing else. With the default switches it takes no lock. It
//! writes the buffer's lockref, and, for the first time since reclaim came by, a bit of the buffer.
//!
//! # Switches
//!
//! Each is chosen on its own, as a type, by [`With`]. The defaults are in bold.
//!
//! - **When memory is allocated**: **[`OnMiss`]**, or on [`EveryCall`], before it is known to be
//!   needed.
//! - **Where the contents are made**: **[`Outside`]** all locks, where only callers that want the
//!   buffer wait; or [`UnderLock`] of the chain or tree, where all callers that come there wait.
//! - **What a hit notes**: **[`ReferencedBit`]**, unless it is set; or [`MoveToFront`] of a list,
//!   under its lock.
//! - **How buffers are found**: **[`WideHash`]**, which grows with use, and whose look-ups take no
//!   lock; [`Hash256`], 256 chains each behind a lock; or [`TreePerGroup`], trees each behind a
//!   lock.
//!
//! The others are there to compare with: earlier caches of this kind had them. [`Before`] is all of
//! them together.
//!
//! # What each operation costs
//!
//! - **Look-up, hit**: the fence of [entering](lockyard::reclaim) (or the shard's lock), a line of
//!   the index, a line or two for each buffer that is walked over, a compare-exchange of the
//!   lockref.
//! - **Dropping the buffer**: a compare-exchange of the same.
//! - **Miss**: an allocation, a read-modify-write of the number of buffers, the shard's lock; the
//!   filling.
//! - **Removal**: the shard's lock.
//! - **Reclaim**: a shard's lock for each 16 buffers that are looked at, a locked instruction for
//!   each that is taken.
//! - **Growth**: an allocation now and then, by a thread that inserts; nobody waits for it.
//!
//! # Ordering
//!
//! A caller that gets a buffer sees all that its filling did. It also sees all that was done
//! through references that have been dropped since. (Both are acquire and release by the lockref.)
//! Its holders synchronise what they do at the same time themselves: `T` is [`Sync`].
//!
//! # Memory
//!
//! A buffer takes 64 bytes and its value, without what the allocator adds. [`WideHash`] takes 8 to
//! 16 bytes more for the chains, which stay when buffers go. [`BufferCache::bytes`] returns what a
//! cache takes. `cargo run --release -p lockyard-tables --example buffers` measures it with a
//! million buffers, and shows that memory is steady under churn.
//!
//! # Faults
//!
//! - **No memory for the cache or a buffer**: [`GetError::NoMemory`]; the cache is as it was.
//!   Look-ups, removals and reclaim need none.
//! - **No memory for more chains**: the chains stay as they are, and become longer; the next
//!   insertion tries again.
//! - **The limit is reached**: a buffer that nobody uses is reclaimed; if there is none,
//!   [`GetError::Full`].
//! - **The caller's function fails, or panics**: the caller gets the error, or the panic; the
//!   buffer is not in the cache. Callers that waited for it start over, and the first of them fills
//!   it with a function of its own.
//! - **A value's destructor panics**: it unwinds from where the last reference was dropped, or from
//!   reclaim; memory is freed all the same.
//! - **A handle is forgotten**: the buffer counts as referenced for ever; it can be removed from
//!   the cache, and otherwise is freed with it.
//! - **2^30 references to a buffer**: the count saturates: the buffer is never reclaimed, and leaks
//!   if it is removed.
//!
//! # Source
//!
//! The experiments are those of the buffer cache of XFS (D. Chinner, *xfs: metadata scalability*,
//! linux-xfs mailing list, 2010). There a hash of 256 chains became a tree for each allocation
//! group, and an allocation on every call became one on a miss. Written from the description, not
//! from an implementation. The sources of the algorithms stand in `chains.rs`, `tree.rs` and
//! `reclaim.rs`.

mod buffer;
mod chains;
mod configuration;
mod entry;
mod index;
mod key;
mod miss;
mod reclaim;
mod shard;
mod switches;
mod tree;

pub use buffer::Buffer;
pub use configuration::{Configuration, Groups, GroupsError};
pub use index::{FixedHash, Hash256, Index, TreePerGroup, WideHash};
pub use key::Key;
pub use miss::GetError;
pub use switches::{
    Allocate, Before, EveryCall, Initialise, MoveToFront, OnMiss, Outside, Promote, ReferencedBit,
    Standard, Switches, UnderLock, With,
};

use crate::memory::{AllocationFailed, Values, from_word, to_word};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use entry::Entry;
use index::Wanted;
use lock_api::RawMutex;
use lockyard::RawSpinLock;
use lockyard::platform::{
    ConstAtomics, HostWithSlots, NativeAtomics, NativeU64, Ordering, Region, U64, Word, during,
};
use lockyard::reclaim::Domain;
use lockyard::{Context, NoContext};
use shard::{Shard, Shards};

type LockOf<S, H> = <<S as Switches<H>>::Index as Index<H>>::Lock;
type EntryOf<T, S, H, C> = Entry<T, LockOf<S, H>, H, C>;
type ShardsOf<S, H, C> = Shards<LockOf<S, H>, H, C>;
/// A shard, and the state that all shards share.
struct Part<'c, S: Switches<H>, H: HostWithSlots, C: Context> {
    shard: &'c Shard<LockOf<S, H>, H, C>,
    all: &'c ShardsOf<S, H, C>,
}

/// A cache of buffers with values `T`. See the [module documentation](self).
///
/// ```
/// use lockyard_tables::BufferCache;
/// use lockyard_tables::buffers::{Configuration, GetError, Key};
///
/// static CACHE: BufferCache<Vec<u8>> = BufferCache::new(Configuration::DEFAULT.with_limit(2));
/// let read = |block: u64| move || Ok::<_, std::io::Error>(vec![block as u8; 4096]);
///
/// let superblock = CACHE.get_or_fill(Key::new(0, 1), read(1))?;
/// assert_eq!(superblock[0], 1);
/// let again = CACHE.get_or_fill(Key::new(0, 1), read(9))?;
/// assert_eq!(again[0], 1, "it is there, and is not filled again");
/// assert!(std::ptr::eq(&*superblock, &*again), "the same buffer");
///
/// // A second one, which nobody keeps, makes room for a third; the first is referenced.
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
/// Parameters: the value, the [`Switches`], the [`Host`](lockyard::platform::Host), and the
/// [`Context`] of all locks and guards.
pub struct BufferCache<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context = NoContext> {
    /// The address of the [`Shards`], or 0 before the first miss.
    shards: U64<H>,
    /// Maximum number of buffers.
    limit: U64<H>,
    configuration: Configuration,
    /// The domain of look-ups that take no lock.
    domain: Domain<H, C>,
    /// Held by the thread that makes the shards.
    setup: RawSpinLock<LockOf<S, H>, H, C>,
    /// Number of buffers that exist, or are about to.
    living: U64<H>,
    /// The shard that was last reclaimed from.
    hand: U64<H>,
    _buffers: Values<T>,
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots<Atomics = NativeAtomics>, C: Context>
    BufferCache<T, S, H, C>
where
    H::Atomics: ConstAtomics,
{
    /// Returns an empty cache, for statics too.
    pub const fn new(configuration: Configuration) -> Self {
        BufferCache {
            shards: NativeU64::new(0),
            limit: NativeU64::new(configuration.limit),
            configuration,
            domain: Domain::new(),
            setup: <RawSpinLock<LockOf<S, H>, H, C> as RawMutex>::INIT,
            living: NativeU64::new(0),
            hand: NativeU64::new(0),
            _buffers: PhantomData,
        }
    }
}

/// An empty cache with [`Configuration::DEFAULT`].
impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Default
    for BufferCache<T, S, H, C>
{
    fn default() -> Self {
        Self::with_configuration(Configuration::DEFAULT)
    }
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> BufferCache<T, S, H, C> {
    /// Returns an empty cache, on any platform.
    pub fn with_configuration(configuration: Configuration) -> Self {
        BufferCache {
            shards: Word::new(0),
            limit: Word::new(configuration.limit),
            configuration,
            domain: Domain::default(),
            setup: RawSpinLock::new(),
            living: Word::new(0),
            hand: Word::new(0),
            _buffers: PhantomData,
        }
    }

    #[inline(always)]
    fn shards(&self) -> Option<NonNull<ShardsOf<S, H, C>>> {
        // Acquire: pairs with the release in `make_shards`.
        NonNull::new(from_word(self.shards.load(Ordering::Acquire)))
    }

    /// Returns the shard of `wanted`, and the state that all shards share.
    ///
    /// # Safety
    ///
    /// The shards are the cache's.
    #[inline(always)]
    unsafe fn part(
        &self,
        shards: NonNull<ShardsOf<S, H, C>>,
        wanted: &Wanted,
    ) -> Part<'_, S, H, C> {
        // SAFETY: published shards are there as long as the cache.
        let all = unsafe { shards.as_ref() };
        // SAFETY: as above; an index's shards are below their number.
        let shard = unsafe { Shards::at(shards, S::Index::shard(wanted, all.number())) };
        Part { shard, all }
    }

    /// Takes a buffer out of the index and out of its shard's list.
    ///
    /// # Safety
    ///
    /// The shard is that of `wanted`, the caller holds its lock, and the buffer is in the index and
    /// in the list.
    unsafe fn take_out(
        Part { shard, all }: Part<'_, S, H, C>,
        wanted: &Wanted,
        entry: NonNull<EntryOf<T, S, H, C>>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            S::Index::remove(all, shard, wanted, entry);
            shard.take(entry);
        }
    }

    /// Makes what the cache needs for its first buffer now. Otherwise the first miss allocates it,
    /// and others wait meanwhile.
    ///
    /// # Errors
    ///
    /// If there is no memory; the next miss tries again.
    pub fn start(&self) -> Result<(), AllocationFailed> {
        self.make_shards().map(drop)
    }

    #[cold]
    fn make_shards(&self) -> Result<NonNull<ShardsOf<S, H, C>>, AllocationFailed> {
        let held = self.setup.acquire();
        // Relaxed: written under the lock.
        let there = NonNull::new(from_word(self.shards.load(Ordering::Relaxed)));
        let shards = there.map_or_else(
            || {
                let new = Shards::allocate(S::Index::shards(&self.configuration))?;
                // Release: pairs with the acquire in `shards`.
                self.shards.store(to_word(new.as_ptr()), Ordering::Release);
                Ok(new)
            },
            Ok,
        );
        // SAFETY: `held` is this lock's, and nothing in between unwinds.
        unsafe { self.setup.release(held) };
        shards
    }

    /// Returns the buffer of `key`, if it is in the cache; waits while it is being filled.
    ///
    /// Takes no lock with [`WideHash`] and [`ReferencedBit`]. Acquire.
    #[inline]
    pub fn look_up(&self, key: Key) -> Option<Buffer<'_, T, S, H, C>> {
        self.find_ready(&Wanted::new(key))
    }

    #[inline(always)]
    fn find_ready(&self, wanted: &Wanted) -> Option<Buffer<'_, T, S, H, C>> {
        loop {
            let found = self.find(wanted)?;
            if found.hit() {
                return Some(found);
            }
            // It was found before it was filled, and the filling failed. It is out of the cache,
            // where there may be another.
        }
    }

    /// Returns the buffer of a key, filled or not.
    #[inline(always)]
    fn find(&self, wanted: &Wanted) -> Option<Buffer<'_, T, S, H, C>> {
        let shards = self.shards()?;
        // SAFETY: published shards are there as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, wanted) };
        let look = || {
            // SAFETY: under the lock nothing is taken out, so nothing is freed. Without it the
            // guard keeps all buffers that can be reached from being freed: see `chains.rs`.
            unsafe { S::Index::find(all, shard, wanted, EntryOf::<T, S, H, C>::get) }
        };
        let found = if S::Index::LOCKS {
            shard.locked(|| {
                during::<H, _>(Region::LookUp, || {
                    let found = look()?;
                    if S::Promote::MOVES {
                        // SAFETY: under the lock, and it is in the list.
                        unsafe { shard.move_to_front(found) };
                    }
                    Some(found)
                })
            })
        } else {
            during::<H, _>(Region::LookUp, || {
                let _guard = self.domain.enter();
                look()
            })
        }?;
        // SAFETY: `get` took a reference.
        Some(unsafe { Buffer::new(self, found) })
    }

    /// Takes the buffer of `key` out of the cache. The next caller that wants it fills it anew.
    /// Existing references stay valid. Waits while it is being filled.
    ///
    /// Cost: the shard's lock.
    pub fn remove(&self, key: Key) -> Option<Buffer<'_, T, S, H, C>> {
        let shards = self.shards()?;
        let wanted = Wanted::new(key);
        // SAFETY: published shards are there as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, &wanted) };
        let taken = shard.locked(|| {
            // SAFETY: under the lock nothing else is taken out; the found buffer is in the index
            // and in the list.
            unsafe {
                let found: NonNull<EntryOf<T, S, H, C>> =
                    S::Index::find(all, shard, &wanted, |_| true)?;
                Self::take_out(Part { shard, all }, &wanted, found);
                Some(found)
            }
        })?;
        // SAFETY: the cache's reference, which `take` has given up.
        let taken = unsafe { Buffer::new(self, taken) };
        taken.ready().then_some(taken)
    }

    /// Maximum number of buffers.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the maximum number of buffers. If there are already more, the next miss reclaims
    /// unused ones above the limit, 16 at a time. [`reclaim`](Self::reclaim) spares it that.
    pub fn set_limit(&self, limit: u64) {
        // Relaxed: a number.
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Number of buffers in the cache. A snapshot; exact when nobody changes it. Reads every shard.
    pub fn len(&self) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards are there as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        // SAFETY: as above; below the number.
        (0..number).map(|index| unsafe { Shards::at(shards, index) }.buffers() as usize).sum()
    }

    /// Returns true if there are no buffers. A snapshot; reads every shard.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of buffers that count for the limit: those in the cache, and those that were taken
    /// out and are still referenced. A snapshot.
    pub fn living(&self) -> u64 {
        self.living.load(Ordering::Relaxed)
    }

    /// Number of freed buffers whose memory waits because a look-up may stand on it. Their values
    /// are dropped. Always 0 where look-ups take a lock.
    pub fn waiting(&self) -> u64 {
        self.domain.pending()
    }

    /// Bytes of one buffer with its value, without its share of the chains and without what the
    /// allocator adds.
    pub const fn bytes_of_a_buffer() -> usize {
        size_of::<EntryOf<T, S, H, C>>()
    }

    /// Bytes of the cache with its [living](Self::living) buffers. Not counted are buffers that
    /// [wait](Self::waiting), the records of look-ups ([`Domain::record_bytes`]), and what the
    /// allocator adds.
    pub fn bytes(&self) -> usize {
        let shards = self.shards().map_or(0, |shards| {
            // SAFETY: published shards are there as long as the cache.
            let shards = unsafe { shards.as_ref() };
            shards.bytes() + S::Index::bytes(shards)
        });
        size_of::<Self>() + shards + self.living() as usize * Self::bytes_of_a_buffer()
    }
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Drop
    for BufferCache<T, S, H, C>
{
    /// Drops all buffers. Handles borrow the cache, so there are none; one that was forgotten
    /// cannot be used. If a value's destructor panics, the others are still dropped.
    fn drop(&mut self) {
        struct Rest<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context>(
            NonNull<ShardsOf<S, H, C>>,
            usize,
            PhantomData<fn() -> T>,
        );
        impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Rest<T, S, H, C> {
            fn free_buffers(&mut self) {
                // SAFETY: the shards are alive until `drop`.
                while self.1 < unsafe { self.0.as_ref() }.number() {
                    // SAFETY: as above; below their number.
                    let shard = unsafe { Shards::at(self.0, self.1) };
                    // SAFETY: nobody else has the cache; the shard's buffers are of this type.
                    while let Some(entry) = unsafe { shard.oldest::<T>() } {
                        // SAFETY: as above; it is in the list, and nobody uses it.
                        unsafe {
                            shard.take(entry);
                            Entry::destroy(entry, |tail| EntryOf::<T, S, H, C>::free(tail));
                        }
                    }
                    self.1 += 1;
                }
            }
        }
        impl<T, S, H, C> Drop for Rest<T, S, H, C>
        where
            T: Send + Sync,
            S: Switches<H>,
            H: HostWithSlots,
            C: Context,
        {
            fn drop(&mut self) {
                self.free_buffers();
                // SAFETY: nobody uses them any more.
                unsafe {
                    S::Index::free(self.0.as_mut());
                    Shards::free(self.0);
                }
            }
        }
        if let Some(shards) = NonNull::new(from_word::<ShardsOf<S, H, C>>(self.shards.get())) {
            Rest::<T, S, H, C>(shards, 0, PhantomData).free_buffers();
        }
    }
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> fmt::Debug
    for BufferCache<T, S, H, C>
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
