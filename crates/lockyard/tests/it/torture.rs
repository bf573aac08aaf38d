//! The primitives on real threads: mutual exclusion, nothing lost, wrap-around. The tests are
//! bounded by operations, not time. The stamps add shared traffic, so the tests measure nothing.

use crate::support::watchdog::watched;
use lockyard::RawSpinLock;
use lockyard::lock::{LaneLock, TestAndSet, Ticket};
use lockyard::lockref::policy::{NoTrywait, Pause, PauseNoTrywait, Policy, Standard};
use lockyard::lockref::{Count, LockRef, MAX_COUNT};
use lockyard::platform::{Native, Portable};
use lockyard::rwlock::ReadWrite;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

/// More threads than CPUs on most machines that run this test. First-come-first-served spinlocks
/// are then slow, so the loops are short and yield.
const THREADS: u64 = 4;
const ROUNDS: u64 = 2_000;

/// Number of rounds for locks that wait as `waits` says. Queues of spinning threads are slowest.
fn rounds(waits: &str) -> u64 {
    if waits == "queue" { ROUNDS / 10 } else { ROUNDS }
}

/// Checks mutual exclusion from inside the lock: an owner stamp that no other thread may set, and a
/// sequence without gaps.
#[derive(Default)]
struct Inside {
    owner: AtomicU64,
    sequence: AtomicU64,
}

impl Inside {
    fn visit(&self, me: u64) {
        assert_eq!(self.owner.swap(me, Ordering::Relaxed), 0, "two threads are inside");
        let before = self.sequence.load(Ordering::Relaxed);
        std::hint::spin_loop();
        assert_eq!(self.sequence.swap(before + 1, Ordering::Relaxed), before, "a gap");
        assert_eq!(self.owner.swap(0, Ordering::Relaxed), me, "two threads were inside");
    }
}

fn excludes<K: LaneLock<H>, H: lockyard::platform::Host>(rounds: u64) {
    let lock = RawSpinLock::<K, H>::new();
    let inside = Inside::default();
    thread::scope(|scope| {
        for me in 1..=THREADS {
            let (lock, inside) = (&lock, &inside);
            scope.spawn(move || {
                for round in 0..rounds {
                    let held = match round % 3 {
                        0 => lock.try_acquire(),
                        _ => Some(lock.acquire()),
                    };
                    if let Some(held) = held {
                        inside.visit(me);
                        // SAFETY: taken above.
                        unsafe { lock.release(held) };
                    }
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert!(!lock.is_held());
    let visits = inside.sequence.load(Ordering::Relaxed);
    assert!((THREADS * rounds / 2..=THREADS * rounds).contains(&visits));
}

#[test]
fn every_lock_excludes_with_parts_in_assembly_and_portable() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            $($fact:tt)*
        })*) => {$(
            excludes::<$lock, Native>(rounds(stringify!($waits)));
            excludes::<$lock, Portable<Native>>(rounds(stringify!($waits)));
        )*};
    }
    watched(|| {
        lockyard::for_each_lock!(each);
    });
}

#[test]
fn guards_protect_their_data() {
    fn total<R: lock_api::RawMutex + Sync>(lock: &lock_api::Mutex<R, u64>, rounds: u64) -> u64 {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        *lock.lock() += 1;
                    }
                });
            }
        });
        assert!(!lock.is_locked());
        *lock.lock()
    }
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            $($fact:tt)*
        })*) => {$({
            let lock = lock_api::Mutex::<RawSpinLock<$lock>, u64>::new(0);
            let rounds = rounds(stringify!($waits));
            assert_eq!(total(&lock, rounds), THREADS * rounds, $name);
        })*};
    }
    watched(|| {
        lockyard::for_each_lock!(each);
    });
}

/// Readers see no writer, and writers see no thread.
fn excludes_writers<L: ReadWrite<Native>>(rounds: u64) {
    const WRITER: u64 = 1 << 32;
    let (lock, inside) = (L::free(), AtomicU64::new(0));
    thread::scope(|scope| {
        for me in 0..THREADS {
            let (lock, inside) = (&lock, &inside);
            scope.spawn(move || {
                for round in 0..rounds {
                    if (me + round).is_multiple_of(3) {
                        lock.lock_exclusive();
                        assert_eq!(inside.swap(WRITER, Ordering::Relaxed), 0, "a thread is inside");
                        thread::yield_now();
                        assert_eq!(inside.swap(0, Ordering::Relaxed), WRITER, "a thread came in");
                        // SAFETY: entered above.
                        unsafe { lock.unlock_exclusive() };
                    } else {
                        let entry = lock.lock_shared();
                        let before = inside.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                        let after = inside.fetch_sub(1, Ordering::Relaxed);
                        assert!(before < WRITER && after < WRITER, "a writer is inside");
                        // SAFETY: entered above.
                        unsafe { lock.unlock_shared(entry) };
                    }
                }
            });
        }
    });
    assert!(!lock.is_inside());
}

#[test]
fn every_reader_writer_lock_excludes() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ident, $($fact:tt)*
        })*) => {
            $(excludes_writers::<lockyard::rwlock::$lock>(match stringify!($kind) {
                "QueuedReadWrite" => rounds("queue"),
                _ => ROUNDS,
            });)*
        };
    }
    watched(|| {
        lockyard::for_each_rwlock!(each);
    });
}

#[test]
fn a_ticket_lock_survives_the_wrap_of_its_counters() {
    let lock = RawSpinLock::<Ticket, Native>::new();
    for _ in 0..(1 << 16) + 10 {
        let held = lock.acquire();
        assert!(lock.try_acquire().is_none(), "a failed try leaves the lock as it was");
        // SAFETY: taken above.
        unsafe { lock.release(held) };
        let held = lock.try_acquire().expect("it is free");
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
    assert!(!lock.is_held());
}

/// Threads get and put in all ways while other threads take the lock. At the end the count must be
/// the same as before.
fn conserves<K: LaneLock<H>, P: Policy, H: lockyard::platform::Host>(rounds: u64) {
    let lockref = LockRef::<K, P, H>::from_count(1);
    let inside = Inside::default();
    let refused = AtomicU32::new(0);
    thread::scope(|scope| {
        for me in 1..=THREADS {
            let (lockref, inside, refused) = (&lockref, &inside, &refused);
            scope.spawn(move || {
                for round in 0..rounds {
                    match round % 3 {
                        0 => lockref.get(),
                        1 => assert!(lockref.get_not_zero()),
                        _ => assert!(lockref.get_not_dead()),
                    }
                    match round % 4 {
                        0 => {
                            while lockref.put_return().is_none() {
                                refused.fetch_add(1, Ordering::Relaxed);
                                thread::yield_now();
                            }
                        }
                        1 => assert!(lockref.put_not_zero(), "there is another reference"),
                        2 => assert!(lockref.put_or_lock().is_none()),
                        _ => {
                            let mut guard = lockref.lock();
                            inside.visit(me);
                            let Count::Live(count) = guard.count() else { panic!("it lives") };
                            thread::yield_now();
                            assert_eq!(
                                guard.count(),
                                Count::Live(count),
                                "the holder's count stands"
                            );
                            guard.set_count(count - 1);
                        }
                    }
                }
            });
        }
    });
    assert_eq!(lockref.count(), Count::Live(1));
    assert!(!lockref.is_locked());
}

#[test]
fn a_lockref_loses_no_reference_with_any_lock_and_policy() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            $($fact:tt)*
        })*) => {
            $(conserves::<$lock, Standard, Native>(rounds(stringify!($waits)));)*
        };
    }
    watched(|| {
        lockyard::for_each_lock!(each);
        conserves::<Ticket, Pause, Native>(ROUNDS);
        conserves::<Ticket, NoTrywait, Native>(ROUNDS);
        conserves::<Ticket, PauseNoTrywait, Native>(ROUNDS);
        conserves::<Ticket, Standard, Portable<Native>>(ROUNDS);
        conserves::<TestAndSet, Standard, Portable<Native>>(ROUNDS);
    });
}

/// Makes 2^17 acquisitions and releases, so the ticket counters in the upper half wrap twice. They
/// must not change the count.
fn leaves_the_count_alone<K: LaneLock<Native>>() {
    let pass = |lockref: &LockRef<K, Standard>| {
        let before = lockref.count();
        for _ in 0..1 << 17 {
            drop(lockref.lock());
        }
        assert_eq!(lockref.count(), before);
    };
    for count in [0, 1, MAX_COUNT] {
        pass(&LockRef::new(count));
    }
    let dead = LockRef::<K, Standard>::new(1);
    dead.lock().mark_dead();
    assert_eq!(dead.count(), Count::Dead);
    pass(&dead);
}

#[test]
fn the_lock_of_a_lockref_leaves_the_count_alone() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, $($fact:tt)*
        })*) => {
            $(leaves_the_count_alone::<$lock>();)*
        };
    }
    lockyard::for_each_lock!(each);
}

#[test]
fn nothing_revives_a_dead_lockref() {
    let lockref: lockyard::LockRef = LockRef::new(2);
    lockref.lock().mark_dead();
    assert!(!lockref.get_not_dead() && !lockref.get_not_zero());
    assert_eq!(lockref.put_return(), None);
    assert!(!lockref.put_not_zero());
    let mut guard = lockref.put_or_lock().expect("a dead one gives the lock");
    assert_eq!(guard.count(), Count::Dead);
    let revive = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guard.set_count(1)));
    assert!(revive.is_err());
    drop(guard);
    assert_eq!(lockref.count(), Count::Dead);
    assert!(!lockref.is_locked());
    let get = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lockref.get()));
    assert_eq!(get.is_err(), cfg!(debug_assertions), "a debug build says so");
    assert_eq!(lockref.count(), Count::Dead);
}

#[test]
fn a_count_that_overflows_saturates_and_stays() {
    let lockref: lockyard::LockRef = LockRef::new(MAX_COUNT);
    lockref.get();
    assert_eq!(lockref.count(), Count::Saturated);
    assert!(lockref.put_return().is_some_and(|left| left > MAX_COUNT));
    assert!(lockref.put_not_zero() && lockref.put_or_lock().is_none());
    lockref.lock().set_count(1);
    assert_eq!(lockref.count(), Count::Saturated, "it is leaked");
}

#[test]
fn the_last_reference_is_not_dropped_without_the_lock() {
    let lockref: lockyard::LockRef = LockRef::new(1);
    assert!(!lockref.put_not_zero());
    assert_eq!(lockref.count(), Count::Live(1));
    let mut guard = lockref.put_or_lock().expect("it is the last one");
    assert_eq!(guard.count(), Count::Live(1), "nothing was dropped");
    assert_eq!(lockref.put_return(), None, "the lock is held");
    guard.set_count(0);
    drop(guard);
    assert!(!lockref.get_not_zero() && lockref.get_not_dead());
    assert_eq!(lockref.put_return(), Some(0));
    assert_eq!(lockref.put_return(), None, "there is none");
}
