//! Use of a lock in a run.

use std::iter::Sum;
use std::ops::{Add, Div};

/// Calls of a lock with one kind of access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTime {
    /// Number of acquisitions.
    pub acquired: u64,
    /// Cycles in which threads acquired it, and their operations waited for lines.
    pub stalled: u64,
    /// Cycles in which threads released it, with all that they did for it.
    pub left: u64,
}

impl Add for CallTime {
    type Output = CallTime;

    fn add(self, other: CallTime) -> CallTime {
        CallTime {
            acquired: self.acquired + other.acquired,
            stalled: self.stalled + other.stalled,
            left: self.left + other.left,
        }
    }
}

impl Div<u64> for CallTime {
    type Output = CallTime;

    fn div(self, of: u64) -> CallTime {
        let CallTime { acquired, stalled, left } = self;
        CallTime { acquired: acquired / of, stalled: stalled / of, left: left / of }
    }
}

/// Use of a lock, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTime {
    /// Number of times that the lock was taken.
    pub acquired: u64,
    /// Number of times that a thread with another lock took it.
    pub acquired_nested: u64,
    /// Number of these times in which the thread was a reader.
    pub shared: u64,
    /// Cycles in which the lock was held, summed over all holders. Readers hold it together.
    pub held: u64,
    /// Cycles in which at least one thread held the lock.
    pub occupied: u64,
    /// Cycles in which the lock was held or wanted.
    pub busy: u64,
    /// Cycles in which it served one thread at a time: a thread had it or wanted it for itself
    /// alone, or a reader acquired or released it.
    pub serial: u64,
    /// Cycles in which a thread held it for itself alone.
    pub alone: u64,
    /// Held cycles in which the holder's operations waited for lines or for its store buffer.
    pub stalled: u64,
    /// Held cycles in which the holder waited for another lock.
    pub nested: u64,
    /// Held cycles in which the holder could run but had no CPU.
    pub off_cpu: u64,
    /// Cycles of the critical sections' work that were done while the thread waited for the lock.
    /// They are not in `held`.
    pub hidden: u64,
    /// Cycles of all work that was done while threads waited for the lock.
    pub lent: u64,
    /// Cycles for which threads waited for the lock, summed over all threads.
    pub waited: u64,
    /// Calls with exclusive access, and with shared access.
    pub calls: [CallTime; 2],
}

impl LockTime {
    /// Cycles in which the lock was wanted but not held: between two holders, or before the first
    /// one.
    pub fn handed_over(&self) -> u64 {
        self.busy.saturating_sub(self.occupied)
    }

    /// Cycles of critical sections without waits for other locks, if the lock is free at once.
    pub(super) fn section(&self) -> u64 {
        self.held.saturating_sub(self.nested) + self.hidden
    }
}

impl Add for LockTime {
    type Output = LockTime;

    fn add(self, other: LockTime) -> LockTime {
        LockTime {
            acquired: self.acquired + other.acquired,
            acquired_nested: self.acquired_nested + other.acquired_nested,
            shared: self.shared + other.shared,
            held: self.held + other.held,
            occupied: self.occupied + other.occupied,
            busy: self.busy + other.busy,
            serial: self.serial + other.serial,
            alone: self.alone + other.alone,
            stalled: self.stalled + other.stalled,
            nested: self.nested + other.nested,
            off_cpu: self.off_cpu + other.off_cpu,
            hidden: self.hidden + other.hidden,
            lent: self.lent + other.lent,
            waited: self.waited + other.waited,
            calls: [0, 1].map(|access| self.calls[access] + other.calls[access]),
        }
    }
}

impl Sum for LockTime {
    fn sum<I: Iterator<Item = LockTime>>(times: I) -> LockTime {
        times.fold(LockTime::default(), LockTime::add)
    }
}

impl Div<u64> for LockTime {
    type Output = LockTime;

    fn div(self, of: u64) -> LockTime {
        LockTime {
            acquired: self.acquired / of,
            acquired_nested: self.acquired_nested / of,
            shared: self.shared / of,
            held: self.held / of,
            occupied: self.occupied / of,
            busy: self.busy / of,
            serial: self.serial / of,
            alone: self.alone / of,
            stalled: self.stalled / of,
            nested: self.nested / of,
            off_cpu: self.off_cpu / of,
            hidden: self.hidden / of,
            lent: self.lent / of,
            waited: self.waited / of,
            calls: self.calls.map(|calls| calls / of),
        }
    }
}
