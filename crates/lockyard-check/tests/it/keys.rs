//! Model checks of a table with any keys, whose values are read in place and replaced.

use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::KeyOp::{
    self, Get, Read, ReadAll, Remove, Replace, TryInsert, Update,
};
use lockyard_check::program::KeyProgram;

type Model = KeyProgram<Hooked<Checked, Scripted>, 2>;

const OPS: [KeyOp; 9] = [
    Read(0),
    Get(0),
    ReadAll,
    Replace(0),
    Replace(2),
    TryInsert(2),
    Update(0),
    Remove(0),
    Remove(1),
];

fn reason(a: KeyOp, b: KeyOp) -> Option<&'static str> {
    let reads = |op| matches!(op, Read(_) | ReadAll | Get(_));
    (reads(a) && reads(b)).then_some("look-ups change nothing but counts of references")
}

#[test]
fn every_pair_of_operations_on_replaced_entries_holds() {
    check_pairs("keys, in place", &OPS, reason, |ops| {
        must_hold::<Model>("keys, in place", ops, Bounds::preemptions(2)).executions
    });
}

#[test]
fn three_threads_on_replaced_entries_hold() {
    for ops in [
        [Read(0), Replace(0), Remove(1)],
        [Get(0), Replace(0), Remove(1)],
        [Get(0), Replace(0), Update(0)],
        [Get(2), Replace(2), Remove(2)],
        [ReadAll, Replace(0), Remove(1)],
        [Update(0), Update(0), Remove(1)],
    ] {
        must_hold::<Model>("keys, in place", &ops, Bounds::preemptions(1));
    }
}
