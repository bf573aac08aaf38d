//! Acquisitions with a deadline.

use crate::posix::*;
use crate::run::Check;
use std::ffi::c_int;

pub(crate) const CHECKS: &[Check] = &[
    (
        "timedlock-expires",
        "pthread_mutex_timedlock: \"this wait shall be terminated when the specified timeout \
         expires\"; \"The timeout shall be based on the CLOCK_REALTIME clock\" [ETIMEDOUT]",
        expires,
    ),
    (
        "clocklock-expires",
        "pthread_mutex_clocklock: \"based on the clock specified by clock_id\"; [EINVAL] for others",
        clocks,
    ),
    (
        "timedlock-free",
        "pthread_mutex_timedlock: \"Under no circumstance shall the function fail with a timeout if \
         the mutex can be locked immediately. The validity of the abstime parameter need not be \
         checked if the mutex can be locked immediately.\"",
        free,
    ),
    (
        "timedlock-invalid",
        "pthread_mutex_timedlock: [EINVAL] \"the abstime parameter specified a nanoseconds field \
         value less than zero or greater than or equal to 1000 million\", if it would have blocked",
        invalid,
    ),
    (
        "timedlock-succeeds",
        "pthread_mutex_timedlock: the mutex is locked when it becomes available before the timeout",
        succeeds,
    ),
];

fn held() -> At<pthread_mutex_t> {
    let lock = mutex();
    must!(pthread_mutex_lock(lock));
    At(lock)
}

fn expires() {
    for kind in
        [libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_RECURSIVE, libc::PTHREAD_MUTEX_ERRORCHECK]
    {
        let lock = At(mutex_of(kind));
        must!(pthread_mutex_lock(lock.get()));
        elsewhere(|| {
            for milliseconds in [-5000, 0, 1, 60] {
                let until = after(CLOCK_REALTIME, milliseconds);
                must!(pthread_mutex_timedlock(lock.get(), &raw const until), ETIMEDOUT);
                assert!(has_passed(CLOCK_REALTIME, until), "too early");
            }
            let long_ago = timespec { tv_sec: -1, tv_nsec: 0 };
            must!(pthread_mutex_timedlock(lock.get(), &raw const long_ago), ETIMEDOUT);
        });
        must!(pthread_mutex_unlock(lock.get()));
        must!(pthread_mutex_trylock(lock.get()));
    }
}

fn clocks() {
    let lock = held();
    elsewhere(|| {
        for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
            for milliseconds in [-5000, 0, 60] {
                let until = after(clock, milliseconds);
                must!(pthread_mutex_clocklock(lock.get(), clock, &raw const until), ETIMEDOUT);
                assert!(has_passed(clock, until), "too early");
            }
        }
        let until = after(CLOCK_MONOTONIC, 10);
        let other: c_int = libc::CLOCK_PROCESS_CPUTIME_ID;
        must!(pthread_mutex_clocklock(lock.get(), other, &raw const until), EINVAL);
    });
}

fn free() {
    let lock = mutex();
    for time in [
        timespec { tv_sec: 0, tv_nsec: 0 },
        timespec { tv_sec: -1, tv_nsec: 0 },
        timespec { tv_sec: 1, tv_nsec: -1 },
        timespec { tv_sec: 1, tv_nsec: 1_000_000_000 },
    ] {
        must!(pthread_mutex_timedlock(lock, &raw const time));
        must!(pthread_mutex_unlock(lock));
    }
}

fn invalid() {
    let lock = held();
    elsewhere(|| {
        for nanoseconds in [-1, 1_000_000_000, i64::MAX] {
            let mut until = after(CLOCK_REALTIME, 1000);
            until.tv_nsec = nanoseconds;
            must!(pthread_mutex_timedlock(lock.get(), &raw const until), EINVAL);
        }
    });
}

fn succeeds() {
    let lock = held();
    std::thread::scope(|scope| {
        for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
            scope.spawn(move || {
                let until = after(clock, 10_000);
                must!(pthread_mutex_clocklock(lock.get(), clock, &raw const until));
                pause(5);
                must!(pthread_mutex_unlock(lock.get()));
            });
        }
        pause(50);
        must!(pthread_mutex_unlock(lock.get()));
    });
}
