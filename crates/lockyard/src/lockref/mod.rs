//! The lockref: a lock and a reference count in one 64-bit word.
//!
//! ```text
//!  63                    32 31                     0
//! +------------------------+------------------------+
//! | lock (a lane: `K`)     | count                  |
//! +------------------------+------------------------+
//!
//!   lock free:  any operation changes the count by one compare-exchange of the whole word
//!   lock held:  only the holder changes the count (one fetch-add or -subtract of the difference);
//!               others first wait for its release (trywait), then for the lock
//! ```
//!
//! An object often needs both a lock and a reference count. A directory entry, for example, is
//! looked up a million times for each rename. One compare-exchange changes the count and checks
//! that the lock is free, so the frequent operation is as cheap as a bare reference count. The
//! compare-exchange fails if a thread holds the lock, so the holder sees a count that no other
//! thread changes.
//!
//! The lock is any [`LaneLock`], from the same source as a lock in a separate word. The default is
//! the queued lock.
//!
//! Source of the idea: L. Torvalds and W. Long, lockref, linux-kernel mailing list, August 2013.
//! Sources of the variants: see [`policy`]. This code was written from the description, not from
//! the implementation.

mod count;
mod guard;
pub mod policy;

pub use count::{Count, MAX_COUNT};
pub use guard::LockRefGuard;

use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::lane::{High, Lane};
use crate::lock::{LaneLock, TokenInLane};
use crate::platform::{
    Atomics, Event, Host, Native, NativeAtomics, NativeU64, Ordering, Region, U64, Word,
    acquire_late, during,
};
use core::fmt;
use core::marker::PhantomData;
use count::{Get, GetNotDead, GetNotZero, Operation, Put, PutNotLast};
use policy::{MAX_FAILURES, Policy, TRYWAIT_POLLS};

/// A reference count with a lock, in 8 bytes. See the [module documentation](self).
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
/// Cost of every uncontended operation: one read and one locked compare-exchange of one line. That
/// is one exclusive transfer of the line if another CPU had it last.
///
/// The operations do not allocate, park, or panic (except [`get`](Self::get)). When a thread first
/// queues for a lock, its host may do more. The native host with `std` leases a slot, and the
/// standard library may allocate to register the slot's return.
///
/// Parameters: the algorithm of the lock, the [`Policy`], the [`Host`], and the [`Context`] of the
/// guard. The type is invariant in each.
#[repr(transparent)]
pub struct LockRef<K: LaneLock<H>, P: Policy, H: Host = Native, C: Context = NoContext> {
    word: U64<H>,
    _kind: Kind<K, P, C>,
}

/// The parameters that decide what the two halves of the word mean.
type Kind<K, P, C> = Invariant<(K, P, C)>;

/// Result of the compare-exchange loop.
enum Attempt {
    /// The change was made. Holds the count's new bits.
    Done(u32),
    /// The change does not apply to the count.
    Refused,
    /// The lock is held, or too many compare-exchanges failed.
    GaveUp,
}

impl<K: LaneLock<H>, P: Policy, H: Host<Atomics = NativeAtomics>, C: Context> LockRef<K, P, H, C> {
    /// Makes a lockref with a free lock and `count` references. For statics, and for every host on
    /// native memory.
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
    fn lane(&self) -> High<'_, U64<H>> {
        High(&self.word)
    }

    #[inline(always)]
    fn lock_is_held(word: u64) -> bool {
        K::is_held(High::<U64<H>>::bits(word))
    }

    /// Changes the count in a loop while the lock is free.
    #[inline(always)]
    #[track_caller]
    fn attempt<O: Operation>(&self) -> Attempt {
        // Relaxed: the compare-exchange decides.
        let mut seen = self.word.load(Ordering::Relaxed);
        let mut failures = 0;
        loop {
            if Self::lock_is_held(seen) {
                return Attempt::GaveUp;
            }
            let old = seen as u32;
            let Some(new) = O::apply(old) else { return Attempt::Refused };
            if new == old {
                // Saturated: there is nothing to write, and the object is never freed. The
                // operation still provides the ordering that it promises.
                if matches!(O::SUCCESS, Ordering::Acquire) {
                    // Pairs with the release of a put, and of an unlock.
                    H::Atomics::acquire_after(&self.word);
                }
                return Attempt::Done(new);
            }
            let wanted = (seen & !u64::from(u32::MAX)) | u64::from(new);
            match self.word.compare_exchange(seen, wanted, O::SUCCESS, Ordering::Relaxed) {
                Ok(_) => {
                    Self::note_saturation(old, new);
                    return Attempt::Done(new);
                }
                Err(actual) => seen = actual,
            }
            failures += 1;
            if failures == MAX_FAILURES {
                return Attempt::GaveUp;
            }
            if P::PAUSE {
                H::relax();
            }
        }
    }

    /// Waits for a limited time, by reading, until the lock is released, and tries again.
    #[inline(always)]
    #[track_caller]
    fn attempt_after_trywait<O: Operation>(&self) -> Attempt {
        // Relaxed: only the compare-exchange that follows decides. This code does not use `during`,
        // so that the wait has the source location of this function's caller.
        let before = H::begin_activity(Region::LockWait.into());
        let released = H::wait_within(&self.word, Ordering::Relaxed, TRYWAIT_POLLS, |word| {
            !Self::lock_is_held(word)
        });
        H::resume_activity(before);
        match released {
            Ok(_) => self.attempt::<O>(),
            Err(_) => Attempt::GaveUp,
        }
    }

    /// Completes an operation that gave up its compare-exchange loop. It waits once, if the policy
    /// says so, then takes the lock and makes the change under the lock.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn change_slowly<O: Operation>(&self) -> Option<u32> {
        if P::TRYWAIT {
            match self.attempt_after_trywait::<O>() {
                Attempt::Done(new) => return Some(new),
                Attempt::Refused => return None,
                Attempt::GaveUp => {}
            }
        }
        H::count(Event::RefLocked);
        // Taking the lock is an acquire and releasing it a release, which covers every operation.
        let mut guard = self.lock();
        let changed = O::apply(guard.bits());
        if let Some(new) = changed {
            Self::note_saturation(guard.bits(), new);
            guard.set_bits(new);
        }
        changed
    }

    #[inline(always)]
    fn note_saturation(old: u32, new: u32) {
        if old == MAX_COUNT && new > MAX_COUNT {
            H::count(Event::Saturated);
        }
    }

    /// Makes a change, by compare-exchange or under the lock. Returns the new bits of the count, or
    /// `None` if the change does not apply.
    #[inline(always)]
    #[track_caller]
    fn change<O: Operation>(&self) -> Option<u32> {
        match self.attempt::<O>() {
            Attempt::Done(new) => Some(new),
            Attempt::Refused => None,
            Attempt::GaveUp => self.change_slowly::<O>(),
        }
    }

    /// Takes a reference (relaxed). The caller already has one, or knows that the object is alive.
    ///
    /// Beyond [`MAX_COUNT`] references the count saturates: the object is leaked, and
    /// [`Event::Saturated`] is counted.
    ///
    /// # Panics
    ///
    /// In debug builds, if the lockref is dead. In release builds a dead lockref stays dead.
    #[inline]
    pub fn get(&self) {
        let bits = self.change::<Get>();
        debug_assert!(
            bits.is_none_or(|bits| Count::from_bits(bits) != Count::Dead),
            "a reference to a dead lockref was taken without a check"
        );
    }

    /// Takes a reference unless there is none (or the lockref is dead). Returns true if it did.
    /// Acquire on success.
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_not_zero(&self) -> bool {
        self.change::<GetNotZero>().is_some()
    }

    /// Takes a reference unless the lockref is dead. Returns true if it did. Acquire on success.
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_not_dead(&self) -> bool {
        self.change::<GetNotDead>().is_some()
    }

    /// Drops a reference without ever taking the lock, and returns the number of references left.
    ///
    /// Returns `None` and drops nothing in four cases: the lock was held (even after a trywait),
    /// too many compare-exchanges failed, there was no reference, or the lockref is dead.
    ///
    /// Ordering: release, and also acquire if it returns `Some(0)`. For a saturated count it
    /// returns a number above [`MAX_COUNT`].
    #[inline]
    #[must_use = "`None` means that the reference is still held"]
    pub fn put_return(&self) -> Option<u32> {
        let attempt = match self.attempt::<Put>() {
            Attempt::GaveUp if P::TRYWAIT => self.put_return_slowly(),
            attempt => attempt,
        };
        match attempt {
            Attempt::Done(new) => {
                if new == 0 {
                    // Pairs with the release of all other puts.
                    acquire_late::<H::Atomics>();
                }
                Some(new)
            }
            Attempt::Refused | Attempt::GaveUp => None,
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn put_return_slowly(&self) -> Attempt {
        self.attempt_after_trywait::<Put>()
    }

    /// Drops a reference unless it is the last (or there is none, or the lockref is dead). Returns
    /// true if it did. Release.
    #[inline]
    #[must_use = "`false` means that the reference is still held"]
    pub fn put_not_zero(&self) -> bool {
        self.change::<PutNotLast>().is_some()
    }

    /// Drops a reference (release) and returns `None`, unless it is the last one.
    ///
    /// If it is the last (or there is none, or the lockref is dead), this drops *nothing* and
    /// returns the lock, held (acquire). The caller then decides about the object. For example, it
    /// sets the count to 0 or marks it dead.
    ///
    /// There is no trywait, because the operation may need the lock anyway.
    #[inline]
    #[must_use = "the guard holds the lock and the reference was not dropped"]
    pub fn put_or_lock(&self) -> Option<LockRefGuard<'_, K, P, H, C>> {
        match self.attempt::<PutNotLast>() {
            Attempt::Done(_) => None,
            Attempt::Refused | Attempt::GaveUp => self.put_or_lock_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn put_or_lock_slowly(&self) -> Option<LockRefGuard<'_, K, P, H, C>> {
        H::count(Event::RefLocked);
        // The acquire of the lock pairs with the release of all other puts. They are all in the
        // word's release sequence, because every change of the word is a read-modify-write.
        let mut guard = self.lock();
        match PutNotLast::apply(guard.bits()) {
            Some(new) => {
                // The unlock is the release.
                guard.set_bits(new);
                None
            }
            None => Some(guard),
        }
    }

    /// Takes the lock, waiting until it is free. Acquire.
    #[inline]
    pub fn lock(&self) -> LockRefGuard<'_, K, P, H, C> {
        let context = C::enter();
        // SAFETY: the word is private, and its lane starts as 0. Only `K` on `H` changes the lane,
        // here, in `try_lock` and in the guard. The type is invariant in `K` and `H`, so every
        // reference to this lockref names the same `K` and `H`. Changes of the count do not change
        // the lane's bits.
        let token = during::<H, _>(Region::LockWait, || unsafe { K::lock(self.lane()) });
        LockRefGuard::new(self, token, context)
    }

    /// Takes the lock if it is free (acquire).
    #[inline]
    pub fn try_lock(&self) -> Option<LockRefGuard<'_, K, P, H, C>> {
        let context = C::enter();
        // SAFETY: as in `lock`.
        match unsafe { K::try_lock(self.lane()) } {
            Some(token) => Some(LockRefGuard::new(self, token, context)),
            None => {
                C::leave(context);
                None
            }
        }
    }

    /// Returns the guard of the held lock, if it was forgotten. For callers that cannot keep a
    /// guard until the release, such as C.
    ///
    /// # Safety
    ///
    /// The calling thread must hold the lock, and no other guard of this acquisition may be used.
    #[inline]
    pub unsafe fn guard_of_caller(&self) -> LockRefGuard<'_, K, P, H, C>
    where
        K: TokenInLane,
        C: Context<State = ()>,
    {
        let word = if const { size_of::<K::Token>() == 0 } {
            0
        } else {
            // Relaxed: the caller holds the lock, and only the holder changes the part that is the
            // token.
            self.word.load(Ordering::Relaxed)
        };
        LockRefGuard::new(self, K::token_of_holder(High::<U64<H>>::bits(word)), ())
    }

    /// Returns true if the lock is held. The result is a snapshot (relaxed), and may already be
    /// stale when the function returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        Self::lock_is_held(self.word.load(Ordering::Relaxed))
    }

    /// Returns the count. The result is a snapshot (relaxed), and may already be stale when the
    /// function returns.
    #[inline]
    pub fn count(&self) -> Count {
        Count::from_bits(self.word.load(Ordering::Relaxed) as u32)
    }
}

impl<K: LaneLock<H>, P: Policy, H: Host, C: Context> fmt::Debug for LockRef<K, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("LockRef")
            .field("count", &Count::from_bits(word as u32))
            .field("locked", &Self::lock_is_held(word))
            .finish()
    }
}
