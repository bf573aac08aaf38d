//! The spinlocks under weak memory: every pair of operations, and four threads.
//!
//! Held: one holder at a time (by a stamp), what a holder wrote is seen by the next (plain data, in
//! which the model finds any access that is not ordered), no section is lost, nobody waits for
//! ever, and nobody touches the lock after its last release (the last holder frees it).

use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::primitives::{Primitive, Tas, Ticket8, Ticket16, TicketAsm};
use lockyard_check::program::LockOp::{self, Lock, TryLock};

type Of<P> = <P as Primitive>::Program<Hooked<Checked, Scripted>>;

fn every_pair<P: Primitive<Op = LockOp>>() {
    check_pairs(
        P::NAME,
        &[Lock, TryLock],
        |_, _| None,
        |pair| must_hold::<Of<P>>(P::NAME, pair, Bounds::ALL).executions,
    );
}

fn three_threads<P: Primitive<Op = LockOp>>() {
    for ops in [[Lock, Lock, Lock], [Lock, Lock, TryLock], [Lock, TryLock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::preemptions(4));
    }
    must_hold::<Of<P>>(P::NAME, &[Lock, Lock, Lock], Bounds::ALL);
}

fn four_threads<P: Primitive<Op = LockOp>>() {
    for ops in [[Lock, Lock, Lock, Lock], [Lock, Lock, Lock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::preemptions(2));
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::preemptions(3));
    }
}

fn all<P: Primitive<Op = LockOp>>() {
    every_pair::<P>();
    three_threads::<P>();
    four_threads::<P>();
}

#[test]
fn a_ticket_lock_of_4_bytes_holds() {
    all::<Ticket16>();
}

#[test]
fn a_ticket_lock_of_2_bytes_holds() {
    all::<Ticket8>();
}

#[test]
fn a_ticket_lock_with_the_loop_of_the_assembly_holds() {
    all::<TicketAsm>();
}

#[test]
fn a_test_and_set_lock_holds() {
    all::<Tas>();
}
