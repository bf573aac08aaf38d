//! The kernel's calls in cycles: what a machine's `[kernel]` says, split into the parts of a call.
//!
//! A call enters the kernel, is served in the bucket of its word, and leaves. Calls on one word are
//! served one after another, in their order. A call that wakes takes part only if another one waits
//! on the word or is about to. Part of a call's time depends on whether others are in the bucket:
//! its lock, its count and its list then come from another core.

use crate::machine::description::Machine;

/// The kernel's calls, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelCosts {
    /// Part of a call before its service.
    pub enter: u64,
    /// Part of a call after its service, if it neither slept nor woke a thread.
    pub leave: u64,
    /// Service of a call without others.
    alone: u64,
    /// Service of a call beside others.
    bucket: u64,
    nobody: u64,
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
        let bucket = machine.cycles(n.bucket);
        // Entry and exit are about half of a call that does nothing else (an empty call takes 118
        // of 214 ns).
        let alone = bucket.min(changed / 2);
        let enter = (changed - alone) / 2;
        KernelCosts {
            enter,
            leave: changed - alone - enter,
            alone,
            bucket,
            nobody: machine.cycles(n.wake_nobody),
            wake: machine.cycles(n.wake),
            wake_next: machine.cycles(n.wake_next),
            wakeup: machine.cycles(n.wakeup),
            // A file may have measured one of the two only.
            deep_wakeup: machine.cycles(n.deep_wakeup.max(n.wakeup)),
            deep_after: machine.cycles(n.deep_after),
            block: machine.cycles(n.block),
            yields: machine.cycles(n.yields),
        }
    }

    /// Service of a call that waits, with this many others before and behind it. With one other,
    /// the two pass the bucket to and fro, which takes half as long as a queue.
    pub(crate) fn service_of_wait(&self, others: u64) -> u64 {
        match others {
            0 => self.alone,
            1 => self.alone.max(self.bucket / 2),
            _ => self.alone.max(self.bucket),
        }
    }

    /// Service of a call that wakes. It takes the bucket's lock, but does not count itself among
    /// the waiting calls and out again: of three lines that come from other cores, it needs one.
    pub(crate) fn service_of_wake(&self, others: u64) -> u64 {
        self.alone + (self.service_of_wait(others) - self.alone) / 3
    }

    /// Rest of a call that found nobody, after it has entered.
    pub(crate) fn rest_of_nobody(&self) -> u64 {
        self.nobody.saturating_sub(self.enter)
    }

    /// Rest of a call that woke this many sleeping threads, after its service.
    pub(crate) fn rest_of_wake(&self, woken: u64) -> u64 {
        let first = self.wake.saturating_sub(self.until_served());
        if woken == 0 { self.leave } else { first + (woken - 1) * self.wake_next }
    }

    /// Time from the start of a call that wakes until the woken thread runs, whose CPU has been
    /// idle for `idle` cycles.
    pub(crate) fn wakeup(&self, idle: u64) -> u64 {
        if idle < self.deep_after { self.wakeup } else { self.deep_wakeup }
    }

    /// Part of a call that wakes until the end of its service, without others.
    pub(crate) fn until_served(&self) -> u64 {
        self.enter + self.alone
    }
}
