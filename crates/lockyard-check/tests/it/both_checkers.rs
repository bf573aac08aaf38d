//! The two model checkers agree: they find the same outcomes, and both notice weakened orderings.
//!
//! loom explores orders of steps: all orders for locks and page references, and orders with at most
//! two preemptions for lockrefs. The other checker explores execution graphs
//! ([`lockyard_check::dpor`]), always without a bound.

use lockyard::lock::{LaneLock, Ticket};
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, PageRef};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{graphs, model, verdict_of_graphs};
use lockyard_check::controls::{DoesNotExclude, LosesWakeUps, TouchesAfterRelease};
use lockyard_check::dpor::{Deletions, Dpor};
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::pairs;
use lockyard_check::mutation::suites::every_execution;
use lockyard_check::mutation::{self, Suite, survivors};
use lockyard_check::primitives::{LockrefTas, Primitive, Ticket8, locks};
use lockyard_check::program::{
    CountOp, CountProgram, LockOp, LockProgram, PageOp, PageProgram, Program,
};
use std::num::NonZero;

type Graphs = Hooked<Dpor, Scripted>;
type Orders = Hooked<Checked, Scripted>;

/// Fails unless both checkers find the same outcomes. `G` and `L` are one program.
fn same_outcomes<G: Program, L: Program<Op = G::Op>>(title: &str, ops: &[G::Op], bounds: Bounds) {
    let (few, by_graphs) = graphs::<G>(ops, Deletions::Needed)
        .unwrap_or_else(|failed| panic!("{title} {ops:?}, graphs: {}", failed.caught));
    let (many, by_orders) = model::<L>(ops, bounds)
        .unwrap_or_else(|failed| panic!("{title} {ops:?}, orders: {}", failed.caught));
    println!("{title} {ops:?}: graphs {few}; loom, {bounds}, {many}");
    assert_eq!(by_graphs, by_orders, "{title} {ops:?}");
}

#[test]
fn the_outcomes_of_locks_are_the_same() {
    fn lock<P: Primitive<Op = LockOp>>() {
        for (a, b) in pairs(&[LockOp::Lock, LockOp::TryLock]) {
            same_outcomes::<P::Program<Graphs>, P::Program<Orders>>(P::NAME, &[a, b], Bounds::ALL);
        }
    }
    lock::<Ticket8>();
    lockyard_check::each_lock!(lock());
}

#[test]
fn the_outcomes_of_lockrefs_are_the_same() {
    for (a, b) in pairs(&CountOp::ALL) {
        if [a, b].contains(&CountOp::Get) && [a, b].contains(&CountOp::MarkDead) {
            continue; // a thread with a reference keeps the object from being marked dead
        }
        let bounds = Bounds::preemptions(2);
        same_outcomes::<CountProgram<Ticket, Graphs>, CountProgram<Ticket, Orders>>(
            "lockref(ticket)",
            &[a, b],
            bounds,
        );
    }
    let ops = LockrefTas::MIX;
    same_outcomes::<
        <LockrefTas as Primitive>::Program<Graphs>,
        <LockrefTas as Primitive>::Program<Orders>,
    >(LockrefTas::NAME, ops, Bounds::preemptions(2));
}

#[test]
fn the_outcomes_of_page_references_are_the_same() {
    macro_rules! page {
        ($variant:ty, $frees:literal) => {
            for (a, b) in pairs(&PageOp::ALL) {
                same_outcomes::<
                    PageProgram<PageRef<$variant, Graphs>, Graphs, $frees>,
                    PageProgram<PageRef<$variant, Orders>, Orders, $frees>,
                >(stringify!($variant), &[a, b], Bounds::ALL);
            }
        };
    }
    page!(Cmpxchg, true);
    page!(OptimisticCmpxchg, true);
    page!(LockedBit, false);
}

/// The exploration that keeps each graph in memory, and tries every deletion, finds no additional
/// execution, and no execution twice.
#[test]
fn each_execution_of_a_lock_is_explored_once() {
    fn lock<P: Primitive<Op = LockOp>>(ops: &[LockOp]) {
        let explored = |deletions| {
            let result = graphs::<P::Program<Graphs>>(ops, deletions);
            result.unwrap_or_else(|failed| panic!("{} {ops:?}: {}", P::NAME, failed.caught))
        };
        let (few, outcomes) = explored(Deletions::Needed);
        let (many, all) = explored(Deletions::All);
        println!("{} {ops:?}: {few}; {many}", P::NAME);
        assert_eq!((few.executions, &outcomes), (many.executions, &all), "{} {ops:?}", P::NAME);
    }
    use LockOp::{Lock, LockTwice, TryLock};
    for ops in [&[Lock, Lock][..], &[Lock, TryLock], &[LockTwice, Lock]] {
        lock::<locks::Ticket>(ops);
        lock::<locks::TestAndSet>(ops);
        lock::<locks::Queued>(ops);
        lock::<locks::Mcs>(ops);
        lock::<locks::Clh>(ops);
        lock::<locks::PvQueued>(ops);
        lock::<locks::Adaptive>(ops);
        lock::<locks::StdLike>(ops);
    }
    lock::<locks::Ticket>(&[Lock, Lock, Lock]);
    lock::<locks::Queued>(&[Lock, Lock, TryLock]);
}

/// The three locks that are wrong on purpose. With a `TryLock` nothing is freed.
#[test]
fn wrong_locks_are_found() {
    fn finding<K: LaneLock<Graphs>>(ops: &[LockOp]) -> Option<Finding> {
        let verdict = verdict_of_graphs(graphs::<LockProgram<K, Graphs>>(ops, Deletions::Needed));
        verdict.finding()
    }
    use LockOp::{Lock, TryLock};
    let three = [Lock, Lock, TryLock];
    assert_eq!(finding::<LosesWakeUps>(&three), Some(Finding::Stuck));
    let both_inside = finding::<DoesNotExclude>(&three);
    assert!(matches!(both_inside, Some(Finding::Exclusion | Finding::Race)), "{both_inside:?}");
    assert_eq!(finding::<TouchesAfterRelease>(&[Lock, Lock]), Some(Finding::Freed));
}

/// Every ordering of these locks is weakened, one at a time, and the graphs of two to four threads
/// show it.
#[test]
fn every_weakened_ordering_of_a_lock_is_found() {
    fn suite<P: Primitive<Op = LockOp>>(files: &'static [&'static str], waiters: usize) -> Suite {
        use LockOp::{Lock, LockTwice, TryLock};
        let check = every_execution::<P::Program<Graphs>>;
        let mut checks = vec![
            check(&[Lock, Lock]),
            check(&[Lock, TryLock]),
            check(&[TryLock, TryLock]),
            check(&[Lock, Lock, Lock]),
            check(&[Lock, Lock, TryLock]),
            check(&[LockTwice, Lock]),
        ];
        if waiters == 3 {
            checks.push(check(&[Lock, Lock, Lock, Lock]));
        }
        Suite { name: P::NAME, files, checks }
    }
    const TICKET: &[&str] = &["src/lock/ticket.rs"];
    const MCS: &[&str] = &["src/lock/mcs.rs", "src/lock/queue.rs"];
    const CLH: &[&str] = &["src/lock/clh.rs", "src/lock/queue.rs"];
    let suites = [
        suite::<locks::Ticket>(TICKET, 2),
        suite::<Ticket8>(TICKET, 2),
        suite::<locks::TicketAsmLoop>(TICKET, 2),
        suite::<locks::TestAndSet>(&["src/lock/test_and_set.rs"], 2),
        suite::<locks::Mcs>(MCS, 3),
        suite::<locks::Clh>(CLH, 2),
    ];
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let report =
        mutation::run(&suites, survivors::SURVIVORS, threads, |mutant| println!("{mutant}"))
            .expect("the locks hold as they are");
    let totals = report.totals();
    println!("{}", totals.line());
    assert!(totals.sites > 20, "{}", totals.line());
    assert_eq!(totals.killed + totals.explained, totals.sites, "{}", totals.line());
}
