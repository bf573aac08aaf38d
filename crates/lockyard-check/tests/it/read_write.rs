//! Checks of the reader-writer lock under weak memory.
//!
//! - No reader is inside beside a writer, and no two writers are.
//! - Each thread that sleeps is woken: waiters do not nap in these models.
//! - No thread writes while a thread upgrades or downgrades.
//! - A wait that gives up while it is being admitted is inside, or leaves nothing behind.
//! - A release does not touch the lock after it.

use lockyard::platform::checked::{Checked, Parking, with_clock, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::depth::depth;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_always_hold, must_hold};
use lockyard_check::primitives::{Exact, Napping};
use lockyard_check::program::ReadWriteOp::{self, *};
use lockyard_check::program::{ReadWriteProgram, SHORT};

type InModel = Hooked<Checked, Scripted>;
type P = ReadWriteProgram<Exact, InModel>;

const TITLE: &str = "reader-writer lock";

#[test]
fn every_pair_of_operations_holds() {
    let bounds = depth(Bounds::stepping_back(2), Bounds::stepping_back(4));
    let untimed: Vec<_> = ReadWriteOp::ALL.into_iter().filter(|op| !op.may_give_up()).collect();
    check_pairs(
        TITLE,
        &untimed,
        |_, _| None,
        |pair| must_hold::<P>(TITLE, pair, bounds).executions,
    );
}

#[test]
fn three_threads_wake_each_other() {
    for three in [
        [Write, Write, Write],
        [Write, Write, Read],
        [Write, Read, Read],
        [Upgrade, Read, Write],
        [Downgrade, Read, Write],
        [WriteFair, Read, Write],
        [ReadFair, Write, Read],
    ] {
        let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
        must_hold::<P>(TITLE, &three, bounds);
    }
    must_hold::<P>(TITLE, &[Write, Write, Write], Bounds::stepping_back(2));
    must_hold::<P>(TITLE, &[Write, Read, Read], Bounds::stepping_back(2));
    must_hold::<P>(TITLE, &[Upgrade, Upgrade, Read], Bounds::stepping_back(1));
}

#[test]
fn four_threads_wake_each_other() {
    let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    for four in [[Write, Read, Read, Write], [Write, Write, Read, Read]] {
        must_hold::<P>(TITLE, &four, bounds);
    }
}

#[test]
fn sleepers_that_wake_up_for_no_reason_hold() {
    with_parking(Parking::SpuriousOnce, || {
        for pair in [[Write, Write], [Write, Read], [Upgrade, Read], [Upgrade, Write]] {
            must_hold::<P>(TITLE, &pair, Bounds::stepping_back(2));
        }
    });
}

#[test]
fn waits_that_give_up_hold() {
    with_clock(SHORT, || {
        let title = "reader-writer lock, with times";
        for op in [ReadGivesUp, WriteGivesUp, UpgradeGivesUp, ReadWoken, WriteWoken] {
            for other in [Read, Write, Upgrade, WriteFair, ReadGivesUp, WriteGivesUp] {
                must_hold::<P>(title, &[op, other], Bounds::stepping_back(2));
            }
        }
        for three in [
            [Write, WriteGivesUp, Read],
            [Write, ReadGivesUp, Read],
            [Read, UpgradeGivesUp, Write],
            [Read, WriteGivesUp, Read],
        ] {
            let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
            must_hold::<P>(title, &three, bounds);
        }
    });
}

/// A sleeper that wakes up spuriously goes to sleep again while another sleeper gives up. The
/// sleeper that gives up must find the first one asleep.
#[test]
fn a_sleeper_that_becomes_the_head_as_it_goes_to_sleep_again_is_woken() {
    with_clock(SHORT, || {
        with_parking(Parking::SpuriousOnce, || {
            let title = "reader-writer lock, with times and wake-ups for no reason";
            let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
            must_hold::<P>(title, &[Read, WriteGivesUp, Read], bounds);
            must_hold::<P>(title, &[WriteGivesUp, Read], Bounds::stepping_back(3));
        });
    });
}

/// The other checker, without a bound.
#[test]
fn every_execution_of_two_threads_holds() {
    type P = ReadWriteProgram<Exact, Hooked<Dpor, Scripted>>;
    for pair in [
        [Read, Read],
        [Read, Write],
        [Write, Write],
        [TryRead, Write],
        [Read, TryWrite],
        [WriteFair, Write],
        [ReadFair, Write],
        [Downgrade, Read],
        [Downgrade, Write],
        [Upgrade, Read],
        [TryUpgrade, Read],
    ] {
        must_always_hold::<P>(TITLE, &pair);
    }
}

/// Naps are longer than these models, so no thread closes the lock: each thread that sleeps is
/// poked.
#[test]
fn a_lock_that_nobody_closes_holds() {
    type P = ReadWriteProgram<Napping, InModel>;
    let title = "reader-writer lock, never closed";
    with_clock(SHORT, || {
        for pair in [[Write, Write], [Write, Read], [Upgrade, Read], [Upgrade, Write]] {
            must_hold::<P>(title, &pair, Bounds::stepping_back(3));
        }
        for three in [[Read, Write, Read], [Write, Read, Read], [Write, Write, Read]] {
            must_hold::<P>(title, &three, Bounds::stepping_back(2));
        }
        must_hold::<P>(title, &[Upgrade, Read, Write], Bounds::stepping_back(1));
    });
}

#[test]
fn threads_without_a_node_hold() {
    type P = ReadWriteProgram<Exact, FewSlots<InModel, 1>>;
    let title = "reader-writer lock, one slot";
    for pair in [[Write, Write], [Write, Read], [Upgrade, Read], [Upgrade, Write]] {
        must_hold::<P>(title, &pair, Bounds::stepping_back(2));
    }
    must_hold::<P>(title, &[Write, Read, Write], Bounds::stepping_back(1));
}
