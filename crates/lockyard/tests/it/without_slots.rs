//! Threads without a slot on a host that has slots: threads that start when all slots are in use,
//! and late destructors of thread-locals. They exclude each other like all threads, and are
//! counted.

use lockyard::comparators::McsLock;
use lockyard::platform::{Host, Native};
use lockyard::{Domain, PvQSpinLock, PvTicketLock, QSpinLock};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Number of times that a thread needed a slot and had none; 0 without the feature `events`.
#[cfg(feature = "events")]
fn counted() -> u64 {
    use lockyard::platform::{Event, native_events};
    native_events().iter().find(|(event, _)| *event == Event::NoSlot).map_or(0, |(_, n)| *n)
}

/// A number protected by any lock.
trait Number: Sync {
    fn add_one(&self, meanwhile: impl FnOnce());
    fn is(&self, expected: u64) -> bool;
}

macro_rules! number {
    ($($lock:ident),*) => {$(
        impl Number for $lock<u64> {
            fn add_one(&self, meanwhile: impl FnOnce()) {
                let mut number = self.lock();
                meanwhile();
                *number += 1;
            }
            fn is(&self, expected: u64) -> bool {
                *self.lock() == expected
            }
        }
    )*};
}
number!(QSpinLock, PvQSpinLock, PvTicketLock);

/// Checks that threads without a slot exclude each other, and lose no increment.
fn threads_without_a_slot_exclude(number: &impl Number) {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 200;
    let together = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                assert_eq!(Native::slot(), None, "all slots are taken");
                together.wait();
                for _ in 0..ROUNDS {
                    // Long enough for the other threads to come and find the lock held.
                    number.add_one(thread::yield_now);
                }
            });
        }
    });
    assert!(number.is(THREADS * ROUNDS));
}

/// Set in the environment of the process that has no slot left.
const EXHAUSTED: &str = "LOCKYARD_TEST_EXHAUSTED";

/// In a separate process, because no other test could get a slot afterwards.
#[test]
fn the_thread_after_the_last_slot_waits_outside_the_queue() {
    if std::env::var_os(EXHAUSTED).is_some() {
        return use_every_slot();
    }
    let test = "the_thread_after_the_last_slot_waits_outside_the_queue";
    let test = format!(
        "{}{test}",
        module_path!().split_once("::").map_or(String::new(), |(_, m)| format!("{m}::"))
    );
    let output = lockyard_testing::this_program()
        .args([test.as_str(), "--exact", "--nocapture"])
        .env(EXHAUSTED, "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("16383 slots were taken"), "{output:?}");
}

fn use_every_slot() {
    // A thread that ends with a guard of a domain keeps its slot for good.
    static DOMAIN: Domain = Domain::new();
    for _ in 0..Native::SLOTS {
        thread::spawn(|| std::mem::forget(DOMAIN.enter())).join().expect("it enters");
    }
    println!("{} slots were taken", Native::SLOTS);
    thread::spawn(|| {
        assert_eq!(Native::slot(), None);
        #[cfg(feature = "events")]
        let before = counted();
        threads_without_a_slot_exclude(&QSpinLock::new(0));
        #[cfg(feature = "events")]
        assert!(counted() > before, "a waiter without a slot is counted");
        threads_without_a_slot_exclude(&PvQSpinLock::new(0));
        threads_without_a_slot_exclude(&PvTicketLock::new(0));

        #[cfg(feature = "events")]
        let before = counted();
        drop(DOMAIN.enter());
        #[cfg(feature = "events")]
        assert!(counted() > before, "a reader without a slot is counted");
        assert!(McsLock::new(()).try_lock().is_none(), "it has no node, and says so");
    })
    .join()
    .expect("all holds without a slot");
}

#[test]
fn a_destructor_that_runs_after_the_slot_was_given_back_takes_its_locks() {
    static LOCK: QSpinLock<u64> = QSpinLock::new(0);
    static HELD: AtomicBool = AtomicBool::new(false);
    static LATE_IS_THERE: AtomicBool = AtomicBool::new(false);

    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            assert_eq!(Native::slot(), None, "the slot was given back before");
            LATE_IS_THERE.store(true, Ordering::Release);
            // Another thread holds the lock, so this acquisition waits.
            *LOCK.lock() += 1;
        }
    }
    thread_local!(static LATE: Late = const { Late });

    thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let mut number = LOCK.lock();
            HELD.store(true, Ordering::Release);
            while !LATE_IS_THERE.load(Ordering::Acquire) {
                thread::yield_now();
            }
            *number += 1;
        });
        let late = scope.spawn(|| {
            while !HELD.load(Ordering::Acquire) {
                thread::yield_now();
            }
            // Destructors run in reverse order: first the slot's destructor, then this one.
            LATE.with(|_| ());
            assert!(Native::slot().is_some());
        });
        holder.join().expect("it releases");
        // A join waits for destructors; the end of the scope does not.
        late.join().expect("its destructor has run");
    });
    assert_eq!(*LOCK.lock(), 2);
}
