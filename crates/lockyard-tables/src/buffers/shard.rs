//! Shards: parts of a cache. Each has a lock, a part of the index, and a list of its buffers in the
//! order of use.
//!
//! A shard is a chain of [`FixedHash`](super::FixedHash) or a tree of
//! [`TreePerGroup`](super::TreePerGroup). With [`WideHash`](super::WideHash), it is a part that is
//! divided into more and more chains. All changes are made under the shard's lock. Reclaim takes
//! buffers from the end of the shard's list.

use super::entry::{Entry, Links};
use crate::memory::{AllocationFailed, from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::RawSpinLock;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, U32, U64, Word};

/// A part of a cache. It takes one cache line.
#[repr(C, align(64))]
pub struct Shard<K: LaneLock<H>, H: Host, C: Context> {
    lock: RawSpinLock<K, H, C>,
    /// Number of buffers in the index. Written under the lock.
    buffers: U32<H>,
    /// The start of the index.
    pub(super) root: Links<H>,
    newest: U64<H>,
    oldest: U64<H>,
    /// Number of the shard's buckets that insertions have divided in turn, plus one for the first
    /// bucket, which needs no sentinel. Written under the lock.
    pub(super) divided: U64<H>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Shard<K, H, C> {
    fn new() -> Self {
        Shard {
            lock: RawSpinLock::new(),
            buffers: Word::new(0),
            root: Links::new(),
            newest: Word::new(0),
            oldest: Word::new(0),
            divided: Word::new(1),
        }
    }

    /// Runs `f` under the lock. `f` may unwind.
    #[inline(always)]
    pub(super) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Release<'s, K: LaneLock<H>, H: Host, C: Context> {
            shard: &'s Shard<K, H, C>,
            held: Option<lockyard::Held<RawSpinLock<K, H, C>>>,
        }
        impl<K: LaneLock<H>, H: Host, C: Context> Drop for Release<'_, K, H, C> {
            #[inline(always)]
            fn drop(&mut self) {
                if let Some(held) = self.held.take() {
                    // SAFETY: `held` came from this lock.
                    unsafe { self.shard.lock.release(held) };
                }
            }
        }
        let _release = Release { shard: self, held: Some(self.lock.acquire()) };
        f()
    }

    /// Number of buffers. A snapshot.
    pub(super) fn buffers(&self) -> u32 {
        self.buffers.load(Ordering::Relaxed)
    }

    // Relaxed everywhere below: the list is read and written under the lock.

    /// Puts a buffer at the front of the list.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock, and must give the cache a reference. The buffer must be in no
    /// list.
    pub(super) unsafe fn push<Q: Send, T: Send>(&self, entry: NonNull<Entry<Q, T, K, H, C>>) {
        // SAFETY: the caller's promise.
        unsafe {
            self.link(entry);
            entry.as_ref().set_cached(true);
        }
        self.buffers.store(self.buffers() + 1, Ordering::Relaxed);
    }

    /// Removes a buffer from the list. The caller takes over the cache's reference.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock; the buffer must be in this list.
    pub(super) unsafe fn take<Q: Send, T: Send>(&self, entry: NonNull<Entry<Q, T, K, H, C>>) {
        // SAFETY: the caller's promise.
        unsafe {
            self.unlink(entry);
            entry.as_ref().set_cached(false);
        }
        self.buffers.store(self.buffers() - 1, Ordering::Relaxed);
    }

    /// Moves a buffer to the front of the list.
    ///
    /// # Safety
    ///
    /// The same as for [`take`](Self::take).
    pub(super) unsafe fn move_to_front<Q: Send, T: Send>(
        &self,
        entry: NonNull<Entry<Q, T, K, H, C>>,
    ) {
        if self.newest.load(Ordering::Relaxed) != to_word(entry.as_ptr()) {
            // SAFETY: the caller's promise.
            unsafe {
                self.unlink(entry);
                self.link(entry);
            }
        }
    }

    /// Returns the buffer at the end of the list.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock; the shard's buffers must be of this type.
    pub(super) unsafe fn oldest<Q: Send, T: Send>(&self) -> Option<NonNull<Entry<Q, T, K, H, C>>> {
        NonNull::new(from_word(self.oldest.load(Ordering::Relaxed)))
    }

    /// Returns the buffer before this one in the list, which was used more recently.
    ///
    /// # Safety
    ///
    /// The same as for [`take`](Self::take).
    pub(super) unsafe fn newer<Q: Send, T: Send>(
        &self,
        entry: NonNull<Entry<Q, T, K, H, C>>,
    ) -> Option<NonNull<Entry<Q, T, K, H, C>>> {
        // SAFETY: the caller's promise.
        let newer = unsafe { entry.as_ref().recency() }.newer.load(Ordering::Relaxed);
        NonNull::new(from_word(newer))
    }

    /// # Safety
    ///
    /// The caller must hold the lock; the buffer must be in no list.
    unsafe fn link<Q: Send, T: Send>(&self, entry: NonNull<Entry<Q, T, K, H, C>>) {
        let (address, second) = (to_word(entry.as_ptr()), self.newest.load(Ordering::Relaxed));
        // SAFETY: the caller's promise.
        let recency = unsafe { entry.as_ref().recency() };
        recency.newer.store(0, Ordering::Relaxed);
        recency.older.store(second, Ordering::Relaxed);
        // SAFETY: listed buffers stay in the list while the lock is held.
        match unsafe { from_word::<Entry<Q, T, K, H, C>>(second).as_ref() } {
            // SAFETY: as above.
            Some(second) => unsafe { second.recency() }.newer.store(address, Ordering::Relaxed),
            None => self.oldest.store(address, Ordering::Relaxed),
        }
        self.newest.store(address, Ordering::Relaxed);
    }

    /// # Safety
    ///
    /// The same as for [`take`](Self::take).
    unsafe fn unlink<Q: Send, T: Send>(&self, entry: NonNull<Entry<Q, T, K, H, C>>) {
        // SAFETY: the caller's promise.
        let recency = unsafe { entry.as_ref().recency() };
        let newer = recency.newer.load(Ordering::Relaxed);
        let older = recency.older.load(Ordering::Relaxed);
        // SAFETY: listed buffers stay in the list while the lock is held.
        match unsafe { from_word::<Entry<Q, T, K, H, C>>(newer).as_ref() } {
            // SAFETY: as above.
            Some(newer) => unsafe { newer.recency() }.older.store(older, Ordering::Relaxed),
            None => self.newest.store(older, Ordering::Relaxed),
        }
        // SAFETY: as above.
        match unsafe { from_word::<Entry<Q, T, K, H, C>>(older).as_ref() } {
            // SAFETY: as above.
            Some(older) => unsafe { older.recency() }.newer.store(newer, Ordering::Relaxed),
            None => self.oldest.store(newer, Ordering::Relaxed),
        }
    }
}

/// Maximum number of times that a [`WideHash`](super::WideHash) can double its chains.
pub(super) const DOUBLINGS: usize = 22;

/// The array of a cache's shards with their shared state, in one allocation.
#[repr(C, align(64))]
pub struct Shards<K: LaneLock<H>, H: Host, C: Context> {
    number: usize,
    /// Number of times that the chains have been doubled.
    pub(super) doublings: U64<H>,
    /// The sentinels of each doubling, or 0.
    pub(super) segments: [U64<H>; DOUBLINGS],
    /// The shards begin where this struct ends.
    _shards: PhantomData<Shard<K, H, C>>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Shards<K, H, C> {
    fn layout(number: usize) -> Option<(Layout, usize)> {
        let shards = Layout::array::<Shard<K, H, C>>(number).ok()?;
        Layout::new::<Self>().extend(shards).ok()
    }

    /// Bytes of the array.
    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.number).map_or(usize::MAX, |(layout, _)| layout.size())
    }

    pub(super) fn allocate(number: usize) -> Result<NonNull<Self>, AllocationFailed> {
        let (layout, offset) = Self::layout(number).ok_or(AllocationFailed)?;
        let memory = from_host::<H>(layout, None).ok_or(AllocationFailed)?;
        let shards = memory.cast::<Self>();
        let segments = core::array::from_fn(|_| Word::new(0));
        let all = Shards { number, doublings: Word::new(0), segments, _shards: PhantomData };
        // SAFETY: the memory has this layout, and belongs to the caller.
        unsafe { shards.write(all) };
        // SAFETY: as above.
        let first = unsafe { memory.add(offset).cast::<Shard<K, H, C>>() };
        for index in 0..number {
            // SAFETY: inside the array.
            unsafe { first.add(index).write(Shard::new()) };
        }
        Ok(shards)
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns shard number `index`.
    ///
    /// # Safety
    ///
    /// `this` must come from [`allocate`](Self::allocate) and must be alive while the returned
    /// shard is used; `index` must be below the number of shards.
    #[inline(always)]
    pub(super) unsafe fn at<'s>(this: NonNull<Self>, index: usize) -> &'s Shard<K, H, C> {
        const { assert!(align_of::<Shard<K, H, C>>() == align_of::<Self>()) };
        // SAFETY: the array begins where `Self` ends, because both have the same alignment. The
        // rest is the caller's promise.
        unsafe { this.add(1).cast::<Shard<K, H, C>>().add(index).as_ref() }
    }

    /// Frees the memory of the array.
    ///
    /// # Safety
    ///
    /// `this` must come from [`allocate`](Self::allocate), and no thread may use it any more.
    pub(super) unsafe fn free(this: NonNull<Self>) {
        // SAFETY: the caller's promise.
        let number = unsafe { this.as_ref() }.number;
        for index in 0..number {
            // SAFETY: inside the array; not used again.
            unsafe { this.add(1).cast::<Shard<K, H, C>>().add(index).drop_in_place() };
        }
        // SAFETY: the caller's promise.
        unsafe { this.drop_in_place() };
        if let Some((layout, _)) = Self::layout(number) {
            // SAFETY: allocated with this layout, by this host.
            unsafe { to_host::<H>(this.cast(), layout) };
        }
    }
}

const _: () = {
    use lockyard::{Native, NoContext, lock::Ticket};
    assert!(size_of::<Shard<Ticket, Native, NoContext>>() == 64);
};
