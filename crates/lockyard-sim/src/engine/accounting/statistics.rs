//! Counts of a run.

/// Counts of a run, summed over all lines and threads. The sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStatistics {
    /// Events that the event loop handled.
    pub events: u64,
    /// Platform operations that threads began: loads, stores, read-modify-writes, fences, cell
    /// accesses, pauses, work and waits.
    pub platform_operations: u64,
    /// Loads, including those of waiting loops.
    pub loads: u64,
    /// Loads that missed.
    pub load_misses: u64,
    /// Stores, including those of parts of a word.
    pub stores: u64,
    /// Read-modify-writes.
    pub rmws: u64,
    /// Read-modify-writes that found the line exclusive at their core: no transfer.
    pub rmw_hits: u64,
    /// Compare-exchanges that failed.
    pub failed_compare_exchanges: u64,
    /// Compare-exchanges that succeeded.
    pub compare_exchanges: u64,
    /// Number of times that a line became modified at a core, which begins an ownership.
    pub exclusive_fills: u64,
    /// Number of times that a line became shared at a core.
    pub shared_fills: u64,
    /// Requests of a core that already shared the line, so only invalidations were needed.
    pub upgrades: u64,
    /// Invalidations that reached a sharer.
    pub invalidations: u64,
    /// Transfers between cores of one domain.
    pub local_transfers: u64,
    /// Grants of a line to a domain by its home agent: transfers between domains, and first
    /// touches.
    pub remote_grants: u64,
    /// Operations that found the line at their core, but not in the first-level cache.
    pub second_level_hits: u64,
    /// Valid lines that were evicted from a core's caches.
    pub evictions: u64,
    /// Evicted lines that were modified, and so were written to the complex's last-level cache.
    pub write_backs: u64,
    /// Lines evicted from a last-level cache while no core of its complex had them.
    pub last_level_evictions: u64,
    /// Lines that came from memory because no cache had them.
    pub memory_reads: u64,
    /// Modified lines written to memory, because they left the caches or another complex read them.
    pub memory_writes: u64,
    /// Sum, over requests, of the length of the agent's queue at their arrival. A request counts
    /// itself.
    pub queue_length: u64,
    /// Requests that arrived at an agent.
    pub requests: u64,
    /// Number of times that a CPU switched to another thread, where threads share CPUs.
    pub switches: u64,
    /// Switches to a thread that last ran on another CPU.
    pub migrations: u64,
    /// Number of times that the host noticed a spinning thread.
    pub pause_exits: u64,
    /// Number of times that a thread slept in the kernel: voluntary context switches.
    pub sleeps: u64,
    /// Interrupts that reached a thread.
    pub interrupts: u64,
}
