//! The limits of a ticket lock's counters: the wrap of both widths, and one contender above the
//! limit.

use lockyard::lock::{PlainLoop, Ticket};
use lockyard::on::RawTicketLock8;
use lockyard::platform::{
    Host, Native, NativeAtomics, NativeU32, Ordering, Portable, QueueNode, Slot, U32, Word,
};
use lockyard::{FourBytes, RawSpinLock, TwoBytes, Width};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

thread_local! {
    /// True if this thread gives up instead of waiting, and abandons its ticket. No real host may
    /// do that, because it makes a contender without a thread.
    static GIVES_UP: Cell<bool> = const { Cell::new(false) };
}

/// The result of a contender that did not get the lock.
#[derive(Debug, PartialEq)]
enum Outcome {
    Waits,
    Fatal(&'static str),
}

/// This machine, for at most 255 of its threads.
struct Few;

// SAFETY: slots (below `SLOTS`), nodes and memory come from `Native`. If contenders give up, or
// there are more than 255, `fatal` and `wait_until` unwind, and the lock protects nothing.
unsafe impl Host for Few {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = 255;

    fn slot() -> Option<Slot> {
        Native::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    fn numa_node() -> u32 {
        Native::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn relax() {
        // There may be fewer CPUs than contenders, and only one contender is next.
        Native::yield_now();
    }
    fn now() -> Duration {
        Native::now()
    }
    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        Native::park(word, expected, timeout);
    }
    fn unpark(word: *const NativeU32, count: u32) {
        Native::unpark(word, count);
    }
    lockyard::forward_to_host!(Native: memory);
    fn fatal(message: &'static str) -> ! {
        resume_unwind(Box::new(Outcome::Fatal(message)))
    }
    fn wait_until<W: Word>(
        word: &W,
        order: Ordering,
        predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        if GIVES_UP.get() {
            resume_unwind(Box::new(Outcome::Waits));
        }
        Native::wait_until(word, order, predicate)
    }
}

type Lock<W> = RawSpinLock<Ticket<PlainLoop, W>, Few>;

/// Adds one contender for a lock that is held.
fn contend<W: Width>(lock: &Lock<W>) -> Outcome {
    let acquisition = catch_unwind(AssertUnwindSafe(|| lock.acquire()));
    *acquisition.expect_err("the lock is held").downcast().expect("an outcome")
}

#[test]
fn a_contender_beyond_half_the_counter_is_fatal_and_none_before_it() {
    GIVES_UP.set(true);
    let lock = Lock::<FourBytes>::new();
    let _held = lock.acquire();
    for contender in 2..=1 << 15 {
        assert_eq!(contend(&lock), Outcome::Waits, "contender {contender}");
    }
    let Outcome::Fatal(message) = contend(&lock) else { panic!("contender 2^15 + 1 waits") };
    assert!(message.contains("2^15"), "{message}");
    GIVES_UP.set(false);
}

#[test]
fn as_many_contenders_as_a_small_host_has_slots_exclude_each_other_and_one_more_is_fatal() {
    GIVES_UP.set(true);
    let lock = Lock::<TwoBytes>::new();
    let _held = lock.acquire();
    for contender in 2..=Few::SLOTS {
        assert_eq!(contend(&lock), Outcome::Waits, "contender {contender}");
        assert!(lock.try_acquire().is_none(), "after contender {contender}");
    }
    assert!(lock.is_held());
    let Outcome::Fatal(message) = contend(&lock) else { panic!("contender 256 waits") };
    assert!(message.contains("255"), "{message}");
    GIVES_UP.set(false);
}

#[test]
fn a_host_over_another_waits_as_the_inner_one_does() {
    GIVES_UP.set(true);
    let word = <U32<Portable<Few>> as Word>::new(0);
    let wait = || Portable::<Few>::wait_until(&word, Ordering::Relaxed, |_| true);
    let waited = catch_unwind(AssertUnwindSafe(wait)).expect_err("it gives up at once");
    assert_eq!(waited.downcast_ref(), Some(&Outcome::Waits));
    GIVES_UP.set(false);
}

#[test]
fn a_small_lock_survives_the_wrap_of_its_counters() {
    let lock = RawTicketLock8::<Few>::new();
    for _ in 0..(1 << 8) + 10 {
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

/// Passes the lock among waiting threads while the counters wrap. The plain counter loses a step if
/// two threads are inside.
fn hands_over_across_the_wrap<W: Width>(rounds: u32) {
    const THREADS: u32 = 4;
    let lock = Lock::<W>::new();
    let inside = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let held = lock.acquire();
                    let before = inside.load(Ordering::Relaxed);
                    inside.store(before + 1, Ordering::Relaxed);
                    // SAFETY: taken above.
                    unsafe { lock.release(held) };
                }
            });
        }
    });
    assert_eq!(inside.load(Ordering::Relaxed), THREADS * rounds);
    assert!(!lock.is_held());
}

#[test]
fn threads_hand_a_lock_over_across_the_wrap_of_its_counters() {
    hands_over_across_the_wrap::<TwoBytes>(2 << 8);
    hands_over_across_the_wrap::<FourBytes>(1 << 15);
}
