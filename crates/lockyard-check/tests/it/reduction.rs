//! Exploring waits only where they succeed must lose nothing ([`Waits::UntilTrue`],
//! [`Waits::SteppingBack`]). These tests compare both with the full exploration of two threads,
//! where the full exploration ends.
//!
//! - On correct programs all explorations reach the same set of outcomes: what each thread saw, and
//!   what remained. This is tested for every primitive and every pair of operations that waits.
//! - Both find seeded bugs: a waiter that misses a wake-up, and each acquire and release of the
//!   locks weakened to relaxed.
//!
//! [`Waits::UntilTrue`]: lockyard::platform::checked::Waits::UntilTrue
//! [`Waits::SteppingBack`]: lockyard::platform::checked::Waits::SteppingBack

use lockyard::lock::Ticket;
use lockyard::platform::Ordering;
use lockyard::platform::checked::{Checked, Waits};
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{model, verdict};
use lockyard_check::controls::LosesWakeUps;
use lockyard_check::depth::depth;
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{Scripted, ordered_sites, with_weakened};
use lockyard_check::matrix::pairs;
use lockyard_check::primitives::{Primitive, Ticket8, locks};
use lockyard_check::program::{CountOp, CountProgram, LockOp, LockProgram, Program};

type Host = Hooked<Checked, Scripted>;
type Of<P> = <P as Primitive>::Program<Host>;

const LOCK_TWICE: [LockOp; 2] = [LockOp::Lock; 2];

fn same_outcomes<P: Program>(title: &str, ops: &[P::Op]) {
    let explored = |bounds| {
        model::<P>(ops, bounds).unwrap_or_else(|failed| panic!("{title}: {}", failed.caught))
    };
    let (few, reduced) = explored(Bounds::ALL);
    let stepping_back = Bounds { preemptions: None, waits: Waits::SteppingBack, first: None };
    let (stepped, stepping) = explored(stepping_back);
    let (many, full) = explored(Bounds::EVERYTHING);
    println!(
        "{title} {ops:?}: {} outcomes; reduced {few}; stepping back {stepped}; every poll {many}",
        full.len()
    );
    assert_eq!(reduced, full, "{title} {ops:?}");
    assert_eq!(stepping, full, "{title} {ops:?}, waiters step back");
}

#[test]
fn both_explorations_of_a_lock_have_the_same_outcomes() {
    fn lock<P: Primitive<Op = LockOp>>() {
        for (a, b) in pairs(&[LockOp::Lock, LockOp::TryLock]) {
            same_outcomes::<Of<P>>(P::NAME, &[a, b]);
        }
    }
    lock::<locks::Ticket>();
    lock::<Ticket8>();
    lock::<locks::TicketAsmLoop>();
    lock::<locks::TestAndSet>();
    lock::<locks::Queued>();
    lock::<locks::Mcs>();
    lock::<locks::Clh>();
}

#[test]
fn both_explorations_of_a_lockref_have_the_same_outcomes() {
    use CountOp::{GetNotZero, LockSet, PutNotZero, PutOrLock, PutReturn, TryLockSet};
    // Pairs of the other operations have more than a hundred thousand executions.
    let all = [PutReturn, TryLockSet, LockSet, GetNotZero, PutNotZero, PutOrLock];
    for (a, b) in pairs(depth(&all[..3], &all)) {
        if [a, b].contains(&LockSet) || [a, b].contains(&PutOrLock) {
            same_outcomes::<CountProgram<Ticket, Host>>("lockref(ticket)", &[a, b]);
        }
    }
}

fn both_find<P: Program>(title: &str, ops: &[P::Op], expected: Finding) {
    for bounds in [Bounds::ALL, Bounds::EVERYTHING] {
        let verdict = verdict(model::<P>(ops, bounds));
        let found = verdict.caught.as_ref().map_or("nothing".into(), |c| c.to_string());
        println!("{title}, {bounds}: {found} in execution {}", verdict.runs);
        assert_eq!(verdict.finding(), Some(expected), "{title}, {bounds}");
    }
}

#[test]
fn both_explorations_find_a_waiter_that_misses_its_wake_up() {
    both_find::<LockProgram<LosesWakeUps, Host>>("lost wake-up", &LOCK_TWICE, Finding::Stuck);
}

/// The weakening wrapper sees every site (a compare-exchange has two), and the checks notice each
/// weakening.
#[test]
fn both_explorations_find_every_weakened_acquire_and_release_of_a_lock() {
    fn weaken<P: Primitive<Op = LockOp>>(expected_sites: usize) {
        let ops = [LockOp::Lock, LockOp::TryLock];
        let (result, sites) = ordered_sites(|| model::<Of<P>>(&ops, Bounds::ALL));
        result.expect("as it is written it holds");
        let mut killed = 0;
        for (site, order) in &sites {
            println!("{}: {site} {order} -> Relaxed", P::NAME);
            with_weakened(*site, Ordering::Relaxed, || {
                both_find::<Of<P>>(P::NAME, &ops, Finding::Race);
            });
            killed += 1;
        }
        println!("{}: {killed} of {} ordered sites weakened and noticed", P::NAME, sites.len());
        assert_eq!(sites.len(), expected_sites, "{}: {sites:?}", P::NAME);
    }
    // Ticket: the fetch-and-add, the wait, the exchange of `try_lock`, and the release.
    weaken::<locks::Ticket>(4);
    weaken::<Ticket8>(4);
    weaken::<locks::TicketAsmLoop>(4);
    // Test-and-set: the first tries of `lock` and `try_lock`, the try after a wait, and the
    // release.
    weaken::<locks::TestAndSet>(4);
}
