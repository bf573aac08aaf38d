//! Cost of a crowd: threads that wait in the kernel for one lock.
//!
//! With few waiters, a program does more than its replay. Most threads that call the kernel find
//! the lock free again; in the replay too many sleep. With many waiters it does less: callers of
//! one futex share the kernel's bucket, its lock and its list. Both are a time that each hand-over
//! takes less or more than in the replay, by the mean number of waiters.
//!
//! The two constants are fitted on eleven programs of one host, those without reader-writer locks.
//! Each is left out where its error is reported
//! ([evidence](../../../../docs/evidence/recordings.md)).

use lockyard_results::details::CostsDetail;

/// Mean number of waiters up to which a hand-over takes less and less time.
const FEW: f64 = 1.0;

/// Mean number of waiters from which it does not take longer still.
const FULL: f64 = 4.0;

/// Share of the time a lock is held or wanted, from which and up to which it decides the rate.
const BUSY: [f64; 2] = [0.8, 1.0];

/// Least part of an operation's time that a correction leaves.
const LEAST: f64 = 0.5;

/// Time that a hand-over takes more than in the replay, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HandOver {
    /// Time that it takes less with few waiters.
    pub few_ns: f64,
    /// Time that it takes more with many.
    pub full_ns: f64,
}

/// What twelve programs of one host say.
pub const FITTED: HandOver = HandOver { few_ns: 120.0, full_ns: 60.0 };

impl HandOver {
    fn of(self, waiting: f64) -> f64 {
        let few = (waiting / FEW).clamp(0.0, 1.0);
        let many = ((waiting - FEW) / (FULL - FEW)).clamp(0.0, 1.0);
        (self.few_ns + self.full_ns) * many - self.few_ns * few
    }
}

/// Waiters of the lock that has most of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// Mean number of threads that wait.
    pub waiting: f64,
    /// Acquisitions of the lock for each operation.
    pub taken: f64,
    /// Share of the time in which the lock is held or wanted.
    pub busy: f64,
}

impl Crowd {
    /// Returns the crowd of a simulated cell with this many operations a second.
    pub fn of(rate: f64, costs: &CostsDetail) -> Crowd {
        let mut most = Crowd::default();
        for lock in &costs.locks {
            let waiting = lock.waited_ns_per_operation * rate / 1e9;
            if waiting > most.waiting && lock.waited_ns_each_time > 0.0 {
                let taken = lock.waited_ns_per_operation / lock.waited_ns_each_time;
                let busy = lock.share_held + lock.share_handed_over;
                most = Crowd { waiting, taken, busy };
            }
        }
        most
    }

    /// Returns the rate in the crowd, of one that the crowd does not change.
    pub fn rate(self, rate: f64, hand_over: HandOver) -> f64 {
        let time = 1.0 / rate;
        1.0 / (time + self.taken * hand_over.of(self.waiting) / 1e9).max(LEAST * time)
    }

    /// Returns the share to which the lock, and not the threads' own time, decides the rate.
    pub fn decides(self) -> f64 {
        ((self.busy - BUSY[0]) / (BUSY[1] - BUSY[0])).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_results::details::LockDetail;

    fn crowd(waited_ns: f64, share_held: f64) -> Crowd {
        let lock = |factor: f64| LockDetail {
            share_held,
            share_handed_over: 0.05,
            waited_ns_each_time: waited_ns * factor,
            waited_ns_per_operation: waited_ns * factor / 2.0,
            ..LockDetail::default()
        };
        let locks = vec![lock(0.1), lock(1.0), lock(0.0)];
        Crowd::of(2e6, &CostsDetail { locks, ..CostsDetail::default() })
    }

    #[test]
    fn a_hand_over_takes_less_with_few_waiters_and_more_with_many() {
        let full = crowd(6_000.0, 0.85);
        assert!((full.waiting - 6.0).abs() < 1e-9 && (full.taken - 0.5).abs() < 1e-9, "{full:?}");
        assert!((full.decides() - 0.5).abs() < 1e-9, "{full:?}");
        assert_eq!((crowd(6_000.0, 0.2).decides(), crowd(6_000.0, 0.99).decides()), (0.0, 1.0));
        // 500 ns for an operation; half of them take the lock.
        let hand_over = HandOver { few_ns: 40.0, full_ns: 100.0 };
        let time = |crowd: Crowd| 1e9 / crowd.rate(2e6, hand_over);
        for (waited_ns, ns) in
            [(500.0, 490.0), (1_000.0, 480.0), (2_500.0, 515.0), (9_000.0, 550.0)]
        {
            let found = time(crowd(waited_ns, 0.9));
            assert!((found - ns).abs() < 1e-6, "{waited_ns}: {found}");
        }
        assert!((time(Crowd::default()) - 500.0).abs() < 1e-6);
        let most = HandOver { few_ns: 1e6, full_ns: 0.0 };
        assert!((1e9 / crowd(1_000.0, 0.9).rate(2e6, most) - 250.0).abs() < 1e-6);
    }
}
