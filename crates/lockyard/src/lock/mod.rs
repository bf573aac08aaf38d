//! The lock algorithms, each for a [`Lane`](crate::lane::Lane).
//!
//! An algorithm only says how to take and release a lane. Guards, contexts and the word itself
//! belong to [`RawSpinLock`](crate::RawSpinLock) and [`LockRef`](crate::LockRef). A new algorithm
//! is one file here, one line in this table, and one row in
//! [`for_each_lock!`](crate::for_each_lock):
//!
//! | algorithm | order | uncontended lock, unlock | transfers in a hand-over, *n* waiters |
//! | --- | --- | --- | --- |
//! | [`Ticket`] | FIFO | add; store | *n*: every waiter reads the line again |
//! | [`TicketAsmLoop`] | FIFO | the same | the same |
//! | [`Queued`] | FIFO, except two newcomers | compare-exchange; store | fixed |
//! | [`Queued<CmpxchgGrab>`](Queued) | the same | the same | fixed, and a locked operation more |
//! | [`Mcs`] | FIFO | exchange; compare-exchange | fixed |
//! | [`Clh`] | FIFO | exchange; compare-exchange | fixed |
//! | [`PvTicket`] | FIFO | add; add | fixed to a parked waiter, and a wake-up |
//! | [`PvQueued`] | FIFO, bounded stealing | compare-exchange; add | fixed, and a wake-up |
//! | [`Adaptive`] | on demand, after 1 ms | exchange; store | fixed, and a wake-up at most |
//! | [`ParkingLike`] | in turns of 0.5 ms | two compare-exchanges | fixed, and a wake-up |
//! | [`ThreeStates`] | none | compare-exchange; exchange | fixed, and a wake-up |
//! | [`TestAndSet`] | none | `bts`; store | *n* reads and up to *n* exclusive transfers |
//!
//! Each of these operations is a locked instruction, except the stores.

pub mod adaptive;
mod adaptive_wait;
mod adaptive_word;
mod algorithm;
pub mod clh;
mod deadline;
mod held_node;
mod holder;
pub mod mcs;
pub mod parking_like;
mod patience;
pub mod pv;
pub mod pv_queued;
pub mod pv_ticket;
pub mod pv_timed;
pub(crate) mod queue;
pub mod queued;
pub(crate) mod sleepers;
mod test_and_set;
pub mod three_states;
mod ticket;

pub use adaptive::Adaptive;
pub use algorithm::{Algorithm, FairLock, LaneLock, TimedLock};
pub use clh::Clh;
pub(crate) use deadline::Deadline;
pub use holder::TokenInLane;
pub use mcs::Mcs;
pub use parking_like::ParkingLike;
pub use pv_queued::PvQueued;
pub use pv_ticket::PvTicket;
pub use queued::{CmpxchgGrab, Queued, StoreGrab};
pub use test_and_set::TestAndSet;
pub use three_states::ThreeStates;
pub use ticket::{AsmLoop, PlainLoop, Poll, Ticket, Ticket8, TicketAsmLoop};

/// Calls a macro with one row of facts for each exclusive lock. Programs, checks and tests use it
/// to loop over all locks.
///
/// `for_each_lock!(m)` is `m! { row row ... }`, and `for_each_lock!(m, more)` is `m! { more row row
/// ... }`. The order of a row's facts is fixed, so that a macro can match the first ones and leave
/// out the others:
///
/// ```
/// macro_rules! names {
///     ($($kind:ident { name: $name:literal, $($fact:tt)* })*) => { [$($name),*] };
/// }
/// assert!(lockyard::for_each_lock!(names).contains(&"test-and-set"));
/// ```
///
/// | fact | meaning |
/// | --- | --- |
/// | `name` | name in scripts and checks |
/// | `title` | what a table says beside its name |
/// | `lock` | its [`Algorithm`] |
/// | `waits` | how: `spin` on the word, `queue` and spin on a node, `park`, or `sleep` |
/// | `fifo` | true if it serves in order of arrival |
/// | `keeps_a_node` | true if the holder keeps a queue node of its thread |
/// | `timed` | true if it is a [`TimedLock`] |
/// | `sources` | files with its orderings, for `cargo mutation`; none if another row has them |
/// | `public` | names of a value behind it and of the guard, at the root or in [`comparators`] |
///
/// [`comparators`]: crate::comparators
#[macro_export]
macro_rules! for_each_lock {
    ($($callback:ident)::+ $(, $($more:tt)+)?) => {
        $($callback)::+! {
            $($($more)+)?
            Queued {
                name: "queued",
                title: "a queue behind one who waits on the word",
                lock: $crate::lock::Queued,
                waits: queue, fifo: true, keeps_a_node: false, timed: false,
                sources: ["src/lock/queued.rs", "src/lock/queue.rs"],
                public: [QSpinLock QSpinLockGuard],
            }
            QueuedCmpxchgGrab {
                name: "queued-cmpxchg-grab",
                title: "the queue's head takes the lock by a compare-exchange",
                lock: $crate::lock::Queued<$crate::lock::CmpxchgGrab>,
                waits: queue, fifo: true, keeps_a_node: false, timed: false,
                sources: ["src/lock/queued.rs", "src/lock/queue.rs"],
                public: [QSpinLockCmpxchgGrab QSpinLockCmpxchgGrabGuard],
            }
            Mcs {
                name: "mcs",
                title: "a queue of nodes, the holder's among them",
                lock: $crate::lock::Mcs,
                waits: queue, fifo: true, keeps_a_node: true, timed: false,
                sources: ["src/lock/mcs.rs", "src/lock/queue.rs"],
                public: [McsLock McsLockGuard],
            }
            Clh {
                name: "clh",
                title: "a queue of nodes, each waiter on its predecessor's",
                lock: $crate::lock::Clh,
                waits: queue, fifo: true, keeps_a_node: true, timed: false,
                sources: ["src/lock/clh.rs", "src/lock/queue.rs"],
                public: [ClhLock ClhLockGuard],
            }
            Ticket {
                name: "ticket",
                title: "first come, first served; all waiters spin on the word",
                lock: $crate::lock::Ticket,
                waits: spin, fifo: true, keeps_a_node: false, timed: false,
                sources: ["src/lock/ticket.rs"],
                public: [TicketLock TicketLockGuard],
            }
            TicketAsmLoop {
                name: "ticket-asm-loop",
                title: "the same, waiting in assembly",
                lock: $crate::lock::TicketAsmLoop,
                waits: spin, fifo: true, keeps_a_node: false, timed: false,
                sources: ["src/lock/ticket.rs"],
                public: [TicketLockAsmLoop TicketLockAsmLoopGuard],
            }
            PvQueued {
                name: "pv-queued",
                title: "a queue whose waiters park, and which others may pass within a bound",
                lock: $crate::lock::PvQueued,
                waits: park, fifo: false, keeps_a_node: false, timed: true,
                sources: ["src/lock/pv_queued.rs", "src/lock/pv_timed.rs", "src/lock/queue.rs"],
                public: [PvQSpinLock PvQSpinLockGuard],
            }
            PvTicket {
                name: "pv-ticket",
                title: "first come, first served; waiters park",
                lock: $crate::lock::PvTicket,
                waits: park, fifo: true, keeps_a_node: false, timed: false,
                sources: ["src/lock/pv_ticket.rs"],
                public: [PvTicketLock PvTicketLockGuard],
            }
            Adaptive {
                name: "mutex",
                title: "lockyard's mutex: spins briefly, then sleeps",
                lock: $crate::lock::Adaptive,
                waits: sleep, fifo: false, keeps_a_node: false, timed: true,
                sources: [
                    "src/lock/adaptive.rs", "src/lock/adaptive_wait.rs", "src/lock/adaptive_word.rs"
                ],
                public: [Mutex MutexGuard],
            }
            StdLike {
                name: "futex-mutex",
                title: "three states, 100 polls before it sleeps",
                lock: $crate::lock::ThreeStates<$crate::lock::three_states::StdLike>,
                waits: sleep, fifo: false, keeps_a_node: false, timed: false,
                sources: ["src/lock/three_states.rs"],
                public: [],
            }
            ParkingLike {
                name: "parking-mutex",
                title: "yields, then sleeps; handed over every half millisecond",
                lock: $crate::lock::ParkingLike,
                waits: sleep, fifo: false, keeps_a_node: false, timed: false,
                sources: ["src/lock/parking_like.rs"],
                public: [],
            }
            PthreadLike {
                name: "pthread-like-mutex",
                title: "three states, sleeps at once, as a plain pthread mutex",
                lock: $crate::lock::ThreeStates<$crate::lock::three_states::PthreadLike>,
                waits: sleep, fifo: false, keeps_a_node: false, timed: false,
                sources: [],
                public: [],
            }
            TestAndSet {
                name: "test-and-set",
                title: "no order",
                lock: $crate::lock::TestAndSet,
                waits: spin, fifo: false, keeps_a_node: false, timed: true,
                sources: ["src/lock/test_and_set.rs"],
                public: [TestAndSetLock TestAndSetLockGuard],
            }
        }
    };
}
