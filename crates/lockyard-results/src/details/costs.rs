//! Cycles of a simulated cell by cause, lock and line.

use serde::Serialize;
use std::collections::BTreeMap;

/// Cycles of a simulated cell by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostsDetail {
    /// Share of the threads' cycles, by phase.
    pub share: BTreeMap<String, f64>,
    /// Share of time that locks were held, summed over all locks.
    pub share_lock_held: f64,
    /// Most expensive phase.
    pub dominating_cost: String,
    /// Name of the lock that limits the throughput.
    pub bottleneck_lock: Option<String>,
    /// Explanation in sentences.
    pub explanation: String,
    /// Locks that the program took.
    pub locks: Vec<LockDetail>,
    /// Lines that cost most time, worst first.
    pub lines: Vec<LineDetail>,
    /// Throughput if acquiring the lock and handing it over were free.
    pub ideal_locks: Option<IdealLocksDetail>,
    /// Throughput with a critical section half as long.
    pub half_section: Option<GainDetail>,
    /// Throughput with a second lock next to the bottleneck, each used by half of the operations.
    pub second_lock: Option<GainDetail>,
    /// Upper bound of the operations per second: the bottleneck lock is held all the time.
    pub hold_bound_operations_per_s: Option<f64>,
}

/// Use of one lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockDetail {
    /// Name of the lock's object.
    pub lock: String,
    /// Share of time that at least one thread held the lock.
    pub share_held: f64,
    /// Share of time that a thread wanted the lock but none held it.
    pub share_handed_over: f64,
    /// Share of time that the lock served one thread at a time: it was held or wanted by a
    /// thread for itself alone, or acquired or released by a reader.
    pub share_serial: f64,
    /// Share of time that a thread held the lock for itself alone.
    pub share_held_alone: f64,
    /// Nanoseconds per critical section.
    pub held_ns_each_time: f64,
    /// Nanoseconds per critical section where the holder waited for memory.
    pub held_stalled_ns_each_time: f64,
    /// Nanoseconds per hand-over.
    pub handed_over_ns_each_time: f64,
    /// Nanoseconds of waiting per acquisition.
    pub waited_ns_each_time: f64,
    /// Nanoseconds of waiting per operation.
    pub waited_ns_per_operation: f64,
    /// Number of threads from which the lock is never free.
    pub knee_threads: f64,
}

/// Throughput if acquiring and handing over locks were free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IdealLocksDetail {
    /// Operations per second with ideal locks.
    pub operations_per_s: f64,
    /// Upper bound on the operations per second.
    pub at_most_operations_per_s: f64,
    /// Gain relative to the throughput.
    pub gain_share: f64,
}

/// Throughput of a modified program, and its gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GainDetail {
    /// Operations per second.
    pub operations_per_s: f64,
    /// Gain relative to the throughput.
    pub gain_share: f64,
}

/// Traffic of one cache line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LineDetail {
    /// Name of the line.
    pub line: String,
    /// Nanoseconds lost on the line per operation.
    pub lost_ns_per_operation: f64,
    /// Nanoseconds lost per operation, by region of the program.
    pub lost_in_ns_per_operation: BTreeMap<String, f64>,
    /// Nanoseconds per operation spent moving the line.
    pub moving_lines_ns_per_operation: f64,
    /// Nanoseconds per operation spent waiting for the store buffer.
    pub draining_stores_ns_per_operation: f64,
    /// Nanoseconds per operation spent in waiting loops.
    pub waiting_ns_per_operation: f64,
    /// Hand-overs per operation, by distance.
    pub hand_overs_per_operation: TransfersDetail,
    /// Loads per operation that fetched another thread's write, by distance.
    pub reads_per_operation: TransfersDetail,
    /// Moves per operation.
    pub moves_per_operation: f64,
    /// Share of the moves that carried no write by another thread.
    pub needless_moves: f64,
    /// Missed polls of waiting loops per operation, not counting the first of each loop.
    pub missed_polls_per_operation: f64,
    /// Missed polls of waiting loops per hand-over, not counting the first of each loop.
    pub re_reads_per_hand_over: f64,
    /// Failed compare-exchanges per successful one.
    pub failed_exchanges_per_success: f64,
    /// Read-modify-writes per ownership of the line by a core.
    pub rmws_per_ownership: f64,
    /// Mean queue length that a request finds at the home agent.
    pub queue_length: f64,
}

/// Transfers of a line by distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TransfersDetail {
    /// To another thread of the core.
    pub same_core: f64,
    /// To another core of the complex.
    pub same_complex: f64,
    /// To another complex of the socket.
    pub same_socket: f64,
    /// To another socket.
    pub another_socket: f64,
}
