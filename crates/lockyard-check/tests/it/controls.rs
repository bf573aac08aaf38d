//! Checks that the harnesses catch wrong primitives, and find nothing in correct ones.

use lockyard::Native;
use lockyard::lock::{LaneLock, Queued, TestAndSet, Ticket};
use lockyard::lockref::LockRef;
use lockyard::lockref::policy::Standard;
use lockyard::page_ref::LockedBit;
use lockyard::page_ref::PageRef;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{Verdict, model, native, says, simulated, verdict};
use lockyard_check::controls::{
    DoesNotExclude, LosesWakeUps, Reviving, TouchesAfterRelease, Undoing,
};
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{NoFault, Scripted, Watched};
use lockyard_check::program::{
    AnyReadWriteProgram, LastUse, LockOp, LockProgram, PageOp, PageProgram, Program, UseOp,
};
use lockyard_controls::ReadersBesideWriter;

use lockyard_sim::Simulated;

type InModel = Hooked<Checked, Scripted>;
type InThreads = Hooked<Native, Watched<NoFault>>;

const LOCK_TWICE: [LockOp; 2] = [LockOp::Lock; 2];
const OWNER_AND_LOOK_UP: [UseOp; 2] = [UseOp::Owner, UseOp::LookUp];

fn in_model<P: Program>(ops: &[P::Op]) -> Verdict {
    verdict(model::<P>(ops, Bounds::ALL))
}

/// One round each, so that the next operation cannot hide the effect of the last one. An expected
/// finding is searched for until it appears, up to a limit.
fn in_threads<P: Program>(ops: &[P::Op], expected: &[Finding]) -> Verdict {
    native::<P>(ops, 1, if expected.is_empty() { 3_000 } else { 300_000 })
}

fn on_a_machine<P: Program>(ops: &[P::Op]) -> Verdict {
    simulated::<P>(ops, 1, 300)
}

fn lock_is<K>(title: &str, in_a_model: &[Finding], running: &[Finding])
where
    K: LaneLock<InModel> + LaneLock<Simulated> + LaneLock<InThreads>,
{
    let modelled = in_model::<LockProgram<K, InModel>>(&LOCK_TWICE);
    says(&format!("{title}, model"), &modelled, in_a_model);
    let simulated = on_a_machine::<LockProgram<K, Simulated>>(&LOCK_TWICE);
    says(&format!("{title}, simulated"), &simulated, running);
    let native = in_threads::<LockProgram<K, InThreads>>(&LOCK_TWICE, running);
    says(&format!("{title}, threads"), &native, running);
}

#[test]
fn a_lock_that_does_not_exclude_is_caught() {
    lock_is::<DoesNotExclude>(
        "a lock that does not exclude",
        &[Finding::Race],
        &[Finding::Exclusion, Finding::Count],
    );
}

#[test]
fn a_lock_that_loses_wake_ups_is_caught() {
    lock_is::<LosesWakeUps>("a lock that loses wake-ups", &[Finding::Stuck], &[Finding::Stuck]);
}

#[test]
fn a_lock_whose_readers_do_not_look_for_a_writer_is_caught() {
    use lockyard_check::program::ReadWriteOp::{Read, WriteTwice};
    type Of<H> = AnyReadWriteProgram<ReadersBesideWriter<H>, H>;
    let ops = [Read, WriteTwice, Read];
    let title = "a lock whose readers look at nothing";
    let expected = [Finding::Exclusion, Finding::Race];
    says(&format!("{title}, model"), &in_model::<Of<InModel>>(&ops), &expected);
    says(&format!("{title}, simulated"), &on_a_machine::<Of<Simulated>>(&ops), &expected);
}

/// Only the model is expected to find this mistake, because elsewhere the memory still exists.
#[test]
fn a_lock_that_touches_its_word_after_the_release_is_caught() {
    lock_is::<TouchesAfterRelease>("a lock that touches a freed word", &[Finding::Freed], &[]);
}

#[test]
fn the_right_locks_pass_the_same_checks() {
    lock_is::<Ticket>("ticket", &[], &[]);
    lock_is::<Queued>("queued", &[], &[]);
    lock_is::<TestAndSet>("test-and-set", &[], &[]);
}

#[test]
fn a_count_that_revives_a_dead_object_is_caught() {
    let modelled = in_model::<LastUse<Reviving<InModel>, InModel>>(&OWNER_AND_LOOK_UP);
    says("a count that revives, model", &modelled, &[Finding::Freed, Finding::Race]);
    let simulated = on_a_machine::<LastUse<Reviving<Simulated>, Simulated>>(&OWNER_AND_LOOK_UP);
    says("a count that revives, simulated", &simulated, &[Finding::Freed]);
    let native = in_threads::<LastUse<Reviving<InThreads>, InThreads>>(
        &OWNER_AND_LOOK_UP,
        &[Finding::Freed],
    );
    says("a count that revives, threads", &native, &[Finding::Freed]);
}

#[test]
fn a_lockref_passes_the_same_checks() {
    type Ref<H> = LastUse<LockRef<Ticket, Standard, H>, H>;
    let ops = &OWNER_AND_LOOK_UP;
    says("lockref, model", &in_model::<Ref<InModel>>(ops), &[]);
    says("lockref, simulated", &on_a_machine::<Ref<Simulated>>(ops), &[]);
    says("lockref, threads", &in_threads::<Ref<InThreads>>(ops, &[]), &[]);
    let three = [UseOp::Owner, UseOp::Owner, UseOp::LookUp];
    let explored = model::<Ref<InModel>>(&three, Bounds::preemptions(3));
    says("lockref, three threads, model", &verdict(explored), &[]);
}

/// Shows why an adder that finds the bit must not undo its addition.
#[test]
fn a_page_count_that_undoes_an_addition_is_caught() {
    type Wrong<H> = PageProgram<Undoing<H>, H, false>;
    type Right<H> = PageProgram<PageRef<LockedBit, H>, H, false>;
    let two = [PageOp::Freeze, PageOp::LookUp];
    let ops = [PageOp::Freeze, PageOp::LookUp, PageOp::LookUp, PageOp::LookUp];
    let wrong = [Finding::Count];
    says("a count that undoes, model", &in_model::<Wrong<InModel>>(&two), &wrong);
    says("a count that undoes, simulated", &on_a_machine::<Wrong<Simulated>>(&ops), &wrong);
    says("a count that undoes, threads", &in_threads::<Wrong<InThreads>>(&ops, &wrong), &wrong);
    says("locked bit, model", &in_model::<Right<InModel>>(&two), &[]);
    says("locked bit, simulated", &on_a_machine::<Right<Simulated>>(&ops), &[]);
    says("locked bit, threads", &in_threads::<Right<InThreads>>(&ops, &[]), &[]);
}

#[test]
fn a_page_reference_passes_the_checks_of_reference_counts() {
    type Ref<H> = LastUse<PageRef<LockedBit, H>, H>;
    let ops = &OWNER_AND_LOOK_UP;
    says("page, model", &in_model::<Ref<InModel>>(ops), &[]);
    says("page, simulated", &on_a_machine::<Ref<Simulated>>(ops), &[]);
    says("page, threads", &in_threads::<Ref<InThreads>>(ops, &[]), &[]);
}
