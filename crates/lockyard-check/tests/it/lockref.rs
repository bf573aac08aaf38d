//! Checks of the lockref under weak memory: every execution of every pair of operations, by graphs.
//! loom explores every triple, and mixes of four threads, with bounds, and the pairs in the deep
//! checks.
//!
//! The checks:
//!
//! - The count is the sum of the operations on it. While a thread holds the lock, no other thread
//!   changes the count.
//! - A dead object stays dead. A look-up returns only an object that is published and not
//!   destroyed.
//! - A thread that drops the last reference sees everything written before the other references
//!   were dropped.

use lockyard::lock::{LaneLock, Queued, TestAndSet, Ticket};
use lockyard::lockref::policy::{NoTrywait, Standard};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::depth::depth;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_always_hold, must_hold};
use lockyard_check::program::CountOp::{
    self, Get, GetNotDead, GetNotZero, LockSet, MarkDead, PutNotZero, PutOrLock, PutReturn,
};
use lockyard_check::program::CountProgram;

type Host = Hooked<Checked, Scripted>;
type Graphs = Hooked<Dpor, Scripted>;

/// Bound for two threads. Checks without a bound end too, but some take more than a minute.
/// (`tests/it/reduction.rs` runs pairs with a waiting thread without a bound.)
const PAIRS: Bounds = Bounds::preemptions(4);

const DEAD_AND_COUNTED: &str = "`get` needs a reference, and a thread marks an object dead only \
     after it has seen, under the lock, that there is none; `get` of a dead lockref panics if \
     debug assertions are on";
const NOBODY_MAY_FIND_ANYTHING: &str = "without a reference both operations find a count of \
     zero in any order; the matrix with one more reference has this cell";

/// Returns the reason why a pair is not checked, if there are `extra` references in addition to the
/// threads' own.
fn reason(extra: u32) -> impl Fn(CountOp, CountOp) -> Option<&'static str> {
    move |a, b| {
        let both = |x, y| (a, b) == (x, y) || (a, b) == (y, x);
        if both(Get, MarkDead) {
            Some(DEAD_AND_COUNTED)
        } else if extra == 0
            && (both(GetNotZero, GetNotZero)
                || both(GetNotZero, GetNotDead)
                || both(PutNotZero, GetNotZero)
                || both(PutNotZero, GetNotDead))
        {
            Some(NOBODY_MAY_FIND_ANYTHING)
        } else {
            None
        }
    }
}

fn every_pair<K: LaneLock<Host> + LaneLock<Graphs>>(title: &str, bounds: Bounds) {
    let check = |title: &str, pair: &[CountOp; 2]| {
        for pair in depth(&[][..], &[*pair]) {
            must_hold::<CountProgram<K, Host, 0>>(title, pair, bounds);
        }
        must_always_hold::<CountProgram<K, Graphs, 0>>(title, pair).executions
    };
    let plain = format!("{title}, no reference more");
    check_pairs(&plain, &CountOp::ALL, reason(0), |pair| check(&plain, pair));
    let extra = format!("{title}, one reference more");
    check_pairs(&extra, &CountOp::ALL, reason(1), |pair| {
        must_always_hold::<CountProgram<K, Graphs, 1>>(&extra, pair).executions
    });
    let no_trywait = format!("{title} without trywait");
    check_pairs(&no_trywait, &CountOp::ALL, reason(0), |pair| {
        must_always_hold::<CountProgram<K, Graphs, 0, NoTrywait>>(&no_trywait, pair).executions
    });
}

fn every_three<K: LaneLock<Host>>(title: &str, preemptions: usize) {
    let mut executions = 0;
    let mut threes = 0;
    for (i, &a) in CountOp::ALL.iter().enumerate() {
        for (j, &b) in CountOp::ALL.iter().enumerate().skip(i) {
            for &c in &CountOp::ALL[j..] {
                let ops = [a, b, c];
                if ops.contains(&Get) && ops.contains(&MarkDead) {
                    continue;
                }
                executions += must_hold::<CountProgram<K, Host, 1, Standard>>(
                    title,
                    &ops,
                    Bounds::preemptions(preemptions),
                )
                .executions;
                threes += 1;
            }
        }
    }
    println!(
        "{title}: {threes} programs of three operations, bound {preemptions}, {executions} \
         executions"
    );
}

fn three_deeper<K: LaneLock<Host>>(title: &str, preemptions: usize) {
    for ops in [
        [PutReturn, PutReturn, PutReturn],
        [PutReturn, PutReturn, GetNotZero],
        [PutOrLock, PutOrLock, PutReturn],
        [PutOrLock, PutOrLock, GetNotDead],
        [GetNotZero, LockSet, PutReturn],
    ] {
        must_hold::<CountProgram<K, Host>>(title, &ops, Bounds::preemptions(preemptions));
    }
}

fn four_threads<K: LaneLock<Host>>(title: &str, more: &[[CountOp; 4]]) {
    let all = [
        [PutReturn, PutReturn, PutReturn, GetNotZero],
        [PutOrLock, PutOrLock, PutOrLock, PutOrLock],
        [PutOrLock, PutOrLock, PutOrLock, GetNotDead],
    ];
    for ops in all.iter().chain(more) {
        must_hold::<CountProgram<K, Host>>(title, ops, Bounds::preemptions(depth(1, 2)));
    }
}

const QUEUED: &str = "lockref(queued)";
const TICKET: &str = "lockref(ticket)";
const TEST_AND_SET: &str = "lockref(test-and-set)";

#[test]
fn every_pair_of_operations_holds_over_a_queued_lock() {
    // With the bound of the other locks this takes four times as long.
    every_pair::<Queued>(QUEUED, Bounds::preemptions(3));
}

#[test]
fn every_three_operations_hold_over_a_queued_lock() {
    every_three::<Queued>(QUEUED, 1);
    three_deeper::<Queued>(QUEUED, depth(1, 2));
}

#[test]
fn four_threads_hold_over_a_queued_lock() {
    // Mixes of operations that set the count under the lock take too long to explore. Each
    // compare-exchange of half the word reads the word first, and every such read is a branch.
    // `locks.rs` has four threads that lock a separate word.
    four_threads::<Queued>(QUEUED, &[[PutOrLock, PutReturn, GetNotZero, GetNotDead]]);
}

#[test]
fn every_pair_of_operations_holds_over_a_ticket_lock() {
    every_pair::<Ticket>(TICKET, PAIRS);
}

#[test]
fn every_pair_of_operations_holds_over_a_test_and_set_lock() {
    every_pair::<TestAndSet>(TEST_AND_SET, PAIRS);
}

#[test]
fn every_three_operations_hold_over_a_ticket_lock() {
    every_three::<Ticket>(TICKET, depth(1, 2));
    three_deeper::<Ticket>(TICKET, depth(2, 3));
}

#[test]
fn every_three_operations_hold_over_a_test_and_set_lock() {
    every_three::<TestAndSet>(TEST_AND_SET, 1);
    three_deeper::<TestAndSet>(TEST_AND_SET, depth(2, 3));
}

#[test]
fn four_threads_hold_over_a_ticket_lock() {
    four_threads::<Ticket>(
        TICKET,
        &[[LockSet, LockSet, LockSet, LockSet], [LockSet, LockSet, LockSet, GetNotZero]],
    );
}

#[test]
fn four_threads_hold_over_a_test_and_set_lock() {
    four_threads::<TestAndSet>(
        TEST_AND_SET,
        &[[LockSet, LockSet, LockSet, LockSet], [PutOrLock, PutOrLock, GetNotZero, GetNotDead]],
    );
}
