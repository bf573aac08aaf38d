//! Buckets: chains of entries, each with a lock of 4 bytes, and the array of buckets.
//!
//! ```text
//!   bucket, 16 bytes:   lock (4) | entries (4) | address of the first entry (8)
//! ```
//!
//! Four buckets share a line. Each change of a chain is one store, made under the bucket's lock. A
//! look-up without the lock sees the chain with the entry or without it. A removed entry keeps its
//! link to the next entry.

use super::configuration::Bits;
use super::entry::{Entry, Moment};
use crate::memory::{AllocationFailed, from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, U32, U64, Word};
use lockyard::{Context, Held, RawSpinLock};

/// A chain and its lock.
#[repr(C)]
pub struct Bucket<L: LaneLock<H>, H: Host, C: Context> {
    lock: RawSpinLock<L, H, C>,
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

/// Action of a walk after it has looked at an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The walk ends with this entry.
    Found,
    /// The walk continues, in a table whose entries are never replaced.
    On,
    /// The walk continues, in a table whose entries are replaced.
    OnInReplaced,
    /// The walk begins again.
    Again,
}

impl<L: LaneLock<H>, H: Host, C: Context> Bucket<L, H, C> {
    fn new() -> Self {
        Bucket { lock: RawSpinLock::new(), entries: Word::new(0), first: Word::new(0) }
    }

    /// Runs `f` under the lock. `f` may unwind, because it may compare keys.
    #[inline(always)]
    pub(super) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Release<'b, L: LaneLock<H>, H: Host, C: Context> {
            lock: &'b RawSpinLock<L, H, C>,
            held: Option<Held<RawSpinLock<L, H, C>>>,
        }
        impl<L: LaneLock<H>, H: Host, C: Context> Drop for Release<'_, L, H, C> {
            #[inline(always)]
            fn drop(&mut self) {
                if let Some(held) = self.held.take() {
                    // SAFETY: `held` came from this lock.
                    unsafe { self.lock.release(held) };
                }
            }
        }
        let _release = Release { lock: &self.lock, held: Some(self.lock.acquire()) };
        f()
    }

    /// Number of entries. A snapshot.
    pub(super) fn entries(&self) -> u32 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Walks along the chain and returns the first entry that `judge` finds.
    ///
    /// # Safety
    ///
    /// The chain's entries must be of this type, and none of them may be freed during the call.
    #[inline(always)]
    pub(super) unsafe fn walk<K: Send, T: Send, D, M: Moment>(
        &self,
        mut judge: impl FnMut(&Entry<K, T, H, D, M>) -> Look,
    ) -> Option<NonNull<Entry<K, T, H, D, M>>> {
        // Acquire: pairs with the release of the thread that stored the entry's address (`push`,
        // `retain`, `replace`). The entry is therefore seen fully initialised, and so are all
        // entries that were in the chain before it.
        let mut at = self.first.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(from_word::<Entry<K, T, H, D, M>>(at)) {
            // SAFETY: the chain leads to this entry; the caller promises that it is not freed.
            let entry = unsafe { found.as_ref() };
            match judge(entry) {
                Look::Found => return Some(found),
                // Relaxed: without replacement a link leads to an older entry. The acquire of the
                // first link covers the older entry too.
                Look::On => at = entry.next.load(Ordering::Relaxed),
                // Acquire: pairs with the release in `replace`, as a replaced entry may be newer.
                Look::OnInReplaced => at = entry.next.load(Ordering::Acquire),
                // Acquire: as above.
                Look::Again => at = self.first.load(Ordering::Acquire),
            }
        }
        None
    }

    /// Returns the first entry.
    ///
    /// # Safety
    ///
    /// The chain's entries must be of this type.
    pub(super) unsafe fn first_entry<K: Send, T: Send, D, M: Moment>(
        &self,
    ) -> Option<NonNull<Entry<K, T, H, D, M>>> {
        // Acquire: as in `walk`.
        NonNull::new(from_word(self.first.load(Ordering::Acquire)))
    }

    /// Inserts an entry at the front.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock, and must give the chain a reference. The entry must have the
    /// chain's type, and must be in no chain.
    pub(super) unsafe fn push<K: Send, T: Send, D, M: Moment>(
        &self,
        entry: NonNull<Entry<K, T, H, D, M>>,
    ) {
        // Relaxed: written only by holders of the lock.
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY: the entry belongs to the caller.
        unsafe { entry.as_ref() }.next.store(first, Ordering::Relaxed);
        // Release: pairs with the acquire in `walk`.
        self.first.store(to_word(entry.as_ptr()), Ordering::Release);
        self.count(1);
    }

    /// Passes each entry to `judge`, and removes those that `judge` rejects. The caller takes over
    /// their references.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock; the chain's entries must be of this type.
    pub(super) unsafe fn retain<K: Send, T: Send, D, M: Moment>(
        &self,
        mut judge: impl FnMut(NonNull<Entry<K, T, H, D, M>>) -> Verdict,
    ) {
        let mut link: &U64<H> = &self.first;
        let mut gone = 0u32;
        loop {
            // Relaxed: written under the lock, which its previous holder has released.
            let at = link.load(Ordering::Relaxed);
            let Some(found) = NonNull::new(from_word::<Entry<K, T, H, D, M>>(at)) else { break };
            // SAFETY: the table has a reference to each entry in the chain, and only the holder of
            // the lock removes entries.
            let entry = unsafe { found.as_ref() };
            let next = entry.next.load(Ordering::Relaxed);
            let verdict = judge(found);
            match verdict {
                Verdict::Stays => link = &entry.next,
                Verdict::Leaves | Verdict::LeavesAtLast => {
                    // Release: pairs with the acquire in `walk`, if the link is the first one.
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

    /// Puts a new entry in the place of an old entry, if the old entry is in the chain; returns
    /// true if it is. `prepare` runs first. A look-up finds one entry or the other. The caller
    /// takes over the old entry's reference.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock. The new entry must have the chain's type, and must be in no
    /// chain. The caller must give the chain a reference to the new entry.
    pub(super) unsafe fn replace<K: Send, T: Send, D, M: Moment>(
        &self,
        old: NonNull<Entry<K, T, H, D, M>>,
        new: NonNull<Entry<K, T, H, D, M>>,
        prepare: impl FnOnce(),
    ) -> bool {
        let mut link: &U64<H> = &self.first;
        loop {
            // Relaxed, all below: written under the lock.
            let at = link.load(Ordering::Relaxed);
            let Some(found) = NonNull::new(from_word::<Entry<K, T, H, D, M>>(at)) else {
                return false;
            };
            // SAFETY: the table has a reference to each entry in the chain, and only the holder of
            // the lock removes entries.
            let next = unsafe { &found.as_ref().next };
            if found != old {
                link = next;
                continue;
            }
            prepare();
            // SAFETY: the caller has the new entry.
            unsafe { new.as_ref() }.next.store(next.load(Ordering::Relaxed), Ordering::Relaxed);
            // Release: pairs with the acquire in `walk`.
            link.store(to_word(new.as_ptr()), Ordering::Release);
            return true;
        }
    }

    fn count(&self, change: u32) {
        // Relaxed: written under the lock.
        let entries = self.entries.load(Ordering::Relaxed);
        self.entries.store(entries.wrapping_add(change), Ordering::Relaxed);
    }

    /// Removes the first entry, for a table that is being dropped.
    fn pop<K: Send, T: Send, D, M: Moment>(&mut self) -> Option<NonNull<Entry<K, T, H, D, M>>> {
        let entry = NonNull::new(from_word::<Entry<K, T, H, D, M>>(self.first.get()))?;
        // SAFETY: an entry in the chain is alive.
        let next = unsafe { entry.as_ref() }.next.load(Ordering::Relaxed);
        self.first.store(next, Ordering::Relaxed);
        Some(entry)
    }
}

/// The array of a table's buckets with the hasher, in one allocation.
#[repr(C, align(64))]
pub(super) struct Buckets<S, L: LaneLock<H>, H: Host, C: Context> {
    hasher: S,
    bits: Bits,
    /// The buckets begin where this struct ends.
    _buckets: PhantomData<Bucket<L, H, C>>,
}

impl<S, L: LaneLock<H>, H: Host, C: Context> Buckets<S, L, H, C> {
    /// Returns the layout of `Self` followed by an array of 2^`bits` buckets, and the offset of the
    /// array. Returns `None` if the layout would be too large.
    fn layout(bits: Bits) -> Option<(Layout, usize)> {
        let buckets = Layout::array::<Bucket<L, H, C>>(bits.buckets()).ok()?;
        Layout::new::<Self>().extend(buckets).ok()
    }

    /// Bytes of the array.
    pub(super) fn bytes(bits: Bits) -> usize {
        Self::layout(bits).map_or(usize::MAX, |(layout, _)| layout.size())
    }

    /// Allocates the buckets. `hasher` is called only if there is memory.
    pub(super) fn allocate(
        bits: Bits,
        hasher: impl FnOnce() -> S,
    ) -> Result<NonNull<Self>, AllocationFailed> {
        let (layout, offset) = Self::layout(bits).ok_or(AllocationFailed)?;
        let memory = from_host::<H>(layout, None).ok_or(AllocationFailed)?;
        let buckets = memory.cast::<Self>();
        // SAFETY: the memory has the layout of `Self` followed by the buckets, and belongs to this
        // function.
        unsafe {
            buckets.write(Buckets { hasher: hasher(), bits, _buckets: PhantomData });
            let first = memory.add(offset).cast::<Bucket<L, H, C>>();
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
    /// `this` must come from [`allocate`](Self::allocate), and must not have been freed.
    #[inline(always)]
    unsafe fn all(this: NonNull<Self>) -> NonNull<Bucket<L, H, C>> {
        // SAFETY: the buckets begin right after the header (`layout`), whose size is a multiple of
        // their alignment.
        unsafe { this.add(1).cast() }
    }

    /// Returns the index of the bucket of a key, given the hash of the key.
    ///
    /// # Safety
    ///
    /// `this` must come from [`allocate`](Self::allocate), and must not have been freed.
    #[inline(always)]
    pub(super) unsafe fn index(this: NonNull<Self>, hash: impl FnOnce(&S) -> u64) -> usize {
        // SAFETY: the caller's promise.
        let Buckets { hasher, bits, .. } = unsafe { this.as_ref() };
        // There is at least one bit, so the shift is less than 64.
        (hash(hasher) >> (64 - bits.get())) as usize
    }

    /// Returns the bucket of a key, given the hash of the key.
    ///
    /// # Safety
    ///
    /// `this` must come from [`allocate`](Self::allocate), and must not be freed while the returned
    /// bucket is used.
    #[inline(always)]
    pub(super) unsafe fn of_key<'b>(
        this: NonNull<Self>,
        hash: impl FnOnce(&S) -> u64,
    ) -> &'b Bucket<L, H, C> {
        // SAFETY: the caller's promise; an index is below 2^bits.
        unsafe { Self::at(this, Self::index(this, hash)) }
    }

    /// Returns bucket `index`.
    ///
    /// # Safety
    ///
    /// The same as for [`of_key`](Self::of_key), and `index` must be below 2^bits.
    #[inline(always)]
    pub(super) unsafe fn at<'b>(this: NonNull<Self>, index: usize) -> &'b Bucket<L, H, C> {
        // SAFETY: the caller's promise; the bucket is inside the array.
        unsafe { Self::all(this).add(index).as_ref() }
    }

    /// Frees the array and all its entries, even referenced entries. If a value's destructor
    /// panics, the rest is still freed.
    ///
    /// # Safety
    ///
    /// `this` must come from [`allocate`](Self::allocate), no thread may use it any more, and its
    /// chains must have entries of this type.
    pub(super) unsafe fn free<K: Send, T: Send, D, M: Moment>(this: NonNull<Self>) {
        struct Rest<S, L: LaneLock<H>, H: Host, C: Context, K: Send, T: Send, D, M: Moment> {
            buckets: NonNull<Buckets<S, L, H, C>>,
            index: usize,
            _entries: PhantomData<fn() -> (K, T, D, M)>,
        }
        impl<S, L: LaneLock<H>, H: Host, C: Context, K: Send, T: Send, D, M: Moment>
            Rest<S, L, H, C, K, T, D, M>
        {
            fn free_entries(&mut self) {
                // SAFETY: the array is alive until `drop`.
                let (all, bits) =
                    unsafe { (Buckets::all(self.buckets), self.buckets.as_ref().bits) };
                while self.index < bits.buckets() {
                    // SAFETY: in the array, which no other thread uses.
                    let bucket = unsafe { all.add(self.index).as_mut() };
                    while let Some(entry) = bucket.pop::<K, T, D, M>() {
                        // SAFETY: no thread uses the entry any more; it was allocated by this host.
                        // The returned contents are dropped here.
                        drop(unsafe { Entry::<K, T, H, D, M>::take_back(entry) });
                    }
                    // SAFETY: as above; the bucket is not used again.
                    unsafe { all.add(self.index).drop_in_place() };
                    self.index += 1;
                }
            }
        }
        impl<S, L: LaneLock<H>, H: Host, C: Context, K: Send, T: Send, D, M: Moment> Drop
            for Rest<S, L, H, C, K, T, D, M>
        {
            fn drop(&mut self) {
                self.free_entries();
                // SAFETY: the array is alive.
                let bits = unsafe { self.buckets.as_ref() }.bits;
                // SAFETY: no thread uses the header any more.
                unsafe { self.buckets.drop_in_place() };
                if let Some((layout, _)) = Buckets::<S, L, H, C>::layout(bits) {
                    // SAFETY: allocated with this layout, by this host.
                    unsafe { to_host::<H>(self.buckets.cast(), layout) };
                }
            }
        }
        Rest::<S, L, H, C, K, T, D, M> { buckets: this, index: 0, _entries: PhantomData }
            .free_entries();
    }
}

const _: () = {
    use crate::seed::Seed;
    use lockyard::{Native, NoContext, lock::Ticket};
    assert!(size_of::<Bucket<Ticket, Native, NoContext>>() == 16);
    assert!(size_of::<Buckets<Seed, Ticket, Native, NoContext>>() == 64);
};
