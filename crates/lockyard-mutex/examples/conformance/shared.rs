//! Objects that are shared between processes, robust mutexes, and protocols.

use crate::posix::*;
use crate::run::Check;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "shared-mutex",
        "pthread_mutexattr_setpshared: PTHREAD_PROCESS_SHARED \"permits a mutex to be operated upon \
         by any thread that has access to the memory\"",
        mutex_between_processes,
    ),
    (
        "shared-condition",
        "pthread_condattr_setpshared: the same for condition variables",
        condition_between_processes,
    ),
    (
        "shared-spin",
        "pthread_spin_init: PTHREAD_PROCESS_SHARED, the same for spin locks",
        spinlock_between_processes,
    ),
    (
        "robust",
        "pthread_mutexattr_setrobust: \"the next thread that acquires the mutex shall be notified \
         about the termination by the return value [EOWNERDEAD]\"; pthread_mutex_consistent",
        robust,
    ),
    ("priority", "pthread_mutexattr_setprotocol: PTHREAD_PRIO_INHERIT", priority_inheritance),
    (
        "robust-condition",
        "pthread_cond_wait: with a robust mutex, returns [EOWNERDEAD] with the mutex",
        robust_with_a_condition,
    ),
];

/// Objects in shared memory.
struct Room {
    lock: Shared<pthread_mutex_t>,
    condition: Shared<pthread_cond_t>,
    spin: Shared<i32>,
    number: Shared<u32>,
}

fn room() -> &'static Room {
    let room: &Room = shared_memory();
    init_with(room.lock.at(), |at| must!(libc::pthread_mutexattr_setpshared(at, 1)));
    must!(pthread_spin_init(room.spin.at(), 1));
    // SAFETY: the attribute is initialised first.
    unsafe {
        let mut attribute: pthread_condattr_t = std::mem::zeroed();
        must!(libc::pthread_condattr_init(&raw mut attribute));
        must!(libc::pthread_condattr_setpshared(&raw mut attribute, 1));
        must!(pthread_cond_init(room.condition.at(), &raw const attribute));
    }
    room
}

fn add(room: &Room) {
    // SAFETY: under a lock.
    unsafe { *room.number.at() += 1 };
}

fn mutex_between_processes() {
    let room = room();
    let run = || {
        for _ in 0..20_000 {
            must!(pthread_mutex_lock(room.lock.at()));
            add(room);
            must!(pthread_mutex_unlock(room.lock.at()));
        }
    };
    let child = fork(run);
    run();
    join(child);
    // SAFETY: the other process has ended.
    assert_eq!(unsafe { *room.number.at() }, 40_000);
}

fn condition_between_processes() {
    let room = room();
    let run = |me: u32| {
        for turn in 0..1000 {
            must!(pthread_mutex_lock(room.lock.at()));
            // SAFETY: under the mutex.
            while unsafe { *room.number.at() } != 2 * turn + me {
                must!(pthread_cond_wait(room.condition.at(), room.lock.at()));
            }
            add(room);
            must!(pthread_cond_signal(room.condition.at()));
            must!(pthread_mutex_unlock(room.lock.at()));
        }
    };
    let child = fork(|| run(1));
    run(0);
    join(child);
    must!(pthread_cond_destroy(room.condition.at()));
}

fn spinlock_between_processes() {
    let room = room();
    let run = || {
        for _ in 0..20_000 {
            must!(pthread_spin_lock(room.spin.at()));
            add(room);
            must!(pthread_spin_unlock(room.spin.at()));
        }
    };
    let child = fork(run);
    run();
    join(child);
    // SAFETY: the other process has ended.
    assert_eq!(unsafe { *room.number.at() }, 40_000);
}

fn robust() {
    let lock = At(mutex_with(|at| must!(libc::pthread_mutexattr_setrobust(at, 1))));
    elsewhere(|| must!(pthread_mutex_lock(lock.get())));
    must!(pthread_mutex_lock(lock.get()), libc::EOWNERDEAD);
    must!(pthread_mutex_consistent(lock.get()));
    must!(pthread_mutex_unlock(lock.get()));
    must!(pthread_mutex_lock(lock.get()));
    must!(pthread_mutex_unlock(lock.get()));
    must!(pthread_mutex_destroy(lock.get()));
}

fn priority_inheritance() {
    let lock = At(mutex_with(|at| must!(libc::pthread_mutexattr_setprotocol(at, 1))));
    must!(pthread_mutex_lock(lock.get()));
    elsewhere(|| {
        must!(pthread_mutex_trylock(lock.get()), EBUSY);
        let until = after(CLOCK_REALTIME, 20);
        must!(pthread_mutex_timedlock(lock.get(), &raw const until), ETIMEDOUT);
    });
    let condition = condition();
    let until = after(CLOCK_REALTIME, 20);
    must!(pthread_cond_timedwait(condition, lock.get(), &raw const until), ETIMEDOUT);
    must!(pthread_mutex_unlock(lock.get()));
    must!(pthread_mutex_destroy(lock.get()));
}

fn robust_with_a_condition() {
    let lock = At(mutex_with(|at| must!(libc::pthread_mutexattr_setrobust(at, 1))));
    let condition = At(condition());
    let step = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            must!(pthread_mutex_lock(lock.get()));
            step.store(1, Ordering::SeqCst);
            must!(pthread_cond_wait(condition.get(), lock.get()), libc::EOWNERDEAD);
            must!(pthread_mutex_consistent(lock.get()));
            must!(pthread_mutex_unlock(lock.get()));
        });
        await_value(&step, 1);
        // Ends with the mutex.
        elsewhere(|| {
            must!(pthread_mutex_lock(lock.get()));
            must!(pthread_cond_signal(condition.get()));
        });
    });
}
