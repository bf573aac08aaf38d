//! Condition variables.

use crate::posix::*;
use crate::run::{Check, times};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "condition-wait",
        "pthread_cond_wait: \"These functions atomically release mutex and cause the calling thread \
         to block\"; \"Upon successful return, the mutex shall have been locked and shall be owned \
         by the calling thread.\"",
        releases_and_acquires,
    ),
    (
        "condition-signal",
        "pthread_cond_signal: \"shall unblock at least one of the threads that are blocked\": a ball \
         that two threads pass on is never lost",
        passes_a_ball,
    ),
    (
        "condition-broadcast",
        "pthread_cond_broadcast: \"shall unblock all threads currently blocked\"",
        broadcast,
    ),
    (
        "condition-queue",
        "pthread_cond_signal: producers and consumers of a bounded queue lose nothing",
        bounded_queue,
    ),
    (
        "condition-not-remembered",
        "pthread_cond_signal: \"shall have no effect if there are no threads currently blocked\"",
        is_not_remembered,
    ),
    (
        "condition-timedwait",
        "pthread_cond_timedwait: \"an error is returned if the absolute time specified by abstime \
         passes\" [ETIMEDOUT]; \"When such timeouts occur, pthread_cond_timedwait() shall \
         nonetheless release and re-acquire the mutex\"",
        expires,
    ),
    (
        "condition-clock",
        "pthread_condattr_setclock and pthread_cond_clockwait: the clock of the timeout; [EINVAL] \
         for others",
        clocks,
    ),
    (
        "condition-invalid",
        "pthread_cond_timedwait: [EINVAL] \"The abstime argument specified a nanosecond value less \
         than zero or greater than or equal to 1000 million\"; the mutex stays locked",
        invalid_times,
    ),
    (
        "condition-owner",
        "pthread_cond_wait: [EPERM] \"The mutex type is PTHREAD_MUTEX_ERRORCHECK ... and the current \
         thread does not own the mutex.\"",
        is_not_owner,
    ),
    (
        "condition-recursive",
        "pthread_cond_wait: a recursive mutex that is locked once is released and acquired",
        with_a_recursive_mutex,
    ),
    (
        "condition-static",
        "pthread_cond_init: \"the macro PTHREAD_COND_INITIALIZER can be used\"",
        static_initialiser,
    ),
    (
        "condition-other-mutex",
        "pthread_cond_wait: the binding to a mutex ends \"when no threads are blocked\"",
        one_mutex_after_another,
    ),
    (
        "condition-destroy",
        "pthread_cond_destroy: \"A condition variable can be destroyed immediately after all the \
         threads that are blocked on it are awakened.\"",
        destroyed_at_once,
    ),
    (
        "condition-order",
        "pthread_cond_timedwait: a thread whose time has passed leaves the others waiting",
        timeouts_between_others,
    ),
];

/// A mutex, a condition variable, and a number under them.
struct Monitor {
    lock: Lock,
    condition: Condition,
    number: Shared<u32>,
}
// SAFETY: addresses, and a number under the mutex.
unsafe impl Sync for Monitor {}

impl Monitor {
    fn new() -> Self {
        Monitor { lock: mutex(), condition: condition(), number: Shared::new(0) }
    }
    fn lock(&self) {
        must!(pthread_mutex_lock(self.lock));
    }
    fn unlock(&self) {
        must!(pthread_mutex_unlock(self.lock));
    }
    /// The number. The caller has the mutex.
    fn number(&self) -> u32 {
        // SAFETY: under the mutex.
        unsafe { *self.number.at() }
    }
    fn set(&self, number: u32) {
        // SAFETY: under the mutex.
        unsafe { *self.number.at() = number };
    }
    fn is_locked_elsewhere(&self) {
        let lock = At(self.lock);
        elsewhere(|| must!(pthread_mutex_trylock(lock.get()), EBUSY));
    }
    fn wait_while(&self, condition: impl Fn(u32) -> bool) {
        while condition(self.number()) {
            must!(pthread_cond_wait(self.condition, self.lock));
        }
    }
}

fn releases_and_acquires() {
    let monitor = Monitor::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            monitor.lock();
            monitor.set(1);
            monitor.wait_while(|number| number != 2);
            monitor.is_locked_elsewhere();
            monitor.unlock();
        });
        loop {
            monitor.lock();
            // The other thread waits: it has released the mutex with the number 1.
            if monitor.number() == 1 {
                break;
            }
            monitor.unlock();
        }
        monitor.set(2);
        must!(pthread_cond_signal(monitor.condition));
        monitor.unlock();
    });
}

fn passes_a_ball() {
    let turns = times(20_000);
    let monitor = Monitor::new();
    std::thread::scope(|scope| {
        for me in 0..2 {
            let monitor = &monitor;
            scope.spawn(move || {
                for turn in 0..turns {
                    monitor.lock();
                    monitor.wait_while(|number| number != 2 * turn + me);
                    monitor.set(2 * turn + me + 1);
                    // Notifies with and without the mutex held.
                    if turn % 2 == 0 {
                        must!(pthread_cond_signal(monitor.condition));
                        monitor.unlock();
                    } else {
                        monitor.unlock();
                        must!(pthread_cond_signal(monitor.condition));
                    }
                }
            });
        }
    });
}

fn broadcast() {
    const THREADS: u32 = 50;
    let monitor = Monitor::new();
    let waiting = AtomicU32::new(0);
    for _ in 0..times(20) {
        monitor.set(0);
        waiting.store(0, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    monitor.lock();
                    waiting.fetch_add(1, Ordering::SeqCst);
                    monitor.wait_while(|number| number == 0);
                    monitor.unlock();
                });
            }
            await_value(&waiting, THREADS);
            monitor.lock();
            monitor.set(1);
            must!(pthread_cond_broadcast(monitor.condition));
            monitor.unlock();
        });
    }
}

fn bounded_queue() {
    const ROOM: u32 = 3;
    let each = times(5000);
    let monitor = Monitor::new();
    let not_full = At(condition());
    let sum = Shared::new(0u64);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..each {
                    monitor.lock();
                    while monitor.number() == ROOM {
                        must!(pthread_cond_wait(not_full.get(), monitor.lock));
                    }
                    monitor.set(monitor.number() + 1);
                    must!(pthread_cond_signal(monitor.condition));
                    monitor.unlock();
                }
            });
            scope.spawn(|| {
                for _ in 0..each {
                    monitor.lock();
                    monitor.wait_while(|number| number == 0);
                    monitor.set(monitor.number() - 1);
                    // SAFETY: under the mutex.
                    unsafe { *sum.at() += 1 };
                    must!(pthread_cond_signal(not_full.get()));
                    monitor.unlock();
                }
            });
        }
    });
    // SAFETY: the threads have ended.
    assert_eq!((monitor.number(), unsafe { *sum.at() }), (0, u64::from(3 * each)));
}

fn is_not_remembered() {
    let monitor = Monitor::new();
    must!(pthread_cond_signal(monitor.condition));
    must!(pthread_cond_broadcast(monitor.condition));
    monitor.lock();
    let until = after(CLOCK_REALTIME, 50);
    must!(pthread_cond_timedwait(monitor.condition, monitor.lock, &raw const until), ETIMEDOUT);
    monitor.unlock();
}

fn expires() {
    let monitor = Monitor::new();
    monitor.lock();
    for milliseconds in [-5000, 0, 1, 60] {
        let until = after(CLOCK_REALTIME, milliseconds);
        must!(pthread_cond_timedwait(monitor.condition, monitor.lock, &raw const until), ETIMEDOUT);
        assert!(has_passed(CLOCK_REALTIME, until), "too early");
        monitor.is_locked_elsewhere();
    }
    let long_ago = timespec { tv_sec: -1, tv_nsec: 0 };
    must!(pthread_cond_timedwait(monitor.condition, monitor.lock, &raw const long_ago), ETIMEDOUT);
    // While it waits, others may lock the mutex.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            monitor.lock();
            monitor.set(7);
            monitor.unlock();
        });
        let until = after(CLOCK_REALTIME, 200);
        must!(pthread_cond_timedwait(monitor.condition, monitor.lock, &raw const until), ETIMEDOUT);
        assert_eq!(monitor.number(), 7);
        monitor.unlock();
        other.join().expect("it has not failed");
    });
}

/// Makes a condition variable with a clock.
fn condition_by(clock: clockid_t) -> Condition {
    let condition = condition();
    // SAFETY: the attribute is initialised first.
    unsafe {
        let mut attribute: pthread_condattr_t = std::mem::zeroed();
        must!(libc::pthread_condattr_init(&raw mut attribute));
        must!(libc::pthread_condattr_setclock(&raw mut attribute, clock));
        must!(pthread_cond_init(condition, &raw const attribute));
        must!(libc::pthread_condattr_destroy(&raw mut attribute));
    }
    condition
}

fn clocks() {
    let lock = mutex();
    must!(pthread_mutex_lock(lock));
    for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
        let condition = condition_by(clock);
        for milliseconds in [-5000, 0, 60] {
            let until = after(clock, milliseconds);
            must!(pthread_cond_timedwait(condition, lock, &raw const until), ETIMEDOUT);
            assert!(has_passed(clock, until), "too early");
            for other in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
                let until = after(other, milliseconds);
                must!(pthread_cond_clockwait(condition, lock, other, &raw const until), ETIMEDOUT);
                assert!(has_passed(other, until), "too early");
            }
        }
        let (until, other) = (after(clock, 10), libc::CLOCK_PROCESS_CPUTIME_ID);
        must!(pthread_cond_clockwait(condition, lock, other, &raw const until), EINVAL);
    }
    must!(pthread_mutex_unlock(lock));
}

fn invalid_times() {
    let monitor = Monitor::new();
    monitor.lock();
    for nanoseconds in [-1, 1_000_000_000, i64::MAX] {
        let mut until = after(CLOCK_REALTIME, 1000);
        until.tv_nsec = nanoseconds;
        must!(pthread_cond_timedwait(monitor.condition, monitor.lock, &raw const until), EINVAL);
        monitor.is_locked_elsewhere();
    }
    monitor.unlock();
}

fn is_not_owner() {
    let lock = At(mutex_of(libc::PTHREAD_MUTEX_ERRORCHECK));
    let condition = At(condition());
    must!(pthread_cond_wait(condition.get(), lock.get()), EPERM);
    must!(pthread_mutex_lock(lock.get()));
    elsewhere(|| must!(pthread_cond_wait(condition.get(), lock.get()), EPERM));
    must!(pthread_mutex_unlock(lock.get()));
}

fn with_a_recursive_mutex() {
    for kind in [libc::PTHREAD_MUTEX_RECURSIVE, libc::PTHREAD_MUTEX_ERRORCHECK] {
        let monitor = Monitor { lock: mutex_of(kind), ..Monitor::new() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                monitor.lock();
                monitor.set(1);
                must!(pthread_cond_signal(monitor.condition));
                monitor.wait_while(|number| number != 2);
                monitor.unlock();
                must!(pthread_mutex_unlock(monitor.lock), EPERM);
            });
            monitor.lock();
            monitor.wait_while(|number| number != 1);
            monitor.set(2);
            must!(pthread_cond_signal(monitor.condition));
            monitor.unlock();
            must!(pthread_mutex_unlock(monitor.lock), EPERM);
        });
    }
}

fn static_initialiser() {
    static LOCK: Shared<pthread_mutex_t> = Shared::new(libc::PTHREAD_MUTEX_INITIALIZER);
    static CONDITION: Shared<pthread_cond_t> = Shared::new(libc::PTHREAD_COND_INITIALIZER);
    let monitor = Monitor { lock: LOCK.at(), condition: CONDITION.at(), number: Shared::new(0) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            monitor.lock();
            monitor.wait_while(|number| number == 0);
            monitor.unlock();
        });
        pause(10);
        monitor.lock();
        monitor.set(1);
        must!(pthread_cond_signal(monitor.condition));
        monitor.unlock();
    });
}

fn one_mutex_after_another() {
    let condition = condition();
    for _ in 0..3 {
        let lock = mutex();
        must!(pthread_mutex_lock(lock));
        let until = after(CLOCK_REALTIME, 5);
        must!(pthread_cond_timedwait(condition, lock, &raw const until), ETIMEDOUT);
        must!(pthread_mutex_unlock(lock));
        must!(pthread_mutex_destroy(lock));
    }
    must!(pthread_cond_destroy(condition));
}

/// A thread that notifies all others frees the memory, while the others wake up and time out.
fn destroyed_at_once() {
    type Object = (Shared<pthread_cond_t>, Shared<[u8; 4000]>);
    for round in 0..i64::from(times(300)) {
        let monitor = Monitor::new();
        let page = At(std::ptr::from_ref(shared_memory::<Object>()).cast_mut());
        // SAFETY: the object lives until the last use below.
        let condition = At(unsafe { (*page.get()).0.at() });
        must!(pthread_cond_init(condition.get(), std::ptr::null()));
        let waiting = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let until = after(CLOCK_REALTIME, 1 + round % 3);
                    monitor.lock();
                    waiting.fetch_add(1, Ordering::SeqCst);
                    while monitor.number() == 0 {
                        // SAFETY: the objects are live: the number changes before the memory is
                        // freed.
                        let code: c_int = unsafe {
                            let until = &raw const until;
                            pthread_cond_timedwait(condition.get(), monitor.lock, until)
                        };
                        assert!(code == 0 || code == ETIMEDOUT);
                    }
                    monitor.unlock();
                });
            }
            await_value(&waiting, 4);
            pause(1);
            monitor.lock();
            monitor.set(1);
            must!(pthread_cond_broadcast(condition.get()));
            monitor.unlock();
            must!(pthread_cond_destroy(condition.get()));
            must!(libc::munmap(page.get().cast(), size_of::<Object>()));
        });
    }
}

fn timeouts_between_others() {
    let monitor = Monitor::new();
    let ended = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for index in 0..9 {
            let (monitor, ended) = (&monitor, &ended);
            scope.spawn(move || {
                monitor.lock();
                if index % 3 == 1 {
                    let until = after(CLOCK_REALTIME, 20 + index);
                    let until = &raw const until;
                    must!(
                        pthread_cond_timedwait(monitor.condition, monitor.lock, until),
                        ETIMEDOUT
                    );
                } else {
                    monitor.wait_while(|number| number == 0);
                    monitor.set(monitor.number() - 1);
                }
                monitor.unlock();
                ended.fetch_add(1, Ordering::SeqCst);
            });
        }
        await_value(&ended, 3);
        for _ in 0..6 {
            monitor.lock();
            monitor.set(monitor.number() + 1);
            must!(pthread_cond_signal(monitor.condition));
            monitor.unlock();
        }
    });
    assert_eq!(monitor.number(), 0);
}
