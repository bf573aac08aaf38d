//! Shares of time in which a lock is held and handed over, and the lock that is the bottleneck.
//!
//! A lock serves one thread at a time, so it obeys the laws of a server with a queue (E. Lazowska
//! and others, *Quantitative System Performance*, 1984, chapter 5). Its *service* is a hold plus
//! the hand-over to the next thread. With few threads, the lock is free some of the time. From the
//! *knee* on, it never is. At the knee, one service for each thread takes as long as an operation
//! without a queue. With more threads, waits get longer and throughput does not rise.

use super::costs::Costs;
use super::lock_time::LockTime;
use lockyard_sim::CyclePhase;

/// A lock is the bottleneck if the number of threads is at least this share of its knee. Runs of a
/// cell differ by up to 4 %, and so do their knees. So a lock this near to its knee is at it.
pub const SATURATED: f64 = 0.95;

/// Locks count as equally busy if their busy time is at least this share of the longest. The reason
/// is the same.
const AS_BUSY: f64 = 0.95;

impl Costs {
    /// Share of the time in which a lock was held, from 0 to 1.
    pub fn held_share(&self, lock: &LockTime) -> f64 {
        self.share_of_time(lock.occupied)
    }

    /// Share of the time in which a lock was wanted but not held, from 0 to 1.
    pub fn handed_over_share(&self, lock: &LockTime) -> f64 {
        self.share_of_time(lock.handed_over())
    }

    /// Share of the time in which locks were held, summed over all locks. With several locks it may
    /// exceed 1.
    pub fn all_held_share(&self) -> f64 {
        self.locks.values().map(|lock| self.held_share(lock)).sum()
    }

    pub(super) fn share_of_time(&self, cycles: u64) -> f64 {
        if self.window > 0.0 { cycles as f64 * self.cycle / self.window } else { 0.0 }
    }

    /// Converts `cycles`, counted for a lock, to nanoseconds per acquisition.
    pub fn each_time(&self, lock: &LockTime, cycles: u64) -> f64 {
        cycles as f64 * self.cycle / lock.acquired.max(1) as f64
    }

    /// Number of threads of one guest.
    pub(super) fn threads(&self) -> f64 {
        let all: f64 = self.nanoseconds.iter().sum();
        if self.window > 0.0 { all / self.window / self.guests.max(1) as f64 } else { 0.0 }
    }

    /// Nanoseconds of a thread's operation, without its waits for locks.
    pub(super) fn without_waits(&self) -> f64 {
        let waited: u64 = self.locks.values().map(|lock| lock.waited).sum();
        (self.threads() * self.window - waited as f64 * self.cycle) / self.operations_of_guest()
    }

    /// Number of operations that one guest finished.
    pub(super) fn operations_of_guest(&self) -> f64 {
        self.operations.max(1) as f64 / self.guests.max(1) as f64
    }

    /// Number of threads at a lock's knee, with unchanged holds and hand-overs. It is the time of
    /// an operation without queues, divided by the lock's service time per operation.
    pub fn knee(&self, lock: &LockTime) -> f64 {
        let handed_over: u64 = self.locks.values().map(LockTime::handed_over).sum();
        let handed_over = handed_over as f64 * self.cycle / self.operations_of_guest();
        let service = lock.serial as f64 * self.cycle / self.operations_of_guest();
        (self.without_waits() + handed_over) / service.max(self.cycle)
    }

    /// Returns the lock that bounds the throughput, if there is one. Candidates are the locks with
    /// the longest busy time; among these, it is the one with the longest waits. The cell must have
    /// enough threads for its [knee](Self::knee). Locks whose holders mostly wait for another lock
    /// do not count, and no locks with readers: a lock that serves several threads at a time obeys
    /// other laws.
    pub fn bottleneck(&self) -> Option<(&str, &LockTime)> {
        let own = |lock: &LockTime| 2 * lock.nested < lock.busy && lock.shared == 0;
        let locks = || self.locks.iter().filter(move |(_, lock)| own(lock));
        let most = locks().map(|(_, lock)| lock.busy).max()? as f64;
        let busiest = locks().filter(|(_, lock)| lock.busy as f64 >= AS_BUSY * most);
        let (name, lock) = busiest.max_by_key(|(_, lock)| lock.waited)?;
        let bounds = self.threads() >= SATURATED * self.knee(lock);
        bounds.then_some((name.as_str(), lock))
    }

    /// Returns `true` if threads had to share CPUs.
    pub(super) fn shares_cpus(&self) -> bool {
        self.share(CyclePhase::OffCpu) > 0.0
    }
}
