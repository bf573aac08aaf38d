//! The locks that park or sleep, on real threads: with many more threads than CPUs, locks that are freed at
//! their last release, and signals in the middle of a parked wait. Nothing here measures time. A
//! watchdog ends a test that hangs.

#![cfg(all(unix, feature = "std"))]

use crate::support::watchdog::watched;
#[cfg(target_os = "linux")]
use libc::__errno_location as errno_of_this_thread;
#[cfg(not(target_os = "linux"))]
use libc::__error as errno_of_this_thread;
use lockyard::lock::LaneLock;
use lockyard::platform::{Execution, Host, Native};
use lockyard::{PvQSpinLock, PvTicketLock, RawSpinLock, TestAndSetLock};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Calls a function for each lock whose waiters park or sleep.
macro_rules! for_each_that_sleeps {
    ($function:ident $arguments:tt) => {
        lockyard::for_each_lock!(for_each_that_sleeps, @ $function $arguments)
    };
    (@ $function:ident $arguments:tt $($kind:ident {
        name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
        $($fact:tt)*
    })*) => {$(
        if matches!(stringify!($waits), "park" | "sleep") {
            $function::<$lock> $arguments;
        }
    )*};
}

/// Threads take one lock, some of them sleep inside, and plain code checks that they exclude each
/// other.
fn excludes<K: LaneLock<Native>>(threads: u64, rounds: u64) {
    let lock = RawSpinLock::<K>::new();
    let (inside, sections) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for me in 1..=threads {
            let (lock, inside, sections) = (&lock, &inside, &sections);
            scope.spawn(move || {
                for round in 0..rounds {
                    let held = lock.acquire();
                    assert_eq!(inside.swap(me, Ordering::Relaxed), 0, "two are inside");
                    let before = sections.load(Ordering::Relaxed);
                    match (me + round) % 16 {
                        0 => thread::sleep(Duration::from_micros(50)),
                        1 => thread::yield_now(),
                        _ => {}
                    }
                    sections.store(before + 1, Ordering::Relaxed);
                    assert_eq!(inside.swap(0, Ordering::Relaxed), me, "two were inside");
                    // SAFETY: taken above.
                    unsafe { lock.release(held) };
                }
            });
        }
    });
    assert!(!lock.is_held());
    assert_eq!(sections.into_inner(), threads * rounds);
}

#[test]
fn locks_that_park_exclude_many_more_threads_than_there_are_cpus() {
    watched(|| {
        for_each_that_sleeps!(excludes(32, 40));
    });
}

/// Checks that a lock may be freed immediately after its last release. Each lock is in separate
/// memory, which the last of its threads frees.
fn frees_after_the_last_release<K: LaneLock<Native>>() {
    struct Freed<K: LaneLock<Native>> {
        lock: RawSpinLock<K>,
        left: AtomicU64,
    }
    const THREADS: u64 = 6;
    for _ in 0..60 {
        let freed = Box::into_raw(Box::new(Freed::<K> {
            lock: RawSpinLock::new(),
            left: AtomicU64::new(THREADS),
        })) as usize;
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(move || {
                    let freed = freed as *mut Freed<K>;
                    // SAFETY: the memory is not freed before all threads have been inside, and this
                    // thread has not.
                    let shared = unsafe { &*freed };
                    let held = shared.lock.acquire();
                    thread::yield_now();
                    // Relaxed: the lock orders it.
                    let left = shared.left.load(Ordering::Relaxed) - 1;
                    shared.left.store(left, Ordering::Relaxed);
                    // SAFETY: taken above.
                    unsafe { shared.lock.release(held) };
                    if left == 0 {
                        // SAFETY: all other threads have already released the lock, and do not
                        // access the memory after that.
                        drop(unsafe { Box::from_raw(freed) });
                    }
                });
            }
        });
    }
}

#[test]
fn a_lock_may_be_freed_when_the_last_holder_has_released_it() {
    watched(|| {
        for_each_that_sleeps!(frees_after_the_last_release());
    });
}

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

/// Returns true if a waiter has announced that it parks. `bit` is the `parked` bit of one of the
/// two locks.
fn is_parked(lock: &impl fmt::Debug, bit: u32) -> bool {
    bits(lock) & bit != 0
}

/// The handler's lock, and flags for the start and end of the handler.
static OTHER: PvTicketLock<u64> = PvTicketLock::new(0);
static ENTERED: AtomicU64 = AtomicU64::new(0);
static AS_INTERRUPTION: AtomicBool = AtomicBool::new(false);

extern "C" fn takes_the_other_lock(_: libc::c_int) {
    let take = || {
        let expected = AS_INTERRUPTION.load(Ordering::Relaxed);
        assert_eq!(Native::execution() == Execution::Interrupt, expected);
        ENTERED.fetch_add(1, Ordering::Relaxed);
        *OTHER.lock() += 1;
    };
    // A wait that parks may change `errno`, which the interrupted code may be about to read.
    // SAFETY: the function has no preconditions.
    let errno = unsafe { errno_of_this_thread() };
    // SAFETY: the word is this thread's, and lives as long as the thread.
    let before = unsafe { *errno };
    if AS_INTERRUPTION.load(Ordering::Relaxed) {
        Native::interruption(take)
    } else {
        take()
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Parks a thread for `lock`, whose signal handler then waits for [`OTHER`].
fn interrupted_while_parked<R>(lock: &'static lock_api::Mutex<R, u64>, bit: u32)
where
    R: lock_api::RawMutex + fmt::Debug + Sync,
{
    let entered = ENTERED.load(Ordering::Relaxed);
    let before = *lock.lock();
    thread::scope(|scope| {
        let guard = lock.lock();
        let other = OTHER.lock();
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiter = scope.spawn(move || {
            // SAFETY: the function has no preconditions.
            sender.send(unsafe { libc::pthread_self() } as usize).unwrap();
            *lock.lock() += 1;
        });
        let thread = receiver.recv().unwrap() as libc::pthread_t;
        // SAFETY: the call only reads the bits.
        wait_until(|| is_parked(unsafe { lock.raw() }, bit));
        // SAFETY: the thread has not been joined yet.
        assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR2) }, 0);
        wait_until(|| ENTERED.load(Ordering::Relaxed) == entered + 1);
        // The thread's own lock is released first. The thread cannot take it while its handler
        // waits.
        drop(guard);
        thread::yield_now();
        drop(other);
        waiter.join().unwrap();
    });
    assert_eq!(*lock.lock(), before + 1);
}

#[test]
fn a_signal_handler_may_wait_while_its_thread_is_parked() {
    static TICKET: PvTicketLock<u64> = PvTicketLock::new(0);
    static QUEUED: PvQSpinLock<u64> = PvQSpinLock::new(0);
    // SAFETY: the handler uses atomics and the locks whose behaviour in a handler is under test. A
    // zeroed `sigaction` has an empty mask and no flags, so the signal ends the park that it
    // interrupts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = takes_the_other_lock as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()), 0);
    }
    watched(|| {
        for as_interruption in [false, true] {
            AS_INTERRUPTION.store(as_interruption, Ordering::Relaxed);
            for _ in 0..10 {
                interrupted_while_parked(&TICKET, 1);
                interrupted_while_parked(&QUEUED, 2);
            }
        }
    });
    assert_eq!(*OTHER.lock(), 40);
}

#[test]
fn a_timed_out_wait_leaves_nothing_behind() {
    fn gives_up<R: lock_api::RawMutexTimed<Duration = Duration> + Sync>(
        lock: &lock_api::Mutex<R, u64>,
    ) {
        let guard = lock.lock();
        thread::scope(|scope| {
            let late = scope.spawn(|| lock.try_lock_for(Duration::from_millis(2)).is_none());
            assert!(late.join().unwrap(), "the lock was always held");
        });
        drop(guard);
        assert!(!lock.is_locked());
        assert!(lock.try_lock_for(Duration::ZERO).is_some(), "it is free");
    }
    watched(|| {
        gives_up(&PvQSpinLock::<u64>::new(0));
        gives_up(&TestAndSetLock::<u64>::new(0));
    });
}

#[test]
fn fair_releases_and_bumps_leave_the_lock_to_waiters() {
    fn bumps<R: lock_api::RawMutexFair + Sync>(lock: &lock_api::Mutex<R, u64>) {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..100 {
                        let mut guard = lock.lock();
                        *guard += 1;
                        if round % 3 == 0 {
                            lock_api::MutexGuard::bump(&mut guard);
                        }
                        *guard += 1;
                        lock_api::MutexGuard::unlock_fair(guard);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), 800);
    }
    watched(|| {
        bumps(&PvQSpinLock::<u64>::new(0));
        bumps(&PvTicketLock::<u64>::new(0));
        bumps(&lockyard::QSpinLock::<u64>::new(0));
    });
}
