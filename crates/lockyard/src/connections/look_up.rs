//! How a look-up keeps what it walks over from being freed under it.

use super::bucket::Bucket;
use crate::context::Context;
use crate::lock::{LaneLock, Queued};
use crate::platform::Host;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// How connections are looked up: [`Locked`]. Sealed.
pub trait LookUp: sealed::Sealed + 'static {
    /// The algorithm of the buckets' locks.
    type Lock: LaneLock;
    #[doc(hidden)]
    type Readers<H: Host, C: Context>: Readers<Self::Lock, H, C>;
}

/// What a table keeps for its look-ups.
///
/// # Safety
///
/// While `look` of [`reading`](Self::reading) runs, no entry is freed that was in the bucket's chain when it began, or comes into
/// it.
#[doc(hidden)]
pub unsafe trait Readers<K: LaneLock, H: Host, C: Context>: Default + Send + Sync {
    /// What an entry that was taken out needs, to wait for look-ups.
    type Deferred: Send;

    fn deferred() -> Self::Deferred;

    /// Runs `look`, which walks the bucket's chain and does not unwind.
    fn reading<R>(&self, bucket: &Bucket<K, H, C>, look: impl FnOnce() -> R) -> R;

    /// Calls `free` with `entry` when no look-up that could reach it is running any more: perhaps at once.
    ///
    /// # Safety
    ///
    /// The entry is in no chain; `free` frees it.
    unsafe fn retire(
        &self,
        entry: NonNull<Self::Deferred>,
        free: unsafe fn(NonNull<Self::Deferred>),
    );
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
    impl<K> Sealed for super::Locked<K> {}
}

/// A look-up takes the bucket's lock, of algorithm `K`.
#[derive(Debug)]
pub struct Locked<K = Queued>(PhantomData<K>);

impl<K: LaneLock> LookUp for Locked<K> {
    type Lock = K;
    type Readers<H: Host, C: Context> = NoReaders;
}

/// Nothing: who holds the lock keeps everybody from taking anything out of the chain.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct NoReaders;

// SAFETY: an entry in a chain has the table's reference, which is given up after it was taken out under the lock.
unsafe impl<K: LaneLock, H: Host, C: Context> Readers<K, H, C> for NoReaders {
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
}
