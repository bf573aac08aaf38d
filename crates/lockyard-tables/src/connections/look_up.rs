//! The ways in which a look-up keeps the entries that it walks over from being freed: the bucket's
//! lock, or reclamation.
//!
//! Without the lock a look-up may stand on an entry that is being taken out. The entry keeps its
//! link. So the look-up goes on, and misses nothing that stays in the chain. Let *E* be an entry
//! that was taken out, and *R* a look-up that comes to it.
//!
//! - *R* entered the domain before *E* left the chain. For *R* came by a link, of one of two kinds.
//!   A link that was in the chain at that moment cannot lead to *E* after *E* has left. The link of
//!   another removed entry left before *E* did, and *R* entered before that one left, by the same
//!   argument, back to the front.
//! - The grace period that begins when *E* is retired, after it left, therefore waits for *R*.
//!   Nothing is freed under *R*.
//! - *R* gets *E* only if it can take a reference, and none can be taken after the last was
//!   dropped. A connection that left while *R* was looking may still be found, as if *R* had been
//!   quicker.

use super::bucket::Bucket;
use crate::memory::Invariant;
use core::ptr::NonNull;
use lockyard::lock::{LaneLock, Queued};
use lockyard::platform::{ConstAtomics, Host, HostWithSlots};
use lockyard::reclaim::{Domain, Header};
use lockyard::{Context, FourBytes};

/// The way in which connections are looked up: [`Rcu`], [`Locked`]. Sealed.
pub trait LookUp<H: Host>: sealed::Sealed + 'static {
    /// The algorithm of the buckets' locks.
    type Lock: LaneLock<H, Width = FourBytes>;
    #[doc(hidden)]
    type Readers<C: Context>: Readers<Self::Lock, H, C>;
}

/// State of a table for its look-ups.
///
/// # Safety
///
/// While `look` of [`reading`](Self::reading) runs, no entry is freed that was in the bucket's
/// chain when it began, or that comes into it.
#[doc(hidden)]
pub unsafe trait Readers<K: LaneLock<H>, H: Host, C: Context>:
    Default + Send + Sync
{
    /// State that a removed entry needs to wait for look-ups.
    type Deferred: Send;

    fn deferred() -> Self::Deferred;

    /// Runs `look`, which walks the bucket's chain and does not unwind.
    fn reading<R>(&self, bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R;

    /// Calls `free` with `entry` when no look-up that could reach it is running any more, perhaps
    /// at once.
    ///
    /// # Safety
    ///
    /// The entry is in no chain; `free` frees it.
    unsafe fn retire(
        &self,
        entry: NonNull<Self::Deferred>,
        free: unsafe fn(NonNull<Self::Deferred>),
    );

    /// Number of entries that wait to be freed.
    fn waiting(&self) -> u64;

    /// Frees all entries that can be freed.
    fn collect(&self);
}

/// [`Readers`] that a static can have.
#[doc(hidden)]
pub trait ConstReaders {
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    const NEW: Self;
}

impl ConstReaders for NoReaders {
    const NEW: Self = NoReaders;
}

mod sealed {
    pub trait Sealed {}
    impl<K> Sealed for super::Rcu<K> {}
    impl<K> Sealed for super::Locked<K> {}
}

/// A look-up takes the bucket's lock, of algorithm `K`.
#[derive(Debug)]
pub struct Locked<K = Queued>(Invariant<K>);

impl<K: LaneLock<H, Width = FourBytes>, H: Host> LookUp<H> for Locked<K> {
    type Lock = K;
    type Readers<C: Context> = NoReaders;
}

/// No state: the holder of the lock keeps everybody from taking entries out of the chain.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct NoReaders;

// SAFETY: an entry in a chain has the table's reference, which is given up after it was taken out
// under the lock.
unsafe impl<K: LaneLock<H>, H: Host, C: Context> Readers<K, H, C> for NoReaders {
    type Deferred = ();

    fn deferred() {}

    #[inline(always)]
    fn reading<R>(&self, bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R {
        bucket.locked(look)
    }

    #[inline(always)]
    unsafe fn retire(&self, entry: NonNull<()>, free: unsafe fn(NonNull<()>)) {
        // SAFETY: nobody walks over what is in no chain.
        unsafe { free(entry) };
    }

    fn waiting(&self) -> u64 {
        0
    }
    fn collect(&self) {}
}

/// A look-up takes no lock. It [enters](Domain::enter) the table's reclamation domain, and entries
/// that it walks over are freed after it has left. Insertions and removals take the bucket's lock,
/// of algorithm `K`. The default.
///
/// Look-ups of one bucket do not wait for each other, nor for changes of the chain. Natively each
/// has a fence where [`Locked`] has a locked instruction. Removed entries wait for look-ups ([some
/// hundreds](lockyard::reclaim#how-much-waits-to-be-freed), while look-ups end); their values do
/// not.
#[derive(Debug)]
pub struct Rcu<K = Queued>(Invariant<K>);

impl<K: LaneLock<H, Width = FourBytes>, H: HostWithSlots> LookUp<H> for Rcu<K> {
    type Lock = K;
    type Readers<C: Context> = InDomain<H, C>;
}

/// The domain of a table's look-ups.
#[doc(hidden)]
pub struct InDomain<H: HostWithSlots, C: Context>(Domain<H, C>);

impl<H: HostWithSlots, C: Context> Default for InDomain<H, C> {
    fn default() -> Self {
        InDomain(Domain::default())
    }
}

impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> ConstReaders for InDomain<H, C> {
    const NEW: Self = InDomain(Domain::new());
}

// SAFETY: an entry is retired after it was taken out of the chain, and is freed when all guards of
// that moment are gone. The module says what `look` can stand on.
unsafe impl<K: LaneLock<H>, H: HostWithSlots, C: Context> Readers<K, H, C> for InDomain<H, C> {
    type Deferred = Header<H>;

    fn deferred() -> Header<H> {
        Header::new()
    }

    #[inline(always)]
    fn reading<R>(&self, _bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R {
        let _guard = self.0.enter();
        look()
    }

    #[inline(always)]
    unsafe fn retire(&self, entry: NonNull<Header<H>>, free: unsafe fn(NonNull<Header<H>>)) {
        // SAFETY: the entry was taken out under its bucket's lock. After that the remover dropped
        // the table's reference, by a release; the owner of the last reference saw that, by an
        // acquire. The entry is retired once, because one reference is the last. All look-ups
        // without the bucket's lock enter this domain. Freeing an entry touches nothing but the
        // entry, whose value is gone. So any thread may do it at any time, until the domain, which
        // the table owns, is dropped.
        unsafe { self.0.retire(entry, free) };
    }

    fn waiting(&self) -> u64 {
        self.0.pending()
    }
    fn collect(&self) {
        self.0.collect();
    }
}
