//! Worst waits that the documentation promises, as bounds that hold for every seed of the simulated
//! machine.
//!
//! A waiter that has joined a lock's queue with *n* threads before it is served after these
//! threads, and after at most as many newcomers as the lock allows to pass: none with a lock that
//! serves in order, and P (*n* + 1) with [`PvQueued`], where P is `MOST_PASSES` of its policy. A
//! hook on the platform sees the read-modify-write by which a thread joins.

use lockyard::RawSpinLock;
use lockyard::lock::pv::{Hooks, Parks};
use lockyard::lock::{LaneLock, PvQueued, TestAndSet};
use lockyard::platform::hooked::{Effect, Hook, Hooked, Operation, OperationKind};
use lockyard_check::primitives::PassedOnce;
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation, thread_index};
use std::cell::RefCell;

/// Events so far in the run of this thread of the host.
#[derive(Default)]
struct Waits {
    /// Number of acquisitions.
    acquired: u64,
    /// Number of threads that have joined, and have not acquired the lock.
    waiting: u64,
    /// Acquisitions and waiters at the moment when each thread joined; `None` if it did not
    /// join since its last acquisition.
    joined: Vec<Option<(u64, u64)>>,
    /// True for each thread that is in `acquire`.
    calling: Vec<bool>,
    /// Kinds of operations by which a thread joins.
    by: &'static [OperationKind],
    /// The longest wait beyond its bound.
    worst_excess: i64,
    /// Number of waits that were compared with their bound.
    compared: u64,
}

std::thread_local!(static WAITS: RefCell<Waits> = RefCell::default());

/// Sees where threads join.
struct Joins;

// SAFETY: the hook changes nothing.
unsafe impl Hook for Joins {
    fn operation(_: &mut Operation) -> Effect {
        Effect::Performed
    }

    fn done(operation: &Operation) {
        WAITS.with_borrow_mut(|waits| {
            let me = thread_index();
            if waits.by.contains(&operation.kind) && waits.calling[me] && waits.joined[me].is_none()
            {
                waits.joined[me] = Some((waits.acquired, waits.waiting));
                waits.waiting += 1;
            }
        });
    }
}

type Watched = Hooked<Simulated, Joins>;

fn begin(threads: usize, by: &'static [OperationKind]) {
    let (joined, calling) = (vec![None; threads], vec![false; threads]);
    WAITS.set(Waits { joined, calling, by, worst_excess: i64::MIN, ..Waits::default() });
}

/// Marks the beginning of a thread's wait, and its end.
fn calls(me: usize) {
    WAITS.with_borrow_mut(|waits| waits.calling[me] = true);
}

fn acquired(me: usize, passes: u64) {
    WAITS.with_borrow_mut(|waits| {
        waits.calling[me] = false;
        if let Some((before, ahead)) = waits.joined[me].take() {
            waits.waiting -= 1;
            // The holder at that moment may count its own acquisition a little later.
            let bound = ahead + 1 + passes * (ahead + 1);
            let excess = (waits.acquired - before) as i64 - bound as i64;
            waits.worst_excess = waits.worst_excess.max(excess);
            waits.compared += 1;
        }
        waits.acquired += 1;
    });
}

/// Runs threads that take the lock and release it. Returns the number of waits, and the most by
/// which one of them exceeded its bound.
fn run<K: LaneLock<Watched>>(
    machine: &Machine,
    seed: u64,
    threads: usize,
    passes: u64,
    by: &'static [OperationKind],
) -> (u64, i64) {
    let rounds = (1_200 / threads).clamp(4, 100);
    begin(threads, by);
    let mut simulation = Simulation::new(machine, seed);
    simulation.limit_events(50_000_000);
    let lock = simulation.place(RawSpinLock::<K, Watched>::new(), 64, 0);
    let stride = machine.hardware_threads() / threads;
    for thread in 0..threads {
        let lock = lock.clone();
        simulation.spawn(thread * stride, move || {
            for _ in 0..rounds {
                calls(thread);
                let held = lock.acquire();
                acquired(thread, passes);
                lockyard_sim::work(40.0);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
                // Some threads come back at once, and some after a while.
                lockyard_sim::work(lockyard_sim::random_below(2_000) as f64);
            }
        });
    }
    let end = simulation.run();
    assert!(matches!(end, RunEnd::Finished), "{end}");
    WAITS.with_borrow(|waits| (waits.compared, waits.worst_excess))
}

const MACHINES: [&str; 2] = ["cascade-lake-2s24c2t", "bergamo-9754-2s128c2t"];

/// The operations by which threads join a queue, or take a ticket.
const QUEUES: &[OperationKind] = &[OperationKind::SwapPart, OperationKind::FetchAdd];

/// Runs a lock that queues with many seeds, and returns the worst excess.
fn worst<K: LaneLock<Watched>>(name: &str, passes: u64) -> i64 {
    worst_by::<K>(name, passes, QUEUES)
}

fn worst_by<K: LaneLock<Watched>>(name: &str, passes: u64, by: &'static [OperationKind]) -> i64 {
    let (mut worst, mut waits) = (i64::MIN, 0);
    for machine in MACHINES {
        let machine = Machine::shipped(machine).expect("it is shipped");
        for (threads, seeds) in [(3, 40), (16, 20), (64, 8), (256, 2)] {
            if threads > machine.hardware_threads() {
                continue;
            }
            for seed in 1..=seeds {
                let (compared, excess) = run::<K>(&machine, seed, threads, passes, by);
                (worst, waits) = (worst.max(excess), waits + compared);
            }
        }
    }
    println!("{name}: {waits} waits, the worst is {worst} beside its bound");
    assert!(waits > 1_000, "{name}: only {waits} threads waited");
    worst
}

#[test]
fn a_lock_that_serves_in_order_lets_nobody_pass() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            fifo: $fifo:literal, $($fact:tt)*
        })*) => {$(
            if $fifo {
                let worst = worst::<$lock>($name, 0);
                assert!(worst <= 0, "{}: a waiter was passed {worst} times", $name);
            }
        )*};
    }
    lockyard::for_each_lock!(each);
}

#[test]
fn a_waiter_is_passed_as_often_as_its_policy_allows_and_not_more() {
    let once = worst::<PvQueued<PassedOnce>>("pv-queued, once", u64::from(PassedOnce::MOST_PASSES));
    assert!(once <= 0, "a waiter was passed {once} times more than the policy allows");
    let usual = worst::<PvQueued>("pv-queued", u64::from(Parks::MOST_PASSES));
    assert!(usual <= 0, "a waiter was passed {usual} times more than the policy allows");
    // The bound is not vacuous: with a bound of zero, waiters are passed too often.
    let none = worst::<PvQueued>("pv-queued, as if no passes were allowed", 0);
    assert!(none > 0, "nobody is passed, so the bound was not tried");
}

/// Without this, the tests above could not fail.
#[test]
fn a_lock_that_serves_in_any_order_exceeds_the_bound() {
    let worst = worst_by::<TestAndSet>("test-and-set", 0, &[OperationKind::FetchBits]);
    assert!(worst > 0, "a lock without an order was not noticed");
}
