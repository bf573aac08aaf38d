//! The condition variable: threads sleep until another thread notifies them.
//!
//! It has the interface of `parking_lot`'s, and works with every mutex of `lock_api`, also those of
//! other crates. The names [`Mutex`](crate::Mutex) and [`Condvar`](crate::Condvar) at the crate's
//! root belong together.
//!
//! Each waiting thread has an entry on its own stack. The entries form a ring, and the condition
//! variable points to the newest entry. A lock of this crate protects it.
//!
//! ```text
//!    condvar.newest ---> newest --next--> oldest --next--> ... --next--> newest
//! ```
//!
//! A notified thread takes the mutex as every newcomer does. After
//! [`notify_all`](Condvar::notify_all) all notified threads wake up and compete for the mutex: they
//! are not moved to the mutex's queue.
//!
//! # Why no notification is lost
//!
//! A waiter enters the ring before it releases the mutex. A notifier that changes the condition
//! under the mutex therefore finds the waiter in the ring. The notifier removes the waiter and sets
//! the waiter's word, both under the ring's lock, and then wakes the waiter. The waiter sleeps only
//! while the word is not set ([`Host::park`] compares it). A waiter whose deadline has passed takes
//! the ring's lock. Under the lock it is either still in the ring, or already notified.

use crate::RawSpinLock;
use crate::lock::{Adaptive, Deadline};
use crate::platform::{ConstAtomics, Host, HostWithSlots, Instant, Ordering, U32, U64, Word};
use core::fmt;
use core::time::Duration;
use lock_api::{MutexGuard, RawMutex};

/// A condition variable on host `H`. See the [module](self).
///
/// 24 bytes on 64-bit hosts. A wait costs what sleeping and waking cost, and the ring's lock once
/// (twice after a timeout). [`notify_one`](Self::notify_one) without waiters costs one load.
pub struct Condvar<H: HostWithSlots> {
    /// Protects the ring.
    lock: RawSpinLock<Adaptive, H>,
    /// The newest waiter, or 0.
    newest: U64<H>,
    /// The mutex of the waiters, while there are any.
    mutex: U64<H>,
}

/// The result of a wait with a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns true if the wait ended because its time had passed.
    #[inline]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A waiting thread's entry in the ring.
struct Waiter<H: Host> {
    /// 1 once the thread is notified.
    notified: U32<H>,
    /// The next newer waiter. In the newest waiter's entry: the oldest waiter.
    next: U64<H>,
}

impl<H: Host> Waiter<H> {
    fn new() -> Self {
        Waiter { notified: Word::new(0), next: Word::new(0) }
    }
}

/// A waiter's address as the ring stores it.
fn address<H: Host>(waiter: &Waiter<H>) -> u64 {
    core::ptr::from_ref(waiter).expose_provenance() as u64
}

/// Returns the waiter at `address`.
///
/// # Safety
///
/// `address` must come from the ring, and the caller must hold the ring's lock.
unsafe fn waiter<'a, H: Host>(address: u64) -> &'a Waiter<H> {
    // SAFETY: a waiter leaves its stack frame only after its removal from the ring. Every removal,
    // by the waiter or by another thread, happens under the ring's lock.
    unsafe { &*core::ptr::with_exposed_provenance::<Waiter<H>>(address as usize) }
}

impl<H: HostWithSlots> Condvar<H> {
    /// Makes a condition variable without waiters, on any host. For statics: [`new`](Self::new).
    pub fn on_host() -> Self {
        Condvar { lock: RawSpinLock::new(), newest: Word::new(0), mutex: Word::new(0) }
    }

    /// Runs `body` with the ring's lock.
    fn locked<R>(&self, body: impl FnOnce() -> R) -> R {
        let held = self.lock.acquire();
        let result = body();
        // SAFETY: acquired above.
        unsafe { self.lock.release(held) };
        result
    }

    /// Enters the ring. Returns false if other threads wait here with another mutex.
    fn join(&self, me: &Waiter<H>, mutex: u64) -> bool {
        // Relaxed, all: the lock orders them.
        self.locked(|| {
            let newest = self.newest.load(Ordering::Relaxed);
            if newest == 0 {
                self.mutex.store(mutex, Ordering::Relaxed);
                me.next.store(address(me), Ordering::Relaxed);
            } else if self.mutex.load(Ordering::Relaxed) == mutex {
                // SAFETY: the address comes from the ring, and this thread holds the ring's lock.
                let newest = unsafe { waiter::<H>(newest) };
                me.next.store(newest.next.load(Ordering::Relaxed), Ordering::Relaxed);
                newest.next.store(address(me), Ordering::Relaxed);
            } else {
                return false;
            }
            self.newest.store(address(me), Ordering::Relaxed);
            true
        })
    }

    /// Removes the waiter after `before` from the ring, with the lock.
    fn remove_after(&self, before: &Waiter<H>) {
        // Relaxed, all: the lock orders them.
        let removed = before.next.load(Ordering::Relaxed);
        if removed == address(before) {
            return self.newest.store(0, Ordering::Relaxed);
        }
        // SAFETY: the address comes from the ring, and the caller holds the ring's lock.
        let next = unsafe { waiter::<H>(removed) }.next.load(Ordering::Relaxed);
        before.next.store(next, Ordering::Relaxed);
        if self.newest.load(Ordering::Relaxed) == removed {
            self.newest.store(address(before), Ordering::Relaxed);
        }
    }

    /// Leaves the ring. Returns false if another thread has already removed, and so notified, this
    /// waiter.
    fn leave(&self, me: &Waiter<H>) -> bool {
        self.locked(|| {
            // Relaxed, all: the lock orders them.
            if me.notified.load(Ordering::Relaxed) != 0 {
                return false;
            }
            let mut before = self.newest.load(Ordering::Relaxed);
            loop {
                // SAFETY: the address comes from the ring, and this thread holds the ring's lock.
                // The ring is not empty: `me` is in it.
                let here = unsafe { waiter::<H>(before) };
                let next = here.next.load(Ordering::Relaxed);
                if next == address(me) {
                    self.remove_after(here);
                    return true;
                }
                before = next;
            }
        })
    }

    /// Notifies up to `most` waiters, the oldest first. Returns their number.
    fn notify(&self, most: usize) -> usize {
        // Relaxed: a thread that waits for a change that the caller made under the mutex entered
        // the ring before it released the mutex, so the caller sees it.
        if self.newest.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.locked(|| {
            let mut notified = 0;
            while notified < most {
                // Relaxed, all: the lock orders them.
                let newest = self.newest.load(Ordering::Relaxed);
                if newest == 0 {
                    break;
                }
                // SAFETY: the address comes from the ring, and this thread holds the ring's lock.
                let newest = unsafe { waiter::<H>(newest) };
                // SAFETY: as above.
                let oldest = unsafe { waiter::<H>(newest.next.load(Ordering::Relaxed)) };
                self.remove_after(newest);
                let word = core::ptr::from_ref(&oldest.notified);
                // Release: pairs with the acquire in `wait_with`. After it the waiter's memory may
                // be gone; `unpark` uses only its address.
                oldest.notified.store(1, Ordering::Release);
                H::unpark(word, 1);
                notified += 1;
            }
            notified
        })
    }

    /// Enters the ring. The entry lasts until the result is dropped, or the thread is notified.
    fn enter<'a>(&'a self, me: &'a Waiter<H>, mutex: usize) -> InRing<'a, H> {
        assert!(
            self.join(me, mutex as u64),
            "attempted to use a condition variable with more than one mutex"
        );
        InRing { condvar: self, me, is_in: true }
    }

    /// Waits with a mutex that does not come from `lock_api`. Enters the ring, calls `release`,
    /// which must release the mutex, and sleeps until it is notified, or until `until`. Returns
    /// true if it was notified. Does not take the mutex again.
    ///
    /// `mutex` is the mutex's address, or another value that is the same for the same mutex.
    ///
    /// # Panics
    ///
    /// Panics if other threads wait with another mutex. `release` is not called then.
    pub fn wait_with(
        &self,
        mutex: usize,
        release: impl FnOnce(),
        until: Option<Instant<H>>,
    ) -> bool {
        self.wait_with_end(mutex, release, until, || ())
    }

    /// The same as [`wait_with`](Self::wait_with). Calls `end` when the time has passed, before it
    /// leaves the ring: a host whose clock drives this wait may change the clock there.
    ///
    /// # Panics
    ///
    /// As [`wait_with`](Self::wait_with).
    pub fn wait_with_end(
        &self,
        mutex: usize,
        release: impl FnOnce(),
        until: Option<Instant<H>>,
        end: impl FnOnce(),
    ) -> bool {
        let me = Waiter::new();
        let in_ring = self.enter(&me, mutex);
        release();
        in_ring.sleep(until, end)
    }

    /// Waits with a mutex from `lock_api`. Returns true if it was notified.
    fn wait_on<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        until: Option<Instant<H>>,
    ) -> bool {
        let mutex = core::ptr::from_ref(MutexGuard::mutex(guard)).cast::<()>().addr();
        let me = Waiter::new();
        let in_ring = self.enter(&me, mutex);
        MutexGuard::unlocked(guard, || in_ring.sleep(until, || ()))
    }

    /// Releases the mutex, sleeps until another thread notifies this one, and takes the mutex
    /// again. Wake-ups are never spurious. But other threads may take the mutex first, so check the
    /// condition again, or use [`wait_while`](Self::wait_while).
    ///
    /// # Panics
    ///
    /// Panics if other threads wait with another mutex. The guard stays valid.
    pub fn wait<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        self.wait_on(guard, None);
    }

    /// The same as [`wait`](Self::wait), but sleeps until `until` at most. It may return later,
    /// because it waits without a limit to take the mutex again.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_until<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        until: impl Into<Instant<H>>,
    ) -> WaitTimeoutResult {
        WaitTimeoutResult(!self.wait_on(guard, Some(until.into())))
    }

    /// The same as [`wait_until`](Self::wait_until), with a duration from now on.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_for<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_until(guard, Instant::now() + timeout)
    }

    /// Waits while `condition` is true of the protected value. Returns at once if it is false.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_while<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// The same as [`wait_while`](Self::wait_while), until `until` at most. The result reports a
    /// timeout only if the condition is still true at that time.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_while_until<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        until: impl Into<Instant<H>>,
    ) -> WaitTimeoutResult {
        let until = until.into();
        let mut timed_out = false;
        while condition(guard) {
            if timed_out {
                return WaitTimeoutResult(true);
            }
            timed_out = self.wait_until(guard, until).timed_out();
        }
        WaitTimeoutResult(false)
    }

    /// The same as [`wait_while_until`](Self::wait_while_until), with a duration from now on.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_while_for<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_until(guard, condition, Instant::now() + timeout)
    }

    /// Returns true if a thread waits. The result is a snapshot (relaxed), and may already be stale
    /// when the function returns.
    pub fn has_waiters(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != 0
    }

    /// Notifies the thread that has waited for the longest time. Returns false if no thread waits.
    pub fn notify_one(&self) -> bool {
        self.notify(1) == 1
    }

    /// Notifies all threads that wait. Returns their number.
    pub fn notify_all(&self) -> usize {
        self.notify(usize::MAX)
    }
}

impl<H: HostWithSlots<Atomics: ConstAtomics>> Condvar<H> {
    /// Makes a condition variable without waiters.
    pub const fn new() -> Self {
        Condvar {
            lock: <RawSpinLock<Adaptive, H> as RawMutex>::INIT,
            newest: <H::Atomics as ConstAtomics>::U64_ZERO,
            mutex: <H::Atomics as ConstAtomics>::U64_ZERO,
        }
    }
}

impl<H: HostWithSlots<Atomics: ConstAtomics>> Default for Condvar<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: HostWithSlots> fmt::Debug for Condvar<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// A waiter in the ring. It leaves the ring when it is dropped.
struct InRing<'a, H: HostWithSlots> {
    condvar: &'a Condvar<H>,
    me: &'a Waiter<H>,
    is_in: bool,
}

impl<H: HostWithSlots> InRing<'_, H> {
    /// Sleeps until it is notified, or until `until`. Then it calls `end`. Returns true if it was
    /// notified.
    fn sleep(mut self, until: Option<Instant<H>>, end: impl FnOnce()) -> bool {
        let notified = &self.me.notified;
        let mut deadline = until.map(Deadline::new);
        // Acquire: pairs with the release in `notify`.
        while notified.load(Ordering::Acquire) == 0 {
            let Some(deadline) = &mut deadline else {
                H::park(notified, 0, None);
                continue;
            };
            if deadline.end_slice() {
                end();
                self.is_in = false;
                return !self.condvar.leave(self.me);
            }
            match deadline.left() {
                Some(left) => H::park(notified, 0, Some(left)),
                // Without a clock, or right at the deadline.
                None => H::yield_now(),
            }
        }
        self.is_in = false;
        true
    }
}

impl<H: HostWithSlots> Drop for InRing<'_, H> {
    /// Leaves the ring if the release of the mutex has panicked.
    fn drop(&mut self) {
        if self.is_in {
            self.condvar.leave(self.me);
        }
    }
}
