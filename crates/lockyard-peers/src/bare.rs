//! The lower bound of an uncontended lock's cost: one compare-exchange to take it, one store to
//! release it. It is a yardstick for the others, not a lock to use: waiters get the lock in no
//! particular order.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};

/// A word that is 1 while it is held.
#[derive(Debug, Default)]
pub struct BareLock(AtomicU32);

impl BareLock {
    /// Returns a free lock.
    pub const fn new() -> BareLock {
        BareLock(AtomicU32::new(0))
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn acquire(&self) {
        // Acquire: pairs with the release of the previous holder.
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
    }

    /// Releases the lock. The caller must hold it. Otherwise the lock no longer excludes, which by
    /// itself is not undefined behaviour.
    #[inline(always)]
    pub fn release(&self) {
        // Release: pairs with the acquire of the next holder.
        self.0.store(0, Ordering::Release);
    }

    /// Returns true if the lock is held.
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        loop {
            while self.is_held() {
                spin_loop();
            }
            // Acquire: as in `acquire`.
            if self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}
