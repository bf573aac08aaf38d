//! State of one thread's out-of-order execution (see `out_of_order.rs`).

/// A read-modify-write that was not mispredicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompleteRmw {
    pub line: u32,
    /// Time when it was complete.
    pub end: u64,
}

/// The work that a thread has done ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunAhead {
    /// Cycles of work that the thread could have done during operations that are now complete.
    credit: u64,
    /// Part of the credit that comes only from waiting for locks.
    lent: u64,
    /// Cycles of work done on lent credit so far.
    hidden: u64,
    /// Number of cycles since the next store could have executed, if the core executes stores
    /// early.
    pub early: u64,
    /// Time when the current operation began.
    pub since: u64,
    /// The last read-modify-write that was not mispredicted.
    pub rmw: Option<CompleteRmw>,
}

impl RunAhead {
    /// Starts an operation that lets the thread run ahead.
    pub(super) fn begin(&mut self, now: u64) {
        self.since = now;
    }

    /// Adds the credit of an operation that took `took` cycles. `lends`: the operation was part of
    /// waiting for a lock.
    #[inline(always)]
    pub(super) fn earn(&mut self, took: u64, most: u64, lends: bool) {
        let own = (self.credit - self.lent + if lends { 0 } else { took }).min(most);
        self.credit = (self.credit + took).min(most);
        self.lent = self.credit.saturating_sub(own);
    }

    /// Spends credit on `cycles` of work, lent credit last. Returns the cycles that are covered.
    #[inline(always)]
    pub(super) fn spend(&mut self, cycles: u64) -> u64 {
        let done = cycles.min(self.credit);
        let on_loan = done.saturating_sub(self.credit - self.lent);
        self.credit -= done;
        self.lent -= on_loan;
        self.hidden += on_loan;
        done
    }

    /// Cycles of work so far that the thread has done while it waited for locks. If locks are free
    /// at once, it does this work afterwards.
    pub(super) fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Discards the work that was done ahead.
    pub(super) fn discard(&mut self) {
        (self.credit, self.lent) = (0, 0);
        self.rmw = None;
        self.early = 0;
    }
}

/// A place in the code. Places are compared by their text, because one place may have several
/// addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePlace {
    pub line: u32,
    pub column: u32,
    pub file: &'static str,
}

/// The operation that followed the last load at a place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub place: CodePlace,
    pub by_change: bool,
}
