//! The checked primitives. Each is a type that makes a program on any host. All tests of this crate
//! use this one table.

use crate::few_slots::FewSlots;
use crate::program::{
    ChoiceOp, ChoiceProgram, CountOp, CountProgram, LockOp, LockProgram, Program,
};
use lockyard::lock::adaptive::Patience;
use lockyard::lock::parking_like::HandOvers;
use lockyard::lock::pv::Hooks;
use lockyard::lock::{
    Adaptive, Clh, CmpxchgGrab, Mcs, ParkingLike, PvQueued, PvTicket, Queued, TestAndSet,
    ThreeStates, Ticket, TicketAsmLoop,
};
use lockyard::platform::{HostWithSlots, Portable};
use std::time::Duration;

/// Waiters park soon, so that they also park in short runs of few threads.
#[derive(Debug)]
pub struct Soon;
impl Hooks for Soon {
    const SPINS: u32 = 10;
    const NEWCOMER_SPINS: u32 = 3;
}

/// Waiters park soon, and the first waiter is overtaken at most once.
#[derive(Debug)]
pub struct PassedOnce;
impl Hooks for PassedOnce {
    const MOST_PASSES: u32 = 1;
}

/// Waiters sleep soon, are woken exactly, and demand the lock if they were woken in vain.
#[derive(Debug)]
pub struct Exact;
impl Patience for Exact {
    const POLLS: u32 = 1;
    const FIRST_GAP: u32 = 1;
    const LONGEST_GAP: u32 = 1;
    const NAP: Option<Duration> = None;
    const PLAIN_RELEASE: bool = false;
}

/// Waiters sleep soon, and a release may miss them, so their naps end.
#[derive(Debug)]
pub struct Napping;
impl Patience for Napping {
    const POLLS: u32 = 1;
    const FIRST_GAP: u32 = 1;
    const LONGEST_GAP: u32 = 1;
    const PLAIN_RELEASE: bool = true;
}

/// Each release hands over to a sleeper, if there is one.
#[derive(Debug)]
pub struct AlwaysHandsOver;
impl HandOvers for AlwaysHandsOver {
    const ALWAYS: bool = true;
}

/// A primitive with the program that exercises it.
pub trait Primitive: 'static {
    /// Name in tables.
    const NAME: &'static str;
    /// Operation of a thread in its program.
    type Op: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static;
    /// Its program on the host `H`.
    type Program<H: HostWithSlots>: Program<Op = Self::Op>;
    /// A mix of operations that exposes every wrong step that the primitive can make. It has at
    /// least three threads, and two of them contend for the lock.
    const MIX: &'static [Self::Op];
}

macro_rules! primitive {
    (
        $(#[$doc:meta])*
        $name:ident, $title:literal, $op:ty, |$host:ident| $program:ty, $mix:expr
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Primitive for $name {
            const NAME: &'static str = $title;
            type Op = $op;
            type Program<$host: HostWithSlots> = $program;
            const MIX: &'static [$op] = &$mix;
        }
    };
}

const LOCKS: [LockOp; 3] = [LockOp::Lock; 3];
const COUNTS: [CountOp; 3] = [CountOp::LockSet, CountOp::LockSet, CountOp::Get];

primitive!(
    /// The ticket lock in 4 bytes.
    Ticket16, "ticket 16+16", LockOp, |H| LockProgram<Ticket, H>, LOCKS
);
primitive!(
    /// The ticket lock in 2 bytes.
    Ticket8, "ticket 8+8", LockOp, |H| LockProgram<lockyard::lock::Ticket8, FewSlots<H>>, LOCKS
);
primitive!(
    /// The ticket lock with its waiting loop in assembly (on the native host).
    TicketAsm, "ticket asm-loop", LockOp, |H| LockProgram<TicketAsmLoop, H>, LOCKS
);
primitive!(
    /// The test-and-set lock.
    Tas, "test-and-set", LockOp, |H| LockProgram<TestAndSet, H>, LOCKS
);
primitive!(
    /// The queued lock; its head takes the lock by a store.
    QueuedStore, "queued", LockOp, |H| LockProgram<Queued, H>, LOCKS
);
primitive!(
    /// The queued lock; its head takes the lock by a compare-exchange.
    QueuedCmpxchg, "queued cmpxchg-grab", LockOp,
    |H| LockProgram<Queued<CmpxchgGrab>, H>, LOCKS
);
primitive!(
    /// The queued lock without operations on parts of its word.
    QueuedPortable, "queued portable", LockOp,
    |H| LockProgram<Queued, Portable<H>>, LOCKS
);
primitive!(
    /// The queued lock on a host where one thread has a slot and the others have none.
    QueuedNoNode, "queued, one slot", LockOp,
    |H| LockProgram<Queued, FewSlots<H, 1>>, LOCKS
);
primitive!(
    /// The MCS lock.
    McsOfFour, "mcs", LockOp, |H| LockProgram<Mcs, H>, LOCKS
);
primitive!(
    /// The CLH lock.
    ClhOfFour, "clh", LockOp, |H| LockProgram<Clh, H>, LOCKS
);
primitive!(
    /// The ticket lock whose waiters park.
    PvTicketLock, "pv-ticket", LockOp, |H| LockProgram<PvTicket<Soon>, H>, LOCKS
);
primitive!(
    /// The ticket lock whose waiters park, on a host where one thread has a slot and the others
    /// have none.
    PvTicketNoNode, "pv-ticket, one slot", LockOp,
    |H| LockProgram<PvTicket, FewSlots<H, 1>>, LOCKS
);
primitive!(
    /// The queued lock whose waiters park.
    PvQueuedLock, "pv-queued", LockOp, |H| LockProgram<PvQueued<Soon>, H>, LOCKS
);
primitive!(
    /// The queued lock whose waiters park, and whose first waiter is overtaken at most once.
    PvQueuedOnce, "pv-queued, passed once", LockOp,
    |H| LockProgram<PvQueued<PassedOnce>, H>, LOCKS
);
primitive!(
    /// The queued lock whose waiters park, on a host where one thread has a slot and the others
    /// have none.
    PvQueuedNoNode, "pv-queued, one slot", LockOp,
    |H| LockProgram<PvQueued, FewSlots<H, 1>>, LOCKS
);
primitive!(
    /// The mutex whose releases miss no sleeper.
    MutexExact, "mutex", LockOp, |H| LockProgram<Adaptive<Exact>, H>, LOCKS
);
primitive!(
    /// The mutex whose releases may miss a sleeper.
    MutexNapping, "mutex, napping", LockOp, |H| LockProgram<Adaptive<Napping>, H>, LOCKS
);
primitive!(
    /// The mutex on a host where one thread has a slot and the others have none.
    MutexNoNode, "mutex, one slot", LockOp,
    |H| LockProgram<Adaptive<Exact>, FewSlots<H, 1>>, LOCKS
);
primitive!(
    /// The mutex as `parking_lot`'s.
    MutexParking, "parking mutex", LockOp, |H| LockProgram<ParkingLike, H>, LOCKS
);
primitive!(
    /// The same, and each release hands over.
    MutexParkingFair, "parking mutex, handed over", LockOp,
    |H| LockProgram<ParkingLike<AlwaysHandsOver>, H>, LOCKS
);
primitive!(
    /// The mutex of three states.
    MutexThreeStates, "mutex of three states", LockOp, |H| LockProgram<ThreeStates, H>, LOCKS
);
primitive!(
    /// The lockref with a queued lock.
    LockrefQueued, "lockref(queued)", CountOp, |H| CountProgram<Queued, H>, COUNTS
);
primitive!(
    /// The lockref with a ticket lock.
    LockrefTicket, "lockref(ticket)", CountOp, |H| CountProgram<Ticket, H>, COUNTS
);
primitive!(
    /// The lockref with a test-and-set lock.
    LockrefTas, "lockref(test-and-set)", CountOp, |H| CountProgram<TestAndSet, H>, COUNTS
);
primitive!(
    /// A lock whose kind is chosen while other threads use it.
    ChosenLate, "chosen kind", ChoiceOp,
    |H| ChoiceProgram<H>, [ChoiceOp::Use, ChoiceOp::ChooseQueued, ChoiceOp::ChooseTestAndSet]
);
