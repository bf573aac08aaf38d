//! A simulated many-core machine that runs lockyard's primitives, and predicts how they scale on a
//! machine that is not at hand.
//!
//! Each simulated hardware thread is a coroutine that runs the primitives' own code over the
//! platform [`Simulated`]. Each load, store, read-modify-write, pause and wait is an event whose
//! cost depends on where the cache line is. The same seed and machine file give the same result,
//! bit for bit, on every host.
//!
//! # What is modelled
//!
//! - Coherence in two levels: an agent for each core complex (or socket) serves requests for a line
//!   one at a time, in random order by default. A home agent for the line serves the complexes. A
//!   complex keeps a line while its own cores want it, among requests from outside.
//! - The ownership window: the agent holds the line's entry until the requester's completion has
//!   come back, while the data travels directly. So an owner has time for another operation.
//! - Shared and exclusive states, upgrades that invalidate sharers, reads of a shared line served
//!   one after another, and a failed compare-exchange that takes the line all the same.
//! - The store buffer: a store does not stall, and a read-modify-write waits until the buffer is
//!   empty. The order is total store order.
//! - The hold after a grant: when a line came from another socket, its new domain's agent is busy
//!   until the sockets have settled. The owner does many operations meanwhile.
//! - Simultaneous multithreading (SMT): siblings share their core's cache, take turns on a line,
//!   and slow each other's work down while neither waits for a line, sleeps or pauses.
//! - Out-of-order execution of local work under loads and read-modify-writes that wait, as far as
//!   the reorder buffer reaches, and mispredicted outcomes of compare-exchanges and swaps.
//! - The capacity of caches, where a machine file gives their sizes.
//! - Waiting without spin events: a waiter sleeps until its line is taken away, and then finishes
//!   its running pause.
//! - Layout: objects lie in an arena, with the layout that they have in memory.
//! - On request, threads that share CPUs, as virtual CPUs share those of their host: queues, time
//!   slices, parked threads that give their CPU up, spinning threads that are taken off it, and
//!   interrupts to others that do not run.
//!
//! # What is not modelled
//!
//! Instruction fetch, TLB misses, prefetchers, other out-of-order execution within a thread, the
//! bandwidth of data that is not shared, frequency changes, and interrupts by devices. Unless
//! requested, there is no scheduler: each thread has its hardware thread. An ordering weaker than
//! total store order does not show here; the model checks are for that.

mod arena;
mod engine;
pub mod machine;
mod op;
mod platform;
mod random;
mod shared;
mod simulation;

pub use engine::{
    CycleAttribution, CyclePhase, LineCounts, LineDistance, LineHolder, Observer, PHASES,
    RunStatistics, ThreadReport,
};
pub use machine::{Machine, MachineError, Parameter, Place, ServiceOrder};
pub use platform::{
    Simulated, SimulatedAtomics, SimulatedCell, SimulatedU16, SimulatedU32, SimulatedU64, hidden,
    nanoseconds, now, off_cpu, operation_done, random_below, stalled, stop_requested, thread_index,
    wait_for_others, work, work_behind_entry,
};
pub use simulation::{Placed, RunEnd, Simulation};
