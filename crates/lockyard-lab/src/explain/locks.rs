//! How much of the time a lock is held and handed over, and which lock is the bottleneck.
//!
//! A lock serves one thread at a time, so the laws of a server with a queue hold for it
//! (E. Lazowska and others, *Quantitative System Performance*, 1984, chapter 5). Its *service* is
//! a hold and the hand-over to the next thread. With few threads the lock has time to spare. From
//! the *knee* on it has none: there, one service for each thread takes as long as an operation
//! without a queue. More threads wait longer, and throughput does not rise.

use super::Costs;
use lockyard_sim::CyclePhase;
use std::iter::Sum;
use std::ops::{Add, Div};

/// Number of threads, as a share of those at the knee, from which on a lock is the bottleneck. Runs
/// of a cell differ by up to 4 %, and so does their knee: a lock this near is at it.
pub const SATURATED: f64 = 0.95;

/// Share of the longest busy time from which on locks are equally busy, for the same reason.
const AS_BUSY: f64 = 0.95;

/// Use of a lock, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTime {
    /// Number of times that it was taken.
    pub acquired: u64,
    /// Those of them by threads that held another lock.
    pub acquired_nested: u64,
    /// Cycles in which it was held.
    pub held: u64,
    /// Cycles in which it was held or wanted.
    pub busy: u64,
    /// Cycles of holds in which the holder's operations waited for lines or for its store buffer.
    pub stalled: u64,
    /// Cycles of holds in which the holder waited for another lock.
    pub nested: u64,
    /// Cycles of holds in which the holder could run and had no CPU.
    pub off_cpu: u64,
    /// Cycles of the sections' work that were done while the thread waited for the lock. They are
    /// not in `held`.
    pub hidden: u64,
    /// Cycles of all work that was done while threads waited for the lock.
    pub lent: u64,
    /// Cycles that threads waited for it, all threads together.
    pub waited: u64,
}

impl LockTime {
    /// Cycles in which it was wanted and not held: between two holders, or on its way to the first.
    pub fn handed_over(&self) -> u64 {
        self.busy.saturating_sub(self.held)
    }

    /// Cycles of sections without waits for other locks, were the lock free at once.
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
            held: self.held + other.held,
            busy: self.busy + other.busy,
            stalled: self.stalled + other.stalled,
            nested: self.nested + other.nested,
            off_cpu: self.off_cpu + other.off_cpu,
            hidden: self.hidden + other.hidden,
            lent: self.lent + other.lent,
            waited: self.waited + other.waited,
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
            held: self.held / of,
            busy: self.busy / of,
            stalled: self.stalled / of,
            nested: self.nested / of,
            off_cpu: self.off_cpu / of,
            hidden: self.hidden / of,
            lent: self.lent / of,
            waited: self.waited / of,
        }
    }
}

impl Costs {
    /// Share of the time in which a lock was held, 0 to 1.
    pub fn held_share(&self, lock: &LockTime) -> f64 {
        self.share_of_time(lock.held)
    }

    /// Share of the time in which a lock was wanted and not held, 0 to 1.
    pub fn handed_over_share(&self, lock: &LockTime) -> f64 {
        self.share_of_time(lock.handed_over())
    }

    /// Share of the time in which locks were held, all locks together: above 1 with several.
    pub fn all_held_share(&self) -> f64 {
        self.locks.values().map(|lock| self.held_share(lock)).sum()
    }

    fn share_of_time(&self, cycles: u64) -> f64 {
        if self.window > 0.0 { cycles as f64 * self.cycle / self.window } else { 0.0 }
    }

    /// Nanoseconds of `cycles` that were counted of a lock, for each time that it was taken.
    pub fn each_time(&self, lock: &LockTime, cycles: u64) -> f64 {
        cycles as f64 * self.cycle / lock.acquired.max(1) as f64
    }

    /// Number of threads, of one guest.
    pub(super) fn threads(&self) -> f64 {
        let all: f64 = self.nanoseconds.iter().sum();
        if self.window > 0.0 { all / self.window / self.guests.max(1) as f64 } else { 0.0 }
    }

    /// Nanoseconds of a thread's operation without its waits for locks.
    pub(super) fn without_waits(&self) -> f64 {
        let waited: u64 = self.locks.values().map(|lock| lock.waited).sum();
        (self.threads() * self.window - waited as f64 * self.cycle) / self.operations_of_guest()
    }

    /// Number of operations that were finished, of one guest.
    pub(super) fn operations_of_guest(&self) -> f64 {
        self.operations.max(1) as f64 / self.guests.max(1) as f64
    }

    /// Number of threads at a lock's knee, with holds and hand-overs as they were: an operation
    /// without queues, over the lock's part of it.
    pub fn knee(&self, lock: &LockTime) -> f64 {
        let handed_over: u64 = self.locks.values().map(LockTime::handed_over).sum();
        let handed_over = handed_over as f64 * self.cycle / self.operations_of_guest();
        let service = lock.busy as f64 * self.cycle / self.operations_of_guest();
        (self.without_waits() + handed_over) / service.max(self.cycle)
    }

    /// The lock that bounds the throughput, if one does: of the locks that are busy most of the
    /// time the one that threads waited for longest, where there are threads enough for its
    /// [knee](Self::knee). A lock whose holders mostly wait for another lock is none.
    pub fn bottleneck(&self) -> Option<(&str, &LockTime)> {
        let own = |lock: &LockTime| 2 * lock.nested < lock.busy;
        let locks = || self.locks.iter().filter(move |(_, lock)| own(lock));
        let most = locks().map(|(_, lock)| lock.busy).max()? as f64;
        let busiest = locks().filter(|(_, lock)| lock.busy as f64 >= AS_BUSY * most);
        let (name, lock) = busiest.max_by_key(|(_, lock)| lock.waited)?;
        let bounds = self.threads() >= SATURATED * self.knee(lock);
        bounds.then_some((name.as_str(), lock))
    }

    /// Whether threads had to share CPUs.
    pub(super) fn shares_cpus(&self) -> bool {
        self.share(CyclePhase::OffCpu) > 0.0
    }
}
