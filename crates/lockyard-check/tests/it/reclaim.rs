//! Checks of reclamation, under weak memory and on the other back-ends. No object is freed while a
//! reader uses it. A grace period ends, but not early. Each wrong reclamation scheme is caught.

use lockyard::Native;
use lockyard::platform::Ordering;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::{Hooked, Operation, OperationKind};
use lockyard::reclaim::Domain;
use lockyard_check::FewSlots;
use lockyard_check::backends::{model, native, says, simulated, verdict};
use lockyard_check::controls::{NeverLeft, OneEpoch};
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{Fault, Faulty, LostFence, NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::ReclaimOp::{
    self, AdvanceAndCollect, Barrier, Collect, Read, ReadNested, ReadQuiescent, ReadTwice, Retire,
    RetireAndCollect, Synchronize,
};
use lockyard_check::program::{Program, ReclaimProgram, Unreserved};
use lockyard_check::quarantine::Quarantine;
use lockyard_sim::Simulated;
use std::path::Path;

/// A host with one record for each thread, so that no step is wasted on other records.
type Host<const N: u32> = FewSlots<Hooked<Checked, Scripted>, N>;
type Of<const N: u32> = ReclaimProgram<Domain<Host<N>>, Host<N>>;
/// A program where the first thread that enters allocates the segment of records.
type Lazy = ReclaimProgram<Unreserved<Quarantine<Host<2>>>, Quarantine<Host<2>>>;

const READERS: [ReclaimOp; 4] = [Read, ReadTwice, ReadNested, ReadQuiescent];
const WRITERS: [ReclaimOp; 5] = [Retire, RetireAndCollect, Collect, Synchronize, Barrier];

fn every_pair<P: Program<Op = ReclaimOp>>(title: &str) {
    let all: Vec<ReclaimOp> = READERS.into_iter().chain(WRITERS).collect();
    check_pairs(
        title,
        &all,
        |_, _| None,
        |pair| {
            // Two threads that free have many interactions, so their bound is lower.
            let both_free = pair.iter().all(|op| WRITERS.contains(op) && *op != Retire);
            let bounds = Bounds::preemptions(if both_free { 1 } else { 2 });
            must_hold::<P>(title, pair, bounds).executions
        },
    );
}

#[test]
fn every_pair_of_operations_holds() {
    every_pair::<Of<2>>("reclamation");
}

#[test]
fn every_pair_of_operations_holds_without_records() {
    // The first thread to ask gets the only slot.
    every_pair::<Of<1>>("reclamation, one slot");
    for reader in READERS {
        for writer in [RetireAndCollect, Synchronize] {
            let ops = [reader, writer];
            must_hold::<Of<0>>("reclamation, no slots", &ops, Bounds::preemptions(2));
        }
    }
}

#[test]
fn records_that_are_allocated_by_who_enters_first_hold() {
    for ops in [[Read, Read], [Read, RetireAndCollect], [ReadTwice, Synchronize], [Read, Barrier]] {
        must_hold::<Lazy>("reclamation, unreserved", &ops, Bounds::preemptions(2));
    }
}

#[test]
fn three_threads_hold() {
    for ops in [
        [Read, Read, Synchronize],
        [Collect, Read, RetireAndCollect],
        [Read, Retire, AdvanceAndCollect],
        [Read, Synchronize, AdvanceAndCollect],
        [Read, Retire, Collect],
        [ReadTwice, Collect, Retire],
        [Read, Synchronize, Collect],
        [ReadQuiescent, Retire, Collect],
    ] {
        must_hold::<Of<3>>("reclamation", &ops, Bounds::preemptions(1));
    }
}

type InThreads<F> = Hooked<Native, Watched<F>>;
type OnMachine<F> = Hooked<Simulated, Faulty<F>>;

const MIX: [ReclaimOp; 4] = [ReadTwice, RetireAndCollect, Synchronize, ReadQuiescent];

#[test]
fn it_holds_in_threads_and_on_a_simulated_machine() {
    type Threads = ReclaimProgram<Domain<InThreads<NoFault>>, InThreads<NoFault>>;
    says("threads", &native::<Threads>(&MIX, 300, 3), &[]);
    type Slotless<H> = ReclaimProgram<Domain<FewSlots<H, 1>>, FewSlots<H, 1>>;
    says("threads, one slot", &native::<Slotless<InThreads<NoFault>>>(&MIX, 300, 3), &[]);
    type Machine = ReclaimProgram<Domain<Simulated>, Simulated>;
    says("simulated", &simulated::<Machine>(&MIX, 50, 20), &[]);
    says("simulated, one slot", &simulated::<Slotless<Simulated>>(&MIX, 50, 20), &[]);
}

#[test]
fn freeing_one_epoch_early_is_caught() {
    type Of<H> = ReclaimProgram<OneEpoch<H>, H>;
    let early = [Finding::Freed, Finding::Race];
    let two = [Read, RetireAndCollect];
    let modelled = verdict(model::<Of<Host<2>>>(&two, Bounds::preemptions(2)));
    says("one epoch, model", &modelled, &early);
    let mix = [ReadTwice, RetireAndCollect, ReadTwice, RetireAndCollect];
    says("one epoch, simulated", &simulated::<Of<Simulated>>(&mix, 50, 300), &early);
    // One of the first attempts usually finds the violation. A busy host needs more.
    let threads = native::<Of<InThreads<NoFault>>>(&mix, 300, 50_000);
    says("one epoch, threads", &threads, &early);
}

/// Only the model is expected to find this mistake: elsewhere the store is almost always seen in
/// time.
#[test]
fn entering_without_a_fence_is_caught() {
    type Of<H> = ReclaimProgram<Domain<H>, H>;
    let early = [Finding::Freed, Finding::Race];
    type InModel = FewSlots<Hooked<Checked, Faulty<LostFence>>, 2>;
    let modelled = verdict(model::<Of<InModel>>(&[Read, RetireAndCollect], Bounds::preemptions(2)));
    says("lost fences, model", &modelled, &early);
}

/// Waits return immediately, even those for a number of polls.
struct NoWait;

impl Fault for NoWait {
    const NAME: &'static str = "no wait";
    fn strikes(operation: &Operation) -> bool {
        matches!(operation.kind, OperationKind::Wait | OperationKind::WaitBounded)
    }
}

/// Threads are not expected to find this mistake. On a busy host thousands of runs may never have a
/// thread inside at the critical moment.
#[test]
fn not_waiting_for_readers_is_caught() {
    type Of<H> = ReclaimProgram<Domain<H>, H>;
    let early = [Finding::Freed, Finding::Race];
    type InModel = FewSlots<Hooked<Checked, Faulty<NoWait>>, 2>;
    let modelled = verdict(model::<Of<InModel>>(&[Read, Synchronize], Bounds::preemptions(2)));
    says("skipped wait, model", &modelled, &early);
    let mix = [ReadTwice, Synchronize, ReadTwice, Synchronize];
    let machine = simulated::<Of<OnMachine<NoWait>>>(&mix, 50, 300);
    says("skipped wait, simulated", &machine, &early);
}

/// The exchange that ends an epoch is lost: epochs never end.
struct StuckEpoch;

impl Fault for StuckEpoch {
    const NAME: &'static str = "stuck epoch";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::CompareExchange && is_in(operation, "reclaim/grace.rs")
    }
}

/// The collector of a list never announces that it has finished.
struct TendsForEver;

impl Fault for TendsForEver {
    const NAME: &'static str = "tends for ever";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::Swap
            && operation.order == Ordering::Release
            && is_in(operation, "reclaim/retired.rs")
    }
}

fn is_in(operation: &Operation, file: &str) -> bool {
    Path::new(operation.place.file()).ends_with(file)
}

/// Both back-ends notice a grace period that never ends. The model follows every wait to its end,
/// and the simulated machine counts events.
fn never_ending_is_caught<P, Q>(title: &str)
where
    P: Program<Op = ReclaimOp>,
    Q: Program<Op = ReclaimOp>,
{
    for ops in [[Read, Synchronize], [Read, Barrier]] {
        let modelled = verdict(model::<P>(&ops, Bounds::preemptions(2)));
        says(&format!("{title}, model {ops:?}"), &modelled, &[Finding::Stuck]);
    }
    says(
        &format!("{title}, simulated"),
        &simulated::<Q>(&[Read, Barrier], 2, 1),
        &[Finding::Stuck],
    );
}

#[test]
fn readers_that_never_leave_are_caught() {
    type Of<H> = ReclaimProgram<NeverLeft<H>, H>;
    never_ending_is_caught::<Of<Host<2>>, Of<Simulated>>("never left");
    // With threads, the waits are watched.
    let threads = native::<Of<InThreads<NoFault>>>(&[Read, Barrier], 2, 1);
    says("never left, threads", &threads, &[Finding::Stuck]);
}

/// Threads are not expected to find this mistake: a thread that tries to end an epoch does not wait
/// for the end.
#[test]
fn an_epoch_that_never_ends_is_caught() {
    type Of<H> = ReclaimProgram<Domain<H>, H>;
    type InModel = FewSlots<Hooked<Checked, Faulty<StuckEpoch>>, 2>;
    never_ending_is_caught::<Of<InModel>, Of<OnMachine<StuckEpoch>>>("stuck epoch");
}

#[test]
fn a_list_that_is_looked_after_for_ever_is_caught() {
    type Of<H> = ReclaimProgram<Domain<H>, H>;
    type InModel = FewSlots<Hooked<Checked, Faulty<TendsForEver>>, 2>;
    // One thread collects and never finishes; the other waits for it at the end.
    let ops = [RetireAndCollect, Barrier];
    let modelled = verdict(model::<Of<InModel>>(&ops, Bounds::preemptions(1)));
    says("tends for ever, model", &modelled, &[Finding::Stuck]);
    let machine = simulated::<Of<OnMachine<TendsForEver>>>(&ops, 2, 1);
    says("tends for ever, simulated", &machine, &[Finding::Stuck]);
}
