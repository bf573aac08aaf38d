//! Buckets: chains of entries, each behind a lock of 4 bytes, and the array of them.
//!
//! ```text
//!   bucket, 16 bytes:   lock (4) | entries (4) | address of the first entry (8)
//! ```
//!
//! Four buckets share a line. Chains are changed under the bucket's lock, each time by one store. A
//! look-up without the lock sees the chain with an entry or without it, and an entry that was taken
//! out still leads on.

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

/// Result of looking at an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Stays,
    Leaves,
    /// It leaves, and no further entry is looked at.
    LeavesAtLast,
    /// It stays, and so do all entries after it.
    End,
}

impl<K: LaneLock<H>, H: Host, C: Context> Bucket<K, H, C> {
    fn new() -> Self {
        Bucket { lock: RawSpinLock::new(), entries: Word::new(0), first: Word::new(0) }
    }

    /// Runs `f`, which must not unwind, under the lock.
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
    /// The chain's entries are of this type, and none of them is freed meanwhile.
    #[inline(always)]
    pub(super) unsafe fn find<T: Send, D>(&self, key: &Key) -> Option<NonNull<Entry<T, H, D>>> {
        // Acquire: pairs with the release of the thread that put the entry's address there (`push`,
        // `retain`). So the entry is seen as it was made, and so are all that were in the chain
        // before it.
        let mut at = self.first.load(Ordering::Acquire);
        while let Some(found) = NonNull::new(from_word::<Entry<T, H, D>>(at)) {
            // SAFETY: an entry that the chain leads to; the caller says that it is not freed.
            let entry = unsafe { found.as_ref() };
            // An entry without a reference was already taken out.
            if entry.key().is(key) && entry.references.get_not_zero() {
                return Some(found);
            }
            // Relaxed: entries come at the front, so a link only ever leads to an entry that was
            // put in before its own.
            at = entry.next.load(Ordering::Relaxed);
        }
        None
    }

    /// Puts an entry at the front.
    ///
    /// # Safety
    ///
    /// The caller holds the lock; the entry is of the chain's type, is in no chain, and the caller
    /// gives it a reference.
    pub(super) unsafe fn push<T: Send, D>(&self, entry: NonNull<Entry<T, H, D>>) {
        // Relaxed: written under the lock, by its holder.
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY: the entry is the caller's.
        unsafe { entry.as_ref() }.next.store(first, Ordering::Relaxed);
        // Release: pairs with the acquire in `find`.
        self.first.store(to_word(entry.as_ptr()), Ordering::Release);
        self.count(1);
    }

    /// Looks at each entry, and takes out those for which `judge` says so. Their references become
    /// the caller's.
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
            // Relaxed: written under the lock; its previous holder released it.
            let at = link.load(Ordering::Relaxed);
            let Some(found) = NonNull::new(from_word::<Entry<T, H, D>>(at)) else { break };
            // SAFETY: an entry in the chain has the table's reference, and only the holder of the
            // lock takes it out.
            let entry = unsafe { found.as_ref() };
            let next = entry.next.load(Ordering::Relaxed);
            let verdict = judge(found);
            match verdict {
                Verdict::Stays => link = &entry.next,
                Verdict::Leaves | Verdict::LeavesAtLast => {
                    // Release: pairs with the acquire in `find`, if the link is the first one. The
                    // next entry may have been made by another thread, whose release a look-up does
                    // not read from here.
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

    /// Takes the first entry out. For a table that is being dropped.
    fn pop<T: Send, D>(&mut self) -> Option<NonNull<Entry<T, H, D>>> {
        let entry = NonNull::new(from_word::<Entry<T, H, D>>(self.first.get()))?;
        // SAFETY: an entry in the chain is there.
        let next = unsafe { entry.as_ref() }.next.load(Ordering::Relaxed);
        self.first.store(next, Ordering::Relaxed);
        Some(entry)
    }
}

/// The array of a table's buckets, with the key of the hash; one allocation.
#[repr(C, align(64))]
pub(super) struct Buckets<K: LaneLock<H>, H: Host, C: Context> {
    seed: Seed,
    bits: Bits,
    /// The buckets begin where this ends.
    _buckets: PhantomData<Bucket<K, H, C>>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Buckets<K, H, C> {
    /// Returns the layout of `Self` with an array of 2^`bits` buckets behind it, and the offset of
    /// the array; `None` if there is no such memory.
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
        // SAFETY: the memory has the layout of `Self` and the buckets behind it, and is ours.
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
    /// `this` came from [`allocate`](Self::allocate), and was not freed.
    #[inline(always)]
    unsafe fn all(this: NonNull<Self>) -> NonNull<Bucket<K, H, C>> {
        // SAFETY: the buckets begin behind the header (`layout`): its size is a multiple of their
        // alignment.
        unsafe { this.add(1).cast() }
    }

    /// Returns the index of the bucket of `key`.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), and was not freed.
    #[inline(always)]
    pub(super) unsafe fn index(this: NonNull<Self>, key: &Key) -> usize {
        // SAFETY: the caller's promise.
        let (seed, bits) = unsafe { (this.as_ref().seed, this.as_ref().bits) };
        // There is at least one bit, so the shift is below 64.
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
        // SAFETY: the caller's promise: it lies in the array.
        unsafe { Self::all(this).add(index).as_ref() }
    }

    /// Frees the array and all entries in it, whether or not they are referenced. If a value's
    /// destructor panics, the rest is still freed.
    ///
    /// # Safety
    ///
    /// `this` came from [`allocate`](Self::allocate), nobody uses it any more, and its chains'
    /// entries are of this type.
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
                        // SAFETY: nobody has the entry any more; it was allocated by this host. The
                        // returned value is dropped here.
                        drop(unsafe { Entry::<T, H, D>::take_back(entry) });
                    }
                    // SAFETY: as above; it is not looked at again.
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
