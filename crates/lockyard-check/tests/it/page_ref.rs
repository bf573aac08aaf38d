//! Checks of the page reference count under weak memory: every execution of every pair and every
//! triple of operations, and of mixes of four threads. (loom explores them with bounds in
//! `cargo mutation`.)
//!
//! The checks:
//!
//! - The count is the sum of the operations on it.
//! - While a thread with a reference reads the page, no thread changes or destroys it.
//! - A thread that freezes the page, or drops the last reference, has exclusive access. It sees the
//!   other threads' writes from before they dropped their references.
//! - Exactly one thread learns that it dropped the last reference.

use lockyard::page_ref::PageRef;
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, Xadd};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::model;
use lockyard_check::dpor::Dpor;
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::Scripted;
use lockyard_check::matrix::{check_pairs, must_always_hold};
use lockyard_check::program::PageOp::{self, Freeze, FreezeToTwo, Get, LookUp, LookUpAndPut, Put};
use lockyard_check::program::{PageCount, PageProgram};

type Model = Hooked<Dpor, Scripted>;
type InLoom = Hooked<Checked, Scripted>;
type Of<V, const FREES: bool = true> = PageProgram<PageRef<V, Model>, Model, FREES>;

const BOTH_HAVE_ONE: &str = "each has a reference that the other's operation does not drop, \
                             so neither can find that it has the only one";

fn reason(a: PageOp, b: PageOp) -> Option<&'static str> {
    let keeps = |op| matches!(op, Get | Freeze | FreezeToTwo);
    let freezes = |op| matches!(op, Freeze | FreezeToTwo);
    ((freezes(a) && keeps(b)) || (freezes(b) && keeps(a))).then_some(BOTH_HAVE_ONE)
}

fn all<V, const FREES: bool>(title: &str, ops: &[PageOp])
where
    PageRef<V, Model>: PageCount<Model>,
    V: lockyard::page_ref::Variant,
{
    check_pairs(title, ops, reason, |pair| {
        must_always_hold::<Of<V, FREES>>(title, pair).executions
    });
    for (i, &a) in ops.iter().enumerate() {
        for (j, &b) in ops.iter().enumerate().skip(i) {
            for &c in &ops[j..] {
                must_always_hold::<Of<V, FREES>>(title, &[a, b, c]);
            }
        }
    }
}

fn look_ups<V, const FREES: bool>(title: &str)
where
    PageRef<V, Model>: PageCount<Model>,
    V: lockyard::page_ref::Variant,
{
    all::<V, FREES>(title, &PageOp::ALL);
    for ops in [
        [Freeze, LookUp, LookUpAndPut, Put],
        [FreezeToTwo, LookUp, Put, Put],
        [Freeze, LookUpAndPut, LookUpAndPut, LookUpAndPut],
        [Put, Put, LookUpAndPut, LookUpAndPut],
        [Put, Put, Put, LookUp],
        [Get, Put, LookUpAndPut, Put],
    ] {
        must_always_hold::<Of<V, FREES>>(title, &ops);
    }
}

#[test]
fn a_count_whose_references_are_taken_by_compare_exchange_holds() {
    look_ups::<Cmpxchg, true>("page-ref cmpxchg");
}

#[test]
fn a_count_that_guesses_holds() {
    look_ups::<OptimisticCmpxchg, true>("page-ref optimistic-cmpxchg");
}

#[test]
fn a_count_with_a_bit_holds() {
    look_ups::<LockedBit, false>("page-ref locked-bit");
}

/// Shows why the memory of a count with a bit must not be freed: a put that is not the last one
/// reads the count again.
#[test]
fn a_count_with_a_bit_must_not_be_freed_with_its_object() {
    type InOrders = PageProgram<PageRef<LockedBit, InLoom>, InLoom, true>;
    let freed = model::<InOrders>(&[Put, LookUpAndPut], Bounds::ALL);
    let caught = freed.expect_err("a put looks at a count that was freed").caught;
    assert_eq!(caught.finding, Finding::Freed, "{caught}");
    // The count may be freed if no thread looks the page up.
    must_always_hold::<Of<LockedBit, true>>("page-ref locked-bit", &[Put, Put, Put]);
}

#[test]
fn a_count_whose_references_are_taken_by_addition_holds() {
    let title = "page-ref xadd";
    all::<Xadd, true>(title, &[Get, Put, Freeze, FreezeToTwo]);
    for ops in [[Freeze, Put, Put, Put], [Get, Put, Put, Freeze], [Put, Put, Put, Put]] {
        must_always_hold::<Of<Xadd>>(title, &ops);
    }
}
