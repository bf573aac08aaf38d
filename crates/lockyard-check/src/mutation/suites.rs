//! The table of suites: a new primitive is one entry.

use super::{Check, Suite};
use crate::backends::{model, verdict};
use crate::explore::Bounds;
use crate::hooks::Scripted;
use crate::matrix::pairs;
use crate::primitives::{
    ClhOfFour, McsOfFour, Primitive, PvQueuedLock, PvQueuedNoNode, PvTicketLock, PvTicketNoNode,
    QueuedCmpxchg, QueuedNoNode, QueuedStore, Tas, Ticket8, Ticket16, TicketAsm,
};
use crate::program::{
    CountOp, CountProgram, LastUse, LockOp, NestedOp, NestedProgram, PageOp, PageProgram, Program,
    UseOp,
};
use lockyard::lock::{LaneLock, Queued};
use lockyard::lockref::policy::{NoTrywait, Policy, Standard};
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, Xadd};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard::{LockRef, PageRef};

type Host = Hooked<Checked, Scripted>;
type Of<P> = <P as Primitive>::Program<Host>;

/// A program as a check.
fn check<P: Program>(ops: &[P::Op], bounds: Bounds) -> Check {
    let ops = ops.to_vec();
    let name = format!("{ops:?}, {bounds}");
    Check { name, run: Box::new(move || verdict(model::<P>(&ops, bounds))) }
}

/// The checks of a lock: two threads without a bound, three, and four of which three wait.
fn lock<P: Primitive<Op = LockOp>>() -> Vec<Check> {
    use LockOp::{Lock, LockTwice, TryLock};
    vec![
        check::<Of<P>>(&[Lock, Lock], Bounds::ALL),
        check::<Of<P>>(&[Lock, TryLock], Bounds::ALL),
        check::<Of<P>>(&[TryLock, TryLock], Bounds::ALL),
        check::<Of<P>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, TryLock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[LockTwice, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[LockTwice, LockTwice, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, Lock, Lock], Bounds::stepping_back(1)),
        check::<Of<P>>(&[Lock, Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, Lock, TryLock], Bounds::stepping_back(2)),
    ]
}

/// The same, waiters without a node, and waits that nest.
fn queued() -> Vec<Check> {
    use NestedOp::{First, Holding, Interrupted, Second};
    type P = QueuedStore;
    type K = Queued;
    let mut checks = lock::<P>();
    checks.extend(lock::<QueuedNoNode>());
    let ops = [Holding, First, Second, Interrupted];
    checks.push(check::<NestedProgram<K, Host>>(&ops, Bounds::stepping_back(2)));
    checks
}

/// The checks of a lock whose waiters park, where all can and where one can: two threads, three, and four of which three wait.
fn parking<P: Primitive<Op = LockOp>, N: Primitive<Op = LockOp>>() -> Vec<Check> {
    use LockOp::{Lock, LockTwice, TryLock};
    vec![
        check::<Of<P>>(&[Lock, Lock], Bounds::ALL),
        check::<Of<P>>(&[Lock, TryLock], Bounds::ALL),
        check::<Of<P>>(&[TryLock, TryLock], Bounds::ALL),
        check::<Of<N>>(&[Lock, Lock], Bounds::ALL),
        check::<Of<P>>(&[LockTwice, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, TryLock], Bounds::stepping_back(2)),
        check::<Of<N>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[LockTwice, Lock, Lock], Bounds::stepping_back(1)),
        check::<Of<P>>(&[Lock, Lock, Lock, Lock], Bounds::stepping_back(1)),
    ]
}

/// The checks of a lockref: every pair of operations, and threes.
fn lockref<K: LaneLock, P: Policy>() -> Vec<Check> {
    use CountOp::{Get, GetNotDead, GetNotZero, LockSet, MarkDead, PutOrLock, PutReturn};
    let mut checks = Vec::new();
    for (a, b) in pairs(&CountOp::ALL) {
        if [a, b].contains(&Get) && [a, b].contains(&MarkDead) {
            continue; // whoever has a reference keeps the object from being marked dead
        }
        checks.push(check::<CountProgram<K, Host, 0, P>>(&[a, b], Bounds::preemptions(2)));
        checks.push(check::<CountProgram<K, Host, 1, P>>(&[a, b], Bounds::preemptions(2)));
    }
    checks.push(check::<LastUse<LockRef<K, P, Host>, Host>>(
        &[UseOp::Owner, UseOp::Owner, UseOp::LookUp],
        Bounds::preemptions(2),
    ));
    for ops in [
        [PutReturn, PutReturn, PutReturn],
        [PutReturn, PutReturn, GetNotZero],
        [PutOrLock, PutOrLock, PutReturn],
        [PutOrLock, PutOrLock, GetNotDead],
        [GetNotZero, LockSet, PutReturn],
        [PutReturn, LockSet, GetNotDead],
    ] {
        checks.push(check::<CountProgram<K, Host, 0, P>>(&ops, Bounds::preemptions(2)));
    }
    checks
}

/// The checks of a page reference count that can be looked up.
macro_rules! page {
    ($variant:ty, $frees:literal, $ops:expr, $fours:expr) => {{
        type Of = PageProgram<PageRef<$variant, Host>, Host, $frees>;
        let ops: &[PageOp] = &$ops;
        let mut checks = Vec::new();
        for (a, b) in pairs(ops) {
            checks.push(check::<Of>(&[a, b], Bounds::ALL));
        }
        for (index, &a) in ops.iter().enumerate() {
            for (b, c) in pairs(&ops[index..]) {
                checks.push(check::<Of>(&[a, b, c], Bounds::preemptions(2)));
            }
        }
        for four in $fours {
            checks.push(check::<Of>(&four, Bounds::preemptions(2)));
        }
        checks
    }};
}

/// All suites.
pub fn all() -> Vec<Suite> {
    use PageOp::{Freeze, FreezeToTwo, Get, LookUp, LookUpAndPut, Put};
    let suite = |name, files, checks| Suite { name, files, checks };
    const QUEUED: &[&str] = &["src/lock/queued.rs", "src/lock/queue.rs"];
    let looked_up = [
        [Freeze, LookUp, LookUpAndPut, Put],
        [FreezeToTwo, LookUp, Put, Put],
        [Put, Put, Put, LookUp],
    ];
    let added = [[Freeze, Put, Put, Put], [Get, Put, Put, Freeze], [Put, Put, Put, Put]];
    const PAGE: &[&str] = &["src/page_ref/mod.rs", "src/page_ref/variant.rs"];
    const LOCKREF: &[&str] =
        &["src/lockref/mod.rs", "src/lockref/guard.rs", "src/lockref/count.rs"];
    vec![
        suite("ticket 16+16", &["src/lock/ticket.rs"], lock::<Ticket16>()),
        suite("ticket 8+8", &["src/lock/ticket.rs"], lock::<Ticket8>()),
        suite("ticket asm-loop", &["src/lock/ticket.rs"], lock::<TicketAsm>()),
        suite("test-and-set", &["src/lock/test_and_set.rs"], lock::<Tas>()),
        suite("queued", QUEUED, queued()),
        suite("queued cmpxchg-grab", QUEUED, lock::<QueuedCmpxchg>()),
        suite("mcs", &["src/lock/mcs.rs", "src/lock/queue.rs"], lock::<McsOfFour>()),
        suite("clh", &["src/lock/clh.rs", "src/lock/queue.rs"], lock::<ClhOfFour>()),
        suite("pv-ticket", &["src/lock/pv_ticket.rs"], parking::<PvTicketLock, PvTicketNoNode>()),
        suite(
            "pv-queued",
            &["src/lock/pv_queued.rs", "src/lock/queue.rs"],
            parking::<PvQueuedLock, PvQueuedNoNode>(),
        ),
        suite("lockref(queued)", LOCKREF, lockref::<Queued, Standard>()),
        suite("lockref(queued) no-trywait", LOCKREF, lockref::<Queued, NoTrywait>()),
        suite("page-ref xadd", PAGE, page!(Xadd, true, [Get, Put, Freeze, FreezeToTwo], added)),
        suite("page-ref cmpxchg", PAGE, page!(Cmpxchg, true, PageOp::ALL, looked_up)),
        suite(
            "page-ref optimistic-cmpxchg",
            PAGE,
            page!(OptimisticCmpxchg, true, PageOp::ALL, looked_up),
        ),
        suite("page-ref locked-bit", PAGE, page!(LockedBit, false, PageOp::ALL, looked_up)),
    ]
}
