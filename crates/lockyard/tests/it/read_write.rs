//! The reader-writer lock on real threads. Nothing here measures time. Where a wake-up must come
//! from a release, naps do not end, and a watchdog ends a test that hangs.

#![cfg(all(unix, feature = "std"))]

use crate::support::sleepy::Sleepy;
use crate::support::watchdog::watched;
use lock_api::{RwLockUpgradableReadGuard, RwLockWriteGuard};
use lockyard::lock::adaptive::Patience;
use lockyard::platform::{Instant, Native};
use lockyard::rwlock::{PthreadReadWrite, RawRwLock, ReadRecursive, ReadWrite, Usual};
use lockyard::{RecursiveRwLock, RwLock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

type Sleeping<T> = lock_api::RwLock<RawRwLock<Native, Sleepy>, T>;
type Lock<P> = RawRwLock<Native, P>;

/// The threads inside: one for each reader, and 2^32 for the writer.
struct Inside(AtomicU64);

impl Inside {
    const WRITER: u64 = 1 << 32;

    fn read(&self) {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) < Self::WRITER, "a writer is inside");
        thread::yield_now();
        assert!(self.0.fetch_sub(1, Ordering::Relaxed) < Self::WRITER, "a writer has come");
    }

    fn write(&self) {
        assert_eq!(self.0.swap(Self::WRITER, Ordering::Relaxed), 0, "somebody is inside");
        thread::yield_now();
        assert_eq!(self.0.swap(0, Ordering::Relaxed), Self::WRITER, "somebody has come");
    }
}

/// Performs one visit, whose kind `turn` chooses. Returns true if it wrote.
fn visit<P: Patience>(lock: &Lock<P>, inside: &Inside, turn: u64) -> bool {
    let until = || Instant::now() + Duration::from_micros(turn % 64 * 20);
    // SAFETY: the thread is inside with the access that each call releases.
    unsafe {
        match turn % 16 {
            0 => {
                lock.acquire_exclusive();
                inside.write();
                lock.release_exclusive();
            }
            1 => {
                lock.acquire_exclusive();
                inside.write();
                lock.release_exclusive_fair();
            }
            2 => {
                if !lock.acquire_exclusive_until(until()) {
                    return false;
                }
                inside.write();
                lock.downgrade_to_shared();
                inside.read();
                lock.release_shared();
            }
            3 => {
                lock.acquire_upgradable();
                inside.read();
                lock.upgrade_to_exclusive();
                inside.write();
                lock.downgrade_to_upgradable();
                inside.read();
                lock.release_upgradable();
            }
            4 => {
                if !lock.acquire_upgradable_until(until()) {
                    return false;
                }
                inside.read();
                let writes = lock.upgrade_to_exclusive_until(until());
                if !writes {
                    inside.read();
                    lock.downgrade_upgradable_to_shared();
                    inside.read();
                    lock.release_shared();
                    return false;
                }
                inside.write();
                lock.release_exclusive();
            }
            5 => {
                if lock.acquire_shared_until(until()) {
                    inside.read();
                    lock.acquire_shared_recursive();
                    inside.read();
                    lock.release_shared();
                    lock.release_shared_fair();
                }
                return false;
            }
            6 => {
                lock.acquire_upgradable();
                inside.read();
                if !lock.try_upgrade_to_exclusive() {
                    lock.release_upgradable_fair();
                    return false;
                }
                inside.write();
                lock.release_exclusive();
            }
            7 => {
                if !lock.try_acquire_exclusive() {
                    return false;
                }
                inside.write();
                lock.release_exclusive();
            }
            _ => {
                lock.acquire_shared();
                inside.read();
                lock.release_shared();
                return false;
            }
        }
    }
    true
}

/// Lets threads visit one lock in all ways, and checks that writers are alone.
fn excludes<P: Patience>(threads: u64, rounds: u64) {
    let lock = Lock::<P>::new();
    let inside = Inside(AtomicU64::new(0));
    watched(|| {
        thread::scope(|scope| {
            for me in 0..threads {
                let (lock, inside) = (&lock, &inside);
                scope.spawn(move || {
                    for round in 0..rounds {
                        visit(lock, inside, me * 7 + round);
                    }
                });
            }
        });
    });
    assert!(format!("{lock:?}").contains("bits: 0,"), "something is left in the word: {lock:?}");
}

#[test]
fn sixty_four_threads_exclude_each_other() {
    excludes::<Usual>(64, 150);
}

/// Each wake-up must come from another thread.
#[test]
fn sixty_four_threads_wake_each_other() {
    excludes::<Sleepy>(64, 100);
}

#[test]
fn four_threads_exclude_each_other() {
    excludes::<Usual>(4, 3_000);
    excludes::<Sleepy>(4, 2_000);
}

/// Waits until a thread sleeps for the lock.
fn until_someone_waits<T>(lock: &Sleeping<T>) {
    // Bits 9 to 24: the newest sleeper.
    let waits = || {
        // SAFETY: the lock is only printed.
        let text = format!("{:?}", unsafe { lock.raw() });
        let bits = text.split("bits: ").nth(1).and_then(|rest| rest.split(',').next());
        let bits: u64 = bits.and_then(|bits| bits.parse().ok()).expect("it prints its bits");
        bits >> 9 & 0xffff != 0
    };
    while !waits() {
        thread::yield_now();
    }
}

#[test]
fn a_writer_that_waits_keeps_readers_out_but_not_those_that_read_again() {
    let lock = Sleeping::new(1);
    watched(|| {
        thread::scope(|scope| {
            let first = lock.read();
            scope.spawn(|| *lock.write() += 1);
            until_someone_waits(&lock);
            while lock.try_read().is_some() {
                thread::yield_now();
            }
            assert!(lock.try_upgradable_read().is_none());
            assert_eq!(*lock.read_recursive(), 1);
            assert_eq!(lock.try_read_recursive().as_deref(), Some(&1));
            assert_eq!(lock.try_read_recursive_for(HOUR).as_deref(), Some(&1));
            assert!(lock.try_read_for(SOON).is_none(), "the writer waits");
            drop(first);
        });
    });
    assert_eq!(*lock.read(), 2);
}

/// With the default patience, the sleeping writer closes the lock after half a millisecond.
#[test]
fn a_writer_beside_readers_that_never_leave_the_lock_empty_comes_in() {
    let (lock, stop) = (RwLock::new(0), AtomicBool::new(false));
    let begin = std::sync::Barrier::new(3);
    watched(|| {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut guard = lock.read();
                    begin.wait();
                    while !stop.load(Ordering::Relaxed) {
                        // One of the two is always inside, unless a writer has closed the lock.
                        thread::sleep(Duration::from_micros(100));
                        drop(guard);
                        guard = lock.read();
                    }
                });
            }
            begin.wait();
            for _ in 0..20 {
                *lock.write() += 1;
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    assert_eq!(*lock.read(), 20);
}

#[test]
fn readers_that_wait_come_in_together() {
    let lock = Sleeping::new(());
    let together = std::sync::Barrier::new(8);
    watched(|| {
        thread::scope(|scope| {
            let writer = lock.write();
            for _ in 0..8 {
                scope.spawn(|| {
                    let _guard = lock.read();
                    together.wait();
                });
            }
            until_someone_waits(&lock);
            drop(writer);
        });
    });
}

#[test]
fn an_upgrade_comes_before_a_writer_that_waits() {
    let lock = Sleeping::new(0);
    watched(|| {
        thread::scope(|scope| {
            let upgradable = lock.upgradable_read();
            let reader = lock.read();
            scope.spawn(|| {
                let mut guard = lock.write();
                assert_eq!(*guard, 1, "the upgrade was first");
                *guard = 2;
            });
            until_someone_waits(&lock);
            let failed = RwLockUpgradableReadGuard::try_upgrade(upgradable);
            let upgradable = failed.expect_err("there is another reader");
            let late = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, SOON);
            let upgradable = late.expect_err("there is still another reader");
            drop(reader);
            *RwLockUpgradableReadGuard::upgrade(upgradable) = 1;
        });
    });
    assert_eq!(*lock.read(), 2);
}

#[test]
fn an_access_changes_without_a_moment_between() {
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let mut writer = lock.write();
                    *writer += 1;
                    let seen = *writer;
                    let reader = RwLockWriteGuard::downgrade(writer);
                    assert_eq!(*reader, seen);
                    drop(reader);
                    let upgradable = lock.upgradable_read();
                    let seen = *upgradable;
                    let mut writer = RwLockUpgradableReadGuard::upgrade(upgradable);
                    assert_eq!(*writer, seen);
                    *writer += 1;
                    let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
                    let reader = RwLockUpgradableReadGuard::downgrade(upgradable);
                    assert_eq!(*reader, seen + 1);
                }
            });
        }
    });
    assert_eq!(*lock.read(), 1600);
}

#[test]
fn tries_see_who_is_inside() {
    let lock = RwLock::new(0);
    assert_eq!((lock.is_locked(), lock.is_locked_exclusive()), (false, false));
    {
        let _reader = lock.read();
        assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_some());
        assert!(lock.try_write().is_none() && lock.try_write_for(SOON).is_none());
        assert_eq!((lock.is_locked(), lock.is_locked_exclusive()), (true, false));
    }
    {
        let _upgradable = lock.upgradable_read();
        assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
        assert!(lock.try_upgradable_read_for(SOON).is_none() && lock.try_write().is_none());
    }
    {
        let _writer = lock.write();
        assert!(lock.try_read().is_none() && lock.try_read_for(SOON).is_none());
        assert!(lock.try_write().is_none() && lock.try_upgradable_read().is_none());
        assert!(lock.try_read_recursive().is_none());
        assert_eq!((lock.is_locked(), lock.is_locked_exclusive()), (true, true));
        assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
    }
    assert_eq!(format!("{lock:?}"), "RwLock { data: 0 }");
}

#[test]
fn a_panic_inside_releases_the_lock() {
    let lock = RwLock::new(1);
    let write = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = lock.write();
        panic!("inside");
    }));
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = lock.read();
        panic!("inside");
    }));
    assert!(write.is_err() && read.is_err());
    assert_eq!(*lock.write(), 1);
}

#[test]
fn a_recursive_lock_lets_readers_in_beside_a_writer_that_waits() {
    let lock = RecursiveRwLock::new(1);
    let begun = AtomicBool::new(false);
    watched(|| {
        thread::scope(|scope| {
            let first = lock.read();
            scope.spawn(|| {
                begun.store(true, Ordering::Relaxed);
                *lock.write() += 1;
            });
            while !begun.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(20));
            assert_eq!(*lock.read() + *first, 2);
        });
    });
    assert_eq!(*lock.read(), 2);
}

#[test]
fn the_last_reader_hands_a_lock_as_pthread_s_to_a_writer_that_waits() {
    let lock = PthreadReadWrite::<Native>::free();
    let may_leave = AtomicBool::new(false);
    watched(|| {
        thread::scope(|scope| {
            lock.lock_shared();
            let alone = format!("{lock:?}");
            scope.spawn(|| {
                lock.lock_exclusive();
                while !may_leave.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                // SAFETY: this thread has taken it as the writer.
                unsafe { lock.unlock_exclusive() };
            });
            // The writer is counted in the word once it waits.
            while format!("{lock:?}") == alone {
                thread::yield_now();
            }
            // Readers come before it.
            lock.lock_shared();
            for _ in 0..2 {
                assert!(lock.is_inside());
                // SAFETY: this thread has entered twice as a reader.
                unsafe { lock.unlock_shared(()) };
            }
            // The writer may still sleep, although it has the lock.
            assert!(lock.is_inside(), "the lock is empty beside a writer that waits");
            may_leave.store(true, Ordering::Relaxed);
        });
    });
    assert!(!lock.is_inside());
}

#[test]
fn the_lock_has_eight_bytes() {
    assert_eq!((size_of::<RwLock<()>>(), size_of::<RecursiveRwLock<()>>()), (8, 8));
}
