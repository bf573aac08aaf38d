//! The queued reader-writer spinlock: eight bytes, readers in batches, waiters in order of arrival.
//! It needs no memory, no clock and no parking, so it is for kernels and for pinned threads.
//!
//! ```text
//!    31 30        9  8  7         0
//!   +--+-----------+--+-----------+
//!   |F | readers   |A | writer    |    counts: who is inside
//!   +--+-----------+--+-----------+
//!   | a queued spinlock           |    turnstile: who waits, first come, first served
//!   +-----------------------------+
//!
//!   writer    1 while the writer is inside, which alone writes the 0
//!   A         announced: a writer waits at the head of the queue, and readers must queue
//!   F         full: 2^22 readers
//! ```
//!
//! | access | enters if | word |
//! | --- | --- | --- |
//! | read | no writer, not A | adds a reader, and takes it back if it may not enter |
//! | read again, or from an interruption | no writer | adds a reader, and waits for the writer alone |
//! | write | `counts` is 0 | a compare-exchange |
//!
//! 1. A thread that may not enter takes the turnstile. The waiters of that lock spin on lines of
//!    their own. So only its holder, the head of the queue, spins on `counts`.
//! 2. A reader at the head adds itself, waits until the writer has left, and gives the turnstile to
//!    the next one. If that is a reader too, it follows at once: a batch.
//! 3. A writer at the head sets A, and waits until all have left. Then it replaces A by the
//!    writer's byte, and gives the turnstile back.
//!
//! # Bounds
//!
//! - *Order.* Threads in the queue enter in the order of their arrival, readers next to each other
//!   together. A newcomer passes the queue only between two heads: a reader if the next head is a
//!   writer that has not set A yet, a writer if the lock is empty at that moment.
//! - *Neither starves*: each waits for those before it in the queue, and for the few that pass.
//! - *Waiting threads keep their CPUs.* With more threads than CPUs the lock nearly stops, because
//!   the next in line is often not running.
//! - *Reading twice*: a thread that reads must not read again, because a writer may have announced
//!   itself between. An interruption may ([`Host::execution`] says that it is one): it waits
//!   only for a writer inside. So writers of a kernel switch such interruptions off (a
//!   [`Context`]), and readers need not.
//! - *Readers*: at most 2^22 at a time; one more ends the program.
//!
//! # Sources
//!
//! - Fair queues of readers and writers: J. Mellor-Crummey and M. Scott, *Scalable Reader-Writer
//!   Synchronization for Shared-Memory Multiprocessors*, PPoPP 1991.
//! - One word that counts those inside, and one queued lock for those outside, whose head
//!   waits at the word; and readers in interrupts that pass the queue: after descriptions of the
//!   `qrwlock` of W. Long (linux-kernel mailing list, 2013 and 2014).
//!
//! This code was written from the descriptions, not from an implementation.

use super::read_write::ReadWrite;
use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::lane::Whole;
use crate::lock::{LaneLock, Queued};
use crate::platform::{
    ConstAtomics, Event, Execution, Host, HostWithSlots, Native, Ordering, Part, Region, U32, Word,
    during,
};
use core::fmt;
use core::marker::PhantomData;
use lock_api::{GuardNoSend, RawRwLock, RawRwLockDowngrade, RawRwLockFair};

/// The writer is inside.
const WRITER: u32 = 1;
/// A writer waits at the head of the queue.
const ANNOUNCED: u32 = 1 << 8;
/// One reader.
const READER: u32 = 1 << 9;
/// Set if there are 2^22 readers. No more may enter.
const FULL: u32 = 1 << 31;

fn has_no_writer(counts: u32) -> bool {
    counts & WRITER == 0
}

/// A queued reader-writer spinlock in 8 bytes, on host `H`, with context `C`. See the
/// [module](self).
///
/// Usually written as [`QRwLock`](crate::QRwLock). The type is invariant in both parameters.
#[repr(C)]
pub struct RawQRwLock<H: Host = Native, C: Context = NoContext> {
    counts: U32<H>,
    /// The word of a [`Queued`] lock.
    turnstile: U32<H>,
    _context: Invariant<C>,
}

/// The state of a thread that is inside: that of its context. It stays on its thread.
#[must_use = "the thread stays inside until this is given back"]
pub struct Inside<C: Context> {
    context: C::State,
    _on_this_thread: GuardNoSend,
}

impl<C: Context> Inside<C> {
    #[inline(always)]
    fn new(context: C::State) -> Self {
        Inside { context, _on_this_thread: GuardNoSend::new() }
    }
}

impl<C: Context> fmt::Debug for Inside<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").finish_non_exhaustive()
    }
}

impl<H: HostWithSlots, C: Context> RawQRwLock<H, C> {
    /// Makes a free lock. Statics use `lock_api`'s `INIT`.
    #[inline]
    pub fn new() -> Self {
        RawQRwLock { counts: Word::new(0), turnstile: Word::new(0), _context: PhantomData }
    }

    /// Waits for the turnstile, in the order of arrival.
    fn take_turnstile(&self) {
        // SAFETY: the word is private, starts as 0, and only this algorithm on `H` changes it.
        unsafe { <Queued as LaneLock<H>>::lock(Whole(&self.turnstile)) };
    }

    /// Gives the turnstile to the next one.
    ///
    /// # Safety
    ///
    /// The calling thread has it.
    unsafe fn give_turnstile(&self) {
        // SAFETY: the caller's promise.
        unsafe { <Queued as LaneLock<H>>::unlock(Whole(&self.turnstile), ()) };
    }

    /// Enters as a reader, waiting until it may. Acquire.
    #[inline(always)]
    fn enter_shared(&self) {
        // Acquire: pairs with the release of the last writer.
        let before = self.counts.fetch_add(READER, Ordering::Acquire);
        if before & (WRITER | ANNOUNCED | FULL) != 0 {
            self.wait_to_read(before);
        }
    }

    fn end_of_counts() -> ! {
        H::fatal("queued reader-writer lock: it has 2^22 readers")
    }

    /// Waits as a reader that was counted too early.
    #[cold]
    #[inline(never)]
    fn wait_to_read(&self, before: u32) {
        if before & FULL != 0 {
            Self::end_of_counts();
        }
        H::count(Event::Slowpath);
        during::<H, _>(Region::LockWait, || {
            if H::execution() == Execution::Interrupt {
                return self.wait_for_writer();
            }
            // Relaxed: it was not inside.
            self.counts.fetch_sub(READER, Ordering::Relaxed);
            self.take_turnstile();
            // Relaxed: the wait acquires. No writer comes in from now on.
            self.counts.fetch_add(READER, Ordering::Relaxed);
            self.wait_for_writer();
            // SAFETY: taken above.
            unsafe { self.give_turnstile() };
        });
    }

    /// Waits until the writer has left, as a reader that is counted.
    fn wait_for_writer(&self) {
        // Acquire: pairs with the release of the writer.
        H::wait_until(&self.counts, Ordering::Acquire, has_no_writer);
    }

    /// Enters as the writer, waiting until no thread is inside. Acquire.
    #[inline(always)]
    fn enter_exclusive(&self) {
        if !self.try_enter_exclusive() {
            self.wait_to_write();
        }
    }

    #[inline(always)]
    fn try_enter_exclusive(&self) -> bool {
        // Acquire: pairs with the releases of all that have left.
        self.counts.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait_to_write(&self) {
        H::count(Event::Slowpath);
        during::<H, _>(Region::LockWait, || {
            self.take_turnstile();
            // Relaxed: it orders nothing. Readers that come from now on queue.
            self.counts.fetch_or(ANNOUNCED, Ordering::Relaxed);
            loop {
                // Relaxed: the compare-exchange decides.
                H::wait_until(&self.counts, Ordering::Relaxed, |counts| counts == ANNOUNCED);
                // Acquire: pairs with the releases of all that have left.
                let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
                if self.counts.compare_exchange(ANNOUNCED, WRITER, of, to).is_ok() {
                    break;
                }
            }
            // SAFETY: taken above.
            unsafe { self.give_turnstile() };
        });
    }

    /// Enters as a reader if no writer is inside or has announced itself.
    fn try_enter_shared(&self) -> bool {
        // Relaxed: the compare-exchange decides.
        let mut seen = self.counts.load(Ordering::Relaxed);
        while seen & (WRITER | ANNOUNCED | FULL) == 0 {
            // Acquire: pairs with the release of the last writer.
            let (of, to) = (Ordering::Acquire, Ordering::Relaxed);
            match self.counts.compare_exchange(seen, seen + READER, of, to) {
                Ok(_) => return true,
                Err(actual) => seen = actual,
            }
        }
        false
    }

    #[inline(always)]
    fn leave_shared(&self) {
        // Release: pairs with the acquire of the next writer.
        self.counts.fetch_sub(READER, Ordering::Release);
    }

    #[inline(always)]
    fn leave_exclusive(&self) {
        // Release: pairs with the acquire of the threads that enter next. While the writer is
        // inside, only it writes the byte.
        self.counts.store_part(0, WRITER as u8, 0, Ordering::Release);
    }

    /// Enters the context, and the lock as a reader, waiting until it may. Acquire.
    #[inline(always)]
    pub fn acquire_shared(&self) -> Inside<C> {
        let context = C::enter();
        self.enter_shared();
        Inside::new(context)
    }

    /// The same as [`acquire_shared`](Self::acquire_shared), but waits only for a writer that is
    /// inside, and passes those that wait. So a thread that reads may read again. Readers that
    /// always enter in this way may starve writers.
    pub fn acquire_shared_recursive(&self) -> Inside<C> {
        let context = C::enter();
        // Acquire: pairs with the release of the last writer.
        let before = self.counts.fetch_add(READER, Ordering::Acquire);
        if before & FULL != 0 {
            Self::end_of_counts();
        }
        if !has_no_writer(before) {
            H::count(Event::Slowpath);
            during::<H, _>(Region::LockWait, || self.wait_for_writer());
        }
        Inside::new(context)
    }

    /// Enters the context, and the lock as a reader, if no writer is inside or waits at the head of
    /// the queue.
    #[inline]
    pub fn try_acquire_shared(&self) -> Option<Inside<C>> {
        Self::attempt(|| self.try_enter_shared())
    }

    /// Leaves as a reader (release), and leaves the context.
    ///
    /// # Safety
    ///
    /// `inside` came from an acquisition of this lock as a reader.
    #[inline(always)]
    pub unsafe fn release_shared(&self, inside: Inside<C>) {
        self.leave_shared();
        C::leave(inside.context);
    }

    /// Enters the context, and the lock as the writer, waiting until no thread is inside. Acquire.
    #[inline(always)]
    pub fn acquire_exclusive(&self) -> Inside<C> {
        let context = C::enter();
        self.enter_exclusive();
        Inside::new(context)
    }

    /// Enters the context, and the lock as the writer, if it is free.
    #[inline]
    pub fn try_acquire_exclusive(&self) -> Option<Inside<C>> {
        Self::attempt(|| self.try_enter_exclusive())
    }

    /// Leaves as the writer (release), and leaves the context.
    ///
    /// # Safety
    ///
    /// `inside` came from an acquisition of this lock as the writer.
    #[inline(always)]
    pub unsafe fn release_exclusive(&self, inside: Inside<C>) {
        self.leave_exclusive();
        C::leave(inside.context);
    }

    /// Becomes a reader, in the same context. No other writer is inside between.
    ///
    /// # Safety
    ///
    /// `inside` came from an acquisition of this lock as the writer.
    #[inline]
    pub unsafe fn downgrade(&self, inside: Inside<C>) -> Inside<C> {
        // Release: pairs with the acquire of readers.
        self.counts.fetch_add(READER - WRITER, Ordering::Release);
        inside
    }

    /// Enters the context and tries; leaves it again if that fails.
    #[inline(always)]
    fn attempt(enters: impl FnOnce() -> bool) -> Option<Inside<C>> {
        let context = C::enter();
        if enters() {
            return Some(Inside::new(context));
        }
        C::leave(context);
        None
    }

    /// Returns true if a thread is inside, or a writer waits at the head of the queue. A snapshot
    /// (relaxed).
    #[inline]
    pub fn is_held(&self) -> bool {
        self.counts.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the writer is inside. A snapshot (relaxed).
    #[inline]
    pub fn is_held_exclusive(&self) -> bool {
        !has_no_writer(self.counts.load(Ordering::Relaxed))
    }
}

impl<H: HostWithSlots, C: Context> Default for RawQRwLock<H, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: HostWithSlots, C: Context> fmt::Debug for RawQRwLock<H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.load(Ordering::Relaxed);
        f.debug_struct("RawQRwLock")
            .field("bits", &counts)
            .field("readers", &(counts / READER))
            .finish_non_exhaustive()
    }
}

// SAFETY: readers add themselves to counts without a writer. A writer replaces counts without
// readers, by a compare-exchange. Comments at each operation justify its ordering. Every change of
// the word is a read-modify-write, or a store of a part by its only writer.
unsafe impl<H: HostWithSlots> ReadWrite<H> for RawQRwLock<H> {
    type Entry = ();

    fn free() -> Self {
        Self::new()
    }
    #[inline(always)]
    fn lock_shared(&self) {
        self.enter_shared();
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, (): ()) {
        self.leave_shared();
    }
    #[inline(always)]
    fn lock_exclusive(&self) {
        self.enter_exclusive();
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        self.leave_exclusive();
    }
    fn is_inside(&self) -> bool {
        self.is_held()
    }
}

// SAFETY: as for `ReadWrite`. Each acquisition has a state that is given back once. Forgetting it
// leaves the thread inside, which is safe. No operation unwinds.
unsafe impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> RawRwLock for RawQRwLock<H, C> {
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    const INIT: Self = RawQRwLock {
        counts: <H::Atomics as ConstAtomics>::U32_ZERO,
        turnstile: <H::Atomics as ConstAtomics>::U32_ZERO,
        _context: PhantomData,
    };

    type SharedGuard = Inside<C>;
    type ExclusiveGuard = Inside<C>;

    #[inline(always)]
    fn lock_shared(&self) -> Inside<C> {
        self.acquire_shared()
    }
    #[inline(always)]
    fn try_lock_shared(&self) -> Option<Inside<C>> {
        self.try_acquire_shared()
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, inside: Inside<C>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_shared(inside) };
    }
    #[inline(always)]
    fn lock_exclusive(&self) -> Inside<C> {
        self.acquire_exclusive()
    }
    #[inline(always)]
    fn try_lock_exclusive(&self) -> Option<Inside<C>> {
        self.try_acquire_exclusive()
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self, inside: Inside<C>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_exclusive(inside) };
    }
    fn is_locked(&self) -> bool {
        self.is_held()
    }
    fn is_locked_exclusive(&self) -> bool {
        self.is_held_exclusive()
    }
}

// SAFETY: the head of the queue comes next after every release.
unsafe impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> RawRwLockFair
    for RawQRwLock<H, C>
{
    #[inline(always)]
    unsafe fn unlock_shared_fair(&self, inside: Inside<C>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_shared(inside) };
    }
    #[inline(always)]
    unsafe fn unlock_exclusive_fair(&self, inside: Inside<C>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_exclusive(inside) };
    }
}

// SAFETY: the writer becomes a reader by one operation, with release ordering.
unsafe impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> RawRwLockDowngrade
    for RawQRwLock<H, C>
{
    #[inline(always)]
    unsafe fn downgrade(&self, inside: Inside<C>) -> Inside<C> {
        // SAFETY: the caller's promise is the same.
        unsafe { RawQRwLock::downgrade(self, inside) }
    }
}
