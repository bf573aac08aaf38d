//! The sharded and the queued reader-writer lock on real threads: 64 threads, spreading and
//! gathering, guards that are forgotten, panics, memory, interruptions.

use crate::support::watchdog::watched;
use lockyard::platform::{Execution, Host, HostWithSlots, Native};
use lockyard::rwlock::sharded::Spreading;
use lockyard::rwlock::{RawQRwLock, RawShardedRwLock, ReadWrite};
use lockyard::{QRwLock, ShardedRwLock};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Readers spread as soon as two have met.
#[derive(Debug)]
struct AtOnce;
impl lockyard::lock::adaptive::Patience for AtOnce {}
impl Spreading for AtOnce {
    const MOST_SHARDS: u32 = 8;
    const READS_A_SHARD: u32 = 0;
}

type Eager<T> = lock_api::RwLock<RawShardedRwLock<Native, AtOnce>, T>;

/// Counts up two numbers that must stay the same, with one write in `every` operations.
fn torture<R: lock_api::RawRwLock + Sync>(
    lock: &lock_api::RwLock<R, [u64; 2]>,
    threads: u64,
    rounds: u64,
    every: u64,
) {
    thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || {
                for round in 0..rounds {
                    if (number + round).is_multiple_of(every) {
                        let mut both = lock.write();
                        both[0] += 1;
                        if round % 8 == 0 {
                            thread::yield_now();
                        }
                        both[1] += 1;
                    } else {
                        let both = lock.read();
                        let first = both[0];
                        if round % 8 == 0 {
                            thread::yield_now();
                        }
                        assert_eq!([first; 2], *both, "a writer was inside");
                    }
                }
            });
        }
    });
    let writes = (0..threads)
        .map(|number| (0..rounds).filter(|round| (number + round).is_multiple_of(every)).count())
        .sum::<usize>() as u64;
    assert_eq!(*lock.read(), [writes; 2]);
    assert!(!lock.is_locked_exclusive());
}

#[test]
fn readers_and_writers_exclude_each_other_with_64_threads() {
    watched(|| {
        for every in [2, 10, 100] {
            torture(&Eager::new([0; 2]), 64, 400, every);
            torture(&ShardedRwLock::new([0; 2]), 64, 400, every);
        }
    });
}

#[test]
fn the_queued_lock_excludes() {
    watched(|| torture(&QRwLock::new([0; 2]), 4, 200, 3));
}

/// Meets another reader inside, on this thread, often enough to spread.
fn meet<R: lock_api::RawRwLock>(lock: &lock_api::RwLock<R, u32>, times: u32) {
    let _first = lock.read();
    // A second read of the same thread is allowed here, because no writer comes.
    (0..times).for_each(|_| assert_eq!(*lock.read(), 1));
}

#[test]
fn readers_that_meet_spread_and_a_writer_gathers_them() {
    let lock = ShardedRwLock::new(1);
    // SAFETY: only asked.
    let raw = unsafe { lock.raw() };
    meet(&lock, 3);
    assert!(!raw.is_spread() && raw.shard_bytes() == 0, "they have met three times");
    meet(&lock, 2_000);
    assert!(raw.is_spread() && raw.shard_bytes() >= 3 * 64);
    let (first, second) = (lock.read(), lock.read());
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    assert!(lock.try_write().is_none(), "readers are in the shards");
    drop((first, second));
    *lock.write() += 0;
    assert!(!raw.is_spread(), "a writer has gathered them");
    meet(&lock, 2_000);
    assert!(raw.is_spread(), "they have met again");
}

#[test]
fn a_table_grows_and_the_old_ones_stay_closed() {
    let lock = RawShardedRwLock::<Native>::new();
    lock.spread(2);
    assert_eq!(lock.shard_bytes(), 3 * 64);
    // Open: it keeps its size.
    lock.spread(64);
    assert_eq!(lock.shard_bytes(), 3 * 64);
    for _ in 0..2 {
        lock.acquire_exclusive();
        // SAFETY: entered above.
        unsafe { lock.release_exclusive() };
        lock.spread(64);
        assert_eq!(lock.shard_bytes(), 65 * 64);
    }
    let entry = lock.acquire_shared();
    assert!(lock.is_held() && !lock.try_acquire_exclusive());
    // SAFETY: entered above.
    unsafe { lock.release_shared(entry) };
    assert!(lock.try_acquire_exclusive());
}

#[test]
fn a_writer_waits_for_a_spread_reader_and_gives_up_in_time() {
    watched(|| {
        let lock = ShardedRwLock::new(1);
        // SAFETY: no guard exists.
        unsafe { lock.raw() }.spread(2);
        let (asks, answered) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let guard = lock.read();
            scope.spawn(|| {
                assert!(lock.try_write_for(Duration::from_millis(5)).is_none());
                asks.store(true, Ordering::Release);
                *lock.write() = 2;
                answered.store(true, Ordering::Release);
            });
            while !asks.load(Ordering::Acquire) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(20));
            assert!(!answered.load(Ordering::Acquire) && *guard == 1, "a writer beside a reader");
            drop(guard);
        });
        assert_eq!(*lock.read(), 2);
    });
}

#[test]
fn a_reader_that_is_forgotten_keeps_writers_out() {
    let lock = ShardedRwLock::new(1);
    // SAFETY: no guard exists.
    unsafe { lock.raw() }.spread(2);
    std::mem::forget(lock.read());
    assert!(lock.try_write().is_none());
    assert!(lock.try_write_for(Duration::from_millis(1)).is_none());
    assert_eq!(*lock.read(), 1, "readers still enter");
    let queued = QRwLock::new(1);
    std::mem::forget(queued.read());
    assert!(queued.try_write().is_none() && *queued.read() == 1);
}

#[test]
fn a_panic_releases_and_a_downgrade_keeps_writers_out() {
    fn each<R: lock_api::RawRwLockDowngrade>(lock: &lock_api::RwLock<R, u32>) {
        let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.write();
            panic!("a writer's");
        }));
        assert!(panicked.is_err() && !lock.is_locked());
        let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.read();
            panic!("a reader's");
        }));
        assert!(panicked.is_err() && !lock.is_locked());
        let read = lock_api::RwLockWriteGuard::downgrade(lock.write());
        assert!(lock.try_write().is_none() && lock.try_read().is_some());
        drop(read);
        assert!(lock.try_write().is_some());
    }
    each(&ShardedRwLock::new(1));
    each(&QRwLock::new(1));
    let spread = ShardedRwLock::new(1);
    // SAFETY: no guard exists.
    unsafe { spread.raw() }.spread(4);
    each(&spread);
}

#[test]
fn values_without_a_size_fit() {
    assert_eq!(size_of::<ShardedRwLock<()>>(), 24);
    assert_eq!(size_of::<QRwLock<()>>(), 8);
    let lock: &ShardedRwLock<[u8]> = &ShardedRwLock::new([1, 2]);
    assert_eq!(lock.read().len(), 2);
}

/// A host that gives memory until it is told not to, and says what runs.
struct Poor;
static ALLOCATIONS: AtomicU32 = AtomicU32::new(0);
thread_local! {
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}
// SAFETY: everything is `Native`'s; memory may be withheld.
unsafe impl Host for Poor {
    type Atomics = <Native as Host>::Atomics;
    const SLOTS: u32 = Native::SLOTS;
    lockyard::forward_to_host!(Native: slots, activity);
    fn allocate(_: std::alloc::Layout, _: Option<u32>) -> Option<std::ptr::NonNull<u8>> {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        None
    }
    unsafe fn deallocate(_: std::ptr::NonNull<u8>, _: std::alloc::Layout) {
        unreachable!("nothing was allocated");
    }
    fn execution() -> Execution {
        if INTERRUPTED.get() { Execution::Interrupt } else { Execution::Thread }
    }
    fn numa_node() -> u32 {
        Native::numa_node()
    }
    fn queue_node(
        slot: lockyard::platform::Slot,
        level: u32,
    ) -> &'static lockyard::platform::QueueNode<Self::Atomics> {
        Native::queue_node(slot, level)
    }
    fn relax() {
        Native::relax();
    }
    fn now() -> Duration {
        Native::now()
    }
    fn park(word: &lockyard::platform::U32<Self>, expected: u32, timeout: Option<Duration>) {
        Native::park(word, expected, timeout);
    }
    fn unpark(word: *const lockyard::platform::U32<Self>, count: u32) {
        Native::unpark(word, count);
    }
    fn fatal(message: &'static str) -> ! {
        Native::fatal(message)
    }
}
impl HostWithSlots for Poor {}

#[test]
fn without_memory_readers_stay_together() {
    let lock = lock_api::RwLock::<RawShardedRwLock<Poor>, u32>::new(1);
    meet(&lock, 2_000);
    // SAFETY: only asked.
    assert!(!unsafe { lock.raw() }.is_spread());
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > 0, "it has asked");
    assert_eq!(*lock.write(), 1);
}

#[test]
fn an_interruption_reads_while_a_writer_waits() {
    watched(|| {
        let lock = RawQRwLock::<Poor>::new();
        let announced = || format!("{lock:?}").contains("bits: 768");
        thread::scope(|scope| {
            lock.lock_shared();
            scope.spawn(|| {
                lock.lock_exclusive();
                // SAFETY: entered above.
                unsafe { lock.unlock_exclusive() };
            });
            while !announced() {
                thread::yield_now();
            }
            assert!(lock.try_acquire_shared().is_none(), "a newcomer queues");
            INTERRUPTED.set(true);
            lock.lock_shared();
            INTERRUPTED.set(false);
            // SAFETY: entered above, twice.
            unsafe {
                lock.unlock_shared(());
                lock.unlock_shared(());
            }
        });
        assert!(!lock.is_held());
    });
}
