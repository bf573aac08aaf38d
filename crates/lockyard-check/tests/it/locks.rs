//! Checks of the spinlocks under weak memory: every pair of operations, and four threads.
//!
//! Each lock has one holder at a time, shown by a stamp. A holder sees the previous holder's
//! writes. The data are plain, so the model finds any unordered access. No critical section is
//! lost, and no thread waits for ever. No thread touches the lock after its last release, because
//! the last holder frees it.

use lockyard::lock::{CmpxchgGrab, LaneLock, Queued};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::model;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::primitives::{
    ClhOfFour, McsOfFour, Primitive, QueuedCmpxchg, QueuedNoNode, QueuedStore, Tas, Ticket8,
    Ticket16, TicketAsm,
};
use lockyard_check::program::LockOp::{self, Lock, TryLock};
use lockyard_check::program::NestedOp::{First, Holding, Interrupted, Second};
use lockyard_check::program::NestedProgram;

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
    must_hold::<Of<P>>(P::NAME, &[Lock, Lock, Lock], Bounds::ALL);
    four_threads::<P>();
}

/// These locks have several kinds of waiters (pending, head, last). The important executions are
/// therefore those in which many threads wait.
fn queueing<P: Primitive<Op = LockOp>>(deepest: usize) {
    every_pair::<P>();
    three_threads::<P>();
    for ops in
        [[Lock, Lock, Lock, Lock], [Lock, Lock, Lock, TryLock], [Lock, Lock, TryLock, TryLock]]
    {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(2));
    }
    if deepest > 2 {
        must_hold::<Of<P>>(P::NAME, &[Lock, Lock, Lock, Lock], Bounds::stepping_back(deepest));
    }
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

#[test]
fn a_queued_lock_holds() {
    queueing::<QueuedStore>(3);
}

#[test]
fn a_queued_lock_whose_head_grabs_by_compare_exchange_holds() {
    queueing::<QueuedCmpxchg>(3);
}

#[test]
fn a_queued_lock_some_of_whose_waiters_have_no_node_holds() {
    queueing::<QueuedNoNode>(3);
}

#[test]
fn an_mcs_lock_holds() {
    queueing::<McsOfFour>(2);
}

#[test]
fn a_clh_lock_holds() {
    queueing::<ClhOfFour>(2);
}

/// Interruptions and held locks nest. In some execution the thread and its interruption are both in
/// a queue.
fn nested<K: LaneLock<Hooked<Checked, Scripted>>>(title: &str) {
    type Nested<K> = NestedProgram<K, Hooked<Checked, Scripted>>;
    for ops in [[Holding, First, Second, Interrupted], [Holding, Second, Interrupted, Interrupted]]
    {
        let explored = model::<Nested<K>>(&ops, Bounds::stepping_back(2));
        let (explored, outcomes) =
            explored.unwrap_or_else(|failed| panic!("{title} {ops:?}: {}", failed.caught));
        println!("{title} {ops:?}: {explored}, {} outcomes", outcomes.len());
        // The outcome is the number of nodes in use plus one: here both levels have one.
        let both_queue = outcomes.iter().any(|outcome| outcome[3] == 3);
        assert!(both_queue, "{title} {ops:?}: no interruption queued while its thread did");
    }
    must_hold::<Nested<K>>(title, &[Holding, Holding, First, Second], Bounds::stepping_back(2));
}

#[test]
fn waits_of_a_queued_lock_nest() {
    nested::<Queued>("queued, nested");
    nested::<Queued<CmpxchgGrab>>("queued cmpxchg-grab, nested");
}
