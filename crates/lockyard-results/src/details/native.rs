//! Details of figures that are measured without a scenario.

use serde::Serialize;

/// Details of a row about tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TablesDetail {
    /// Role of the subject: `ours`, `peer` or `yardstick`.
    pub role: &'static str,
    /// Project that the subject comes from, and its description.
    pub subject: String,
    /// Share of reads, in per cent.
    pub reads_per_cent: u32,
}

/// Details of a row about system calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyscallsDetail {
    /// Operations of the slowest task in each second.
    pub sample_minimum: Vec<u64>,
    /// Operations of the fastest task in each second.
    pub sample_maximum: Vec<u64>,
    /// Operations of all tasks together in each second.
    pub sample_total: Vec<u64>,
    /// Share of time that the CPUs were idle, in per cent.
    pub idle_percent: Option<f64>,
    /// System call that is measured.
    pub operation: Option<&'static str>,
}

/// Details of a row about the call path of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallPathDetail {
    /// Name of the lock.
    pub lock: &'static str,
    /// Way in which the lock is called.
    pub way: &'static str,
    /// Absolute figure of a lock and unlock pair, not relative to another way.
    pub per_lock_and_unlock: Option<f64>,
}
