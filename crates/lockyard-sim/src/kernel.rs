//! System calls in cycles: the numbers of a machine's `[kernel]`, split into the parts of a call.
//!
//! A call enters the kernel, is served in the bucket of its word, and leaves. Calls on one word are
//! served one after another, in their order. A waking call enters the bucket only if another call
//! waits on the word or is about to. Concurrent calls cost more than single ones because of the
//! transfers of the bucket's line (`platform/bucket.rs`).

use crate::machine::description::Machine;

/// System calls, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelCosts {
    /// Part of a call before its service.
    pub enter: u64,
    /// Part of a call after its service, if it neither slept nor woke a thread.
    pub leave: u64,
    /// True if calls on one word share a bucket.
    pub has_buckets: bool,
    /// Part of a waking call until the end of its service, without other calls.
    pub until_served: u64,
    rest_of_nobody: u64,
    wake: u64,
    pub wake_next: u64,
    wakeup: u64,
    deep_wakeup: u64,
    deep_after: u64,
    pub block: u64,
    pub yields: u64,
}

impl KernelCosts {
    pub(crate) fn of(machine: &Machine) -> Self {
        let n = &machine.numbers().kernel;
        let changed = machine.cycles(n.wait_changed);
        let has_buckets = n.bucket > 0.0;
        let all = machine.numbers();
        let (look, locked) = match has_buckets {
            true => (all.load, all.rmw_before_lock + all.rmw_lock),
            false => (0, 0),
        };
        // A waiting call makes four locked operations in the bucket, a waking call two.
        let around = changed.saturating_sub(4 * locked);
        let enter = around / 2;
        KernelCosts {
            enter,
            leave: around - enter,
            has_buckets,
            until_served: enter + look + 2 * locked,
            rest_of_nobody: machine.cycles(n.wake_nobody).saturating_sub(enter + look),
            wake: machine.cycles(n.wake),
            wake_next: machine.cycles(n.wake_next),
            wakeup: machine.cycles(n.wakeup),
            // A file may have a measurement of only one of the two.
            deep_wakeup: machine.cycles(n.deep_wakeup.max(n.wakeup)),
            deep_after: machine.cycles(n.deep_after),
            block: machine.cycles(n.block),
            yields: machine.cycles(n.yields),
        }
    }

    /// Rest of a call that found no thread, after it has read the count.
    pub(crate) fn rest_of_nobody(&self) -> u64 {
        self.rest_of_nobody
    }

    /// Rest of a call that woke this many sleeping threads, after its service, which ended `served`
    /// cycles after the call began.
    pub(crate) fn rest_of_wake(&self, woken: u64, served: u64) -> u64 {
        let first = self.wake.saturating_sub(served);
        if woken == 0 { self.leave } else { first + (woken - 1) * self.wake_next }
    }

    /// Time from the start of a waking call until the woken thread runs. The thread's CPU has been
    /// idle for `idle` cycles.
    pub(crate) fn wakeup(&self, idle: u64) -> u64 {
        if idle < self.deep_after { self.wakeup } else { self.deep_wakeup }
    }
}
