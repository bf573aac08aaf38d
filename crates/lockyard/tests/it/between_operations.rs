//! Events between two operations of a primitive, in another thread or in an interruption of the
//! same thread. A hook chooses the place of the event, so each run here is the rare schedule that
//! could fail.

#![cfg(all(feature = "std", feature = "hooks"))]

use crate::support::between::{Host, after_next};
#[cfg(unix)]
use crate::support::{between::WAITS, forked::forked};
use lockyard::RawSpinLock;
use lockyard::lock::{Clh, Queued};
#[cfg(unix)]
use lockyard::lock::{LaneLock, Mcs};
use lockyard::lockref::policy::NoTrywait;
use lockyard::lockref::{Count, LockRef};
use lockyard::page_ref::{
    Cmpxchg, Conditional, MAX_REFERENCES, OptimisticCmpxchg, PageRef, References,
};
use lockyard::platform::hooked::{Effect, Hook, Hooked, Operation, OperationKind};
use lockyard::platform::{Host as _, Native};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

fn stays_frozen_for_a_look_up_that_saw_it_full<V: Conditional>(kind: OperationKind) {
    let page = Arc::new(PageRef::<V, Host>::from_references(MAX_REFERENCES));
    let owner = Arc::clone(&page);
    after_next(kind, move || {
        let frozen = thread::spawn(move || owner.try_freeze(MAX_REFERENCES)).join();
        assert!(frozen.expect("it does not panic"), "all references are the owner's");
    });
    assert!(!page.get_not_zero(), "a reference to a page with which its owner is alone");
    assert_eq!(page.references(), References::Frozen);
    page.unfreeze(1);
    assert!(page.get_not_zero() && !page.put() && page.put());
}

#[test]
fn a_frozen_page_is_not_given_to_a_look_up_that_saw_its_full_count() {
    stays_frozen_for_a_look_up_that_saw_it_full::<Cmpxchg>(OperationKind::Load);
    // The first exchange of this variant expects one reference, fails, and shows the full count.
    stays_frozen_for_a_look_up_that_saw_it_full::<OptimisticCmpxchg>(
        OperationKind::CompareExchange,
    );
}

fn refuses_during_one_put_too_many<V: Conditional>() {
    let page = Arc::new(PageRef::<V, Host>::from_references(1));
    assert!(page.put());
    let found = Arc::new(AtomicBool::new(false));
    let (other, finds) = (Arc::clone(&page), Arc::clone(&found));
    // The subtraction has taken the count below zero, and nothing has corrected it yet.
    after_next(OperationKind::FetchAdd, move || {
        finds.store(other.get_not_zero(), Ordering::Relaxed)
    });
    let dropped = catch_unwind(AssertUnwindSafe(|| page.put()));
    assert_eq!(dropped.is_err(), cfg!(debug_assertions), "it panics in debug builds");
    assert!(!found.load(Ordering::Relaxed), "a reference to a page that has none");
}

#[test]
fn a_look_up_during_one_put_too_many_finds_no_reference() {
    refuses_during_one_put_too_many::<Cmpxchg>();
    refuses_during_one_put_too_many::<OptimisticCmpxchg>();
}

#[test]
fn an_interruption_that_takes_a_node_loses_no_node_of_a_finished_successor() {
    static LEFT: RawSpinLock<Clh, Host> = <RawSpinLock<Clh, Host> as lock_api::RawMutex>::INIT;
    type McsLock = lock_api::Mutex<RawSpinLock<Mcs, Host>, ()>;
    static OUTER: McsLock = McsLock::new(());
    static INNER: McsLock = McsLock::new(());
    let take_and_release = || {
        let held = LEFT.acquire();
        // SAFETY: taken above.
        unsafe { LEFT.release(held) };
    };
    // In a new thread, because the test counts the nodes that its slot has in use.
    let counted = thread::spawn(move || {
        let held = LEFT.acquire();
        let alone = format!("{LEFT:?}");
        let successor = thread::spawn(take_and_release);
        while format!("{LEFT:?}") == alone {
            thread::yield_now();
        }
        // SAFETY: taken above.
        unsafe { LEFT.release(held) };
        successor.join().unwrap();
        let node = Host::queue_node(Host::slot().expect("slots are left"), 0);
        assert_eq!(node.nodes_in_use(), 1, "the successor has finished with it");
        // The first load of an acquisition reads the bits. The store that sets another bit comes
        // later.
        after_next(OperationKind::Load, || drop(INNER.lock()));
        drop(OUTER.lock());
        take_and_release();
        assert_eq!(node.nodes_in_use(), 0);
    });
    counted.join().unwrap();
}

/// Takes and releases four CLH locks whose successors have not yet noticed the releases. Then calls
/// `run` with a counter of the waits after that, and the flag that lets the successors continue.
#[cfg(unix)]
fn with_all_nodes_left(run: impl FnOnce(&'static AtomicU32, &'static AtomicBool)) {
    let waits: &'static AtomicU32 = Box::leak(Box::default());
    let go_on: &'static AtomicBool = Box::leak(Box::default());
    let locks: [RawSpinLock<Clh, Host>; 4] = std::array::from_fn(|_| RawSpinLock::new());
    thread::scope(|scope| {
        let held = locks.each_ref().map(|lock| lock.acquire());
        for lock in &locks {
            scope.spawn(move || {
                WAITS.set(Some(waits));
                after_next(OperationKind::Wait, || until(|| go_on.load(Ordering::Relaxed)));
                let held = lock.acquire();
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            });
        }
        until(|| waits.load(Ordering::Relaxed) == 4);
        for (lock, held) in locks.iter().zip(held) {
            // SAFETY: taken above.
            unsafe { lock.release(held) };
        }
        run(waits, go_on);
        go_on.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[cfg(unix)]
#[test]
fn a_thread_whose_nodes_are_all_left_to_successors_waits_for_one() {
    fn waits_for_a_node<K: LaneLock<Host>>() {
        with_all_nodes_left(|waits, go_on| {
            let lock = RawSpinLock::<K, Host>::new();
            assert!(lock.try_acquire().is_none(), "a try does not wait");
            thread::scope(|scope| {
                scope.spawn(|| {
                    until(|| waits.load(Ordering::Relaxed) == 5);
                    assert!(!lock.is_held(), "it has not got it yet");
                    go_on.store(true, Ordering::Relaxed);
                });
                WAITS.set(Some(waits));
                let held = lock.acquire();
                WAITS.set(None);
                assert!(go_on.load(Ordering::Relaxed));
                // SAFETY: taken above.
                unsafe { lock.release(held) };
            });
        });
    }
    // Each in a new thread, whose nodes no other test has used.
    thread::spawn(waits_for_a_node::<Mcs>).join().unwrap();
    thread::spawn(waits_for_a_node::<Clh>).join().unwrap();
}

#[cfg(unix)]
#[test]
fn in_a_forked_child_nodes_left_to_others_belong_to_the_thread_again() {
    thread::spawn(|| {
        with_all_nodes_left(|_, _| {
            let (mcs, clh) = (RawSpinLock::<Mcs, Host>::new(), RawSpinLock::<Clh, Host>::new());
            let status = forked(|| {
                // SAFETY: the call sets a timer whose signal ends the process.
                unsafe { libc::alarm(20) };
                let both = (mcs.acquire(), clh.acquire());
                // SAFETY: taken above.
                unsafe {
                    mcs.release(both.0);
                    clh.release(both.1);
                }
                let node = Host::queue_node(Host::slot().expect("it keeps its slot"), 0);
                node.nodes_in_use() == 0
            });
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
            assert!(mcs.try_acquire().is_none(), "in the parent nothing has changed");
        });
    })
    .join()
    .unwrap();
}

/// Changes the count before each compare-exchange of a thread that takes the lock, as a stream of
/// look-ups could.
struct Stream;

type Entry = LockRef<Queued, NoTrywait, Hooked<Native, Stream>>;

thread_local! {
    /// The lockref whose count the hook changes, and the number of its changes.
    static COUNTED: Cell<Option<(&'static Entry, u32)>> = const { Cell::new(None) };
}

// SAFETY: the hook changes no operation.
unsafe impl Hook for Stream {
    fn operation(operation: &mut Operation) -> Effect {
        if operation.kind == OperationKind::CompareExchange
            && let Some((entry, changes)) = COUNTED.take()
        {
            // There is no other thread, so the count can change whenever the lock is checked.
            let changed = !entry.is_locked() && changes < STREAM && entry.get_not_dead();
            COUNTED.set(Some((entry, changes + u32::from(changed))));
        }
        Effect::Performed
    }
}

/// Number of changes: far more than the number of exchanges that an operation may lose.
const STREAM: u32 = 10_000;

#[test]
fn a_stream_of_look_ups_does_not_starve_a_thread_that_wants_the_lock() {
    let entry: &'static Entry = Box::leak(Box::new(Entry::from_count(1)));
    COUNTED.set(Some((entry, 0)));
    let guard = entry.lock();
    let (_, changes) = COUNTED.take().expect("set above");
    assert!((1..1000).contains(&changes), "{changes} changes came first");
    assert_eq!(guard.count(), Count::Live(1 + changes));
    drop(guard);
}
