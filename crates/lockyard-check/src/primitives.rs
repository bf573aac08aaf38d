//! The checked primitives. Each is a type that makes a program on any host. All tests of this crate
//! use this one table.
//!
//! [`locks`] has each lock of [`lockyard::for_each_lock!`], and [`one_slot`] has the same locks on
//! a host where most threads have no slot. The other functions give variants, and primitives that
//! contain a lock.

use crate::few_slots::FewSlots;
use crate::program::{
    ChoiceOp, ChoiceProgram, CountOp, CountProgram, LockOp, LockProgram, Program,
};
use lockyard::lock::adaptive::Patience;
use lockyard::lock::parking_like::HandOvers;
use lockyard::lock::pv::Hooks;
use lockyard::lock::{Adaptive, ParkingLike, PvQueued, Queued, TestAndSet, Ticket};
use lockyard::platform::{HostWithSlots, Portable};
use lockyard::rwlock::sharded::Spreading;
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

impl Spreading for Exact {
    const MOST_SHARDS: u32 = 2;
    const READS_A_SHARD: u32 = 0;
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
        $name:ident, $title:expr, $op:ty, |$host:ident| $program:ty, $mix:expr
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

/// Type of a lock in checks. Its waiters soon park or sleep.
macro_rules! soon {
    (PvTicket $lock:ty) => { lockyard::lock::PvTicket<Soon> };
    (PvQueued $lock:ty) => { lockyard::lock::PvQueued<Soon> };
    (Adaptive $lock:ty) => { lockyard::lock::Adaptive<Exact> };
    ($kind:ident $lock:ty) => { $lock };
}

/// Type of a lock in checks on a host where most threads have no slot, and do not park.
macro_rules! without_slot {
    (Adaptive $lock:ty) => { lockyard::lock::Adaptive<Exact> };
    ($kind:ident $lock:ty) => { $lock };
}

macro_rules! every_lock {
    ($($kind:ident {
        name: $name:literal, title: $title:literal, lock: $lock:ty, $($fact:tt)*
    })*) => {
        /// A primitive for each lock, under the name of its row.
        pub mod locks {
            use super::*;
            $(primitive!(
                #[doc = $title]
                $kind, $name, LockOp, |H| LockProgram<soon!($kind $lock), H>, LOCKS
            );)*
        }

        /// The same locks on a host where one thread has a slot and the others have none. (A lock
        /// whose holder keeps a node ends the program there.)
        pub mod one_slot {
            use super::*;
            $(primitive!(
                #[doc = $title]
                $kind, concat!($name, ", one slot"), LockOp,
                |H| LockProgram<without_slot!($kind $lock), FewSlots<H, 1>>, LOCKS
            );)*
        }
    };
}
lockyard::for_each_lock!(every_lock);

/// Calls a function for each type of [`locks`].
///
/// ```
/// use lockyard_check::primitives::Primitive;
///
/// fn show<P: Primitive>(names: &mut Vec<&str>) {
///     names.push(P::NAME);
/// }
/// let mut names = Vec::new();
/// lockyard_check::each_lock!(show(&mut names));
/// assert!(names.contains(&"ticket"));
/// ```
#[macro_export]
macro_rules! each_lock {
    ($function:ident $arguments:tt) => {
        ::lockyard::for_each_lock! { $crate::each_lock, @ $function $arguments }
    };
    (@ $function:ident $arguments:tt $($kind:ident $facts:tt)*) => {
        $($function::<$crate::primitives::locks::$kind> $arguments;)*
    };
}

primitive!(
    /// The ticket lock in 2 bytes.
    Ticket8, "ticket 8+8", LockOp, |H| LockProgram<lockyard::lock::Ticket8, FewSlots<H>>, LOCKS
);
primitive!(
    /// The queued lock without operations on parts of its word.
    QueuedPortable, "queued portable", LockOp,
    |H| LockProgram<Queued, Portable<H>>, LOCKS
);
primitive!(
    /// The queued lock whose waiters park, and whose first waiter is overtaken at most once.
    PvQueuedOnce, "pv-queued, passed once", LockOp,
    |H| LockProgram<PvQueued<PassedOnce>, H>, LOCKS
);
primitive!(
    /// The mutex whose releases may miss a sleeper.
    MutexNapping, "mutex, napping", LockOp, |H| LockProgram<Adaptive<Napping>, H>, LOCKS
);
primitive!(
    /// The mutex like `parking_lot`'s, with a hand-over at each release.
    ParkingFair, "parking-mutex, handed over", LockOp,
    |H| LockProgram<ParkingLike<AlwaysHandsOver>, H>, LOCKS
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
