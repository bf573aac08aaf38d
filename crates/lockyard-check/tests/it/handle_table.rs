//! Checks of the handle table, under weak memory and on the other back-ends. An object is not
//! dropped while a reader uses it, a handle names one object, and nothing is lost.

use lockyard::Native;
use lockyard::lock::{Queued, TestAndSet};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::backends::{model, native, says, simulated, verdict};
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{FaultyAndFreed, LostFence, NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::HandleOp::{
    self, Collect, Discard, Insert, InsertAndLookUp, LookUp, Remove, Replace,
};
use lockyard_check::program::{HandleProgram, Handles};
use lockyard_check::quarantine::Quarantine;
use lockyard_sim::Simulated;
use lockyard_tables::handle_table::{Exclusive, Shared};

const OPS: [HandleOp; 5] = [LookUp, Remove, Insert, InsertAndLookUp, Replace];
type Locked = Exclusive<TestAndSet>;

/// A host with one record for each thread, which detects accesses to freed memory.
type Host<const N: u32> = Quarantine<FewSlots<Hooked<Checked, Scripted>, N>>;

/// Checks every pair of operations. The threads of a host with one slot share a shard. Two threads
/// that both drop have many interactions, so their bound is lower.
fn every_pair<A: Handles<Host<SLOTS>>, const SLOTS: u32>() {
    let title = format!("{}, shards: {SLOTS}", A::NAME);
    let inserts = |op| matches!(op, Insert | InsertAndLookUp);
    let drops = |op| matches!(op, Remove | Replace);
    check_pairs(
        &title,
        &OPS,
        |a, b| {
            if (a == LookUp && inserts(b)) || (b == LookUp && inserts(a)) {
                return Some("they use different objects");
            }
            (SLOTS > 1 && inserts(a) && inserts(b)).then_some("they use different shards")
        },
        |pair| {
            let both_drop = pair.iter().all(|&op| drops(op));
            let bounds = Bounds::stepping_back(if both_drop { depth(1, 2) } else { 3 });
            must_hold::<HandleProgram<A, Host<SLOTS>>>(&title, pair, bounds).executions
        },
    );
}

#[test]
fn every_pair_of_operations_holds_with_shared_objects() {
    every_pair::<Shared, 2>();
    every_pair::<Shared, 1>();
}

#[test]
fn every_pair_of_operations_holds_with_exclusive_objects() {
    every_pair::<Locked, 2>();
    every_pair::<Locked, 1>();
}

/// Runs both kinds of table. With `ONE`, all threads share a shard.
fn both<const ONE: bool, const EMPTY: bool>(ops: &[HandleOp], bound: usize) {
    let bounds = Bounds::stepping_back(bound);
    if ONE {
        must_hold::<HandleProgram<Shared, Host<1>, EMPTY>>("shared, one shard", ops, bounds);
        must_hold::<HandleProgram<Locked, Host<1>, EMPTY>>("exclusive, one shard", ops, bounds);
    } else {
        must_hold::<HandleProgram<Shared, Host<4>, EMPTY>>("shared", ops, bounds);
        must_hold::<HandleProgram<Locked, Host<4>, EMPTY>>("exclusive", ops, bounds);
    }
}

#[test]
fn a_table_that_gets_its_memory_meanwhile_holds() {
    for ops in [[LookUp, Insert], [Insert, Insert], [Insert, Remove], [InsertAndLookUp, Replace]] {
        both::<false, true>(&ops, 2);
        both::<true, true>(&ops, 2);
    }
}

#[test]
fn three_threads_hold() {
    for ops in [[LookUp, Remove, Insert], [LookUp, Replace, Insert], [LookUp, LookUp, Replace]] {
        both::<false, false>(&ops, 2);
    }
    for ops in [[LookUp, Replace, Insert], [Insert, Insert, Remove]] {
        both::<true, false>(&ops, 2);
    }
    both::<false, true>(&[LookUp, Insert, Remove], 2);
    // One thread drops what another has removed and a third has inserted.
    both::<false, true>(&[Insert, Discard, Collect], 2);
    both::<false, false>(&[LookUp, Discard, Collect], 2);
    both::<false, false>(&[LookUp, Replace, Remove], 1);
}

#[test]
fn four_threads_hold() {
    both::<false, false>(&[LookUp, LookUp, Replace, Insert], 1);
    both::<true, false>(&[LookUp, Remove, Insert, Insert], 1);
}

/// The table is full, or nearly: slots come from any shard. With these operations there are never
/// more objects than places.
#[test]
fn a_free_place_is_found_in_any_shard() {
    type Pair<const N: u32> = HandleProgram<Locked, Host<N>, false, 2>;
    type Three<const N: u32> = HandleProgram<Locked, Host<N>, false, 3>;
    for ops in [[Replace, Insert], [Replace, Replace]] {
        must_hold::<Pair<1>>("2 places, one shard", &ops, Bounds::stepping_back(2));
        must_hold::<Pair<2>>("2 places, 2 shards", &ops, Bounds::stepping_back(2));
    }
    let ops = [Insert, Insert, Remove];
    must_hold::<Three<2>>("3 places, 2 shards", &ops, Bounds::stepping_back(1));
}

const MIX: [HandleOp; 4] = [LookUp, Replace, InsertAndLookUp, Remove];

#[test]
fn it_holds_in_threads_and_on_a_simulated_machine() {
    type InThreads = Hooked<Native, Watched<NoFault>>;
    type Queueing = Exclusive<Queued>;
    says("shared, threads", &native::<HandleProgram<Shared, InThreads>>(&MIX, 200, 3), &[]);
    says("exclusive, threads", &native::<HandleProgram<Queueing, InThreads>>(&MIX, 200, 3), &[]);
    says("shared, simulated", &simulated::<HandleProgram<Shared, Simulated>>(&MIX, 20, 20), &[]);
    says(
        "exclusive, simulated",
        &simulated::<HandleProgram<Queueing, Simulated>>(&MIX, 20, 20),
        &[],
    );
}

#[test]
fn a_look_up_that_does_not_enter_properly_is_caught() {
    type InModel = Quarantine<FewSlots<Hooked<Checked, FaultyAndFreed<LostFence>>, 2>>;
    let explored =
        model::<HandleProgram<Shared, InModel>>(&[LookUp, Replace], Bounds::stepping_back(3));
    says("lost fences, model", &verdict(explored), &[Finding::Freed, Finding::Race]);
}
