//! Checks of the sequence lock under weak memory, and on simulated machines: a copy that is
//! accepted is whole, and no write is lost.

use lockyard::lock::{Adaptive, TestAndSet};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{must_hold, pairs};
use lockyard_check::primitives::Exact;
use lockyard_check::program::SequenceOp::{self, Read, ReadTwice, TryRead, Write, WriteTwice};
use lockyard_check::program::SequenceProgram;

type InModel = Hooked<Checked, Scripted>;

#[test]
fn every_pair_of_operations_holds() {
    for (a, b) in pairs(&SequenceOp::ALL) {
        let title = "sequence lock";
        must_hold::<SequenceProgram<InModel, TestAndSet>>(title, &[a, b], Bounds::stepping_back(2));
    }
}

#[test]
fn three_and_four_threads_hold() {
    type P = SequenceProgram<InModel, TestAndSet>;
    let bounds = || depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    for three in [[TryRead, Write, Write], [Read, WriteTwice, TryRead], [ReadTwice, Write, Write]] {
        must_hold::<P>("sequence lock", &three, bounds());
    }
    must_hold::<P>("sequence lock", &[TryRead, TryRead, Write, Write], bounds());
}

#[test]
fn writers_that_sleep_hold() {
    type P = SequenceProgram<InModel, Adaptive<Exact>>;
    for pair in [[Read, Write], [Write, Write], [TryRead, WriteTwice]] {
        must_hold::<P>("sequence lock, mutex", &pair, Bounds::stepping_back(2));
    }
}
