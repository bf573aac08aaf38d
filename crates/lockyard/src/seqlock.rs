//! The sequence lock: readers copy a small value and write nothing.
//!
//! ```text
//!   sequence   8 bytes: even, or odd while a writer replaces the value
//!   writers    a lock of this crate (4 bytes): one writer at a time
//!   value      the bytes of a `T`, read and written as atomic words
//!
//!   writer   take the lock .. s+1 .. replace the value .. s+2 .. release the lock
//!   reader   read s, even .. copy the value .. read s again: the same, or repeat
//! ```
//!
//! A writer works on a copy of its own, in its [`SeqLockGuard`]. The value is replaced when the
//! guard is dropped, and only then the sequence is odd. So no code of a user runs while readers
//! wait, and a guard that is forgotten stops writers but no readers.
//!
//! # Readers
//!
//! A [`read`](SeqLock::read) writes no memory. It repeats its copy when a writer came between.
//! After [`TRIES`] copies in vain it takes the writers' lock, so that writers do not starve it:
//! then it waits in its turn. [`try_read`](SeqLock::try_read) makes one copy.
//!
//! An interruption (a signal handler, an interrupt) of a thread that has a guard may read. It must
//! not do so while that guard is dropped: the sequence is odd then, until the thread goes on.
//! Interrupts of a kernel use `try_read`, or the writer switches them off.
//!
//! # Bounds
//!
//! - The sequence has 64 bits, and grows by 2 with each write. A reader accepts a wrong copy only
//!   if 2^63 writes happen during one copy: at a billion writes a second, after 292 years.
//! - The value should be small: a copy takes a load for each 8 bytes, and the longer it is, the
//!   more often it is repeated. Larger values belong behind a pointer, with
//!   [`reclaim`](crate::reclaim).
//! - `T` is plain data without padding ([`NoUninit`]), because each byte is an atomic's.
//!
//! # Why a copy that is accepted is whole
//!
//! - Its first read of the sequence acquires from the release of the write that left this number.
//!   So no word is older than that write.
//! - If a word is of a later write, the reader's fence acquires from that writer's fence, and its
//!   second read finds the odd number of that write, or a later one.
//!
//! # Sources
//!
//! - C. Lameter, *Effective Synchronization on Linux/NUMA Systems*, Gelato Conference 2005, which
//!   describes the seqlocks of S. Hemminger (2002).
//! - The fences, and data as relaxed atomics: H. Boehm, *Can Seqlocks Get Along with Programming
//!   Language Memory Models?*, MSPC 2012.
//!
//! This code was written from the descriptions, not from an implementation.

use crate::lock::{Adaptive, LaneLock};
use crate::platform::{
    Atomics, Host, Native, NativeAtomics, NativeU64, NativeWords, Ordering, PlainWords, Region,
    U64, Word, during,
};
use crate::{Held, RawSpinLock};
pub use bytemuck::NoUninit;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

/// Number of copies in vain after which a reader takes the writers' lock.
pub const TRIES: u32 = 32;

/// Number of polls of an odd sequence before a reader yields.
const POLLS: u32 = 64;

/// The words of a value on host `H`.
type Words<H, T> = <<H as Host>::Atomics as Atomics>::Words<T>;

/// A value that readers copy and writers replace, with writers' lock `K` on host `H`. See the
/// [module](self).
///
/// Usually written as [`SeqLock<T>`](crate::SeqLock).
#[repr(C)]
pub struct SeqLock<T: NoUninit + Send, H: Host = Native, K: LaneLock<H> = Adaptive> {
    sequence: U64<H>,
    writers: RawSpinLock<K, H>,
    value: Words<H, T>,
}

impl<T: NoUninit + Send, H: Host<Atomics = NativeAtomics>, K: LaneLock<H>> SeqLock<T, H, K>
where
    RawSpinLock<K, H>: lock_api::RawMutex,
{
    /// Makes a lock with a value, also for statics. On a platform without constants use
    /// [`SeqLock::from`].
    pub const fn new(value: T) -> Self {
        SeqLock {
            sequence: NativeU64::new(0),
            writers: <RawSpinLock<K, H> as lock_api::RawMutex>::INIT,
            value: NativeWords::new(value),
        }
    }
}

impl<T: NoUninit + Send, H: Host, K: LaneLock<H>> From<T> for SeqLock<T, H, K> {
    fn from(value: T) -> Self {
        SeqLock {
            sequence: Word::new(0),
            writers: RawSpinLock::new(),
            value: PlainWords::new(value),
        }
    }
}

fn is_even(sequence: u64) -> bool {
    sequence.is_multiple_of(2)
}

impl<T: NoUninit + Send, H: Host, K: LaneLock<H>> SeqLock<T, H, K> {
    /// Returns a copy of the value. Writes nothing, unless writers came between
    /// [`TRIES`] times.
    ///
    /// Cost: two loads of the sequence, and a load for each 8 bytes of the value.
    #[inline]
    pub fn read(&self) -> T {
        match self.try_read() {
            Some(value) => value,
            None => self.read_slowly(),
        }
    }

    /// Returns a copy of the value, unless a writer replaces it meanwhile.
    #[inline(always)]
    pub fn try_read(&self) -> Option<T> {
        // Acquire: pairs with the release of the last writer.
        let before = self.sequence.load(Ordering::Acquire);
        if !is_even(before) {
            return None;
        }
        let copy = self.value.load();
        // Acquire: pairs with the fence of a writer, if this copy has one of its words.
        H::Atomics::fence(Ordering::Acquire);
        let now = self.sequence.load(Ordering::Relaxed);
        // SAFETY: no writer came between, so the copy is the value that the last one left.
        (now == before).then(|| unsafe { copy.assume_init() })
    }

    #[cold]
    fn read_slowly(&self) -> T {
        for _ in 1..TRIES {
            // Relaxed: a hint.
            if H::wait_within(&self.sequence, Ordering::Relaxed, POLLS, is_even).is_err() {
                H::yield_now();
            }
            if let Some(value) = self.try_read() {
                return value;
            }
        }
        self.read_locked()
    }

    /// Returns a copy of the value, and keeps writers out meanwhile: it waits in turn with them.
    /// For readers that must not be delayed by writers without end.
    pub fn read_locked(&self) -> T {
        let held = self.writers.acquire();
        let value = self.copy_alone(&held);
        // SAFETY: taken above.
        unsafe { self.writers.release(held) };
        value
    }

    /// Returns a copy of the value. The caller holds the writers' lock.
    #[inline(always)]
    fn copy_alone(&self, _held: &Held<RawSpinLock<K, H>>) -> T {
        // SAFETY: writers store only while they hold the lock, which the caller holds.
        unsafe { self.value.load().assume_init() }
    }

    /// Takes the writers' lock, waiting until it is free, and returns a guard with a copy of the
    /// value. Dropping the guard replaces the value.
    #[inline]
    pub fn write(&self) -> SeqLockGuard<'_, T, H, K> {
        let held = self.writers.acquire();
        SeqLockGuard::new(self, self.copy_alone(&held), held)
    }

    /// Takes the writers' lock if it is free.
    #[inline]
    pub fn try_write(&self) -> Option<SeqLockGuard<'_, T, H, K>> {
        let held = self.writers.try_acquire()?;
        Some(SeqLockGuard::new(self, self.copy_alone(&held), held))
    }

    /// Replaces the value. Waits until no other writer is there.
    #[inline]
    pub fn set(&self, value: T) {
        *self.write() = value;
    }

    /// Replaces the value, and releases the lock.
    #[inline(always)]
    fn publish(&self, value: T, held: Held<RawSpinLock<K, H>>) {
        during::<H, _>(Region::Copy, || {
            // Relaxed: only the holder of the lock changes the sequence.
            let before = self.sequence.load(Ordering::Relaxed);
            self.sequence.store(before.wrapping_add(1), Ordering::Relaxed);
            // Release: pairs with the fence of a reader whose copy has a word of `value`. That
            // reader then sees the odd number.
            H::Atomics::fence(Ordering::Release);
            self.value.store(value);
            // Release: pairs with the first load of later readers.
            self.sequence.store(before.wrapping_add(2), Ordering::Release);
        });
        // SAFETY: the caller has taken the lock, and gives that back.
        unsafe { self.writers.release(held) };
    }

    /// Returns true if a writer has the lock. A snapshot (relaxed).
    pub fn is_write_locked(&self) -> bool {
        self.writers.is_held()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: NoUninit + Send + Default, H: Host, K: LaneLock<H>> Default for SeqLock<T, H, K> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T: NoUninit + Send + fmt::Debug, H: Host, K: LaneLock<H>> fmt::Debug for SeqLock<T, H, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("SeqLock");
        fields.field("sequence", &self.sequence.load(Ordering::Relaxed));
        match self.try_read() {
            Some(value) => fields.field("value", &value),
            None => fields.field("value", &format_args!("<being replaced>")),
        };
        fields.finish()
    }
}

/// A writer's copy of the value of a [`SeqLock`]. Dropping it replaces the value, also during a
/// panic: there is no poison. [`discard`](Self::discard) leaves the value as it was.
///
/// Readers see the old value meanwhile. If the guard is forgotten, they always do, and writers wait
/// for ever.
#[must_use = "the value is replaced when the guard is dropped"]
pub struct SeqLockGuard<'a, T, H = Native, K = Adaptive>
where
    T: NoUninit + Send,
    H: Host,
    K: LaneLock<H>,
{
    lock: &'a SeqLock<T, H, K>,
    value: T,
    held: ManuallyDrop<Held<RawSpinLock<K, H>>>,
}

impl<'a, T: NoUninit + Send, H: Host, K: LaneLock<H>> SeqLockGuard<'a, T, H, K> {
    #[inline(always)]
    fn new(lock: &'a SeqLock<T, H, K>, value: T, held: Held<RawSpinLock<K, H>>) -> Self {
        SeqLockGuard { lock, value, held: ManuallyDrop::new(held) }
    }

    /// Releases the lock, and leaves the value as it was.
    pub fn discard(guard: Self) {
        let mut guard = ManuallyDrop::new(guard);
        // SAFETY: the guard is not dropped, so this takes the only one.
        let held = unsafe { ManuallyDrop::take(&mut guard.held) };
        // SAFETY: it is of this lock.
        unsafe { guard.lock.writers.release(held) };
    }
}

impl<T: NoUninit + Send, H: Host, K: LaneLock<H>> Drop for SeqLockGuard<'_, T, H, K> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is dropped once.
        let held = unsafe { ManuallyDrop::take(&mut self.held) };
        self.lock.publish(self.value, held);
    }
}

impl<T: NoUninit + Send, H: Host, K: LaneLock<H>> Deref for SeqLockGuard<'_, T, H, K> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: NoUninit + Send, H: Host, K: LaneLock<H>> DerefMut for SeqLockGuard<'_, T, H, K> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T, H: Host, K: LaneLock<H>> fmt::Debug for SeqLockGuard<'_, T, H, K>
where
    T: NoUninit + Send + fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
