//! Reclamation under weak memory: nothing is freed under a reader, a grace period ends neither early nor never.

use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard::reclaim::Domain;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::ReclaimOp::{
    Collect, Read, ReadNested, ReadTwice, Retire, RetireAndCollect, Synchronize,
};
use lockyard_check::program::ReclaimProgram;

type Host = Hooked<Checked, Scripted>;
type Of = ReclaimProgram<Domain<Host>, Host>;

#[test]
fn every_pair_holds() {
    let ops = [Read, ReadTwice, ReadNested, Retire, RetireAndCollect, Collect, Synchronize];
    check_pairs(
        "domain",
        &ops,
        |_, _| None,
        |pair| must_hold::<Of>("domain", pair, Bounds::preemptions(2)).executions,
    );
}
