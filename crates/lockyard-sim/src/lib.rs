//! A simulated many-core machine. It runs the code of lockyard's primitives, and predicts how they
//! scale on machines that you do not have.
//!
//! Each simulated hardware thread is a coroutine that runs the primitives' own code on the platform
//! [`Simulated`]. Each load, store, read-modify-write, pause and wait is an event. Its cost depends
//! on where the cache line is. The same seed and machine file give the same result, bit for bit, on
//! every host.
//!
//! # What is modelled
//!
//! - Coherence in two levels. An agent for each core complex (or socket) serves requests for a line
//!   one at a time, by default in random order. A home agent for the line serves the complexes. A
//!   complex keeps a line while its own cores want it, and snoops from outside compete with them.
//! - The ownership window: the agent holds the line's entry until the requester's completion
//!   arrives, while the data travels directly. So an owner has time for one more operation.
//! - Shared and exclusive states, upgrades that invalidate sharers, and reads of a shared line that
//!   are served one after another. A failed compare-exchange takes the line exclusively too.
//! - The store buffer: a store does not stall, and a read-modify-write waits until the buffer is
//!   empty. The memory order is total store order.
//! - The hold after a grant: when a line came from another socket, its new domain's agent is busy
//!   until the sockets have settled. The owner does many operations in that time.
//! - Simultaneous multithreading (SMT): siblings share their core's cache and take turns on a line.
//!   They slow down each other's work, except while one of them waits for a line, sleeps or pauses.
//! - Out-of-order execution: local work continues under loads and read-modify-writes that wait, as
//!   far as the reorder buffer reaches. Outcomes of compare-exchanges and swaps may be
//!   mispredicted.
//! - The capacity of caches, where a machine file gives their sizes.
//! - Waiting without spin events: a waiter sleeps until its line is taken away, and then finishes
//!   the pause it was in.
//! - Layout: objects in the arena have the layout that they have in real memory.
//! - On request, threads that share CPUs, as virtual CPUs share those of their host. This models
//!   run queues, time slices, and parked threads that give up their CPU. It also models spinning
//!   threads that are preempted, and interrupts to threads that are not running.
//!
//! # What is not modelled
//!
//! Instruction fetch, TLB misses, prefetchers, other out-of-order execution within a thread, the
//! bandwidth of unshared data, frequency changes, and device interrupts. Unless requested, there is
//! no scheduler: each thread has its own hardware thread. Orderings weaker than total store order
//! do not show here; the model checks cover those.

mod arena;
mod engine;
mod kernel;
pub mod machine;
mod op;
mod platform;
mod random;
mod shared;
mod simulation;
mod speed;

pub use engine::{
    CycleAttribution, CyclePhase, LineCounts, LineDistance, LineHolder, Observer, PHASES,
    RunStatistics, ThreadReport,
};
pub use machine::{Machine, MachineError, Parameter, Place, ServiceOrder};
pub use platform::{
    Simulated, SimulatedAtomics, SimulatedCell, SimulatedU16, SimulatedU32, SimulatedU64, hidden,
    nanoseconds, now, off_cpu, operation_done, random_below, stalled, stop_requested, thread_index,
    wait_for_others, work, work_in_order,
};
pub use simulation::{Placed, RunEnd, Simulation};
pub use speed::{HostWork, host_work};
