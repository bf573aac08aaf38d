//! Checks of every lock under weak memory. `parking.rs` and `mutex.rs` describe the checks of locks
//! whose waiters park or sleep. For the spinlocks: every execution of two and three threads, and of
//! four threads where there are few executions. loom explores four threads with bounds, and more in
//! the deep checks.
//!
//! Each lock has one holder at a time, shown by a stamp. A holder sees the previous holder's
//! writes. The data are plain, so the model finds any unordered access. No critical section is
//! lost, and no thread waits for ever. No thread touches the lock after its last release, because
//! the last holder frees it.

use crate::mutex::sleep;
use crate::parking::{park, park_without_nodes};
use lockyard::lock::{CmpxchgGrab, LaneLock, Queued};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::model;
use lockyard_check::depth::depth;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_always_hold, must_hold};
use lockyard_check::primitives::{Primitive, Ticket8, locks, one_slot};
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

/// Checks a lock whose waiters spin on its word.
fn spin<P: Primitive<Op = LockOp>>() {
    every_pair::<P>();
    every_execution::<P>(&[FOUR, THREE_AND_A_TRY]);
    for ops in [FOUR, THREE_AND_A_TRY] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::preemptions(depth(2, 3)));
    }
    // The checks that explore graphs.
    for ops in depth(&[][..], &[[Lock, Lock, Lock], [Lock, Lock, TryLock]]) {
        must_hold::<Of<P>>(P::NAME, ops, Bounds::ALL);
    }
}

/// These locks have several kinds of waiters (pending, head, last). The important executions are
/// therefore those in which many threads wait.
fn queue<P: Primitive<Op = LockOp>>(of_four: &[[LockOp; 4]]) {
    every_pair::<P>();
    every_execution::<P>(of_four);
    for ops in [FOUR, THREE_AND_A_TRY, [Lock, Lock, TryLock, TryLock]] {
        must_hold::<Of<P>>(P::NAME, &ops, Bounds::stepping_back(2));
    }
    for ops in depth(&[][..], &[FOUR]) {
        must_hold::<Of<P>>(P::NAME, ops, Bounds::stepping_back(3));
    }
}

/// Checks one lock, according to its kind of waiting.
macro_rules! holds {
    (spin $kind:ident) => {
        spin::<locks::$kind>()
    };
    // Graphs of four threads, if they are few enough.
    (queue Clh) => {
        queue::<locks::Clh>(&[])
    };
    (queue Mcs) => {
        queue::<locks::Mcs>(&[FOUR, THREE_AND_A_TRY])
    };
    (queue $kind:ident) => {
        queue::<locks::$kind>(&[FOUR])
    };
    (park $kind:ident) => {
        park::<locks::$kind>()
    };
    (sleep Adaptive) => {
        sleep::<locks::Adaptive>(Bounds::ALL, 3)
    };
    (sleep $kind:ident) => {
        sleep::<locks::$kind>(Bounds::stepping_back(3), 2)
    };
}

/// Makes a test of one lock where most waiters have no node, if it is checked there.
macro_rules! without_nodes {
    (queue $kind:ident false) => { without_nodes!(@ queue::<one_slot::$kind>(&[])); };
    (park $kind:ident false) => { without_nodes!(@ park_without_nodes::<one_slot::$kind>()); };
    (sleep Adaptive false) => { without_nodes!(@ sleep::<one_slot::Adaptive>(Bounds::ALL, 2)); };
    (@ $check:expr) => {
        #[test]
        fn holds_without_nodes() {
            $check;
        }
    };
    ($waits:ident $kind:ident $keeps_a_node:tt) => {};
}

macro_rules! every_lock {
    ($($kind:ident {
        name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
        fifo: $fifo:literal, keeps_a_node: $keeps_a_node:tt, $($fact:tt)*
    })*) => {
        /// A module of tests for each lock of the library.
        #[allow(non_snake_case)]
        mod every {
            use super::*;
            $(mod $kind {
                use super::*;

                #[test]
                fn holds() {
                    holds!($waits $kind);
                }

                without_nodes!($waits $kind $keeps_a_node);
            })*
        }
    };
}
lockyard::for_each_lock!(every_lock);

#[test]
fn a_ticket_lock_of_2_bytes_holds() {
    spin::<Ticket8>();
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
