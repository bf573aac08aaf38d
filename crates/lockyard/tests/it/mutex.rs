//! The mutex and the condition variable on real threads. Nothing here measures time. Where a
//! wake-up must come from a release, naps do not end, and a watchdog ends a test that hangs.

#![cfg(all(unix, feature = "std"))]

use crate::support::counting::{Counting, Counts};
use crate::support::sleepy::Sleepy;
use crate::support::watchdog::watched;
use lock_api::{RawMutex as _, RawMutexFair as _, RawMutexTimed as _};
use lockyard::lock::adaptive::Patience;
use lockyard::lock::parking_like::HandOvers;
use lockyard::lock::three_states::{PthreadLike, StdLike};
use lockyard::lock::{Adaptive, FairLock, LaneLock, ParkingLike, ThreeStates, TimedLock};
use lockyard::platform::{Event, Host, Instant, NEST_LEVELS, Native};
use lockyard::{Condvar, Mutex, MutexGuard, RawMutex, RawSpinLock, on};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Waiters demand the lock almost at once.
#[derive(Debug)]
struct Demanding;
impl Patience for Demanding {
    const POLLS: u32 = 2;
    const NAP: Option<Duration> = Some(Duration::from_micros(20));
    const LONGEST_NAP: Duration = Duration::from_micros(100);
}

type Sleeping = RawSpinLock<Adaptive<Sleepy>, Counting>;

/// Lets threads take one lock, under which some of them sleep or yield, and checks that they
/// exclude each other. Every third release is fair, and every fourth wait is timed.
fn excludes<K: FairLock<Native> + TimedLock<Native>>(threads: u64, rounds: u64) {
    let lock = RawSpinLock::<K>::new();
    let (inside, sections) = (AtomicU64::new(0), AtomicU64::new(0));
    let given_up = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 1..=threads {
            let (lock, inside, sections, given_up) = (&lock, &inside, &sections, &given_up);
            scope.spawn(move || {
                for round in 0..rounds {
                    let turn = me + round;
                    let held = if turn % 4 == 0 {
                        let soon = Duration::from_micros(turn % 64 * 20);
                        match lock.acquire_until(Instant::now() + soon) {
                            Some(held) => held,
                            None => {
                                given_up.fetch_add(1, Ordering::Relaxed);
                                continue;
                            }
                        }
                    } else {
                        lock.acquire()
                    };
                    assert_eq!(inside.swap(me, Ordering::Relaxed), 0, "two are inside");
                    let before = sections.load(Ordering::Relaxed);
                    match turn % 16 {
                        0 => thread::sleep(Duration::from_micros(50)),
                        1 => thread::yield_now(),
                        _ => {}
                    }
                    sections.store(before + 1, Ordering::Relaxed);
                    assert_eq!(inside.swap(0, Ordering::Relaxed), me, "two were inside");
                    // SAFETY: taken above.
                    unsafe {
                        if turn % 3 == 0 { lock.release_fair(held) } else { lock.release(held) }
                    }
                }
            });
        }
    });
    assert_eq!(sections.into_inner() + given_up.into_inner(), threads * rounds);
    assert_eq!(format!("{lock:?}"), format!("{:?}", RawSpinLock::<K>::new()), "marks are left");
}

#[test]
fn a_mutex_excludes_many_more_threads_than_there_are_cpus() {
    watched(|| {
        excludes::<Adaptive>(32, 200);
        excludes::<Adaptive<Sleepy>>(16, 200);
        excludes::<Adaptive<Demanding>>(16, 400);
    });
}

#[test]
fn the_mutexes_for_comparison_exclude_and_wake() {
    fn counts<K: LaneLock<Native>>() {
        let (lock, total) = (RawSpinLock::<K>::new(), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..500 {
                        let held = lock.acquire();
                        let before = total.load(Ordering::Relaxed);
                        if round % 50 == 0 {
                            thread::yield_now();
                        }
                        total.store(before + 1, Ordering::Relaxed);
                        // SAFETY: taken above.
                        unsafe { lock.release(held) };
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 8 * 500);
        assert!(!lock.is_held());
    }
    watched(|| {
        counts::<ParkingLike>();
        counts::<ParkingLike<AlwaysHandsOver>>();
        counts::<ThreeStates<StdLike>>();
        counts::<ThreeStates<PthreadLike>>();
    });
}

/// Each release hands over to a sleeper, if there is one.
#[derive(Debug)]
struct AlwaysHandsOver;
impl HandOvers for AlwaysHandsOver {
    const ALWAYS: bool = true;
}

/// Waits until `count` threads sleep.
fn until_asleep(counts: &Counts, count: u64) {
    while counts.parks() < count {
        thread::sleep(Duration::from_millis(1));
    }
    // The last thread is between its count and its system call, or asleep.
    thread::sleep(Duration::from_millis(5));
}

/// A sleeper is woken by the release, by a fair release, and by another sleeper that gives up.
#[test]
fn releases_wake_sleepers() {
    static COUNTS: Counts = Counts::new();
    watched(|| {
        let lock = Sleeping::new();
        let order = std::sync::Mutex::new(Vec::new());
        let mut held = Some(lock.acquire());
        thread::scope(|scope| {
            for me in 0..3 {
                let (lock, order) = (&lock, &order);
                scope.spawn(move || {
                    COUNTS.watch();
                    let held = lock.acquire();
                    order.lock().unwrap().push(me);
                    // SAFETY: taken above.
                    unsafe { if me == 1 { lock.release_fair(held) } else { lock.release(held) } }
                });
                until_asleep(&COUNTS, me + 1);
            }
            // SAFETY: taken above, and given back once.
            unsafe { lock.release_fair(held.take().expect("not given back yet")) };
        });
        assert_eq!(order.into_inner().unwrap()[0], 0, "a fair release passes over the oldest");
        assert!(!lock.is_held());
    });
    assert!(COUNTS.events(Event::Wait) >= 3, "nobody slept");
}

/// A thread that gives up while others sleep leaves them in order, whatever its place.
#[test]
fn a_sleeper_that_gives_up_leaves_the_others_in_the_queue() {
    static COUNTS: Counts = Counts::new();
    watched(|| {
        for gives_up in 0..3 {
            let lock = Sleeping::new();
            let got = AtomicUsize::new(0);
            let before = COUNTS.parks();
            let held = lock.acquire();
            thread::scope(|scope| {
                for me in 0..3 {
                    let (lock, got) = (&lock, &got);
                    scope.spawn(move || {
                        COUNTS.watch();
                        let time = if me == gives_up { Duration::from_millis(60) } else { HOUR };
                        let held = lock.acquire_until(Instant::now() + time);
                        assert_eq!(held.is_none(), me == gives_up);
                        if let Some(held) = held {
                            got.fetch_add(1, Ordering::Relaxed);
                            // SAFETY: taken above.
                            unsafe { lock.release(held) };
                        }
                    });
                    until_asleep(&COUNTS, before + me + 1);
                }
                thread::sleep(Duration::from_millis(120));
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            });
            assert_eq!(got.into_inner(), 2);
            assert_eq!(format!("{lock:?}"), format!("{:?}", Sleeping::new()));
        }
    });
}

/// Lets threads wait, each for its own lock, until no sleeper has woken up for a while, or until
/// there were more than `most` sleeps. Returns the number of sleeps.
fn sleeps_of_waiters(counts: &'static Counts, locks: usize, threads: usize, most: u64) -> u64 {
    const QUIET: Duration = Duration::from_millis(100);
    let locks: Vec<_> = (0..locks).map(|_| RawSpinLock::<Adaptive, Counting>::new()).collect();
    let held: Vec<_> = locks.iter().map(RawSpinLock::acquire).collect();
    thread::scope(|scope| {
        for me in 0..threads {
            let lock = &locks[me % locks.len()];
            scope.spawn(move || {
                counts.watch();
                let held = lock.acquire();
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            });
        }
        until_asleep(counts, threads as u64);
        let sleeps = || counts.events(Event::Wait);
        let mut before = 0;
        while sleeps() != before && before <= most {
            before = sleeps();
            thread::sleep(QUIET);
        }
        for (lock, held) in locks.iter().zip(held) {
            // SAFETY: taken above.
            unsafe { lock.release(held) };
        }
        before
    })
}

/// Waiting costs nothing: after their first nap, few of the threads that wait for one lock nap.
#[test]
fn waiters_of_one_mutex_sleep_until_they_are_called() {
    static COUNTS: Counts = Counts::new();
    const THREADS: u64 = 60;
    watched(|| {
        let most = 2 * THREADS + 30;
        let sleeps = sleeps_of_waiters(&COUNTS, 1, THREADS as usize, most);
        assert!(sleeps <= most, "{THREADS} waiters slept {sleeps} times");
    });
}

/// Naps grow fast: the only waiter of a lock wakes up just a few times.
#[test]
fn waiters_of_a_mutex_each_nap_longer_and_longer() {
    static COUNTS: Counts = Counts::new();
    const THREADS: u64 = 60;
    watched(|| {
        let most = 5 * THREADS;
        let sleeps = sleeps_of_waiters(&COUNTS, THREADS as usize, THREADS as usize, most);
        assert!(sleeps <= most, "{THREADS} waiters slept {sleeps} times");
    });
}

/// Checks that threads that take the mutex again immediately after each release starve no other
/// thread: a sleeper gets the mutex in the end, because it demands the mutex.
#[test]
fn a_thread_that_takes_the_lock_again_at_once_does_not_starve_a_sleeper() {
    watched(|| {
        let lock = RawMutex::INIT;
        let (stop, started) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let held = lock.acquire();
                    started.store(true, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(2));
                    // SAFETY: taken above.
                    unsafe { lock.release(held) };
                }
            });
            while !started.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            for _ in 0..5 {
                let held = lock.acquire();
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_mutex_may_be_freed_after_its_last_release() {
    const THREADS: u64 = 6;
    watched(|| {
        for _ in 0..200 {
            let shared =
                Box::into_raw(Box::new((Mutex::new(()), AtomicU64::new(THREADS)))) as usize;
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(move || {
                        let shared = shared as *mut (Mutex<()>, AtomicU64);
                        // SAFETY: the memory is freed only after all threads have been inside.
                        let guard = unsafe { &(*shared).0 }.lock();
                        thread::yield_now();
                        // SAFETY: as above.
                        let left = unsafe { &(*shared).1 }.fetch_sub(1, Ordering::Relaxed) - 1;
                        drop(guard);
                        if left == 0 {
                            // SAFETY: all threads have been inside, and this is the last.
                            drop(unsafe { Box::from_raw(shared) });
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn a_mutex_has_the_interface_of_lock_api() {
    let mutex = Mutex::new(1);
    let guard: MutexGuard<'_, i32> = mutex.lock();
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    assert!(mutex.try_lock_for(Duration::from_millis(5)).is_none());
    assert!(mutex.try_lock_until(Instant::now()).is_none());
    MutexGuard::unlock_fair(guard);
    *mutex.try_lock_for(HOUR).expect("it is free") += 1;
    assert_eq!(mutex.into_inner(), 2);
    assert_eq!((size_of::<Mutex<()>>(), size_of::<Mutex<u32>>()), (4, 8));
    assert_eq!(size_of::<Condvar>(), 24);

    let raw = RawMutex::INIT;
    let held = raw.try_lock_for(Duration::ZERO).expect("it is free");
    // SAFETY: taken above.
    unsafe { raw.unlock_fair(held) };
    assert!(!raw.is_locked());
}

/// A mutex that is not contended uses no node, and gives back the nodes that it used.
#[test]
fn a_wait_gives_its_node_back() {
    watched(|| {
        let slot = Native::slot().expect("slots are left");
        let used = || (0..NEST_LEVELS).map(|_| Native::queue_node(slot, 0).nodes_in_use()).max();
        let before = used();
        let mutex = Mutex::new(0);
        thread::scope(|scope| {
            let guard = mutex.lock();
            scope.spawn(|| *mutex.lock() += 1);
            thread::sleep(Duration::from_millis(5));
            assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none());
            drop(guard);
            *mutex.lock() += 1;
        });
        assert_eq!((mutex.into_inner(), used()), (2, before));
    });
}

#[test]
fn a_condition_variable_wakes_the_oldest_first_and_all() {
    watched(|| {
        let (mutex, condvar) = (Mutex::new(Vec::new()), Condvar::new());
        let waiting = AtomicUsize::new(0);
        assert!(!condvar.notify_one());
        assert_eq!(condvar.notify_all(), 0);
        thread::scope(|scope| {
            for me in 0..4 {
                let (mutex, condvar, waiting) = (&mutex, &condvar, &waiting);
                scope.spawn(move || {
                    let mut order = mutex.lock();
                    waiting.fetch_add(1, Ordering::Relaxed);
                    condvar.wait(&mut order);
                    order.push(me);
                });
                // With the mutex in hand, the thread has entered the ring.
                while waiting.load(Ordering::Relaxed) <= me {
                    thread::yield_now();
                }
                drop(mutex.lock());
            }
            for expected in 0..2 {
                assert!(condvar.notify_one());
                while mutex.lock().len() <= expected {
                    thread::yield_now();
                }
                assert_eq!(mutex.lock()[expected], expected);
            }
            assert_eq!(condvar.notify_all(), 2);
        });
        let mut order = mutex.into_inner();
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3]);
    });
}

#[test]
fn a_wait_with_a_time_ends_by_it_or_by_a_notification() {
    watched(|| {
        let (mutex, condvar) = (Mutex::new(false), Condvar::new());
        let mut ready = mutex.lock();
        assert!(condvar.wait_for(&mut ready, Duration::from_millis(2)).timed_out());
        assert!(condvar.wait_until(&mut ready, Instant::now()).timed_out());
        let soon = std::time::Instant::now() + Duration::from_millis(2);
        assert!(condvar.wait_while_until(&mut ready, |ready| !*ready, soon).timed_out());
        assert!(!condvar.wait_while_for(&mut ready, |ready| *ready, HOUR).timed_out());
        thread::scope(|scope| {
            scope.spawn(|| {
                *mutex.lock() = true;
                condvar.notify_all();
            });
            assert!(!condvar.wait_while_for(&mut ready, |ready| !*ready, HOUR).timed_out());
        });
        assert!(*ready);
        condvar.wait_while(&mut ready, |ready| !*ready);
        drop(ready);
        assert_eq!(condvar.notify_all(), 0, "waits that gave up have left the ring");
    });
}

/// A buffer of one place between producers and consumers, with waits that give up in between.
#[test]
fn a_condition_variable_loses_no_notification() {
    const EACH: u64 = 2_000;
    watched(|| {
        let (place, changed) = (Mutex::new(None::<u64>), Condvar::new());
        let sum = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for value in 1..=EACH {
                        let mut place = place.lock();
                        changed.wait_while(&mut place, |place| place.is_some());
                        *place = Some(value);
                        changed.notify_all();
                    }
                });
                scope.spawn(|| {
                    for round in 0..EACH {
                        let mut place = place.lock();
                        if round % 8 == 0 {
                            let soon = Duration::from_micros(round % 64);
                            changed.wait_while_for(&mut place, |place| place.is_none(), soon);
                        }
                        changed.wait_while(&mut place, |place| place.is_none());
                        sum.fetch_add(place.take().expect("not empty"), Ordering::Relaxed);
                        changed.notify_all();
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 3 * EACH * (EACH + 1) / 2);
    });
}

#[test]
fn a_second_mutex_is_refused_and_the_first_still_works() {
    watched(|| {
        let (first, second, condvar) = (Mutex::new(false), Mutex::new(()), Condvar::new());
        let waits = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut ready = first.lock();
                waits.store(true, Ordering::Relaxed);
                condvar.wait_while(&mut ready, |ready| !*ready);
            });
            while !waits.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            drop(first.lock());
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                condvar.wait(&mut second.lock());
            }));
            let said = panicked.unwrap_err();
            assert_eq!(
                said.downcast_ref::<&str>(),
                Some(&"attempted to use a condition variable with more than one mutex"),
                "parking_lot's words"
            );
            assert!(!second.is_locked(), "the guard was valid, and is dropped");
            *first.lock() = true;
            assert!(condvar.notify_one());
        });
        let mut guard = second.lock();
        assert!(condvar.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
    });
}

/// A condition variable works with every mutex of `lock_api`.
#[test]
fn a_condition_variable_works_with_other_locks() {
    static LOCK: on::TicketLock<bool, Native> = on::TicketLock::new(false);
    static CHANGED: Condvar = Condvar::new();
    watched(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                *LOCK.lock() = true;
                CHANGED.notify_one();
            });
            CHANGED.wait_while(&mut LOCK.lock(), |ready| !*ready);
        });
    });
}

/// A mutex may use a node that a CLH lock has left to its successor. The CLH lock gets it back.
#[test]
fn a_mutex_leaves_the_nodes_of_a_clh_lock_as_they_were() {
    use lockyard::comparators::ClhLock;
    const LONG_ENOUGH: Duration = Duration::from_millis(5);
    watched(|| {
        let (clh, mutex) = (ClhLock::new(()), Mutex::new(()));
        for _ in 0..8 {
            // This thread leaves its node to a successor, which finishes with it.
            thread::scope(|scope| {
                let mine = clh.lock();
                scope.spawn(|| drop(clh.lock()));
                thread::sleep(LONG_ENOUGH);
                drop(mine);
            });
            // This thread waits for the mutex, with that node.
            let held = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _theirs = mutex.lock();
                    held.store(true, Ordering::Relaxed);
                    thread::sleep(LONG_ENOUGH);
                });
                while !held.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                drop(mutex.lock());
            });
        }
        let slot = Native::slot().expect("slots are left");
        assert!(lockyard::platform::slot_is_idle::<Native>(slot), "nodes are lost");
    });
}
