//! Mutexes: types, errors, initialisation and destruction.

use crate::posix::*;
use crate::run::{Check, times};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "mutex-excludes",
        "pthread_mutex_lock: \"If the mutex is already locked by another thread, the calling thread \
         shall block until the mutex becomes available.\"",
        excludes,
    ),
    (
        "mutex-trylock",
        "pthread_mutex_trylock: \"if the mutex object referenced by mutex is currently locked (by \
         any thread, including the current thread), the call shall return immediately\" [EBUSY]",
        trylock,
    ),
    (
        "mutex-static",
        "pthread_mutex_init: \"the macro PTHREAD_MUTEX_INITIALIZER can be used to initialize \
         mutexes. The effect shall be equivalent to dynamic initialization\"; also the C library's \
         initialisers of other types",
        statics,
    ),
    ("mutex-normal", "pthread_mutex_lock: normal, relock: \"deadlock\"", normal_relock_deadlocks),
    (
        "mutex-recursive",
        "pthread_mutex_lock: \"Each time the thread unlocks the mutex, the lock count shall be \
         decremented by one. When the lock count reaches zero, the mutex shall become available\"; \
         unlock when not owner: \"error returned\"",
        recursive,
    ),
    (
        "mutex-errorcheck",
        "pthread_mutex_lock: errorcheck, relock: \"error returned\" [EDEADLK]; unlock when not \
         owner: \"error returned\" [EPERM]",
        errorcheck,
    ),
    (
        "mutex-abandoned",
        "pthread_mutexattr_setrobust: PTHREAD_MUTEX_STALLED: \"No special actions are taken if the \
         owner of the mutex is terminated while holding the mutex lock.\" (a later thread is not its \
         owner)",
        abandoned,
    ),
    (
        "mutex-default",
        "pthread_mutexattr_init: a mutex with default attributes works as one without",
        default_attribute,
    ),
    (
        "mutex-destroy",
        "pthread_mutex_destroy: \"A destroyed mutex object can be reinitialized using \
         pthread_mutex_init(); the results of otherwise referencing the object after it has been \
         destroyed are undefined\" (here: EBUSY while it is locked, EINVAL afterwards)",
        destroy,
    ),
    (
        "mutex-destroy-at-once",
        "pthread_mutex_destroy: \"It shall be safe to destroy an initialized mutex that is \
         unlocked\"; rationale: \"immediately after it is unlocked\"",
        destroy_at_once,
    ),
    (
        "mutex-errno",
        "System Interfaces 2.3: these functions return error numbers, and do not set errno",
        errno_stays,
    ),
];

fn excludes() {
    for kind in [
        libc::PTHREAD_MUTEX_NORMAL,
        libc::PTHREAD_MUTEX_RECURSIVE,
        libc::PTHREAD_MUTEX_ERRORCHECK,
        libc::PTHREAD_MUTEX_ADAPTIVE_NP,
    ] {
        let lock = At(mutex_of(kind));
        let sum = Shared::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        must!(pthread_mutex_lock(lock.get()));
                        // SAFETY: under the mutex.
                        unsafe { *sum.at() += 1 };
                        must!(pthread_mutex_unlock(lock.get()));
                    }
                });
            }
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { *sum.at() }, 20_000);
    }
}

fn trylock() {
    let lock = At(mutex());
    must!(pthread_mutex_trylock(lock.get()));
    must!(pthread_mutex_trylock(lock.get()), EBUSY);
    elsewhere(|| must!(pthread_mutex_trylock(lock.get()), EBUSY));
    must!(pthread_mutex_unlock(lock.get()));
    elsewhere(|| {
        must!(pthread_mutex_trylock(lock.get()));
        must!(pthread_mutex_unlock(lock.get()));
    });
}

fn statics() {
    static NORMAL: Shared<pthread_mutex_t> = Shared::new(libc::PTHREAD_MUTEX_INITIALIZER);
    static RECURSIVE: Shared<pthread_mutex_t> =
        Shared::new(libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
    static CHECKING: Shared<pthread_mutex_t> =
        Shared::new(libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP);
    static ADAPTIVE: Shared<pthread_mutex_t> =
        Shared::new(libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP);
    for lock in [&NORMAL, &RECURSIVE, &CHECKING, &ADAPTIVE] {
        must!(pthread_mutex_lock(lock.at()));
        elsewhere(|| must!(pthread_mutex_trylock(lock.at()), EBUSY));
        must!(pthread_mutex_unlock(lock.at()));
    }
    must!(pthread_mutex_lock(RECURSIVE.at()));
    must!(pthread_mutex_lock(RECURSIVE.at()));
    must!(pthread_mutex_unlock(RECURSIVE.at()));
    must!(pthread_mutex_unlock(RECURSIVE.at()));
    must!(pthread_mutex_unlock(RECURSIVE.at()), EPERM);
    must!(pthread_mutex_lock(CHECKING.at()));
    must!(pthread_mutex_lock(CHECKING.at()), EDEADLK);
    must!(pthread_mutex_unlock(CHECKING.at()));
}

fn abandoned() {
    let kinds = [
        libc::PTHREAD_MUTEX_NORMAL,
        libc::PTHREAD_MUTEX_RECURSIVE,
        libc::PTHREAD_MUTEX_ERRORCHECK,
        libc::PTHREAD_MUTEX_ADAPTIVE_NP,
    ];
    for kind in kinds {
        let lock = At(mutex_of(kind));
        elsewhere(|| must!(pthread_mutex_lock(lock.get())));
        // The C library gives a later thread the memory of an earlier thread.
        for _ in 0..8 {
            elsewhere(|| {
                must!(pthread_mutex_trylock(lock.get()), EBUSY);
                if kind == libc::PTHREAD_MUTEX_RECURSIVE || kind == libc::PTHREAD_MUTEX_ERRORCHECK {
                    must!(pthread_mutex_unlock(lock.get()), EPERM);
                }
            });
        }
    }
}

fn normal_relock_deadlocks() {
    static STEP: AtomicU32 = AtomicU32::new(0);
    let lock = At(mutex_of(libc::PTHREAD_MUTEX_NORMAL));
    std::thread::spawn(move || {
        must!(pthread_mutex_lock(lock.get()));
        STEP.store(1, Ordering::SeqCst);
        must!(pthread_mutex_lock(lock.get()));
        STEP.store(2, Ordering::SeqCst);
    });
    await_value(&STEP, 1);
    pause(100);
    assert_eq!(STEP.load(Ordering::SeqCst), 1, "a normal mutex was locked twice");
}

fn recursive() {
    let lock = At(mutex_of(libc::PTHREAD_MUTEX_RECURSIVE));
    must!(pthread_mutex_unlock(lock.get()), EPERM);
    for _ in 0..3 {
        must!(pthread_mutex_lock(lock.get()));
        must!(pthread_mutex_trylock(lock.get()));
    }
    let until = after(CLOCK_REALTIME, 1000);
    must!(pthread_mutex_timedlock(lock.get(), &raw const until));
    for _ in 0..7 {
        elsewhere(|| {
            must!(pthread_mutex_trylock(lock.get()), EBUSY);
            must!(pthread_mutex_unlock(lock.get()), EPERM);
        });
        must!(pthread_mutex_unlock(lock.get()));
    }
    elsewhere(|| {
        must!(pthread_mutex_trylock(lock.get()));
        must!(pthread_mutex_unlock(lock.get()));
    });
    must!(pthread_mutex_unlock(lock.get()), EPERM);
}

fn errorcheck() {
    let lock = At(mutex_of(libc::PTHREAD_MUTEX_ERRORCHECK));
    must!(pthread_mutex_unlock(lock.get()), EPERM);
    must!(pthread_mutex_lock(lock.get()));
    must!(pthread_mutex_lock(lock.get()), EDEADLK);
    must!(pthread_mutex_trylock(lock.get()), EBUSY);
    let until = after(CLOCK_REALTIME, 1000);
    must!(pthread_mutex_timedlock(lock.get(), &raw const until), EDEADLK);
    elsewhere(|| must!(pthread_mutex_unlock(lock.get()), EPERM));
    must!(pthread_mutex_unlock(lock.get()));
    must!(pthread_mutex_unlock(lock.get()), EPERM);
}

fn default_attribute() {
    let lock = At(mutex_with(|_| {}));
    must!(pthread_mutex_lock(lock.get()));
    elsewhere(|| must!(pthread_mutex_trylock(lock.get()), EBUSY));
    must!(pthread_mutex_unlock(lock.get()));
    must!(pthread_mutex_destroy(lock.get()));
}

fn destroy() {
    let lock = mutex();
    must!(pthread_mutex_lock(lock));
    must!(pthread_mutex_destroy(lock), EBUSY);
    must!(pthread_mutex_unlock(lock));
    must!(pthread_mutex_destroy(lock));
    must!(pthread_mutex_lock(lock), EINVAL);
    must!(pthread_mutex_trylock(lock), EINVAL);
    must!(pthread_mutex_unlock(lock), EINVAL);
    must!(pthread_mutex_init(lock, std::ptr::null()));
    must!(pthread_mutex_lock(lock));
    must!(pthread_mutex_unlock(lock));
}

/// The last of two threads that unlock an object frees its memory.
fn destroy_at_once() {
    for _ in 0..times(2000) {
        let page = At(shared_memory::<(Shared<pthread_mutex_t>, Shared<u32>)>() as *const _
            as *mut (Shared<pthread_mutex_t>, Shared<u32>));
        // SAFETY: the memory lives until the last thread removes it.
        let object = unsafe { &*page.get() };
        must!(pthread_mutex_init(object.0.at(), std::ptr::null()));
        // SAFETY: no other thread has the object yet.
        unsafe { *object.1.at() = 2 };
        let leave = move || {
            // SAFETY: as above.
            let object = unsafe { &*page.get() };
            must!(pthread_mutex_lock(object.0.at()));
            // SAFETY: under the mutex.
            let left = unsafe {
                *object.1.at() -= 1;
                *object.1.at()
            };
            must!(pthread_mutex_unlock(object.0.at()));
            if left == 0 {
                must!(pthread_mutex_destroy(object.0.at()));
                // SAFETY: the last user.
                must!(libc::munmap(page.get().cast(), 4096));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(leave);
            leave();
        });
    }
}

fn errno_stays() {
    let lock = At(mutex());
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = 77 };
    std::thread::scope(|scope| {
        must!(pthread_mutex_lock(lock.get()));
        scope.spawn(|| {
            must!(pthread_mutex_lock(lock.get()));
            pause(60);
            must!(pthread_mutex_unlock(lock.get()));
        });
        let until = after(CLOCK_REALTIME, 30);
        must!(pthread_cond_timedwait(condition(), lock.get(), &raw const until), ETIMEDOUT);
        must!(pthread_mutex_unlock(lock.get()));
    });
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, 77);
}
