//! Checks of the spinlocks under weak memory: every execution of two and three threads, and of four
//! where they are few. loom explores four threads with bounds, and more in the deep checks.
//!
//! Each lock has one holder at a time, shown by a stamp. A holder sees the previous holder's
//! writes. The data are plain, so the model finds any unordered access. No critical section is
//! lost, and no thread waits for ever. No thread touches the lock after its last release, because
//! the last holder frees it.

use lockyard::lock::{CmpxchgGrab, LaneLock, Queued};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::model;
use lockyard_check::depth::depth;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_always_hold, must_hold};
use lockyard_check::primitives::{
    ClhOfFour, McsOfFour, Primitive, QueuedCmpxchg, QueuedNoNode, QueuedStore, Tas, Ticket8,
    Ticket16, TicketAsm,
};
use lockyard_check::program::LockOp::{self, Lock, LockTwice, TryLock};
use lockyard_check::program::NestedOp::{First, Holding, Interrupted, Second};
use lockyard_check::program::NestedProgram;

type Of<P> = <P as Primitive>::Program<Hooked<Checked, Scripted>>;
type InGraphs<P> = <P as Primitive>::Program<Hooked<Dpor, Scripted>>;

fn every_pair<P: Primitive<Op = LockOp>>() {
    check_pairs(
        P::NAME,
        &[Lock, TryLock],
        |_, _| None,
        |pair| must_hold::<Of<P>>(P::NAME, pair, Bounds::ALL).executions,
    );
}

/// Every execution, by graphs.
fn every_execution<P: Primitive<Op = LockOp>>(of_four: &[[LockOp; 4]]) {
    must_always_hold::<InGraphs<P>>(P::NAME, &[LockTwice, Lock]);
    for ops in [[Lock, Lock, Lock], [Lock, Lock, TryLock], [Lock, TryLock, TryLock]] {
        must_always_hold::<InGraphs<P>>(P::NAME, &ops);
    }
    for ops in of_four {
        must_always_hold::<InGraphs<P>>(P::NAME, ops);
    }
}

const FOUR: [LockOp; 4] = [Lock, Lock, Lock, Lock];
const THREE_AND_A_TRY: [LockOp; 4] = [Lock, Lock, Lock, TryLock];

fn all<P: Primitive<Op = LockOp>>() {
    every_pair::<P>();
    every_execution::<P>(&[FOUR, THREE_AND_A_TRY]);
    for ops in [FOUR, THREE_AND_A_TRY] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::preemptions(depth(2, 3)));
    }
    // Those that graphs explore.
    for ops in depth(&[][..], &[[Lock, Lock, Lock], [Lock, Lock, TryLock]]) {
        must_hold::<Of<P>>(P::NAME, ops, Bounds::ALL);
    }
}

/// These locks have several kinds of waiters (pending, head, last). The important executions are
/// therefore those in which many threads wait.
fn queueing<P: Primitive<Op = LockOp>>(of_four: &[[LockOp; 4]]) {
    every_pair::<P>();
    every_execution::<P>(of_four);
    for ops in [FOUR, THREE_AND_A_TRY, [Lock, Lock, TryLock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(2));
    }
    for ops in depth(&[][..], &[FOUR]) {
        must_hold::<Of<P>>(P::NAME, ops, Bounds::stepping_back(3));
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
    queueing::<QueuedStore>(&[FOUR]);
}

#[test]
fn a_queued_lock_whose_head_grabs_by_compare_exchange_holds() {
    queueing::<QueuedCmpxchg>(&[FOUR]);
}

#[test]
fn a_queued_lock_some_of_whose_waiters_have_no_node_holds() {
    queueing::<QueuedNoNode>(&[]);
}

#[test]
fn an_mcs_lock_holds() {
    queueing::<McsOfFour>(&[FOUR, THREE_AND_A_TRY]);
}

#[test]
fn a_clh_lock_holds() {
    queueing::<ClhOfFour>(&[]);
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
