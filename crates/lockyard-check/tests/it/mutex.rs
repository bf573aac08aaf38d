//! Checks of the mutex under weak memory.
//!
//! - With exact releases and without naps, no thread sleeps for ever. It is woken by a release, by
//!   the thread with the queue lock, or by a waiter that leaves.
//! - With plain releases, which may miss a sleeper, every thread continues once a nap has ended.
//! - A hand-over, a demand, a fair release and a wait that gives up keep exclusion and order, and
//!   leave nothing in the word.
//! - A release does not touch the lock after it has freed it.

use lockyard::lock::Adaptive;
use lockyard::platform::checked::{Checked, Parking, with_clock, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::primitives::{Exact, MutexNapping, Napping, ParkingFair, Primitive, locks};
use lockyard_check::program::LockOp::{self, Lock, LockTwice, TryLock};
use lockyard_check::program::{CondOp, CondProgram, FairOp, FairProgram, SHORT};

type InModel = Hooked<Checked, Scripted>;
type Of<P> = <P as Primitive>::Program<InModel>;

/// Checks a lock whose waiters sleep.
pub(crate) fn sleep<P: Primitive<Op = LockOp>>(of_two: Bounds, of_three: usize) {
    check_pairs(
        P::NAME,
        &[Lock, TryLock],
        |_, _| None,
        |pair| must_hold::<Of<P>>(P::NAME, pair, of_two).executions,
    );
    must_hold::<Of<P>>(P::NAME, &[LockTwice, Lock], Bounds::stepping_back(2));
    for ops in [[Lock, Lock, Lock], [Lock, Lock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(of_three));
    }
    must_hold::<Of<P>>(P::NAME, &[LockTwice, Lock, Lock], Bounds::stepping_back(2));
}

#[test]
fn a_mutex_with_four_threads_wakes_every_sleeper() {
    let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    must_hold::<Of<locks::Adaptive>>("mutex", &[Lock, Lock, Lock, Lock], bounds);
}

#[test]
fn a_mutex_whose_sleepers_wake_up_for_no_reason_holds() {
    with_parking(Parking::SpuriousOnce, || sleep::<locks::Adaptive>(Bounds::stepping_back(3), 2));
}

#[test]
fn a_mutex_whose_releases_miss_sleepers_goes_on_after_a_nap() {
    type P = Of<MutexNapping>;
    let title = MutexNapping::NAME;
    with_parking(Parking::Naps, || {
        for pair in [[Lock, Lock], [Lock, TryLock], [TryLock, TryLock]] {
            must_hold::<P>(title, &pair, Bounds::stepping_back(3));
        }
        must_hold::<P>(title, &[LockTwice, Lock], Bounds::stepping_back(1));
        for three in [[Lock, Lock, Lock], [Lock, Lock, TryLock]] {
            must_hold::<P>(title, &three, Bounds::stepping_back(1));
        }
    });
}

/// The sleeper that gives up may be the one whose naps serve the others.
#[test]
fn a_mutex_whose_releases_miss_sleepers_goes_on_after_a_wait_that_gives_up() {
    use FairOp::{GivesUp, Usual, Woken};
    type P = FairProgram<Adaptive<Napping>, InModel>;
    with_parking(Parking::Naps, || {
        with_clock(SHORT, || {
            let title = "mutex, napping, with times";
            for pair in [[Usual, GivesUp], [Woken, GivesUp]] {
                must_hold::<P>(title, &pair, Bounds::stepping_back(2));
            }
            for three in [[Usual, Usual, GivesUp], [Usual, GivesUp, GivesUp]] {
                must_hold::<P>(title, &three, Bounds::stepping_back(1));
            }
        });
    });
}

#[test]
fn fair_releases_and_timed_waits_hold() {
    use FairOp::{Fair, GivesUp, Timed, Usual, Woken};
    type P = FairProgram<Adaptive<Exact>, InModel>;
    for pair in [[Fair, Fair], [Fair, Usual], [Fair, Timed], [Usual, Timed], [Timed, Timed]] {
        must_hold::<P>("mutex", &pair, Bounds::stepping_back(3));
    }
    must_hold::<P>("mutex", &[Fair, Fair, Usual], Bounds::stepping_back(2));
    with_clock(SHORT, || {
        for pair in
            [[Usual, Woken], [Fair, Woken], [Usual, GivesUp], [Woken, Woken], [Woken, GivesUp]]
        {
            must_hold::<P>("mutex, with times", &pair, Bounds::stepping_back(2));
        }
        must_hold::<P>("mutex, with times", &[Usual, Usual, GivesUp], Bounds::stepping_back(2));
        for three in [[Fair, Usual, GivesUp], [Usual, GivesUp, GivesUp], [Usual, Woken, GivesUp]] {
            // With two preemptions each takes minutes.
            let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
            must_hold::<P>("mutex, with times", &three, bounds);
        }
    });
}

#[test]
fn a_mutex_as_that_of_parking_lot_that_is_always_handed_over_holds() {
    sleep::<ParkingFair>(Bounds::stepping_back(3), 2);
}

/// Every notification reaches a waiter, and a wait that gives up leaves the ring.
#[test]
fn a_condition_variable_loses_no_notification() {
    use CondOp::{GivesUp, NotifyAll, NotifyOne, Wait};
    type P = CondProgram<InModel>;
    // The ring's lock is a mutex whose releases may miss a sleeper.
    with_parking(Parking::Naps, || {
        must_hold::<P>("condvar", &[Wait, NotifyOne], Bounds::stepping_back(3));
        must_hold::<P>("condvar", &[Wait, NotifyAll], Bounds::stepping_back(3));
        for three in [[Wait, Wait, NotifyAll], [Wait, NotifyOne, NotifyOne]] {
            must_hold::<P>("condvar", &three, Bounds::stepping_back(1));
        }
        with_clock(SHORT, || {
            let title = "condvar, with times";
            must_hold::<P>(title, &[GivesUp, NotifyOne], Bounds::stepping_back(2));
            must_hold::<P>(title, &[Wait, GivesUp, NotifyAll], Bounds::stepping_back(1));
        });
    });
}
