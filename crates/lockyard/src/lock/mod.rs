//! The lock algorithms, each for a [`Lane`](crate::lane::Lane).
//!
//! An algorithm only says how to take and release a lane. Guards, contexts and the word itself
//! belong to [`RawSpinLock`](crate::RawSpinLock) and [`LockRef`](crate::LockRef). A new algorithm
//! is one file here and one line in the table:
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
//! Each of these operations is a locked one, except the stores.

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
