//! The queued lock on real threads, under signals in the middle of a wait, more threads than slots,
//! thread-local destructors, and `fork`. Nothing here measures time. A watchdog ends a test that
//! hangs.

#![cfg(all(unix, feature = "std"))]

use crate::support::forked::forked;
use crate::support::watchdog::watched;
use lockyard::lock::{LaneLock, Queued};
use lockyard::platform::{Host, HostWithSlots, Native, NativeAtomics, Slot};
use lockyard::{QSpinLock, RawQSpinLock, RawSpinLock};
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Reads the bits of a lock from its debug output.
fn bits(lock: &impl fmt::Debug) -> u32 {
    let text = format!("{lock:?}");
    let number = text.split("bits: ").nth(1).and_then(|rest| rest.split([',', ' ']).next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Returns true if a thread is in the lock's queue.
fn has_queue(lock: &impl fmt::Debug) -> bool {
    bits(lock) >> 16 != 0
}

/// Returns true if the lock has a first waiter.
fn is_pending(lock: &impl fmt::Debug) -> bool {
    bits(lock) & 0x100 != 0
}

/// Threads take one lock, and plain code checks that they exclude each other.
fn excludes<K: LaneLock<H>, H: Host>(threads: u64, rounds: u64) {
    struct Shared<K: LaneLock<H>, H: Host> {
        lock: RawSpinLock<K, H>,
        inside: AtomicU64,
        sections: AtomicU64,
    }
    let shared = Shared::<K, H> {
        lock: RawSpinLock::new(),
        inside: AtomicU64::new(0),
        sections: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for me in 1..=threads {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..rounds {
                    let held = if round % 4 == 0 {
                        shared.lock.try_acquire()
                    } else {
                        Some(shared.lock.acquire())
                    };
                    let Some(held) = held else { continue };
                    assert_eq!(shared.inside.swap(me, Ordering::Relaxed), 0, "two are inside");
                    let before = shared.sections.load(Ordering::Relaxed);
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                    shared.sections.store(before + 1, Ordering::Relaxed);
                    assert_eq!(shared.inside.swap(0, Ordering::Relaxed), me, "two were inside");
                    // SAFETY: taken above.
                    unsafe { shared.lock.release(held) };
                }
            });
        }
    });
    assert!(!shared.lock.is_held());
    assert!(shared.sections.into_inner() >= threads * rounds * 3 / 4);
}

/// This machine, simulating a host with a slot for only one thread.
struct OneSlot;

// SAFETY: slots (below `SLOTS`), nodes and memory come from `Native`. The tests have far fewer than
// 255 threads.
unsafe impl Host for OneSlot {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = 1;

    fn slot() -> Option<Slot> {
        Native::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    lockyard::forward_to_host!(Native: memory, activity, rest);
}

impl HostWithSlots for OneSlot {}

#[test]
fn threads_without_a_slot_wait_without_a_node() {
    watched(|| excludes::<Queued, OneSlot>(4, 2_000));
}

#[test]
fn more_threads_than_slots_come_queue_and_go() {
    static LOCK: RawQSpinLock = <RawQSpinLock as lock_api::RawMutex>::INIT;
    let take_and_release = || {
        let held = LOCK.acquire();
        // SAFETY: taken above.
        unsafe { LOCK.release(held) };
    };
    let is_low = |slot: Option<Slot>| {
        let slot = slot.expect("slots are given back");
        assert!(slot.0 < 1000, "slots are given back: {slot:?} is a low one");
    };
    // A wait in the queue needs three threads and a hand-over. So most threads here only lease the
    // slot that such a wait would lease.
    let queue_once = || {
        thread::scope(|scope| {
            let held = LOCK.acquire();
            let first = scope.spawn(take_and_release);
            wait_until(|| is_pending(&LOCK));
            let queued = scope.spawn(move || {
                take_and_release();
                Native::slot()
            });
            wait_until(|| has_queue(&LOCK));
            // SAFETY: taken above.
            unsafe { LOCK.release(held) };
            first.join().unwrap();
            is_low(queued.join().unwrap());
        });
    };
    watched(|| {
        for round in 0..Native::SLOTS + 100 {
            is_low(thread::spawn(Native::slot).join().unwrap());
            if round % 128 == 0 {
                queue_once();
            }
        }
    });
}

/// Takes a lock in its destructor, while other threads also take it.
struct LocksLate(&'static QSpinLock<u64>);

impl Drop for LocksLate {
    fn drop(&mut self) {
        for _ in 0..200 {
            *self.0.lock() += 1;
        }
    }
}

#[test]
fn a_lock_can_be_taken_while_a_thread_is_torn_down() {
    static LOCK: QSpinLock<u64> = QSpinLock::new(0);
    std::thread_local!(static LATE: RefCell<Option<LocksLate>> = const { RefCell::new(None) });
    let torn_down = |slot_first: bool| {
        move || {
            if slot_first {
                assert!(Native::slot().is_some());
            }
            LATE.set(Some(LocksLate(&LOCK)));
            if !slot_first {
                assert!(Native::slot().is_some());
            }
        }
    };
    watched(|| {
        let threads: Vec<_> = (0..8).map(|n| thread::spawn(torn_down(n % 2 == 0))).collect();
        for _ in 0..1000 {
            *LOCK.lock() += 1;
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(*LOCK.lock(), 1000 + 8 * 200);
}

/// Installs a handler.
fn on_signal(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handlers of this file use atomics and the locks whose behaviour in a handler is
    // under test. A zeroed `sigaction` has an empty mask and no flags, so a handler is not
    // interrupted by its own signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// The handler's lock, and its progress.
static OTHER: QSpinLock<u64> = QSpinLock::new(0);
static ENTERED: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);

extern "C" fn takes_the_other_lock(_: libc::c_int) {
    ENTERED.fetch_add(1, Ordering::Relaxed);
    *OTHER.lock() += 1;
    LEFT.fetch_add(1, Ordering::Relaxed);
}

fn send(thread: libc::pthread_t, signal: libc::c_int) {
    // SAFETY: the thread has not been joined yet.
    assert_eq!(unsafe { libc::pthread_kill(thread, signal) }, 0);
}

/// Returns the running thread, as a target for signals.
fn me() -> libc::pthread_t {
    // SAFETY: the function has no preconditions.
    unsafe { libc::pthread_self() }
}

/// One test covers both locks, because the handler's lock and counters belong to the process.
#[test]
fn a_signal_handler_may_wait_while_its_thread_waits() {
    on_signal(libc::SIGUSR1, takes_the_other_lock);
    watched(|| {
        handler_queues_while_its_thread_queues();
        signals_without_pause();
    });
}

fn handler_queues_while_its_thread_queues() {
    static LOCK: QSpinLock<u64> = QSpinLock::new(0);
    // SAFETY: the call only reads the bits.
    let (raw, other) = unsafe { (LOCK.raw(), OTHER.raw()) };
    thread::scope(|scope| {
        let guard = LOCK.lock();
        let other_guard = OTHER.lock();
        // Each lock gets a first waiter, so that the next thread must queue.
        scope.spawn(|| *LOCK.lock() += 1);
        wait_until(|| is_pending(raw));
        scope.spawn(|| *OTHER.lock() += 1);
        wait_until(|| is_pending(other));
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiter = scope.spawn(move || {
            sender.send(me() as usize).unwrap();
            *LOCK.lock() += 1;
        });
        let thread = receiver.recv().unwrap() as libc::pthread_t;
        wait_until(|| has_queue(raw));
        assert!(!has_queue(other));
        send(thread, libc::SIGUSR1);
        wait_until(|| has_queue(other));
        assert_eq!(ENTERED.load(Ordering::Relaxed), 1, "the handler waits");
        // The thread and its handler wait in nodes of the same slot.
        let (tail, other_tail) = (bits(raw) >> 16, bits(other) >> 16);
        assert_eq!(tail & !3, other_tail & !3, "one slot");
        assert_eq!((tail & 3, other_tail & 3), (0, 1), "two levels");
        // The thread's own lock is released first. The thread cannot take it while its handler
        // waits.
        drop(guard);
        assert_eq!(LEFT.load(Ordering::Relaxed), 0);
        drop(other_guard);
        waiter.join().unwrap();
    });
    assert_eq!((*LOCK.lock(), *OTHER.lock()), (2, 2));
}

fn signals_without_pause() {
    static LOCK: QSpinLock<u64> = QSpinLock::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    const THREADS: usize = 3;
    const HANDLERS: u64 = 500;
    let (before, counted) = (LEFT.load(Ordering::Relaxed), *OTHER.lock());
    let handled = || LEFT.load(Ordering::Relaxed) - before;
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let sections: Vec<_> = (0..THREADS)
            .map(|_| {
                let sender = sender.clone();
                scope.spawn(move || {
                    sender.send(me() as usize).unwrap();
                    let mut sections = 0;
                    while !STOP.load(Ordering::Relaxed) {
                        *LOCK.lock() += 1;
                        sections += 1;
                    }
                    sections
                })
            })
            .collect();
        let threads: Vec<usize> = (0..THREADS).map(|_| receiver.recv().unwrap()).collect();
        while handled() < HANDLERS {
            for &thread in &threads {
                send(thread as libc::pthread_t, libc::SIGUSR1);
            }
            thread::yield_now();
        }
        STOP.store(true, Ordering::Relaxed);
        let sections: u64 = sections.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(*LOCK.lock(), sections);
    });
    wait_until(|| ENTERED.load(Ordering::Relaxed) == LEFT.load(Ordering::Relaxed));
    assert_eq!(*OTHER.lock() - counted, handled(), "each handler took the lock once");
}

#[test]
fn after_a_fork_the_child_keeps_its_slot_and_locks_of_others_are_lost() {
    static HELD: RawQSpinLock = <RawQSpinLock as lock_api::RawMutex>::INIT;
    static QUEUED: RawQSpinLock = <RawQSpinLock as lock_api::RawMutex>::INIT;
    static FREE: QSpinLock<u64> = QSpinLock::new(0);
    static GO: AtomicBool = AtomicBool::new(false);
    let take_and_release = |lock: &'static RawQSpinLock| {
        let held = lock.acquire();
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    };
    watched(|| {
        let slot = Native::slot().expect("slots are left");
        let held = QUEUED.acquire();
        let holder = thread::spawn(|| {
            let held = HELD.acquire();
            wait_until(|| GO.load(Ordering::Relaxed));
            // SAFETY: taken above.
            unsafe { HELD.release(held) };
        });
        wait_until(|| HELD.is_held());
        let first = thread::spawn(move || take_and_release(&QUEUED));
        wait_until(|| is_pending(&QUEUED));
        let waiter = thread::spawn(move || take_and_release(&QUEUED));
        wait_until(|| has_queue(&QUEUED));

        let status = forked(|| {
            *FREE.lock() += 1;
            let kept = Native::slot() == Some(slot);
            kept && *FREE.lock() == 1 && FREE.try_lock().is_some() && HELD.try_acquire().is_none()
        });
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");

        // The child has neither the holder nor the waiters, so a wait for their locks never ends.
        for lock in [&HELD, &QUEUED] {
            let status = forked(|| {
                // SAFETY: the call sets a timer whose signal ends the process.
                unsafe { libc::alarm(1) };
                take_and_release(lock);
                true
            });
            let ended_by = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
            assert_eq!(ended_by, Some(libc::SIGALRM), "{status}");
        }

        // In the parent nothing has changed.
        // SAFETY: taken above.
        unsafe { QUEUED.release(held) };
        GO.store(true, Ordering::Relaxed);
        for thread in [holder, first, waiter] {
            thread.join().unwrap();
        }
        assert!(!HELD.is_held() && !QUEUED.is_held() && *FREE.lock() == 0);
    });
}

/// The counters belong to the process, so the test checks a lower bound.
#[cfg(feature = "events")]
#[test]
fn events_are_counted() {
    use lockyard::platform::{Event, native_events};
    let count = |event| native_events().iter().find(|(e, _)| *e == event).map_or(0, |(_, n)| *n);
    let before = [Event::Pending, Event::Slowpath, Event::NoNode].map(count);
    static LOCK: RawSpinLock<Queued, OneSlot> =
        <RawSpinLock<Queued, OneSlot> as lock_api::RawMutex>::INIT;
    watched(|| {
        thread::scope(|scope| {
            let held = LOCK.acquire();
            for waiter in 0..3 {
                scope.spawn(|| {
                    let held = LOCK.acquire();
                    // SAFETY: taken above.
                    unsafe { LOCK.release(held) };
                });
                if waiter == 0 {
                    wait_until(|| is_pending(&LOCK));
                }
            }
            // One of the two other threads may have the slot, and the lock is free only after all
            // three have arrived.
            wait_until(|| {
                count(Event::NoNode) > before[2] && count(Event::Slowpath) >= before[1] + 3
            });
            // SAFETY: taken above.
            unsafe { LOCK.release(held) };
        });
    });
    let after = [Event::Pending, Event::Slowpath, Event::NoNode].map(count);
    println!("{before:?} -> {after:?}");
    assert!(after[0] > before[0] && after[1] >= before[1] + 3 && after[2] > before[2]);
}
