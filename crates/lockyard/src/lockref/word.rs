//! The word of a lockref: a lock in its upper half, a count in its lower one. Operations and guards
//! share it, and are in files of their own.

use super::count::MAX_COUNT;
use super::policy::Policy;
use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::lane::{High, Lane};
use crate::lock::LaneLock;
use crate::platform::{Host, Native, NativeAtomics, NativeU64, U64, Word};
use core::marker::PhantomData;

/// A reference count with a lock, in 8 bytes. See the [module documentation](super).
///
/// ```
/// use lockyard::LockRef;
///
/// static ENTRY: LockRef = LockRef::new(1);
/// ENTRY.get();
/// assert_eq!(ENTRY.put_return(), Some(1));
/// // The last reference is not dropped without the lock:
/// let mut guard = ENTRY.put_or_lock().expect("the count would have become zero");
/// guard.mark_dead();
/// drop(guard);
/// assert!(!ENTRY.get_not_dead());
/// ```
///
/// Cost of every operation, uncontended: one read and one locked compare-exchange of one line. That
/// is one exclusive transfer of the line if another CPU had it last.
///
/// The operations allocate nothing, do not park, and do not panic (except [`get`](Self::get)). When
/// a thread first queues for a lock, its host may do more. The native one with `std` leases a slot,
/// and the standard library may allocate to register the slot's return.
///
/// Parameters: the algorithm of the lock, the [`Policy`], the [`Host`], the [`Context`] of the
/// guard. Invariant in each.
#[repr(transparent)]
pub struct LockRef<K: LaneLock<H>, P: Policy, H: Host = Native, C: Context = NoContext> {
    pub(super) word: U64<H>,
    _kind: Kind<K, P, C>,
}

/// The parameters that decide what the two halves of the word mean.
type Kind<K, P, C> = Invariant<(K, P, C)>;

impl<K: LaneLock<H>, P: Policy, H: Host<Atomics = NativeAtomics>, C: Context> LockRef<K, P, H, C> {
    /// Makes a lockref with a free lock and `count` references; for statics, and for every host
    /// over native memory.
    ///
    /// # Panics
    ///
    /// If `count` exceeds [`MAX_COUNT`].
    #[inline]
    pub const fn new(count: u32) -> Self {
        assert!(count <= MAX_COUNT, "a lockref counts to 2^30");
        LockRef { word: NativeU64::new(count as u64), _kind: PhantomData }
    }
}

impl<K: LaneLock<H>, P: Policy, H: Host, C: Context> LockRef<K, P, H, C> {
    /// Makes a lockref with a free lock and `count` references, on any platform.
    ///
    /// # Panics
    ///
    /// If `count` exceeds [`MAX_COUNT`].
    #[inline]
    pub fn from_count(count: u32) -> Self {
        assert!(count <= MAX_COUNT, "a lockref counts to 2^30");
        LockRef { word: U64::<H>::new(u64::from(count)), _kind: PhantomData }
    }

    #[inline(always)]
    pub(super) fn lane(&self) -> High<'_, U64<H>> {
        High(&self.word)
    }

    #[inline(always)]
    pub(super) fn lock_is_held(word: u64) -> bool {
        K::is_held(High::<U64<H>>::bits(word))
    }
}
