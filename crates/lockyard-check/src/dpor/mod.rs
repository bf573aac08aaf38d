//! A model checker without interleavings: it explores execution graphs.
//!
//! loom, the other checker, explores orders of steps. Many orders are the same execution: two
//! executions differ only in the write that each read reads from, and in the order of the writes to
//! each location. Here an execution is the graph of these two relations. All graphs are explored,
//! with no bound on preemptions. A wait is one read, of a value that ends the wait.
//!
//! The algorithm is TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, POPL 2022), with the
//! blocked waits of AWAMOCHE (Kokologiannakis, Marmanis and Vafeiadis, *Unblocking dynamic partial
//! order reduction*, CAV 2023). The memory model is C11's, as repaired by Lahav and others
//! (*Repairing sequential consistency in C/C++11*, PLDI 2017), without load buffering. As in Rust
//! and C++20, a later store of the same thread does not continue a release sequence.
//!
//! Without waits each graph is explored once. Waits may repeat some graphs: if an older value
//! satisfies a wait and the newest does not, another thread's write then changes the value that the
//! wait reads.
//!
//! What it does not see:
//!
//! - Sequential consistency of accesses: an access with `SeqCst` counts as `AcqRel`, as in loom.
//!   Fences with `SeqCst` have their order.
//! - Loops that poll without [`wait_until`](lockyard::platform::Host::wait_until), which have no
//!   last execution.
//! - Spurious failures of a weak compare-exchange.
//! - Time: a park with a timeout returns immediately. A park without a timeout returns only when it
//!   is woken, or if the comparison fails.

mod allocations;
mod choices;
mod current;
mod explorer;
mod fences;
mod graph;
mod host;
mod memory;
mod run;

pub(crate) use current::freed;
pub use explorer::{Exploration, Model, explore};
pub use graph::{Deletions, MOST_THREADS};
pub use host::Dpor;
pub use memory::{DporAtomics, DporCell, DporWord};
