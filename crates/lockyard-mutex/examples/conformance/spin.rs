//! Spinlocks.

use crate::posix::*;
use crate::run::Check;

pub(crate) const CHECKS: &[Check] = &[
    (
        "spin-excludes",
        "pthread_spin_lock: \"The calling thread shall acquire the lock if it is not held by another \
         thread. Otherwise, the thread shall spin\"",
        excludes,
    ),
    (
        "spin-trylock",
        "pthread_spin_trylock: \"shall lock the spin lock ... if it is not held by any thread. \
         Otherwise, the function shall fail.\" [EBUSY]",
        trylock,
    ),
    (
        "spin-again",
        "pthread_spin_destroy: \"the results are undefined if pthread_spin_lock() is called until \
         the lock is reinitialized by another call to pthread_spin_init()\"",
        again,
    ),
];

fn spinlock(shared: i32) -> At<i32> {
    let lock = Box::leak(Box::new(Shared::new(0))).at();
    must!(pthread_spin_init(lock, shared));
    At(lock)
}

fn excludes() {
    for shared in [0, 1] {
        let lock = spinlock(shared);
        let sum = Shared::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for turn in 0..5000 {
                        if turn % 4 != 0 {
                            must!(pthread_spin_lock(lock.get()));
                        } else {
                            // SAFETY: a live lock.
                            while unsafe { pthread_spin_trylock(lock.get()) } != 0 {
                                std::thread::yield_now();
                            }
                        }
                        // SAFETY: under the lock.
                        unsafe { *sum.at() += 1 };
                        must!(pthread_spin_unlock(lock.get()));
                    }
                });
            }
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { *sum.at() }, 20_000);
        must!(pthread_spin_destroy(lock.get()));
    }
}

fn trylock() {
    for shared in [0, 1] {
        let lock = spinlock(shared);
        must!(pthread_spin_lock(lock.get()));
        must!(pthread_spin_trylock(lock.get()), EBUSY);
        elsewhere(|| must!(pthread_spin_trylock(lock.get()), EBUSY));
        must!(pthread_spin_unlock(lock.get()));
        must!(pthread_spin_trylock(lock.get()));
        must!(pthread_spin_unlock(lock.get()));
    }
}

fn again() {
    let lock = spinlock(0);
    for _ in 0..3 {
        must!(pthread_spin_lock(lock.get()));
        must!(pthread_spin_unlock(lock.get()));
        must!(pthread_spin_destroy(lock.get()));
        must!(pthread_spin_init(lock.get(), 0));
    }
}
