//! Timed waits: they park if the lock's waiters do, are woken, and leave nothing behind. The tests
//! count their cost and do not time it.

#![cfg(all(unix, feature = "std"))]

use crate::support::counting::{Counting, Counts};
use crate::support::watchdog::watched;
use lockyard::lock::{LaneLock, Mcs, PvQueued, TestAndSet, TimedLock};
use lockyard::platform::{Event, Host, Instant, NEST_LEVELS, Native};
use lockyard::{Held, RawSpinLock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

type Parking = RawSpinLock<PvQueued, Counting>;
type Queueing = RawSpinLock<Mcs, Counting>;
const HOUR: Duration = Duration::from_secs(3600);
/// Number of polls between two checks of the time.
const SLICE: u64 = 64;

fn in_time<K: TimedLock<H>, H: Host>(
    lock: &RawSpinLock<K, H>,
    time: Duration,
) -> Option<Held<RawSpinLock<K, H>>> {
    lock.acquire_until(Instant::now() + time)
}

fn release<K: LaneLock<H>, H: Host>(lock: &RawSpinLock<K, H>, held: Held<RawSpinLock<K, H>>) {
    // SAFETY: each caller has taken `held` from this lock.
    unsafe { lock.release(held) };
}

/// Takes the lock and returns true if nothing is left in it. The next acquisition clears the mark
/// that a timed-out wait leaves.
fn is_as_new(lock: &Parking) -> bool {
    let held = lock.try_acquire().expect("it is free");
    release(lock, held);
    format!("{lock:?}") == format!("{:?}", Parking::new())
}

/// Number of nodes in use in the running thread's slot. A former thread of the slot may have left
/// some to successors of CLH locks, so tests compare it with an earlier value.
fn nodes_in_use() -> u32 {
    Native::queue_node(Native::slot().expect("slots are left"), 0).nodes_in_use()
}

/// Checks the counts of a wait that parks: it never yields, and its polls are proportional to its
/// parks.
fn assert_parked(counts: &Counts) {
    let (parks, pauses) = (counts.parks(), counts.pauses());
    assert!(parks > 0, "it did not park");
    assert!(pauses <= SLICE * (parks + 2), "{pauses} pauses for {parks} parks");
    assert_eq!(counts.yields(), 0, "it had a place to park");
}

#[test]
fn a_timed_out_wait_parks_until_its_deadline() {
    static COUNTS: Counts = Counts::new();
    let lock = Parking::new();
    let held = lock.acquire();
    thread::scope(|scope| {
        scope.spawn(|| {
            COUNTS.watch();
            let before = nodes_in_use();
            assert!(in_time(&lock, Duration::from_millis(20)).is_none(), "it is held");
            assert_eq!(nodes_in_use(), before);
        });
    });
    assert_parked(&COUNTS);
    release(&lock, held);
    assert!(is_as_new(&lock), "{lock:?}");
}

#[test]
fn a_wait_is_woken_by_a_release() {
    static COUNTS: Counts = Counts::new();
    watched(|| {
        for fair in [false, true] {
            let lock = Parking::new();
            let held = lock.acquire();
            let before = COUNTS.parks();
            thread::scope(|scope| {
                scope.spawn(|| {
                    COUNTS.watch();
                    let before = nodes_in_use();
                    let held = in_time(&lock, HOUR).expect("an hour is long enough");
                    release(&lock, held);
                    assert_eq!(nodes_in_use(), before);
                });
                while COUNTS.parks() == before {
                    thread::yield_now();
                }
                // SAFETY: taken above.
                unsafe { if fair { lock.release_fair(held) } else { lock.release(held) } };
            });
            assert!(is_as_new(&lock), "{lock:?}");
        }
    });
    assert_parked(&COUNTS);
}

/// There are more waiters than places in the table. The others poll and yield.
#[test]
fn all_timed_waiters_are_woken() {
    const WAITERS: u64 = 12;
    static COUNTS: Counts = Counts::new();
    let (lock, inside) = (Parking::new(), AtomicU64::new(0));
    watched(|| {
        let held = lock.acquire();
        thread::scope(|scope| {
            for _ in 0..WAITERS {
                scope.spawn(|| {
                    COUNTS.watch();
                    let held = in_time(&lock, HOUR).expect("an hour is long enough");
                    inside.fetch_add(1, Ordering::Relaxed);
                    release(&lock, held);
                });
            }
            while COUNTS.parks() == 0 || COUNTS.yields() == 0 {
                thread::yield_now();
            }
            release(&lock, held);
        });
    });
    assert_eq!(inside.into_inner(), WAITERS);
    assert!(is_as_new(&lock), "{lock:?}");
}

#[test]
fn waits_that_time_out_and_waits_that_do_not_coexist() {
    const ROUNDS: u64 = 300;
    let lock = Parking::new();
    let (inside, sections) = (AtomicU64::new(0), AtomicU64::new(0));
    let section = |me: u64, round: u64| {
        assert_eq!(inside.swap(me, Ordering::Relaxed), 0, "two are inside");
        if round.is_multiple_of(32) {
            thread::sleep(Duration::from_micros(50));
        }
        // Relaxed: the lock orders it.
        sections.store(sections.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        assert_eq!(inside.swap(0, Ordering::Relaxed), me, "two were inside");
    };
    let gave_up = AtomicU64::new(0);
    watched(|| {
        thread::scope(|scope| {
            for me in 1..=8 {
                let (lock, section, gave_up) = (&lock, &section, &gave_up);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let held = match me % 3 {
                            0 => Some(lock.acquire()),
                            1 => in_time(lock, HOUR),
                            _ => in_time(lock, Duration::from_micros(30)),
                        };
                        let Some(held) = held else {
                            assert_eq!(me % 3, 2, "it had an hour");
                            gave_up.fetch_add(1, Ordering::Relaxed);
                            continue;
                        };
                        section(me, round);
                        release(lock, held);
                    }
                });
            }
        });
    });
    assert_eq!(sections.load(Ordering::Relaxed) + gave_up.into_inner(), 8 * ROUNDS);
    assert!(is_as_new(&lock), "{lock:?}");
}

/// Each lock is in separate memory, which the last of its threads frees immediately after its
/// release.
#[test]
fn a_lock_may_be_freed_when_the_last_holder_has_released_it() {
    struct Freed {
        lock: Parking,
        left: AtomicU64,
    }
    const THREADS: u64 = 6;
    watched(|| {
        for _ in 0..60 {
            let freed = Box::new(Freed { lock: Parking::new(), left: AtomicU64::new(THREADS) });
            let freed = Box::into_raw(freed) as usize;
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        let freed = freed as *mut Freed;
                        // SAFETY: the memory is not freed before all threads have been inside, and
                        // this thread has not.
                        let shared = unsafe { &*freed };
                        let held = match thread % 2 {
                            0 => shared.lock.acquire(),
                            _ => in_time(&shared.lock, HOUR).expect("an hour is long enough"),
                        };
                        thread::yield_now();
                        // Relaxed: the lock orders it.
                        let left = shared.left.load(Ordering::Relaxed) - 1;
                        shared.left.store(left, Ordering::Relaxed);
                        release(&shared.lock, held);
                        if left == 0 {
                            // SAFETY: all other threads have released the lock, and do not access
                            // the memory after that.
                            drop(unsafe { Box::from_raw(freed) });
                        }
                    });
                }
            });
        }
    });
}

#[test]
fn a_wait_for_a_test_and_set_lock_yields() {
    static COUNTS: Counts = Counts::new();
    let lock = RawSpinLock::<TestAndSet, Counting>::new();
    let held = lock.acquire();
    thread::scope(|scope| {
        scope.spawn(|| {
            COUNTS.watch();
            assert!(in_time(&lock, Duration::from_millis(20)).is_none(), "it is held");
        });
    });
    let (yields, pauses) = (COUNTS.yields(), COUNTS.pauses());
    assert!(yields > 0 && pauses <= SLICE * (yields + 1), "{pauses} pauses, {yields} yields");
    assert_eq!(COUNTS.parks(), 0);
    release(&lock, held);
    assert!(in_time(&lock, Duration::ZERO).is_some(), "it is free");
}

#[test]
fn an_expired_timeout_tries_once() {
    let lock = Parking::new();
    let held = in_time(&lock, Duration::ZERO).expect("it is free");
    assert!(in_time(&lock, Duration::ZERO).is_none());
    release(&lock, held);
    let since = Instant::from(std::time::Instant::now());
    let native = RawSpinLock::<PvQueued, Native>::new();
    assert!(native.acquire_until(since).is_some());
}

#[test]
fn a_timed_wait_counts_its_slow_path_and_a_missing_node_once() {
    static COUNTS: Counts = Counts::new();
    const SHORT: Duration = Duration::from_millis(1);
    let (parks, yields) = (Parking::new(), RawSpinLock::<TestAndSet, Counting>::new());
    let (parks_held, yields_held) = (parks.acquire(), yields.acquire());
    let events = || (COUNTS.events(Event::Slowpath), COUNTS.events(Event::NoNode));
    thread::scope(|scope| {
        scope.spawn(|| {
            COUNTS.watch();
            assert!(in_time(&parks, SHORT).is_none(), "it is held");
            assert_eq!(events(), (1, 0));
            assert!(in_time(&yields, SHORT).is_none(), "it is held");
            assert_eq!(events(), (2, 0));

            // These locks use all nodes of the thread. (They wait for nodes that its slot has left
            // to successors.)
            let locks = [(); NEST_LEVELS as usize].map(|()| Queueing::new());
            let held = locks.each_ref().map(|lock| lock.acquire());
            assert!(in_time(&parks, SHORT).is_none(), "it is held");
            assert_eq!(events(), (3, 1));
            locks.iter().zip(held).for_each(|(lock, held)| release(lock, held));
        });
    });
    release(&parks, parks_held);
    release(&yields, yields_held);
    thread::scope(|scope| {
        scope.spawn(|| {
            COUNTS.watch();
            let held = in_time(&parks, SHORT).expect("it is free");
            release(&parks, held);
            assert_eq!(events(), (3, 1), "nothing was in its way");
        });
    });
}
