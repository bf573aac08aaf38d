//! Checks of the identifier table, under weak memory and on the other back-ends. An object is not
//! freed while a reader uses it, an identifier has one object, and nothing is lost.

use lockyard::Native;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::backends::{model, native, says, simulated, verdict};
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{FaultyAndFreed, LostFence, NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::IdOp::{self, Insert, InsertAndLookUp, LookUp, Remove, Replace};
use lockyard_check::program::IdProgram;
use lockyard_check::quarantine::Quarantine;
use lockyard_sim::Simulated;
use lockyard_tables::id_table::{Locked, Rcu, Variant};

const OPS: [IdOp; 5] = [LookUp, Remove, Insert, InsertAndLookUp, Replace];

/// A host with one record for each thread, which detects accesses to freed memory.
type Host<const N: u32> = Quarantine<FewSlots<Hooked<Checked, Scripted>, N>>;

fn every_pair<V: Variant>(preemptions: usize) {
    check_pairs(
        V::NAME,
        &OPS,
        |_, _| None,
        |pair| {
            // Two threads that free have many interactions, so their bound is lower.
            let bound = if *pair == [Remove; 2] { 1 } else { preemptions };
            let bounds = Bounds::stepping_back(bound);
            must_hold::<IdProgram<V, Host<2>>>(V::NAME, pair, bounds).executions
        },
    );
}

#[test]
fn every_pair_of_operations_holds_with_rcu() {
    every_pair::<Rcu>(2);
}

#[test]
fn every_pair_of_operations_holds_with_one_lock() {
    every_pair::<Locked>(2);
}

#[test]
fn a_table_that_grows_meanwhile_holds() {
    for ops in [[LookUp, Insert], [Insert, Insert], [InsertAndLookUp, Replace]] {
        let bounds = Bounds::stepping_back(2);
        must_hold::<IdProgram<Rcu, Host<2>, true>>("rcu, growing", &ops, bounds);
        must_hold::<IdProgram<Locked, Host<2>, true>>("locked, growing", &ops, bounds);
    }
}

#[test]
fn three_threads_hold() {
    for ops in [[LookUp, Remove, Insert], [LookUp, Replace, Remove], [LookUp, LookUp, Remove]] {
        let bounds = Bounds::stepping_back(1);
        must_hold::<IdProgram<Rcu, Host<3>>>("rcu", &ops, bounds);
        must_hold::<IdProgram<Locked, Host<3>>>("locked", &ops, bounds);
    }
}

const MIX: [IdOp; 4] = [LookUp, Replace, InsertAndLookUp, Remove];

#[test]
fn it_holds_in_threads_and_on_a_simulated_machine() {
    type InThreads = Hooked<Native, Watched<NoFault>>;
    says("rcu, threads", &native::<IdProgram<Rcu, InThreads>>(&MIX, 200, 3), &[]);
    says("locked, threads", &native::<IdProgram<Locked, InThreads>>(&MIX, 200, 3), &[]);
    says("rcu, simulated", &simulated::<IdProgram<Rcu, Simulated>>(&MIX, 20, 20), &[]);
    says("locked, simulated", &simulated::<IdProgram<Locked, Simulated>>(&MIX, 20, 20), &[]);
}

#[test]
fn a_look_up_that_does_not_enter_properly_is_caught() {
    type InModel = Quarantine<FewSlots<Hooked<Checked, FaultyAndFreed<LostFence>>, 2>>;
    let explored = model::<IdProgram<Rcu, InModel>>(&[LookUp, Remove], Bounds::stepping_back(3));
    says("lost fences, model", &verdict(explored), &[Finding::Freed, Finding::Race]);
}
