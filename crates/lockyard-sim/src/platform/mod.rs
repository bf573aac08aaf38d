//! The platform `Simulated`: the primitives' own code, where every operation is an event.
//!
//! An operation of a simulated thread suspends its coroutine. The engine completes the operation
//! when its line has arrived, and resumes the thread with the result. Setup code runs inside
//! [`Simulation::setup`](crate::Simulation::setup), outside simulated threads. Its operations take
//! effect immediately and cost nothing.
//!
//! | file | contents |
//! | --- | --- |
//! | `perform.rs` | one operation: suspended, or at once in setup code; waiting loops |
//! | `words.rs`, `cell.rs`, `plain_words.rs`, `atomics.rs` | words, other data, and the memory that they make up |
//! | `host.rs` | slots, queue nodes, parking, time, allocation |
//! | `bucket.rs` | the line that the kernel's calls on one word share |
//! | `calls.rs` | what a simulated thread may ask for beside that |

mod atomics;
mod bucket;
mod calls;
mod cell;
mod host;
mod perform;
mod plain_words;
mod words;

pub use atomics::SimulatedAtomics;
pub use calls::{
    hidden, nanoseconds, now, off_cpu, operation_done, random_below, stalled, stop_requested,
    thread_index, wait_for_others, work, work_in_order,
};
pub use cell::SimulatedCell;
pub use host::Simulated;
pub use words::{SimulatedU16, SimulatedU32, SimulatedU64};
