//! Checks of the locks that park, under weak memory: the races of parking and kicking.
//!
//! The checks, in addition to those of all spinlocks in `locks.rs`:
//!
//! - No thread is parked for ever, even if parks return spuriously. The same is true if the table
//!   of announcements is full. In a model that table has room for two.
//! - A release does not touch the lock after its read-modify-write, because the last holder frees
//!   it.

use lockyard::lock::PvQueued;
use lockyard::platform::checked::{Checked, Parking, with_clock, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::primitives::{Primitive, PvQueuedOnce, locks};
use lockyard_check::program::LockOp::{self, Lock, LockTwice, TryLock};
use lockyard_check::program::{FairOp, FairProgram, Program, SHORT};

type InModel = Hooked<Checked, Scripted>;
type Of<P> = <P as Primitive>::Program<InModel>;

fn every_pair<P: Primitive<Op = LockOp>>() {
    check_pairs(
        P::NAME,
        &[Lock, TryLock],
        |_, _| None,
        |pair| must_hold::<Of<P>>(P::NAME, pair, Bounds::ALL).executions,
    );
    // Covers the first waiter's second park, and the second round of a word.
    must_hold::<Of<P>>(P::NAME, &[LockTwice, Lock], Bounds::stepping_back(3));
}

fn three_threads<P: Primitive<Op = LockOp>>() {
    for ops in [[Lock, Lock, Lock], [Lock, Lock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(3));
    }
    must_hold::<Of<P>>(P::NAME, &[LockTwice, Lock, Lock], Bounds::stepping_back(2));
}

fn four_threads<P: Primitive<Op = LockOp>>() {
    for ops in [[Lock, Lock, Lock, Lock], [Lock, Lock, Lock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(2));
    }
}

/// Checks a lock whose waiters park.
pub(crate) fn park<P: Primitive<Op = LockOp>>() {
    park_without_nodes::<P>();
    four_threads::<P>();
}

/// Checks such a lock where most waiters cannot park.
pub(crate) fn park_without_nodes<P: Primitive<Op = LockOp>>() {
    every_pair::<P>();
    three_threads::<P>();
}

#[test]
fn a_queued_lock_whose_first_waiter_is_passed_once_holds() {
    every_pair::<PvQueuedOnce>();
    three_threads::<PvQueuedOnce>();
}

/// A fair release leaves the lock to a waiter. A wait that gives up leaves nothing behind.
#[test]
fn fair_releases_and_waits_that_give_up_hold() {
    use FairOp::{Fair, Timed, Usual};
    type P = FairProgram<PvQueued, InModel>;
    for pair in [[Fair, Fair], [Fair, Usual], [Fair, Timed], [Usual, Timed], [Timed, Timed]] {
        must_hold::<P>("pv-queued", &pair, Bounds::ALL);
    }
    must_hold::<P>("pv-queued", &[Fair, Fair, Usual], Bounds::stepping_back(2));
    must_hold::<P>("pv-queued", &[Fair, Timed, Usual], Bounds::stepping_back(2));
}

/// A timed wait parks, is woken by each kind of release, and leaves nothing behind when it gives
/// up.
fn waits_with_a_time<P: Program<Op = FairOp>>(title: &str, of_two: Bounds) {
    use FairOp::{Fair, GivesUp, Usual, Woken};
    with_clock(SHORT, || {
        for pair in
            [[Usual, Woken], [Fair, Woken], [Usual, GivesUp], [Woken, Woken], [Woken, GivesUp]]
        {
            must_hold::<P>(title, &pair, of_two);
        }
        for three in [
            [Usual, Woken, Woken],
            [Usual, Usual, Woken],
            [Usual, Woken, GivesUp],
            [Usual, Usual, GivesUp],
        ] {
            must_hold::<P>(title, &three, Bounds::stepping_back(1));
        }
    });
}

#[test]
fn waits_with_a_time_are_woken_and_leave_nothing_behind() {
    waits_with_a_time::<FairProgram<PvQueued, InModel>>("pv-queued, with times", Bounds::ALL);
}

#[test]
fn waits_with_a_time_go_on_where_few_have_a_node() {
    type Few = FewSlots<InModel, 2>;
    waits_with_a_time::<FairProgram<PvQueued, Few>>(
        "pv-queued, with times, two nodes",
        Bounds::ALL,
    );
}

#[test]
fn waits_with_a_time_park_again_after_a_return_for_no_reason() {
    with_parking(Parking::SpuriousOnce, || {
        // Without a bound the checks explore half a million executions.
        let of_two = depth(Bounds::stepping_back(2), Bounds::ALL);
        let title = "pv-queued, with times, spurious";
        waits_with_a_time::<FairProgram<PvQueued, InModel>>(title, of_two);
    });
}

/// A park may return spuriously. The waiter then parks again, and is found again.
#[test]
fn parks_may_return_for_no_reason() {
    fn holds<P: Primitive<Op = LockOp>>() {
        with_parking(Parking::SpuriousOnce, || {
            must_hold::<Of<P>>(P::NAME, &[Lock, Lock], Bounds::ALL);
            must_hold::<Of<P>>(P::NAME, &[Lock, Lock, Lock], Bounds::stepping_back(2));
        });
    }
    holds::<locks::PvTicket>();
    holds::<locks::PvQueued>();
}
