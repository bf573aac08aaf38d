//! Bounds on the number of objects that wait to be freed, for every way of retiring them. Also
//! tests a thread that waits while another thread frees.

#![cfg(feature = "std")]

use crate::support::counting::{Counting, Counts};
use crate::support::watchdog::watched;
use lockyard::on::Domain;
use lockyard::platform::{HostWithSlots, Ordering};
use lockyard::reclaim::{Header, StillRead};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use crate::support::failing::Failing;

unsafe fn free<H: HostWithSlots>(header: NonNull<Header<H>>) {
    // SAFETY: made by `new`.
    drop(unsafe { Box::from_raw(header.as_ptr()) });
}

fn new<H: HostWithSlots>() -> NonNull<Header<H>> {
    NonNull::from(Box::leak(Box::new(Header::new())))
}

fn retire<H: HostWithSlots>(domain: &Domain<H>) {
    // SAFETY: no thread reads it.
    unsafe { domain.retire(new(), free) }
}

fn retire_later<H: HostWithSlots>(domain: &Domain<H>) {
    // SAFETY: no thread reads it.
    unsafe { domain.retire_later(new(), free) }
}

/// Maximum number of objects that wait in one slot, with `later` calls of `retire_later` between
/// two calls of `retire`.
fn bound(later: u64) -> u64 {
    3 * (64 + later)
}

/// Numbers of calls of `retire_later` before each `retire`. With one call, the length of the list
/// is odd whenever it could be scanned.
const MIXES: [u64; 7] = [0, 1, 2, 3, 63, 64, 200];

fn mixed<H: HostWithSlots>(domain: &Domain<H>, later: u64, rounds: u64) -> u64 {
    let mut most = 0;
    for _ in 0..rounds {
        for _ in 0..later {
            retire_later(domain);
        }
        retire(domain);
        most = most.max(domain.pending());
    }
    most
}

#[test]
fn waiting_objects_are_bounded_in_every_mix_of_retirements() {
    for later in MIXES {
        let domain: lockyard::Domain = Domain::new();
        drop(domain.enter());
        let most = mixed(&domain, later, 5_000);
        assert!(most <= bound(later), "{most} wait, with {later} later ones between two");
    }
}

#[test]
fn retirements_without_a_record_are_bounded_too() {
    for later in MIXES {
        let domain: Domain<Failing> = Domain::new();
        let most = Failing::without_slot(|| mixed(&domain, later, 5_000));
        assert!(most <= bound(later), "{most} wait, with {later} later ones between two");
    }
}

/// The threads take turns. So a preempted thread cannot keep another thread from collecting its
/// list.
#[test]
fn retirements_of_several_threads_are_bounded_for_each() {
    let domain: lockyard::Domain = Domain::new();
    let turn = Mutex::new(0);
    thread::scope(|scope| {
        for later in MIXES {
            let (domain, turn) = (&domain, &turn);
            scope.spawn(move || {
                drop(domain.enter());
                for round in 0..500 {
                    let _turn = turn.lock().unwrap();
                    mixed(domain, later, 1 + round % 7);
                    let most = MIXES.map(bound).iter().sum();
                    assert!(domain.pending() <= most, "{} wait", domain.pending());
                }
            });
        }
    });
}

#[test]
fn later_retirements_wait_for_an_ordinary_one() {
    let domain: lockyard::Domain = Domain::new();
    drop(domain.enter());
    for _ in 0..10_000 {
        retire_later(&domain);
    }
    assert_eq!(domain.pending(), 10_000, "this function frees nothing");
    // The first retirement ends one epoch. The retirement that completes another 64 ends the second
    // epoch.
    for _ in 0..1 + 64 {
        retire(&domain);
    }
    assert!(domain.pending() <= 65, "{} wait", domain.pending());
    for _ in 0..10_000 {
        retire_later(&domain);
    }
    // Threads that retire in other slots collect an abandoned list.
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(domain.enter());
            mixed(&domain, 0, 8 * 64);
        });
    });
    assert!(domain.pending() <= 192, "{} wait", domain.pending());
}

#[test]
fn more_guards_nest_than_a_record_counts() {
    let domain: lockyard::Domain = Domain::new();
    let guards = || (0..5_000).map(|_| domain.enter()).collect::<Vec<_>>();
    // The last guard keeps the object that it found, in any order of dropping.
    let mut newest_first = guards();
    let mut oldest_first = guards();
    oldest_first.reverse();
    for guards in [&mut newest_first, &mut oldest_first] {
        guards.truncate(1);
        assert!(domain.try_synchronize(3).is_err());
    }
    drop(newest_first);
    // The guard is counted with threads without a record.
    assert_eq!(domain.try_synchronize(3), Err(StillRead { slot: None }));
    drop(oldest_first);
    assert_eq!(domain.try_synchronize(1), Ok(()));
}

/// The free function is slow: it returns after another thread has parked to wait for it.
#[test]
fn a_barrier_parks_while_another_thread_frees() {
    static BARRIER: Counts = Counts::new();
    static FREED: AtomicUsize = AtomicUsize::new(0);
    static FREEING: AtomicUsize = AtomicUsize::new(0);
    unsafe fn slow(header: NonNull<Header<Counting>>) {
        FREEING.store(1, Ordering::SeqCst);
        while BARRIER.parks() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        FREED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { free(header) };
    }
    let domain: Domain<Counting> = Domain::default();
    drop(domain.enter());
    // SAFETY: no thread reads it.
    unsafe { domain.retire(new(), slow) };
    domain.synchronize();
    watched(|| {
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(domain.collect(), 1));
            while FREEING.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            BARRIER.watch();
            domain.barrier();
            assert_eq!(FREED.load(Ordering::SeqCst), 1, "it is freed when the barrier returns");
            // A park that returns spuriously costs another round of polls.
            let (parks, pauses) = (BARRIER.parks(), BARRIER.pauses());
            assert!(pauses <= 64 * (parks + 1), "{pauses} pauses, {parks} parks");
            assert_eq!(BARRIER.yields(), 0);
        });
    });
    assert_eq!(domain.pending(), 0);
}
