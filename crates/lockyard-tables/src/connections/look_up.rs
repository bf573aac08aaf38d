//! Two ways to keep the entries on a look-up's path from being freed: the bucket's lock, or
//! reclamation.
//!
//! Without the lock a look-up may be at an entry that is being removed. The entry keeps its link,
//! so the look-up continues and misses no entry that stays in the chain. Let *E* be a removed
//! entry, and *R* a look-up that reaches it.
//!
//! - *R* entered the domain before *E* left the chain. *R* followed a link to *E*, of one of two
//!   kinds. The first kind was in the chain at that moment, and cannot lead to *E* after *E* has
//!   left. The second kind is the link of another removed entry, which leads to *E* because that
//!   entry left before *E* did. *R* entered before that entry left, by the same argument, back to
//!   the front.
//! - *E* is retired after it has left, so the grace period that begins then waits for *R*. Nothing
//!   that *R* reads is freed.
//! - *R* gets *E* only if it can take a reference, and no reference can be taken after the last was
//!   dropped. A connection that left during the look-up may still be found, as if *R* had come
//!   earlier.
//! - *R* reads the value of *E* without a reference only if values wait as entries do
//!   ([`InPlace`]). *E* was then in the chain at some moment after *R* began, because *R* reached
//!   *E* by a link of one of two kinds. Either the link was in the chain when *R* read it. Or it
//!   was the link of another removed entry, which left after *R* began, and led to *E* when it
//!   left.
//! - *E* may have been replaced: another entry has its key and its place. A look-up that wants a
//!   reference, and cannot take one to *E*, begins again: by then the other entry is in the chain.

use super::bucket::Bucket;
use super::entry::{AfterLookUps, AtOnce, Moment};
use crate::memory::Invariant;
use core::ptr::NonNull;
use lockyard::lock::{LaneLock, Queued};
use lockyard::platform::{ConstAtomics, Host, HostWithSlots};
use lockyard::reclaim::{Domain, Header};
use lockyard::{Context, FourBytes};

/// Method of looking up entries. Sealed: [`Rcu`], [`InPlace`] or [`Locked`].
pub trait LookUp<H: Host>: sealed::Sealed + 'static {
    /// The algorithm of the buckets' locks.
    type Lock: LaneLock<H, Width = FourBytes>;
    #[doc(hidden)]
    type Readers<C: Context>: Readers<Self::Lock, H, C>;
    #[doc(hidden)]
    type Moment: Moment;
}

/// State that a table keeps for its look-ups.
///
/// # Safety
///
/// While `look` of [`reading`](Self::reading) runs, two kinds of entries must not be freed: entries
/// that were in the bucket's chain when `look` began, and entries that were inserted since.
#[doc(hidden)]
pub unsafe trait Readers<K: LaneLock<H>, H: Host, C: Context>:
    Default + Send + Sync
{
    /// State that a removed entry needs while it waits for look-ups.
    type Deferred: Send;

    fn deferred() -> Self::Deferred;

    /// Runs `look`, which walks the bucket's chain. `look` may unwind, because it may compare keys.
    fn reading<R>(&self, bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R;

    /// Calls `free` with `entry` once no look-up that could reach it is running, possibly before
    /// returning.
    ///
    /// # Safety
    ///
    /// The entry must be in no chain, and `free` must free it.
    unsafe fn retire(
        &self,
        entry: NonNull<Self::Deferred>,
        free: unsafe fn(NonNull<Self::Deferred>),
    );

    /// Number of entries that wait to be freed.
    fn waiting(&self) -> u64;

    /// Frees all waiting entries that no look-up can reach.
    fn collect(&self);
}

/// [`Readers`] that can be made in a constant.
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
    impl<K> Sealed for super::InPlace<K> {}
}

/// A look-up takes the bucket's lock. `K` is the lock's algorithm.
#[derive(Debug)]
pub struct Locked<K = Queued>(Invariant<K>);

impl<K: LaneLock<H, Width = FourBytes>, H: Host> LookUp<H> for Locked<K> {
    type Lock = K;
    type Readers<C: Context> = NoReaders;
    type Moment = AtOnce;
}

/// No state: while a look-up holds the lock, no thread can remove entries from the chain.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct NoReaders;

// SAFETY: the table has a reference to each entry in a chain, and gives it up after the removal,
// which needs the lock.
unsafe impl<K: LaneLock<H>, H: Host, C: Context> Readers<K, H, C> for NoReaders {
    type Deferred = ();

    fn deferred() {}

    #[inline(always)]
    fn reading<R>(&self, bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R {
        bucket.locked(look)
    }

    #[inline(always)]
    unsafe fn retire(&self, entry: NonNull<()>, free: unsafe fn(NonNull<()>)) {
        // SAFETY: no walk reaches an entry that is in no chain.
        unsafe { free(entry) };
    }

    fn waiting(&self) -> u64 {
        0
    }
    fn collect(&self) {}
}

/// A look-up takes no lock. It [enters](Domain::enter) the table's reclamation domain, and the
/// entries on its path are freed only after it has left. Insertions and removals take the bucket's
/// lock, of algorithm `K`. The default.
///
/// Look-ups in one bucket wait neither for each other nor for changes of the chain. On the native
/// host each look-up has a fence, where a look-up with [`Locked`] has a locked instruction. Removed
/// entries wait for look-ups ([some hundreds](lockyard::reclaim#how-much-waits-to-be-freed), as
/// long as look-ups end); their values do not wait.
#[derive(Debug)]
pub struct Rcu<K = Queued>(Invariant<K>);

impl<K: LaneLock<H, Width = FourBytes>, H: HostWithSlots> LookUp<H> for Rcu<K> {
    type Lock = K;
    type Readers<C: Context> = InDomain<H, C>;
    type Moment = AtOnce;
}

/// The same as [`Rcu`], and a look-up can read the value [without a
/// reference](super::Connections::read). The values of removed entries therefore wait for look-ups
/// too, and an entry takes 24 bytes more. A value's destructor runs in a thread that removes
/// something later, or drops the table.
#[derive(Debug)]
pub struct InPlace<K = Queued>(Invariant<K>);

impl<K: LaneLock<H, Width = FourBytes>, H: HostWithSlots> LookUp<H> for InPlace<K> {
    type Lock = K;
    type Readers<C: Context> = InDomain<H, C>;
    type Moment = AfterLookUps;
}

/// The domain of a table's look-ups.
#[doc(hidden)]
pub struct InDomain<H: HostWithSlots, C: Context>(pub(super) Domain<H, C>);

impl<H: HostWithSlots, C: Context> Default for InDomain<H, C> {
    fn default() -> Self {
        InDomain(Domain::default())
    }
}

impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> ConstReaders for InDomain<H, C> {
    const NEW: Self = InDomain(Domain::new());
}

// SAFETY: an entry is retired after its removal from the chain, and is freed when all guards that
// existed at that moment are gone. The module's documentation says which entries `look` can reach.
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
        // SAFETY: the entry was removed under its bucket's lock. After that the remover dropped the
        // table's reference, by a release; the owner of the last reference saw it, by an acquire.
        // The entry is retired once, because only one reference is the last. All look-ups without
        // the bucket's lock enter this domain. Freeing an entry touches only that entry, and
        // everything that its key and its value own. That outlives the table, and may be sent to
        // any thread. So any thread may free it at any time before the domain, which the table
        // owns, is dropped.
        unsafe { self.0.retire(entry, free) };
    }

    fn waiting(&self) -> u64 {
        self.0.pending()
    }
    fn collect(&self) {
        self.0.collect();
    }
}
