//! The primitives of random programs: all locks of [`primitives`](crate::primitives), fair and
//! timed waits, counts, condition variables, reclamation and the tables.

use crate::backends::{attempt_natively, model, simulate_at};
use crate::explore::{Bounds, Explored, Failed};
use crate::finding::Caught;
use crate::hooks::{NoFault, Scripted, Watched};
use crate::primitives::{self as all, Exact, Primitive};
use crate::program::{
    AnyReadWriteProgram, BufferOp, BufferProgram, CondOp, CondProgram, ConnOp, ConnProgram,
    CountOp, CountProgram, FairOp, FairProgram, HandleOp, HandleProgram, IdOp, IdProgram, LockOp,
    PageOp, PageProgram, Program, QueuedReadWriteProgram, ReadWriteOp, ReadWriteProgram, ReclaimOp,
    ReclaimProgram, SHORT, SequenceOp, SequenceProgram, ShardedOp, ShardedProgram, StatOp,
    StatProgram,
};
use lockyard::Native;
use lockyard::lock::{Adaptive, PvQueued, Queued, TestAndSet};
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, PageRef};
use lockyard::platform::checked::{Checked, with_clock};
use lockyard::platform::hooked::Hooked;
use lockyard::reclaim::Domain;
use lockyard::rwlock::ReadWrite;
use lockyard_sim::{Machine, Simulated};
use lockyard_tables::buffers::{
    EveryCall, FixedHash, MoveToFront, OnMiss, Outside, ReferencedBit, TreePerGroup, UnderLock,
    WideHash, With,
};
use lockyard_tables::{connections, handle_table, id_table, statistics};
use std::sync::OnceLock;

/// Maximum number of simulated threads.
pub const MOST_SIMULATED: usize = 256;

type Threads = Hooked<Native, Watched<NoFault>>;
type InModel = Hooked<Checked, Scripted>;

type NativeRun = Box<dyn Fn(&[usize], u32, u64) -> Option<Caught> + Send + Sync>;
type SimulatedRun =
    Box<dyn Fn(&Machine, &[usize], u64, &[usize], u32) -> Option<Caught> + Send + Sync>;
type ModelRun = Box<dyn Fn(&[usize]) -> Result<Explored, Failed> + Send + Sync>;

/// A primitive with its programs on each back-end.
pub struct Subject {
    /// Name of the primitive.
    pub name: &'static str,
    /// Names of the operations that a thread can perform.
    pub ops: Vec<String>,
    /// Maximum number of threads.
    pub most_threads: usize,
    /// True if each thread performs its operation once.
    pub one_round: bool,
    /// True if the programs run on simulated machines. (A waiter of a condition variable is on its
    /// thread's stack, which such a machine does not simulate.)
    pub is_simulated: bool,
    /// Returns true if the operations make sense together.
    pub allows: fn(&[usize]) -> bool,
    /// Runs operations on threads of the host: operations, rounds, seed.
    pub native: NativeRun,
    /// Runs operations on a simulated machine: machine, places, seed, operations, rounds.
    pub simulated: SimulatedRun,
    /// Explores operations in a model. `None` for programs whose model needs another host: the
    /// committed checks have these.
    pub model: Option<ModelRun>,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Bounds of a model by its number of threads. They take seconds.
fn bounds(threads: usize) -> Bounds {
    Bounds::stepping_back(if threads <= 2 { 2 } else { 1 })
}

/// Makes a subject of the programs on each back-end. `N`, `S` and `M` are one program on three
/// hosts.
fn subject<N, S, M>(name: &'static str, ops: &[N::Op]) -> Subject
where
    N: Program,
    S: Program<Op = N::Op>,
    M: Program<Op = N::Op>,
{
    let ops: Vec<N::Op> = ops.to_vec();
    let pick = {
        let ops = ops.clone();
        move |chosen: &[usize]| -> Vec<N::Op> { chosen.iter().map(|&op| ops[op]).collect() }
    };
    let (for_threads, for_machine, for_model) = (pick.clone(), pick.clone(), pick);
    Subject {
        name,
        ops: ops.iter().map(|op| format!("{op:?}")).collect(),
        most_threads: 4,
        one_round: false,
        is_simulated: true,
        allows: |_| true,
        native: Box::new(move |chosen, rounds, seed| {
            attempt_natively::<N>(&for_threads(chosen), rounds, seed)
        }),
        simulated: Box::new(move |machine, places, seed, chosen, rounds| {
            simulate_at::<S>(machine, places, seed, &for_machine(chosen), rounds)
        }),
        model: Some(Box::new(move |chosen| {
            let ops = for_model(chosen);
            with_clock(SHORT, || model::<M>(&ops, bounds(ops.len()))).map(|(explored, _)| explored)
        })),
    }
}

const LOCK_OPS: [LockOp; 3] = [LockOp::Lock, LockOp::TryLock, LockOp::LockTwice];

/// A lock with any number of threads.
fn lock<P: Primitive<Op = LockOp>>() -> Subject {
    let subject = subject::<P::Program<Threads>, P::Program<Simulated>, P::Program<InModel>>(
        P::NAME,
        &LOCK_OPS,
    );
    Subject { most_threads: MOST_SIMULATED, ..subject }
}

/// A lock whose waiters nap. In a model, naps end only if the bounds say so.
fn napping<P: Primitive<Op = LockOp>>() -> Subject {
    Subject { model: None, ..lock::<P>() }
}

const FAIR_OPS: [FairOp; 5] =
    [FairOp::Usual, FairOp::Fair, FairOp::Timed, FairOp::GivesUp, FairOp::Woken];

macro_rules! fair {
    ($name:literal, $lock:ty) => {
        Subject {
            most_threads: MOST_SIMULATED,
            ..subject::<
                FairProgram<$lock, Threads>,
                FairProgram<$lock, Simulated>,
                FairProgram<$lock, InModel>,
            >($name, &FAIR_OPS)
        }
    };
}

/// A thread that has a reference keeps an object from being marked dead.
fn counts_allow(ops: &[usize]) -> bool {
    let has = |op: CountOp| ops.iter().any(|&index| CountOp::ALL[index] == op);
    !(has(CountOp::Get) && has(CountOp::MarkDead))
}

macro_rules! counts {
    ($name:literal, $lock:ty, $extra:literal) => {
        Subject {
            one_round: true,
            allows: counts_allow,
            ..subject::<
                CountProgram<$lock, Threads, $extra>,
                CountProgram<$lock, Simulated, $extra>,
                CountProgram<$lock, InModel, $extra>,
            >($name, &CountOp::ALL)
        }
    };
}

/// A thread that freezes the count has the only reference.
fn pages_allow(ops: &[usize]) -> bool {
    let count =
        |wanted: &[PageOp]| ops.iter().filter(|&&op| wanted.contains(&PageOp::ALL[op])).count();
    let freezing = count(&[PageOp::Freeze, PageOp::FreezeToTwo]);
    freezing == 0 || freezing == 1 && count(&[PageOp::Get]) == 0
}

macro_rules! page {
    ($name:literal, $variant:ty) => {
        Subject {
            one_round: true,
            allows: pages_allow,
            ..subject::<
                PageProgram<PageRef<$variant, Threads>, Threads>,
                PageProgram<PageRef<$variant, Simulated>, Simulated>,
                PageProgram<PageRef<$variant, InModel>, InModel>,
            >($name, &PageOp::ALL)
        }
    };
}

const COND_OPS: [CondOp; 4] = [CondOp::NotifyOne, CondOp::NotifyAll, CondOp::Wait, CondOp::GivesUp];

/// Each waiter is notified.
fn waiters_are_notified(ops: &[usize]) -> bool {
    let count = |wanted: CondOp| ops.iter().filter(|&&op| COND_OPS[op] == wanted).count();
    let waits = count(CondOp::Wait) + count(CondOp::GivesUp);
    count(CondOp::NotifyAll) > 0 || waits <= count(CondOp::NotifyOne)
}

const RECLAIM_OPS: [ReclaimOp; 10] = [
    ReclaimOp::Read,
    ReclaimOp::ReadTwice,
    ReclaimOp::ReadNested,
    ReclaimOp::Retire,
    ReclaimOp::RetireAndCollect,
    ReclaimOp::Collect,
    ReclaimOp::AdvanceAndCollect,
    ReclaimOp::ReadQuiescent,
    ReclaimOp::Barrier,
    ReclaimOp::Synchronize,
];

const HANDLE_OPS: [HandleOp; 7] = [
    HandleOp::LookUp,
    HandleOp::Remove,
    HandleOp::Insert,
    HandleOp::InsertAndLookUp,
    HandleOp::Replace,
    HandleOp::Discard,
    HandleOp::Collect,
];

macro_rules! handles {
    ($name:literal, $access:ty) => {
        subject::<
            HandleProgram<$access, Threads>,
            HandleProgram<$access, Simulated>,
            HandleProgram<$access, InModel>,
        >($name, &HANDLE_OPS)
    };
}

const ID_OPS: [IdOp; 5] =
    [IdOp::LookUp, IdOp::Remove, IdOp::Insert, IdOp::InsertAndLookUp, IdOp::Replace];

macro_rules! ids {
    ($name:literal, $variant:ty) => {
        subject::<
            IdProgram<$variant, Threads>,
            IdProgram<$variant, Simulated>,
            IdProgram<$variant, InModel>,
        >($name, &ID_OPS)
    };
}

const CONN_OPS: [ConnOp; 9] = [
    ConnOp::LookUp(0),
    ConnOp::LookUp(1),
    ConnOp::Insert(2),
    ConnOp::InsertRemove(2),
    ConnOp::Remove(0),
    ConnOp::Remove(1),
    ConnOp::Renew(0),
    ConnOp::Renew(1),
    ConnOp::Expire,
];

macro_rules! connections {
    ($name:literal, $look_up:ty) => {
        subject::<
            ConnProgram<$look_up, Threads, 2>,
            ConnProgram<$look_up, Simulated, 2>,
            ConnProgram<$look_up, InModel, 2>,
        >($name, &CONN_OPS)
    };
}

const BUFFER_OPS: [BufferOp; 10] = [
    BufferOp::LookUp(0),
    BufferOp::LookUp(1),
    BufferOp::Get(2),
    BufferOp::GetFailing(2),
    BufferOp::GetRemove(2),
    BufferOp::Remove(0),
    BufferOp::Remove(1),
    BufferOp::Remove(2),
    BufferOp::Reclaim,
    BufferOp::Visit,
];

macro_rules! buffers {
    ($name:literal, $switches:ty) => {
        subject::<
            BufferProgram<$switches, Threads, 2>,
            BufferProgram<$switches, Simulated, 2>,
            BufferProgram<$switches, InModel, 2>,
        >($name, &BUFFER_OPS)
    };
}

const STAT_OPS: [StatOp; 5] =
    [StatOp::Update(0), StatOp::Update(1), StatOp::UpdateHere, StatOp::Read, StatOp::Take];

macro_rules! counters {
    ($name:literal, $variant:ty) => {
        subject::<
            StatProgram<$variant, Queued, Threads, true>,
            StatProgram<$variant, Queued, Simulated, false>,
            StatProgram<$variant, TestAndSet, InModel, true>,
        >($name, &STAT_OPS)
    };
}

/// Returns all subjects.
pub fn subjects() -> &'static [Subject] {
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    SUBJECTS.get_or_init(|| {
        let mut subjects = locks();
        subjects.extend(rwlocks());
        subjects.extend(others());
        subjects
    })
}

/// Each lock, also where most threads have no slot, and variants.
fn locks() -> Vec<Subject> {
    // The ticket lock of two bytes is for at most 255 contenders.
    let small = Subject { most_threads: 128, ..lock::<all::Ticket8>() };
    let mut subjects = vec![
        small,
        lock::<all::QueuedPortable>(),
        lock::<all::PvQueuedOnce>(),
        napping::<all::MutexNapping>(),
        lock::<all::ParkingFair>(),
        fair!("pv-queued, fair and timed", PvQueued),
        fair!("mutex, fair and timed", Adaptive<Exact>),
    ];
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, $($fact:tt)*
        })*) => {$(
            subjects.push(lock::<all::locks::$kind>());
            if stringify!($waits) != "spin" && !$keeps_a_node {
                subjects.push(lock::<all::one_slot::$kind>());
            }
        )*};
    }
    lockyard::for_each_lock!(each);
    subjects
}

/// Each reader-writer lock.
fn rwlocks() -> Vec<Subject> {
    macro_rules! subject {
        (ReadWrite $name:literal $lock:ident) => {
            read_write($name)
        };
        (ShardedReadWrite $name:literal $lock:ident) => {
            sharded($name)
        };
        (QueuedReadWrite $name:literal $lock:ident) => {
            queued($name)
        };
        ($kind:ident $name:literal $lock:ident) => {
            any_read_write::<Lock<Threads>, Lock<Simulated>, Lock<InModel>>($name)
        };
    }
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ident, $($fact:tt)*
        })*) => {
            vec![$({
                #[allow(dead_code)]
                type Lock<H> = lockyard::rwlock::$lock<H>;
                subject!($kind $name $lock)
            }),*]
        };
    }
    lockyard::for_each_rwlock!(each)
}

fn any_read_write<N, S, M>(name: &'static str) -> Subject
where
    N: ReadWrite<Threads>,
    S: ReadWrite<Simulated>,
    M: ReadWrite<InModel>,
{
    let subject = subject::<
        AnyReadWriteProgram<N, Threads>,
        AnyReadWriteProgram<S, Simulated>,
        AnyReadWriteProgram<M, InModel>,
    >(name, &[ReadWriteOp::Read, ReadWriteOp::Write, ReadWriteOp::WriteTwice]);
    Subject { most_threads: MOST_SIMULATED, ..subject }
}

/// The queued reader-writer spinlock, in all ways.
fn queued(name: &'static str) -> Subject {
    let subject = subject::<
        QueuedReadWriteProgram<Threads>,
        QueuedReadWriteProgram<Simulated>,
        QueuedReadWriteProgram<InModel>,
    >(name, &QueuedReadWriteProgram::<Threads>::OPS);
    Subject { most_threads: MOST_SIMULATED, ..subject }
}

/// The sharded reader-writer lock, in all ways.
fn sharded(name: &'static str) -> Subject {
    let subject = subject::<
        ShardedProgram<Exact, Threads, false>,
        ShardedProgram<Exact, Simulated, false>,
        ShardedProgram<Exact, InModel, true>,
    >(name, &ShardedOp::ALL);
    Subject { most_threads: MOST_SIMULATED, ..subject }
}

/// The reader-writer lock, in all ways.
fn read_write(name: &'static str) -> Subject {
    let subject = subject::<
        ReadWriteProgram<Exact, Threads>,
        ReadWriteProgram<Exact, Simulated>,
        ReadWriteProgram<Exact, InModel>,
    >(name, &ReadWriteOp::ALL);
    Subject { most_threads: MOST_SIMULATED, ..subject }
}

fn others() -> Vec<Subject> {
    type Old = With<EveryCall, UnderLock, MoveToFront, FixedHash<0, TestAndSet>>;
    type Wide = With<OnMiss, Outside, ReferencedBit, WideHash<0, TestAndSet>>;
    type Tree = With<OnMiss, Outside, MoveToFront, TreePerGroup<TestAndSet>>;
    vec![
        counts!("lockref(queued), counted", Queued, 1),
        counts!("lockref(queued), to zero", Queued, 0),
        counts!("lockref(test-and-set), to zero", TestAndSet, 0),
        page!("page-ref, cmpxchg", Cmpxchg),
        page!("page-ref, optimistic", OptimisticCmpxchg),
        page!("page-ref, locked bit", LockedBit),
        Subject {
            allows: waiters_are_notified,
            is_simulated: false,
            model: None,
            ..subject::<CondProgram<Threads>, CondProgram<Simulated>, CondProgram<InModel>>(
                "condition variable",
                &COND_OPS,
            )
        },
        Subject {
            most_threads: MOST_SIMULATED,
            ..subject::<
                SequenceProgram<Threads, Adaptive<Exact>>,
                SequenceProgram<Simulated, Adaptive<Exact>>,
                SequenceProgram<InModel, TestAndSet>,
            >("sequence lock", &SequenceOp::ALL)
        },
        // Models of reclamation need a host that notices accesses to freed memory.
        Subject {
            model: None,
            ..subject::<
                ReclaimProgram<Domain<Threads>, Threads>,
                ReclaimProgram<Domain<Simulated>, Simulated>,
                ReclaimProgram<Domain<InModel>, InModel>,
            >("reclamation", &RECLAIM_OPS)
        },
        Subject { model: None, ..handles!("handle table, shared", handle_table::Shared) },
        Subject { model: None, ..handles!("handle table, exclusive", handle_table::Exclusive) },
        Subject { model: None, ..ids!("id table, rcu", id_table::Rcu) },
        Subject { model: None, ..ids!("id table, locked", id_table::Locked) },
        connections!("connections, rcu", connections::Rcu<TestAndSet>),
        connections!("connections, locked", connections::Locked<TestAndSet>),
        buffers!("buffers, wide hash", Wide),
        buffers!("buffers, under one lock", Old),
        buffers!("buffers, trees", Tree),
        counters!("statistics, shared", statistics::Shared),
        counters!("statistics, per node", statistics::PerNode),
        counters!("statistics, per thread", statistics::PerThread),
    ]
}
