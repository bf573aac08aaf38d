//! The locks that park under weak memory: the races of parking and kicking.
//!
//! Held: what is held of all spinlocks (`locks.rs`); nobody is parked for ever, also where waiters return from a park for no
//! reason, and where the table of announcements is full (in a model it has room for two); a release does not touch the lock
//! after its read-modify-write, for the last holder frees it.

use lockyard::lock::{LaneLock, PvQueued, PvTicket};
use lockyard::platform::checked::{Checked, Parking, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::model;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::primitives::{
    Primitive, PvQueuedLock, PvQueuedNoNode, PvQueuedOnce, PvTicketLock, PvTicketNoNode,
};
use lockyard_check::program::LockOp::{self, Lock, LockTwice, TryLock};

type Of<P> = <P as Primitive>::Program<Hooked<Checked, Scripted>>;

fn every_pair<P: Primitive<Op = LockOp>>() {
    check_pairs(
        P::NAME,
        &[Lock, TryLock],
        |_, _| None,
        |pair| must_hold::<Of<P>>(P::NAME, pair, Bounds::ALL).executions,
    );
}

#[test]
fn quick() {
    every_pair::<PvTicketLock>();
    every_pair::<PvQueuedLock>();
    for ops in [[Lock, Lock, Lock], [LockTwice, LockTwice, Lock]] {
        must_hold::<Of<PvTicketLock>>("t", &ops, Bounds::stepping_back(2));
        must_hold::<Of<PvQueuedLock>>("q", &ops, Bounds::stepping_back(2));
    }
}
