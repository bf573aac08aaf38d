//! Buckets: chains of entries, each with a lock of 4 bytes, and the array of buckets.
//!
//! ```text
//!   bucket, 16 bytes:   lock (4) | entries (4) | address of the first entry (8)
//! ```
//!
//! Four buckets share a line. Each change of a chain is one store, made under the bucket's lock. A
//! look-up without the lock sees the chain with the entry or without it. A removed entry keeps its
//! link to the next one.

use super::configuration::Bits;
use super::entry::Entry;
use super::hash::{Seed, hash};
use super::key::Key;
use crate::memory::{AllocationFailed, from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::RawSpinLock;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, U32, U64, Word};

/// A chain and its lock.
#[repr(C)]
pub struct Bucket<K: LaneLock<H>, H: Host, C: Context> {
    lock: RawSpinLock<K, H, C>,
    /// Number of entries in the chain. Written under the lock.
    entries: U32<H>,
    /// The first entry's address, or 0. Written under the lock.
    first: U64<H>,
}

/// Decision about an entry, and about the rest of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Stays,
    Leaves,
    /// The entry leaves, and no further entry is examined.
    LeavesAtLast,
    /// The entry stays, and so do all entries after it.
    End,
}

impl<K: LaneLock<H>, H: Host, C: Context> Bucket<K, H, C> {
    fn new() -> Self {
        Bucket { lock: RawSpinLock::new(), entries: Word::new(0), first: Word::new(0) }
    }

    /// Runs `f` under the lock. `f` must not unwind.
    #[inline(always)]
    pub(super) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let held = self.lock.acquire();
        let result = f();
        // SAFETY: `held` is this lock's.
        unsafe { self.lock.release(held) };
        result
    }

    /// Number of entries. A snapshot.
    pub(super) fn entries(&self) -> u32 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Returns the entry of `key`, with a reference.
    ///
    /// # Safety
    ///
    /// The chain's entries are of this type, and none of them is freed during the call.
    #[inline(always)]
    pub(super) unsafe fn find<T: Send, D>(&self, key: &Key) -> Option<NonNull<Entry<T, H, D>>> {
        // Acquire: pairs with the release of the thread that stored the entry's address (`push`,
        // `retain`). The entry is therefore seen fully initialised, and so are all entries that
        // were in the chain before it.
        let mut at = self.first.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(from_word::<Entry<T, H, D>>(at)) {
            // SAFETY: the chain leads to this entry; the caller promises that it is not freed.
            let entry = unsafe { found.as_ref() };
            // An entry without a reference has already been removed.
            if entry.key().is(key) && entry.references.get_not_zero() {
                return Some(found);
            }
            // Relaxed: entries are inserted at the front, so a link always leads to an entry that
            // is older than the link's own.
            at = entry.next.load(Ordering::Relaxed);
        }
        None
    }

    /// Inserts an entry at the front.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and gives the chain a reference. The entry has the chain's type
    /// and is in no chain.
    pub(super) unsafe fn push<T: Send, D>(&self, entry: NonNull<Entry<T, H, D>>) {
        // Relaxed: written only by holders of the lock.
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY: the entry belongs to the caller.
        unsafe { entry.as_ref() }.next.store(first, Ordering::Relaxed);
        // Release: pairs with the acquire in `find`.
        self.first.store(to_word(entry.as_ptr()), Ordering::Release);
        self.count(1);
    }

    /// Passes each entry to `judge`, and removes those that `judge` rejects. The caller takes over
    /// their references.
    ///
    /// # Safety
    ///
    /// The caller holds the lock; the chain's entries are of this type.
    pub(super) unsafe fn retain<T: Send, D>(
        &self,
        mut judge: impl FnMut(NonNull<Entry<T, H, D>>) -> Verdict,
    ) {
        let mut link: &U64<H> = &self.first;
        let mut gone = 0u32;
        loop {
            // Relaxed: written under the lock, which its previous holder has released.
            let at = link.load(Ordering::Relaxed);
            let Some(found) = NonNull::new(from_word::<Entry<T, H, D>>(at)) else { break };
            // SAFETY: the table has a reference to each entry in the chain, and only the holder of
            // the lock removes entries.
            let entry = unsafe { found.as_ref() };
            let next = entry.next.load(Ordering::Relaxed);
            let verdict = judge(found);
            match verdict {
                Verdict::Stays => link = &entry.next,
                Verdict::Leaves | Verdict::LeavesAtLast => {
                    // Release: pairs with the acquire in `find`, if the link is the first one.
                    // Another thread may have made the next entry, and a look-up does not acquire
                    // from that thread here.
                    link.store(next, Ordering::Release);
                    gone += 1;
                }
                Verdict::End => break,
            }
            if verdict == Verdict::LeavesAtLast {
                break;
            }
        }
        if gone > 0 {
            self.count(gone.wrapping_neg());
        }
    }

    fn count(&self, change: u32) {
        // Relaxed: written under the lock.
        let entries = self.entries.load(Ordering::Relaxed);
        self.entries.store(entries.wrapping_add(change), Ordering::Relaxed);
    }

    /// Removes the first entry, for a table that is being dropped.
    fn pop<T: Send, D>(&mut self) -> Option<NonNull<Entry<T, H, D>>> {
        let entry = NonNull::new(from_word::<Entry<T, H, D>>(self.first.get()))?;
        // SAFETY: an entry in the chain is alive.
        let next = unsafe { entry.as_ref() }.next.load(Ordering::Relaxed);
        self.first.store(next, Ordering::Relaxed);
        Some(entry)
    }
}

/// The array of a table's buckets with the key of the hash, in one allocation.
#[repr(C, align(64))]
pub(super) struct Buckets<K: LaneLock<H>, H: Host, C: Context> {
    seed: Seed,
    bits: Bits,
    /// The buckets begin where this struct ends.
    _buckets: PhantomData<Bucket<K, H, C>>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Buckets<K, H, C> {
    /// Returns the layout of `Self` followed by an array of 2^`bits` buckets, and the offset of the
    /// array. Returns `None` if the layout would be too large.
    fn layout(bits: Bits) -> Option<(Layout, usize)> {
        let buckets = Layout::array::<Bucket<K, H, C>>(bits.buckets()).ok()?;
        Layout::new::<Self>().extend(buckets).ok()
    }

    /// Bytes of the array.
    pub(super) fn bytes(bits: Bits) -> usize {
        Self::layout(bits).map_or(usize::MAX, |(layout, _)| layout.size())
    }

    pub(super) fn allocate(bits: Bits, seed: Seed) -> Result<NonNull<Self>, AllocationFailed> {
        let (layout, offset) = Self::layout(bits).ok_or(AllocationFailed)?;
        let memory = from_host::<H>(layout, None).ok_or(AllocationFailed)?;
        let buckets = memory.cast::<Self>();
        // SAFETY: the memory has the layout of `Self` followed by the buckets, and belongs to this
        // function.
        unsafe {
            buckets.write(Buckets { seed, bits, _buckets: PhantomData });
            let first = memory.add(offset).cast::<Bucket<K, H, C>>();
            for index in 0..bits.buckets() {
                first.add(index).write(Bucket::new());
            }
        }
        Ok(buckets)
    }

    pub(super) fn bits(&self) -> Bits {
        self.bits
    }

    /// Returns the first bucket.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), and has not been freed.
    #[inline(always)]
    unsafe fn all(this: NonNull<Self>) -> NonNull<Bucket<K, H, C>> {
        // SAFETY: the buckets begin right after the header (`layout`), whose size is a multiple of
        // their alignment.
        unsafe { this.add(1).cast() }
    }

    /// Returns the index of the bucket of `key`.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), and has not been freed.
    #[inline(always)]
    pub(super) unsafe fn index(this: NonNull<Self>, key: &Key) -> usize {
        // SAFETY: the caller's promise.
        let (seed, bits) = unsafe { (this.as_ref().seed, this.as_ref().bits) };
        // There is at least one bit, so the shift is less than 64.
        (hash(seed, key.words()) >> (64 - bits.get())) as usize
    }

    /// Returns the bucket of `key`.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), and is not freed while the returned bucket is
    /// used.
    #[inline(always)]
    pub(super) unsafe fn of_key<'b>(this: NonNull<Self>, key: &Key) -> &'b Bucket<K, H, C> {
        // SAFETY: the caller's promise; an index is below 2^bits.
        unsafe { Self::at(this, Self::index(this, key)) }
    }

    /// Returns bucket `index`.
    ///
    /// # Safety
    ///
    /// As [`of_key`](Self::of_key), and `index` is below 2^bits.
    #[inline(always)]
    pub(super) unsafe fn at<'b>(this: NonNull<Self>, index: usize) -> &'b Bucket<K, H, C> {
        // SAFETY: the caller's promise; the bucket is inside the array.
        unsafe { Self::all(this).add(index).as_ref() }
    }

    /// Frees the array and all its entries, even those that are referenced. If a value's destructor
    /// panics, the rest is still freed.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), nobody uses it any more, and its chains have
    /// entries of this type.
    pub(super) unsafe fn free<T: Send, D>(this: NonNull<Self>) {
        struct Rest<K: LaneLock<H>, H: Host, C: Context, T: Send, D> {
            buckets: NonNull<Buckets<K, H, C>>,
            index: usize,
            _entries: PhantomData<fn() -> (T, D)>,
        }
        impl<K: LaneLock<H>, H: Host, C: Context, T: Send, D> Rest<K, H, C, T, D> {
            fn free_entries(&mut self) {
                // SAFETY: the array is alive until `drop`.
                let (all, bits) =
                    unsafe { (Buckets::all(self.buckets), self.buckets.as_ref().bits) };
                while self.index < bits.buckets() {
                    // SAFETY: in the array, which nobody else uses.
                    let bucket = unsafe { all.add(self.index).as_mut() };
                    while let Some(entry) = bucket.pop::<T, D>() {
                        // SAFETY: nobody uses the entry any more; it was allocated by this host.
                        // The returned value is dropped here.
                        drop(unsafe { Entry::<T, H, D>::take_back(entry) });
                    }
                    // SAFETY: as above; the bucket is not used again.
                    unsafe { all.add(self.index).drop_in_place() };
                    self.index += 1;
                }
            }
        }
        impl<K: LaneLock<H>, H: Host, C: Context, T: Send, D> Drop for Rest<K, H, C, T, D> {
            fn drop(&mut self) {
                self.free_entries();
                // SAFETY: the array is alive.
                let bits = unsafe { self.buckets.as_ref() }.bits;
                if let Some((layout, _)) = Buckets::<K, H, C>::layout(bits) {
                    // SAFETY: allocated with this layout, by this host.
                    unsafe { to_host::<H>(self.buckets.cast(), layout) };
                }
            }
        }
        Rest::<K, H, C, T, D> { buckets: this, index: 0, _entries: PhantomData }.free_entries();
    }
}

const _: () = {
    use lockyard::{Native, NoContext, lock::Ticket};
    assert!(size_of::<Bucket<Ticket, Native, NoContext>>() == 16);
    assert!(size_of::<Buckets<Ticket, Native, NoContext>>() == 64);
};
