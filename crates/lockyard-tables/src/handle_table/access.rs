//! Access to an object: shared without a lock, or exclusive behind the object's lock.

use core::marker::PhantomData;
use lockyard::lock::{Adaptive, LaneLock};
use lockyard::platform::HostWithSlots;
use lockyard::{Context, RawSpinLock};

/// Access to the objects of a table on host `H`: [`Shared`] or [`Exclusive`]. Sealed.
pub trait Access<H: HostWithSlots>: sealed::Sealed + 'static {
    /// Name of the access in tables.
    const NAME: &'static str;
    /// The lock in each slot.
    #[doc(hidden)]
    type Lock<C: Context>: Default + Send + Sync;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl<K: 'static> Sealed for super::Exclusive<K> {}
}

/// Any number of threads read an object at the same time, without a lock and without a write to
/// shared memory. A removed object lives until its readers have left.
///
/// An object that must change contains atomics or a separate lock. That lock does not know whether
/// the object was removed; [`Ref::is_in_table`](super::Ref::is_in_table) tells.
#[derive(Debug)]
pub struct Shared;

impl<H: HostWithSlots> Access<H> for Shared {
    const NAME: &'static str = "shared";
    type Lock<C: Context> = ();
}

/// One thread has an object at a time, behind the slot's lock of algorithm `K`, and may change it.
/// A removal waits for the lock, and returns the object.
///
/// `K` is any [lock algorithm](lockyard::lock): [`Adaptive`] (the default) sleeps,
/// [`Queued`](lockyard::lock::Queued) and [`TestAndSet`](lockyard::lock::TestAndSet) spin.
#[derive(Debug)]
pub struct Exclusive<K = Adaptive>(PhantomData<fn(K) -> K>);

impl<K: LaneLock<H>, H: HostWithSlots> Access<H> for Exclusive<K> {
    const NAME: &'static str = "exclusive";
    type Lock<C: Context> = RawSpinLock<K, H, C>;
}
