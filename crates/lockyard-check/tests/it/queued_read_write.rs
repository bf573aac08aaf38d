//! Checks of the queued reader-writer spinlock under weak memory.

use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::FewSlots;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{must_hold, pairs};
use lockyard_check::program::QueuedReadWriteProgram;
use lockyard_check::program::ReadWriteOp::{Downgrade, Read, ReadRecursive, TryRead, Write};

type InModel = Hooked<Checked, Scripted>;
type P = QueuedReadWriteProgram<InModel>;

const TITLE: &str = "queued reader-writer lock";

#[test]
fn every_pair_of_operations_holds() {
    for (a, b) in pairs(&P::OPS) {
        must_hold::<P>(TITLE, &[a, b], Bounds::stepping_back(3));
    }
}

#[test]
fn three_and_four_threads_hold() {
    for three in [
        [Write, Write, Read],
        [Write, Read, Read],
        [Read, Write, Read],
        [ReadRecursive, Write, Read],
        [Downgrade, Write, TryRead],
        [Write, Write, Write],
    ] {
        must_hold::<P>(TITLE, &three, Bounds::stepping_back(2));
    }
    let bounds = depth(Bounds::stepping_back(1), Bounds::stepping_back(2));
    for four in [[Write, Read, Read, Write], [Write, Write, Read, Read]] {
        must_hold::<P>(TITLE, &four, bounds);
    }
}

#[test]
fn threads_without_a_node_hold() {
    type One = QueuedReadWriteProgram<FewSlots<InModel, 1>>;
    for three in [[Write, Read, Read], [Write, Write, Read]] {
        must_hold::<One>("the same, one slot", &three, Bounds::stepping_back(2));
    }
}
