//! The child of a fork.

use crate::posix::*;
use crate::run::{Check, times};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "fork-handlers",
        "pthread_atfork, rationale: \"the prepare handler acquires all mutexes locks and the other \
         two fork handlers release them\": with threads of the parent that wait for them",
        handlers_release,
    ),
    (
        "fork-child",
        "fork: in the child, mutexes that the forking thread holds or that are free work, also \
         between new threads",
        works_in_the_child,
    ),
    ("fork-again", "fork: the same in a child of the child", in_a_grandchild),
    (
        "beyond-fork-condition",
        "beyond POSIX: a condition variable on which threads of the parent wait works in the child, \
         and in a child of the child",
        condition_in_the_child,
    ),
];

const LOCKS: usize = 4;
static MUTEXES: [Shared<pthread_mutex_t>; LOCKS] =
    [const { Shared::new(libc::PTHREAD_MUTEX_INITIALIZER) }; LOCKS];
static CONDITION: Shared<pthread_cond_t> = Shared::new(libc::PTHREAD_COND_INITIALIZER);
static STOP: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn lock_all() {
    for lock in &MUTEXES {
        must!(pthread_mutex_lock(lock.at()));
    }
}

unsafe extern "C" fn unlock_all() {
    for lock in &MUTEXES {
        must!(pthread_mutex_unlock(lock.at()));
    }
}

/// Locks all mutexes often, until told to stop.
fn contend() {
    while !STOP.load(Ordering::Relaxed) {
        for lock in &MUTEXES {
            must!(pthread_mutex_lock(lock.at()));
            std::hint::spin_loop();
            must!(pthread_mutex_unlock(lock.at()));
        }
    }
}

/// Uses everything with new threads.
fn use_all() {
    let sum = Shared::new(0u32);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for turn in 0..200 {
                    must!(pthread_mutex_lock(MUTEXES[turn % LOCKS].at()));
                    must!(pthread_mutex_unlock(MUTEXES[turn % LOCKS].at()));
                    must!(pthread_mutex_lock(MUTEXES[0].at()));
                    // SAFETY: under the mutex.
                    unsafe { *sum.at() += 1 };
                    must!(pthread_cond_broadcast(CONDITION.at()));
                    must!(pthread_mutex_unlock(MUTEXES[0].at()));
                }
            });
        }
        must!(pthread_mutex_lock(MUTEXES[0].at()));
        // SAFETY: under the mutex.
        while unsafe { *sum.at() } < 600 {
            must!(pthread_cond_wait(CONDITION.at(), MUTEXES[0].at()));
        }
        must!(pthread_mutex_unlock(MUTEXES[0].at()));
    });
}

fn handlers_release() {
    must!(libc::pthread_atfork(Some(lock_all), Some(unlock_all), Some(unlock_all)));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(contend);
        }
        for _ in 0..times(40) {
            pause(1);
            join(fork(use_all));
        }
        STOP.store(true, Ordering::Relaxed);
    });
}

/// Runs `body` in a child of this process, which holds a mutex that other threads wait for.
fn in_a_child(body: impl FnOnce()) {
    must!(pthread_mutex_lock(MUTEXES[0].at()));
    WAITING.store(0, Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                WAITING.fetch_add(1, Ordering::SeqCst);
                must!(pthread_mutex_lock(MUTEXES[0].at()));
                must!(pthread_mutex_unlock(MUTEXES[0].at()));
            });
        }
        await_value(&WAITING, 3);
        pause(30);
        let child = fork(|| {
            must!(pthread_mutex_trylock(MUTEXES[0].at()), EBUSY);
            must!(pthread_mutex_unlock(MUTEXES[0].at()));
            use_all();
            body();
        });
        join(child);
        must!(pthread_mutex_unlock(MUTEXES[0].at()));
    });
}

fn works_in_the_child() {
    in_a_child(|| must!(pthread_mutex_destroy(MUTEXES[0].at())));
}

fn in_a_grandchild() {
    in_a_child(|| in_a_child(use_all));
}

/// Threads that wait for the condition, until the number is 1.
fn with_waiters(body: impl FnOnce()) {
    static NUMBER: Shared<u32> = Shared::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                must!(pthread_mutex_lock(MUTEXES[0].at()));
                WAITING.fetch_add(1, Ordering::SeqCst);
                // SAFETY: under the mutex.
                while unsafe { *NUMBER.at() } == 0 {
                    must!(pthread_cond_wait(CONDITION.at(), MUTEXES[0].at()));
                }
                must!(pthread_mutex_unlock(MUTEXES[0].at()));
            });
        }
        await_value(&WAITING, 3);
        must!(pthread_mutex_lock(MUTEXES[0].at()));
        must!(pthread_mutex_unlock(MUTEXES[0].at()));
        body();
        must!(pthread_mutex_lock(MUTEXES[0].at()));
        // SAFETY: under the mutex.
        unsafe { *NUMBER.at() = 1 };
        must!(pthread_cond_broadcast(CONDITION.at()));
        must!(pthread_mutex_unlock(MUTEXES[0].at()));
    });
}

fn condition_in_the_child() {
    with_waiters(|| {
        let child = fork(|| {
            use_all();
            join(fork(use_all));
            use_all();
        });
        join(child);
    });
}
