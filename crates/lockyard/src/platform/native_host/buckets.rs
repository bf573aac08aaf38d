//! Parking without a futex: a table of mutexes and condition variables, indexed by address.
//!
//! All words that hash to a bucket share it, so an unpark wakes all threads of the bucket. Threads
//! that wait for another word then return spuriously, which is allowed. An unparker holds the
//! bucket's mutex when it notifies, so the comparison and the start of the wait are one step.

use super::super::{NativeU32, Ordering, Word};
use core::time::Duration;
use std::sync::{Condvar, Mutex, PoisonError};

const BUCKETS: usize = 64;

struct Bucket {
    mutex: Mutex<()>,
    woken: Condvar,
}

static TABLE: [Bucket; BUCKETS] =
    [const { Bucket { mutex: Mutex::new(()), woken: Condvar::new() } }; BUCKETS];

fn bucket(word: *const NativeU32) -> &'static Bucket {
    // Fibonacci hashing: the upper bits of the product are well mixed.
    let hash = (word as usize as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(hash >> 32) as usize % BUCKETS]
}

/// See [`Host::park`](super::super::Host::park).
pub(super) fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
    let bucket = bucket(word);
    let held = bucket.mutex.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: `park` orders nothing. The writer wrote before it took the mutex to unpark.
    if word.load(Ordering::Relaxed) != expected {
        return;
    }
    match timeout {
        None => drop(bucket.woken.wait(held)),
        Some(timeout) => drop(bucket.woken.wait_timeout(held, timeout)),
    }
}

/// See [`Host::unpark`](super::super::Host::unpark).
pub(super) fn unpark(word: *const NativeU32, count: u32) {
    if count == 0 {
        return;
    }
    let bucket = bucket(word);
    let held = bucket.mutex.lock().unwrap_or_else(PoisonError::into_inner);
    bucket.woken.notify_all();
    drop(held);
}

#[cfg(test)]
mod tests {
    use super::super::super::{
        Announcement, Host, HostWithSlots, Native, NativeAtomics, NativeU64, QueueNode, Slot,
    };
    use super::*;
    use crate::RawSpinLock;
    use crate::lock::{LaneLock, PvQueued, PvTicket};

    /// Both implementations of parking must keep the promises of `Host`.
    fn hands_over_without_losing_a_wake_up(
        park: fn(&NativeU32, u32, Option<Duration>),
        unpark: fn(*const NativeU32, u32),
    ) {
        const TURNS: u32 = 2000;
        let turn = NativeU32::new(0);
        std::thread::scope(|scope| {
            for me in 0..2u32 {
                let turn = &turn;
                scope.spawn(move || {
                    for round in 0..TURNS {
                        let mine = 2 * round + me;
                        loop {
                            // Acquire: pairs with the release below.
                            let now = turn.load(Ordering::Acquire);
                            if now == mine {
                                break;
                            }
                            park(turn, now, None);
                        }
                        // Release: pairs with the acquire above.
                        turn.store(mine + 1, Ordering::Release);
                        unpark(turn, u32::MAX);
                    }
                });
            }
        });
        assert_eq!(turn.load(Ordering::Relaxed), 2 * TURNS);
    }

    fn keeps_the_contract(
        park: fn(&NativeU32, u32, Option<Duration>),
        unpark: fn(*const NativeU32, u32),
    ) {
        let word = NativeU32::new(1);
        park(&word, 2, None); // another value: returns at once
        park(&word, 1, Some(Duration::from_millis(1))); // not woken: returns after the timeout
        unpark(core::ptr::without_provenance(4096), 1); // no memory there: not touched
        hands_over_without_losing_a_wake_up(park, unpark);
    }

    #[test]
    fn buckets_keep_the_contract() {
        keeps_the_contract(park, unpark);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn futexes_keep_the_contract() {
        use super::super::futex;
        keeps_the_contract(futex::park, futex::unpark);
    }

    /// This machine, parking in buckets.
    struct InBuckets;

    // SAFETY: `Native` provides everything except parking.
    unsafe impl Host for InBuckets {
        type Atomics = NativeAtomics;
        const SLOTS: u32 = Native::SLOTS;

        crate::forward_to_host!(Native: slots, memory);

        fn numa_node() -> u32 {
            Native::numa_node()
        }
        fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
            Native::queue_node(slot, level)
        }
        fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
            Native::announcements(lock, turn)
        }
        fn relax() {
            Native::relax();
        }
        fn yield_now() {
            Native::yield_now();
        }
        fn now() -> Duration {
            Native::now()
        }
        fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
            PARKS.fetch_add(1, Ordering::Relaxed);
            park(word, expected, timeout);
        }
        fn unpark(word: *const NativeU32, count: u32) {
            unpark(word, count);
        }
        fn fatal(message: &'static str) -> ! {
            Native::fatal(message)
        }
    }

    impl HostWithSlots for InBuckets {}

    static PARKS: NativeU64 = NativeU64::new(0);

    fn hands_over_to_threads_that_park<K: LaneLock<InBuckets>>() {
        let lock = RawSpinLock::<K, InBuckets>::new();
        let before = PARKS.load(Ordering::Relaxed);
        let inside = NativeU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let held = lock.acquire();
                        assert_eq!(inside.swap(1, Ordering::Relaxed), 0, "two are inside");
                        // In this time other threads find the lock held.
                        std::thread::sleep(Duration::from_micros(20));
                        inside.store(0, Ordering::Relaxed);
                        // SAFETY: taken above.
                        unsafe { lock.release(held) };
                    }
                });
            }
        });
        assert!(!lock.is_held());
        assert!(PARKS.load(Ordering::Relaxed) > before, "nobody parked");
    }

    #[test]
    fn locks_whose_waiters_park_go_on_in_buckets() {
        hands_over_to_threads_that_park::<PvTicket>();
        hands_over_to_threads_that_park::<PvQueued>();
    }
}
