//! Checks of the sharded reader-writer lock under weak memory: no reader is beside a writer, in a
//! shard or together; a writer that sleeps is woken; a wait that gives up leaves nothing behind.

use lockyard::platform::checked::{Checked, Parking, with_clock, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::depth::depth;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{must_always_hold, must_hold, pairs};
use lockyard_check::primitives::Exact;
use lockyard_check::program::ShardedOp::*;
use lockyard_check::program::{SHORT, ShardedOp, ShardedProgram};

type InModel = Hooked<Checked, Scripted>;
type Apart = ShardedProgram<Exact, InModel, true>;
type Together = ShardedProgram<Exact, InModel, false>;

const TITLE: &str = "sharded reader-writer lock";

#[test]
fn every_pair_of_operations_holds_spread_and_together() {
    let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    let untimed: Vec<_> =
        ShardedOp::ALL.into_iter().filter(|&op| op != ShardedOp::WriteGivesUp).collect();
    for (a, b) in pairs(&untimed) {
        must_hold::<Apart>(TITLE, &[a, b], bounds);
        must_hold::<Together>(TITLE, &[a, b], bounds);
    }
}

#[test]
fn pairs_that_meet_hold_with_more_preemptions() {
    for pair in [[Read, Write], [TryRead, Write], [ReadTwice, Write], [Read, TryWrite]] {
        must_hold::<Apart>(TITLE, &pair, Bounds::stepping_back(2));
    }
    for pair in [[Read, Read], [Spread, Read], [Spread, Write]] {
        must_hold::<Together>(TITLE, &pair, Bounds::stepping_back(2));
    }
}

#[test]
fn three_threads_hold() {
    let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    for three in [[Read, Read, Write], [Write, Spread, TryRead], [Read, Write, Write]] {
        must_hold::<Apart>(TITLE, &three, bounds);
    }
    must_hold::<Together>(TITLE, &[Write, Spread, Read], bounds);
}

#[test]
fn writers_that_give_up_or_wake_for_no_reason_hold() {
    with_clock(SHORT, || {
        for other in [Read, ReadTwice, Write, TryRead, WriteGivesUp] {
            let title = "sharded reader-writer lock, with times";
            must_hold::<Apart>(title, &[other, WriteGivesUp], Bounds::stepping_back(2));
            must_hold::<Apart>(title, &[other, WriteWoken], Bounds::stepping_back(2));
        }
    });
    with_parking(Parking::SpuriousOnce, || {
        must_hold::<Apart>(TITLE, &[Read, Write], Bounds::stepping_back(2));
    });
}

#[test]
fn a_reader_that_is_refused_wakes_the_writer() {
    // Both readers are in one shard.
    must_hold::<Apart>(TITLE, &[Read, Write, Read], Bounds::stepping_back(2));
}

#[test]
fn every_execution_of_two_threads_holds() {
    type Always = ShardedProgram<Exact, Hooked<Dpor, Scripted>, true>;
    for pair in [[Read, Write], [ReadTwice, Write], [TryRead, TryWrite], [Spread, Read]] {
        must_always_hold::<Always>(TITLE, &pair);
    }
}

#[test]
fn threads_without_a_slot_hold() {
    type One = ShardedProgram<Exact, FewSlots<InModel, 1>, true>;
    for pair in [[Read, Write], [Write, Read], [Write, Write]] {
        must_hold::<One>("sharded reader-writer lock, one slot", &pair, Bounds::stepping_back(2));
    }
}
