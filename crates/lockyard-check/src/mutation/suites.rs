//! The table of suites. A lock has one by its row in `for_each_lock!` or `for_each_rwlock!`. To add
//! another primitive, add one entry.

use super::suite::{Check, Suite};
use crate::backends::{graphs, model, verdict, verdict_of_graphs};
use crate::dpor::Deletions;
use crate::explore::Bounds;
use crate::few_slots::FewSlots;
use crate::hooks::Scripted;
use crate::matrix::pairs;
use crate::primitives::{
    Exact, MutexNapping, Napping, ParkingFair, Primitive, Ticket8, locks, one_slot,
};
use crate::program::{
    AnyReadWriteProgram, BufferOp, BufferProgram, CondOp, CondProgram, ConnOp, ConnProgram,
    CountOp, CountProgram, FairOp, FairProgram, HandleOp, HandleProgram, IdOp, IdProgram, KeyOp,
    KeyProgram, LastUse, LockOp, NestedOp, NestedProgram, PageOp, PageProgram, Program,
    QueuedReadWriteProgram, ReadWriteOp, ReadWriteProgram, ReclaimOp, ReclaimProgram, SHORT,
    SequenceOp, SequenceProgram, ShardedOp, ShardedProgram, StatOp, StatProgram, Unreserved, UseOp,
};
use crate::quarantine::Quarantine;
use lockyard::lock::{Adaptive, LaneLock, PvQueued, Queued, TestAndSet};
use lockyard::lockref::LockRef;
use lockyard::lockref::policy::{NoTrywait, Policy, Standard};
use lockyard::page_ref::PageRef;
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, Xadd};
use lockyard::platform::checked::{Checked, Parking, with_clock, with_parking};
use lockyard::platform::hooked::Hooked;
use lockyard::reclaim::Domain;
use lockyard::rwlock::{ParkingReadWrite, ReadWrite};
use lockyard_tables::buffers;
use lockyard_tables::connections;
use lockyard_tables::handle_table;
use lockyard_tables::id_table::Rcu;
use lockyard_tables::statistics::{PerNode, PerThread};

/// The host of the checks.
pub(crate) type Host = Hooked<Checked, Scripted>;
type Of<P> = <P as Primitive>::Program<Host>;

/// Returns the check that runs a program.
pub(crate) fn check<P: Program>(ops: &[P::Op], bounds: Bounds) -> Check {
    let ops = ops.to_vec();
    let name = format!("{ops:?}, {bounds}");
    Check { name, run: Box::new(move || verdict(model::<P>(&ops, bounds))) }
}

/// Returns the check that runs every execution of a program, by graphs.
pub fn every_execution<P: Program>(ops: &[P::Op]) -> Check {
    let ops = ops.to_vec();
    let name = format!("{ops:?}, graphs");
    let run = move || verdict_of_graphs(graphs::<P>(&ops, Deletions::Needed));
    Check { name, run: Box::new(run) }
}

/// Returns the checks of a lock: two threads without a bound, three threads, and four threads of
/// which three wait.
pub(crate) fn lock<P: Program<Op = LockOp>>() -> Vec<Check> {
    use LockOp::{Lock, LockTwice, TryLock};
    vec![
        check::<P>(&[Lock, Lock], Bounds::ALL),
        check::<P>(&[Lock, TryLock], Bounds::ALL),
        check::<P>(&[TryLock, TryLock], Bounds::ALL),
        check::<P>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<P>(&[Lock, Lock, TryLock], Bounds::stepping_back(2)),
        check::<P>(&[LockTwice, Lock], Bounds::stepping_back(2)),
        check::<P>(&[LockTwice, LockTwice, Lock], Bounds::stepping_back(2)),
        check::<P>(&[Lock, Lock, Lock, Lock], Bounds::stepping_back(1)),
        check::<P>(&[Lock, Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<P>(&[Lock, Lock, Lock, TryLock], Bounds::stepping_back(2)),
    ]
}

/// Returns more checks of the queued lock: where waiters have no node, and with nested waits.
fn queued() -> Vec<Check> {
    use NestedOp::{First, Holding, Interrupted, Second};
    let mut checks = lock::<Of<one_slot::Queued>>();
    let ops = [Holding, First, Second, Interrupted];
    checks.push(check::<NestedProgram<Queued, Host>>(&ops, Bounds::stepping_back(2)));
    checks
}

/// Returns the checks of a lock whose waiters park, with two, three and four threads. `P` runs
/// where all threads can park, and `N` where only one can.
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

/// Returns the checks of a lock whose waiters sleep.
fn sleeping<P: Primitive<Op = LockOp>>() -> Vec<Check> {
    use LockOp::{Lock, LockTwice, TryLock};
    vec![
        check::<Of<P>>(&[Lock, Lock], Bounds::stepping_back(3)),
        check::<Of<P>>(&[Lock, TryLock], Bounds::stepping_back(3)),
        check::<Of<P>>(&[TryLock, TryLock], Bounds::ALL),
        check::<Of<P>>(&[LockTwice, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
        check::<Of<P>>(&[Lock, Lock, TryLock], Bounds::stepping_back(2)),
    ]
}

/// Runs a check with parks that return for the given reasons.
fn parked(parking: Parking, Check { name, run }: Check) -> Check {
    Check {
        name: format!("{name}, {parking:?}"),
        run: Box::new(move || with_parking(parking, &run)),
    }
}

/// Returns more checks of the mutex: with releases that may miss a sleeper, and where only one
/// thread has a node. The last checks hand the mutex over, and give up.
fn adaptive() -> Vec<Check> {
    use FairOp::{Fair, GivesUp, Timed, Usual, Woken};
    use LockOp::{Lock, LockTwice, TryLock};
    type P = FairProgram<Adaptive<Exact>, Host>;
    let mut checks = Vec::new();
    for pair in [[Lock, Lock], [Lock, TryLock], [TryLock, TryLock]] {
        let bounds = Bounds::stepping_back(2);
        checks.push(parked(Parking::Naps, check::<Of<MutexNapping>>(&pair, bounds)));
        checks.push(check::<Of<one_slot::Adaptive>>(&pair, Bounds::ALL));
    }
    for pair in [[Fair, Fair], [Fair, Usual], [Fair, Timed], [Usual, Timed]] {
        checks.push(check::<P>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[Usual, Woken], [Fair, Woken], [Usual, GivesUp], [Woken, GivesUp]] {
        checks.push(timed::<P>(&pair, Bounds::stepping_back(2)));
    }
    checks.push(check::<Of<locks::Adaptive>>(&[LockTwice, Lock, Lock], Bounds::stepping_back(2)));
    checks.push(check::<P>(&[Fair, Fair, Usual], Bounds::stepping_back(2)));
    // A sleeper looks at a queue with others in it, and leaves it while another thread joins.
    let three = check::<Of<MutexNapping>>(&[Lock, Lock, Lock], Bounds::stepping_back(1));
    checks.push(parked(Parking::Naps, three));
    checks.push(check::<Of<one_slot::Adaptive>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)));
    // A woken thread that has lost finds the lock free after all.
    checks.push(check::<Of<locks::Adaptive>>(&[LockTwice, Lock], Bounds::stepping_back(3)));
    checks.push(timed::<P>(&[Usual, Usual, GivesUp], Bounds::stepping_back(2)));
    checks
}

/// Returns the checks of the reader-writer lock: pairs of operations, more threads, waits that give
/// up, and threads of which only one has a node.
fn read_write() -> Vec<Check> {
    use ReadWriteOp::*;
    type P = ReadWriteProgram<Exact, Host>;
    type N = ReadWriteProgram<Exact, FewSlots<Host, 1>>;
    let mut checks = Vec::new();
    for pair in [
        [Write, Write],
        [Write, Read],
        [TryRead, TryWrite],
        [Write, TryRead],
        [TryWrite, Read],
        [Upgrade, Read],
        [Upgrade, Write],
        [TryUpgrade, Read],
        [Downgrade, Read],
        [Downgrade, Write],
        [WriteFair, Read],
        [WriteFair, Write],
        [ReadFair, Write],
        [ReadRecursive, Write],
    ] {
        checks.push(check::<P>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [
        [Write, WriteGivesUp],
        [Write, ReadGivesUp],
        [Read, UpgradeGivesUp],
        [Write, WriteWoken],
        [Write, ReadWoken],
    ] {
        checks.push(timed::<P>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[Write, Write], [Write, Read], [Upgrade, Read]] {
        checks.push(check::<N>(&pair, Bounds::stepping_back(2)));
    }
    for three in [[Write, Write, Read], [Upgrade, Read, Write], [TryUpgrade, Read, Write]] {
        checks.push(check::<P>(&three, Bounds::stepping_back(1)));
    }
    // Readers that another reader admits, also awake.
    let readers = || check::<P>(&[Write, Read, Read], Bounds::stepping_back(2));
    checks.extend([readers(), parked(Parking::SpuriousOnce, readers())]);
    // Naps are longer than the models, so no thread closes the lock.
    type Open = ReadWriteProgram<Napping, Host>;
    for three in [[Read, Write, Read], [Write, Read, Read]] {
        checks.push(timed::<Open>(&three, Bounds::stepping_back(2)));
    }
    // A sleeper leaves the queue from its middle, or its front, while another sleeper is behind it.
    for three in [[Write, WriteGivesUp, Read], [Write, ReadGivesUp, Read]] {
        checks.push(timed::<P>(&three, Bounds::stepping_back(2)));
    }
    // A sleeper that becomes the head goes to sleep again. There are more than three million
    // executions: this check only searches.
    let again = Bounds::stepping_back(3).first(20_000);
    checks.push(parked(Parking::SpuriousOnce, timed::<P>(&[Read, WriteGivesUp, Read], again)));
    checks
}

/// Returns the checks of the condition variable. The suite of the mutex checks its lock.
fn condition_variable() -> Vec<Check> {
    use CondOp::{GivesUp, NotifyAll, NotifyOne, Wait};
    type P = CondProgram<Host>;
    let naps = |check| parked(Parking::Naps, check);
    let mut checks = Vec::new();
    for pair in [[Wait, NotifyOne], [Wait, NotifyAll]] {
        checks.push(naps(check::<P>(&pair, Bounds::stepping_back(2))));
    }
    checks.push(naps(timed::<P>(&[GivesUp, NotifyOne], Bounds::stepping_back(2))));
    checks
}

/// Returns the checks of a reader-writer lock for comparison.
fn any_read_write<L: ReadWrite<Host>>() -> Vec<Check> {
    use ReadWriteOp::{Read, Write, WriteTwice};
    type P<L> = AnyReadWriteProgram<L, Host>;
    let mut checks = Vec::new();
    for pair in [[Write, Write], [Write, Read], [WriteTwice, Read], [WriteTwice, Write]] {
        checks.push(check::<P<L>>(&pair, Bounds::stepping_back(3)));
    }
    for three in [[Write, Write, Read], [Write, Read, Read], [Write, Write, Write]] {
        checks.push(check::<P<L>>(&three, Bounds::stepping_back(2)));
    }
    checks
}

/// Returns the checks of `parking_lot`'s reader-writer lock, also where only one thread has a node.
fn parking_read_write() -> Vec<Check> {
    use ReadWriteOp::{Read, Write};
    type One = FewSlots<Host, 1>;
    type N = AnyReadWriteProgram<ParkingReadWrite<One>, One>;
    let mut checks = any_read_write::<ParkingReadWrite<Host>>();
    for pair in [[Write, Write], [Write, Read]] {
        checks.push(check::<N>(&pair, Bounds::stepping_back(2)));
    }
    checks
}

/// Returns the checks of the sharded reader-writer lock: readers that are spread at first, and
/// readers that spread when they meet. The suite of `rwlock` checks its inner lock.
fn sharded() -> Vec<Check> {
    use ShardedOp::*;
    type Apart = ShardedProgram<Exact, Host, true>;
    type Together = ShardedProgram<Exact, Host, false>;
    type NoNode = ShardedProgram<Exact, FewSlots<Host, 1>, true>;
    let mut checks = Vec::new();
    for pair in [[Read, Write], [TryRead, Write], [Write, Write], [Read, TryWrite]] {
        checks.push(check::<Apart>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[Write, Read], [Read, Write]] {
        checks.push(check::<NoNode>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[WriteGivesUp, Read], [Read, WriteGivesUp]] {
        checks.push(timed::<NoNode>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[Read, WriteGivesUp], [ReadTwice, WriteWoken]] {
        checks.push(timed::<Apart>(&pair, Bounds::stepping_back(2)));
    }
    for pair in [[Read, Read], [ReadTwice, ReadTwice], [Spread, Read], [Spread, Write]] {
        checks.push(check::<Together>(&pair, Bounds::stepping_back(2)));
    }
    checks.push(check::<Apart>(&[Read, Read, Write], Bounds::stepping_back(1)));
    // One finds the table that another has published, and opened again.
    checks.push(check::<Together>(&[SpreadAgain, Read], Bounds::stepping_back(2)));
    // Both readers are in one shard. The one that is refused leaves last, and wakes the writer.
    checks.push(check::<Apart>(&[Read, Write, Read], Bounds::stepping_back(2)));
    // A writer comes between: the readers that spread again see what it wrote.
    checks.push(check::<Together>(&[Write, Spread, Read], Bounds::stepping_back(1)));
    checks.push(check::<Apart>(&[Write, Spread, TryRead], Bounds::stepping_back(1)));
    checks
}

/// Returns the checks of the queued reader-writer lock. The suite of `queued` checks its turnstile.
fn queued_read_write() -> Vec<Check> {
    use ReadWriteOp::{Downgrade, Read, ReadRecursive, TryRead, TryWrite, Write};
    type P = QueuedReadWriteProgram<Host>;
    let mut checks = Vec::new();
    for pair in [
        [Write, Write],
        [Write, Read],
        [Write, TryRead],
        [TryWrite, TryRead],
        [Downgrade, Read],
        [Downgrade, TryRead],
        [ReadRecursive, Write],
    ] {
        checks.push(check::<P>(&pair, Bounds::stepping_back(3)));
    }
    for three in [[Write, Write, Read], [Write, Read, Read], [ReadRecursive, Write, Read]] {
        checks.push(check::<P>(&three, Bounds::stepping_back(2)));
    }
    for four in [[Write, Read, Read, Write], [Write, Write, Read, Read]] {
        checks.push(check::<P>(&four, Bounds::stepping_back(1)));
    }
    checks
}

/// Returns the checks of a sequence lock with the simplest lock of writers. The suite of that lock
/// checks its orderings.
fn sequence_lock() -> Vec<Check> {
    use SequenceOp::{Discard, Read, ReadLocked, ReadTwice, TryRead, TryWrite, Write, WriteTwice};
    type P = SequenceProgram<Host, TestAndSet>;
    let mut checks = Vec::new();
    for pair in [[TryRead, Write], [Write, Write], [ReadLocked, Write], [TryWrite, Discard]] {
        checks.push(check::<P>(&pair, Bounds::stepping_back(3)));
    }
    for pair in [[Read, Write], [TryRead, WriteTwice], [ReadTwice, Write]] {
        checks.push(check::<P>(&pair, Bounds::stepping_back(2)));
    }
    for three in [[TryRead, Write, Write], [TryRead, TryRead, Write]] {
        checks.push(check::<P>(&three, Bounds::stepping_back(2)));
    }
    checks
}

/// Returns the check that runs a program on a host with a clock.
fn timed<P: Program>(ops: &[P::Op], bounds: Bounds) -> Check {
    let Check { name, run } = check::<P>(ops, bounds);
    Check { name: format!("{name}, with a clock"), run: Box::new(move || with_clock(SHORT, &run)) }
}

/// Returns more checks of the parking queued lock: with fair releases, and with timed waits.
fn pv_queued() -> Vec<Check> {
    use FairOp::{Fair, GivesUp, Timed, Usual, Woken};
    type P = FairProgram<PvQueued, Host>;
    let mut checks = Vec::new();
    checks.push(check::<P>(&[Fair, Usual], Bounds::ALL));
    checks.push(check::<P>(&[Fair, Timed], Bounds::ALL));
    checks.push(check::<P>(&[Fair, Fair, Usual], Bounds::stepping_back(2)));
    for pair in [[Usual, Woken], [Fair, Woken], [Usual, GivesUp], [Woken, GivesUp]] {
        checks.push(timed::<P>(&pair, Bounds::ALL));
    }
    // A waiter that gives up clears a bit that another thread has set.
    checks.push(timed::<P>(&[Usual, Woken, GivesUp], Bounds::stepping_back(1)));
    checks.push(timed::<P>(&[Usual, Usual, GivesUp], Bounds::stepping_back(1)));
    checks
}

/// Returns the checks of a lockref: every pair of operations, and some groups of three.
fn lockref<K: LaneLock<Host>, P: Policy>() -> Vec<Check> {
    use CountOp::{Get, GetNotDead, GetNotZero, LockSet, MarkDead, PutOrLock, PutReturn};
    let mut checks = Vec::new();
    for (a, b) in pairs(&CountOp::ALL) {
        if [a, b].contains(&Get) && [a, b].contains(&MarkDead) {
            continue; // a thread with a reference keeps the object from being marked dead
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

/// Checks of a page reference count that supports look-ups.
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

/// Returns the checks of per-node statistics with the simplest lock. The suite of that lock checks
/// its orderings.
fn statistics() -> Vec<Check> {
    use StatOp::{Read, Take, Update};
    type Of<const PRIMED: bool> = StatProgram<PerNode<2>, TestAndSet, Host, PRIMED>;
    let mut checks = Vec::new();
    for (a, b) in pairs(&[Update(0), Update(1), Read, Take]) {
        checks.push(check::<Of<true>>(&[a, b], Bounds::ALL));
        checks.push(check::<Of<false>>(&[a, b], Bounds::ALL));
    }
    checks.push(check::<Of<true>>(&[Update(1), Update(1), Read], Bounds::preemptions(2)));
    checks
}

/// Returns the checks of words for each thread. (Two threads use one group of words.)
fn words_of_threads() -> Vec<Check> {
    use StatOp::{Read, TakeAndUpdate, TakeAndUpdateHere, UpdateHere};
    type Of<const PRIMED: bool> = StatProgram<PerThread, TestAndSet, Host, PRIMED>;
    let two = Bounds::preemptions(2);
    vec![
        check::<Of<false>>(&[UpdateHere, UpdateHere], two),
        check::<Of<false>>(&[UpdateHere, Read], two),
        check::<Of<true>>(&[TakeAndUpdateHere, Read], two),
        check::<Of<true>>(&[TakeAndUpdate(0), Read], two),
    ]
}

/// A host with one record for each thread, which detects accesses to freed memory.
type Reclaiming<const N: u32> = Quarantine<FewSlots<Host, N>>;

/// Returns the checks of reclamation: readers against threads that free. They run with records,
/// without records, and with records that are made on demand.
fn reclamation() -> Vec<Check> {
    use ReclaimOp::{AdvanceAndCollect, ReadNested, Synchronize};
    use ReclaimOp::{Barrier, Collect, Read, ReadQuiescent, ReadTwice, Retire, RetireAndCollect};
    type Of<const N: u32> = ReclaimProgram<Domain<Reclaiming<N>>, Reclaiming<N>>;
    type Lazy = ReclaimProgram<Unreserved<Reclaiming<2>>, Reclaiming<2>>;
    let two = Bounds::preemptions(2);
    let mut checks = vec![check::<Lazy>(&[Read, Read], Bounds::preemptions(2))];
    for reader in [Read, ReadTwice, ReadNested, ReadQuiescent] {
        for writer in [Synchronize, RetireAndCollect] {
            checks.push(check::<Of<2>>(&[reader, writer], two));
            checks.push(check::<Of<1>>(&[reader, writer], two));
            checks.push(check::<Of<1>>(&[writer, reader], two));
        }
    }
    checks.push(check::<Of<0>>(&[Read, RetireAndCollect], two));
    checks.push(check::<Of<2>>(&[ReadQuiescent, Synchronize], Bounds::stepping_back(2)));
    checks.push(check::<Lazy>(&[Read, RetireAndCollect], two));
    checks.push(check::<Lazy>(&[Read, Synchronize], two));
    for ops in [[Retire, Collect], [Retire, RetireAndCollect], [Barrier, Collect]] {
        checks.push(check::<Of<2>>(&ops, Bounds::preemptions(2)));
    }
    // In some executions one thread retires an object and another ends the epoch. A thread may see
    // that end late, or never.
    for ops in [
        [Collect, Read, RetireAndCollect],
        [Read, Retire, AdvanceAndCollect],
        [Read, Retire, Collect],
        [ReadTwice, Collect, Retire],
        [Barrier, Retire, Collect],
    ] {
        checks.push(check::<Of<3>>(&ops, Bounds::preemptions(1)));
    }
    // These take longest. In the first, a quiescent state records an epoch. That epoch was ended by
    // a thread that has not seen the retirement.
    let stepping_back = Bounds::stepping_back(2);
    checks.push(check::<Of<3>>(&[ReadQuiescent, Synchronize, Collect], stepping_back));
    checks.push(check::<Of<3>>(&[Read, Synchronize, AdvanceAndCollect], two));
    checks
}

/// Returns the checks of the identifier table. (If look-ups take the table's lock, the lock orders
/// everything, and its own suite checks its orderings.)
fn identifiers() -> Vec<Check> {
    use IdOp::{Insert, InsertAndLookUp, LookUp, Remove, Replace};
    type Of = IdProgram<Rcu, Reclaiming<2>>;
    type Growing = IdProgram<Rcu, Reclaiming<2>, true>;
    let mut checks = Vec::new();
    for ops in [[LookUp, Insert], [InsertAndLookUp, InsertAndLookUp]] {
        checks.push(check::<Growing>(&ops, Bounds::stepping_back(2)));
    }
    for ops in [
        [LookUp, Replace],
        [LookUp, Remove],
        [LookUp, LookUp],
        [Insert, Remove],
        [InsertAndLookUp, Remove],
        [InsertAndLookUp, InsertAndLookUp],
        [Replace, Replace],
    ] {
        checks.push(check::<Of>(&ops, Bounds::stepping_back(2)));
    }
    checks
}

/// Returns the checks of a handle table with shared objects. Other suites check the orderings of
/// its locks and its domain. (An exclusive object's lock orders everything.)
fn handles() -> Vec<Check> {
    use HandleOp::{Insert, InsertAndLookUp, LookUp, Remove, Replace};
    type Of = HandleProgram<handle_table::Shared, Reclaiming<2>>;
    type Growing = HandleProgram<handle_table::Shared, Reclaiming<2>, true>;
    let mut checks = Vec::new();
    for ops in [[LookUp, Insert], [InsertAndLookUp, InsertAndLookUp], [Insert, Remove]] {
        checks.push(check::<Growing>(&ops, Bounds::stepping_back(2)));
    }
    for ops in [[LookUp, Replace], [LookUp, Remove], [Remove, Remove]] {
        checks.push(check::<Of>(&ops, Bounds::stepping_back(2)));
    }
    checks
}

/// Returns the checks of a connection table whose look-ups take no lock. Other suites check the
/// orderings of its locks and its domain.
fn connection_table() -> Vec<Check> {
    use ConnOp::{Insert, InsertRemove, LookUp};
    type Of<const THERE: usize> = ConnProgram<connections::Rcu<TestAndSet>, Host, THERE>;
    vec![
        check::<Of<0>>(&[LookUp(2), Insert(2)], Bounds::preemptions(2)),
        check::<Of<0>>(&[Insert(1), Insert(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[LookUp(2), Insert(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[LookUp(0), Insert(1), Insert(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[LookUp(2), Insert(2), InsertRemove(1)], Bounds::preemptions(2)),
    ]
}

/// Returns the checks of a table with any keys, whose entries are replaced under look-ups.
fn keyed_table() -> Vec<Check> {
    use KeyOp::{Get, Read, ReadAll, Remove, Replace, TryInsert, Update};
    type Of<const THERE: u32> = KeyProgram<Host, THERE>;
    vec![
        check::<Of<0>>(&[Get(2), Replace(2)], Bounds::preemptions(2)),
        check::<Of<0>>(&[Replace(1), Replace(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[Get(2), Replace(2)], Bounds::preemptions(2)),
        check::<Of<2>>(&[Read(0), Replace(0)], Bounds::preemptions(2)),
        check::<Of<2>>(&[Get(0), Update(0)], Bounds::preemptions(2)),
        check::<Of<2>>(&[ReadAll, Replace(0)], Bounds::preemptions(2)),
        check::<Of<1>>(&[ReadAll, Replace(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[Get(0), Replace(0), TryInsert(2)], Bounds::preemptions(2)),
        check::<Of<2>>(&[Read(0), Remove(1), Replace(0)], Bounds::preemptions(2)),
    ]
}

/// Returns the checks of a buffer cache whose look-ups take no lock. Other suites check the
/// orderings of its locks, lockrefs and domain.
fn buffer_cache() -> Vec<Check> {
    use BufferOp::{Get, GetFailing, LookUp, Remove, Visit};
    type Index = buffers::WideHash<0, TestAndSet>;
    type Switches = buffers::With<buffers::OnMiss, buffers::Outside, buffers::ReferencedBit, Index>;
    type Of<const THERE: usize> = BufferProgram<Switches, Host, THERE>;
    vec![
        check::<Of<0>>(&[LookUp(2), Get(2)], Bounds::preemptions(2)),
        check::<Of<0>>(&[Get(1), Get(2)], Bounds::preemptions(2)),
        check::<Of<1>>(&[LookUp(2), Get(2)], Bounds::preemptions(2)),
        check::<Of<0>>(&[Get(2), GetFailing(2)], Bounds::preemptions(2)),
        check::<Of<3>>(&[LookUp(0), Get(3)], Bounds::preemptions(2)),
        check::<Of<2>>(&[LookUp(0), Get(2), Get(3)], Bounds::preemptions(2)),
        check::<Of<1>>(&[LookUp(1), Get(1), Remove(0)], Bounds::preemptions(2)),
        check::<Of<1>>(&[Visit, Get(2)], Bounds::preemptions(2)),
    ]
}

fn suite(name: &'static str, files: &'static [&'static str], checks: Vec<Check>) -> Suite {
    Suite { name, files, checks }
}

/// Returns a suite for each lock: the checks for its kind of waiting, and its additional checks.
fn locks() -> Vec<Suite> {
    macro_rules! checks {
        (park $kind:ident) => {
            parking::<locks::$kind, one_slot::$kind>()
        };
        (sleep $kind:ident) => {
            sleeping::<locks::$kind>()
        };
        ($spin_or_queue:ident $kind:ident) => {
            lock::<Of<locks::$kind>>()
        };
    }
    macro_rules! more {
        (Queued) => {
            queued()
        };
        (PvQueued) => {
            pv_queued()
        };
        (Adaptive) => {
            adaptive()
        };
        (ParkingLike) => {
            sleeping::<ParkingFair>()
        };
        ($kind:ident) => {
            []
        };
    }
    macro_rules! suites {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, timed: $timed:literal,
            sources: [$($source:literal),*], $($fact:tt)*
        })*) => {
            vec![$({
                let mut checks = checks!($waits $kind);
                checks.extend(more!($kind));
                suite($name, &[$($source),*], checks)
            }),*]
        };
    }
    lockyard::for_each_lock!(suites)
}

/// Returns a suite for each reader-writer lock.
fn rwlocks() -> Vec<Suite> {
    macro_rules! checks {
        (ReadWrite $lock:ident) => {
            read_write()
        };
        (ShardedReadWrite $lock:ident) => {
            sharded()
        };
        (QueuedReadWrite $lock:ident) => {
            queued_read_write()
        };
        (ParkingReadWrite $lock:ident) => {
            parking_read_write()
        };
        ($kind:ident $lock:ident) => {
            any_read_write::<lockyard::rwlock::$lock<Host>>()
        };
    }
    macro_rules! suites {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ident,
            sources: [$($source:literal),*], $($fact:tt)*
        })*) => {
            vec![$(suite($name, &[$($source),*], checks!($kind $lock))),*]
        };
    }
    lockyard::for_each_rwlock!(suites)
}

/// Returns all suites.
pub fn all() -> Vec<Suite> {
    use PageOp::{Freeze, FreezeToTwo, Get, LookUp, LookUpAndPut, Put};
    let looked_up = [
        [Freeze, LookUp, LookUpAndPut, Put],
        [FreezeToTwo, LookUp, Put, Put],
        [Put, Put, Put, LookUp],
    ];
    let added = [[Freeze, Put, Put, Put], [Get, Put, Put, Freeze], [Put, Put, Put, Put]];
    const PAGE: &[&str] = &["src/page_ref/mod.rs", "src/page_ref/variant.rs"];
    const LOCKREF: &[&str] =
        &["src/lockref/mod.rs", "src/lockref/guard.rs", "src/lockref/count.rs"];
    const RECLAIM: &[&str] = &[
        "src/reclaim/guard.rs",
        "src/reclaim/grace.rs",
        "src/reclaim/record.rs",
        "src/reclaim/retired.rs",
    ];
    const HANDLE_TABLE: &[&str] =
        &["src/handle_table/mod.rs", "src/handle_table/slots.rs", "src/handle_table/stock.rs"];
    const ID_TABLE: &[&str] = &["src/id_table/mod.rs", "src/id_table/segments.rs"];
    let others = vec![
        suite("ticket 8+8", &["src/lock/ticket.rs"], lock::<Of<Ticket8>>()),
        suite("condition variable", &["src/condvar.rs"], condition_variable()),
        suite("sequence lock", &["src/seqlock.rs"], sequence_lock()),
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
        suite("statistics per-node", &["src/statistics/per_node.rs"], statistics()),
        suite("statistics per-thread", &["src/statistics/per_thread.rs"], words_of_threads()),
        suite("reclamation", RECLAIM, reclamation()),
        suite("id-table", ID_TABLE, identifiers()),
        suite("handle-table", HANDLE_TABLE, handles()),
        suite(
            "connections rcu",
            &["src/connections/table.rs", "src/connections/bucket.rs"],
            connection_table(),
        ),
        suite(
            "connections in-place",
            &["src/connections/table.rs", "src/connections/bucket.rs", "src/connections/entry.rs"],
            keyed_table(),
        ),
        suite(
            "buffers wide-hash",
            &["src/buffers/cache.rs", "src/buffers/chains.rs", "src/buffers/entry.rs"],
            buffer_cache(),
        ),
    ];
    let all = locks().into_iter().chain(rwlocks()).chain(others);
    // A lock without separate sources is another lock with a different policy.
    all.filter(|suite| !suite.files.is_empty()).collect()
}
