//! Use of the locks in a run: the times at which each lock is held, waited for, or free.
//!
//! A lock is *busy* from the moment at which a thread wants it until no thread holds or wants it. A
//! busy lock that no thread holds is being handed over. Counting begins with the run. So a hold
//! across the start or the end of the window counts with its part inside the window.

use crate::explain::LockTime;
use lockyard_scenarios::Access;

/// Times of one thread, in cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    /// Time since the start of the run.
    pub time: u64,
    /// Time for which the thread's operations have waited.
    pub stalled: u64,
    /// Work that the thread has done while it waited for locks.
    pub hidden: u64,
    /// Time for which the thread could run but had no CPU.
    pub off_cpu: u64,
}

/// The locks of a run, and the threads that use them.
#[derive(Debug)]
pub(super) struct Locks {
    locks: Vec<Lock>,
    threads: Vec<Thread>,
    window: u64,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    time: LockTime,
    /// Number of threads that hold or want the lock.
    users: u32,
    busy_since: u64,
    /// Number of threads that hold the lock.
    holders: u32,
    occupied_since: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Lock for which the thread waits, and the start of the wait.
    waits: Option<(usize, u64)>,
    /// Locks that the thread holds, innermost last.
    holds: Vec<Hold>,
    /// Lock for which the thread last waited.
    last: Option<usize>,
    hidden: u64,
}

#[derive(Clone, Debug)]
struct Hold {
    lock: usize,
    since: Now,
}

impl Locks {
    pub(super) fn new(locks: usize, threads: usize) -> Self {
        let locks = vec![Lock::default(); locks];
        Locks { locks, threads: vec![Thread::default(); threads], window: 0 }
    }

    /// Discards the counts. New counts begin at `time`.
    pub(super) fn begin_window(&mut self, time: u64) {
        self.window = time;
        for lock in &mut self.locks {
            lock.time = LockTime::default();
        }
    }

    /// Records that thread `thread` wants lock `lock`.
    pub(super) fn wants(&mut self, thread: usize, lock: usize, now: Now) {
        self.attributes_hidden(thread, now);
        self.threads[thread].waits = Some((lock, now.time));
        self.threads[thread].last = Some(lock);
        let lock = &mut self.locks[lock];
        if lock.users == 0 {
            lock.busy_since = now.time;
        }
        lock.users += 1;
    }

    /// Records that the thread has the lock that it wanted, with this access.
    pub(super) fn has(&mut self, thread: usize, access: Access, now: Now) {
        self.attributes_hidden(thread, now);
        let Thread { waits, holds, .. } = &mut self.threads[thread];
        let Some((lock, since)) = waits.take() else { return };
        let waited = now.time - since.max(self.window);
        for outer in holds.iter() {
            self.locks[outer.lock].time.nested += waited;
        }
        let Lock { time, holders, occupied_since, .. } = &mut self.locks[lock];
        if *holders == 0 {
            *occupied_since = now.time;
        }
        *holders += 1;
        time.shared += u64::from(access == Access::Shared);
        time.waited += waited;
        time.acquired += 1;
        time.acquired_nested += u64::from(!holds.is_empty());
        holds.push(Hold { lock, since: now });
    }

    /// Records that the thread releases the lock that it took last.
    pub(super) fn releases(&mut self, thread: usize, now: Now) {
        self.attributes_hidden(thread, now);
        let Some(Hold { lock, since }) = self.threads[thread].holds.pop() else { return };
        let window = self.window;
        let Lock { time, users, busy_since, holders, occupied_since } = &mut self.locks[lock];
        time.held += now.time - since.time.max(window);
        time.stalled += now.stalled - since.stalled;
        time.hidden += now.hidden - since.hidden;
        time.off_cpu += now.off_cpu - since.off_cpu;
        *holders -= 1;
        if *holders == 0 {
            time.occupied += now.time - (*occupied_since).max(window);
        }
        *users -= 1;
        if *users == 0 {
            time.busy += now.time - (*busy_since).max(window);
        }
    }

    /// Adds the thread's new hidden work to the lock for which it last waited.
    fn attributes_hidden(&mut self, thread: usize, now: Now) {
        let Thread { last, hidden, .. } = &mut self.threads[thread];
        let cycles = now.hidden - std::mem::replace(hidden, now.hidden);
        if let Some(lock) = *last {
            self.locks[lock].time.lent += cycles;
        }
    }

    /// Ends counting at `time`.
    pub(super) fn end(mut self, time: u64) -> Vec<LockTime> {
        let window = self.window;
        for thread in &self.threads {
            if let Some((lock, since)) = thread.waits {
                let waited = time - since.max(window);
                self.locks[lock].time.waited += waited;
                for outer in &thread.holds {
                    self.locks[outer.lock].time.nested += waited;
                }
            }
            for Hold { lock, since } in &thread.holds {
                self.locks[*lock].time.held += time - since.time.max(window);
            }
        }
        for Lock { time: counted, users, busy_since, holders, occupied_since } in &mut self.locks {
            if *holders > 0 {
                counted.occupied += time - (*occupied_since).max(window);
            }
            if *users > 0 {
                counted.busy += time - (*busy_since).max(window);
            }
        }
        self.locks.into_iter().map(|lock| lock.time).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Now {
        Now { time, ..Now::default() }
    }

    #[test]
    fn a_lock_is_held_handed_over_or_free() {
        let mut locks = Locks::new(1, 2);
        locks.wants(0, 0, at(10));
        locks.has(0, Access::Exclusive, at(14));
        locks.wants(1, 0, at(20));
        locks.releases(0, at(30));
        locks.has(1, Access::Exclusive, at(37));
        locks.releases(1, at(40));
        let time = locks.end(100)[0];
        assert_eq!((time.held, time.busy, time.waited), (16 + 3, 30, 4 + 17));
        assert_eq!((time.acquired, time.acquired_nested, time.nested), (2, 0, 0));
    }

    #[test]
    fn readers_hold_a_lock_together() {
        let mut locks = Locks::new(1, 2);
        for (thread, time) in [(0, 10), (1, 20)] {
            locks.wants(thread, 0, at(time));
            locks.has(thread, Access::Shared, at(time + 2));
        }
        locks.releases(0, at(30));
        locks.releases(1, at(50));
        let time = locks.end(100)[0];
        // From 12 to 50, by one or two threads: for 18 and 28.
        assert_eq!((time.occupied, time.held, time.busy, time.shared), (38, 46, 40, 2));
        assert_eq!(time.handed_over(), 2);
    }

    #[test]
    fn what_is_under_way_at_an_end_of_the_window_counts_with_its_part_in_it() {
        let mut locks = Locks::new(1, 3);
        locks.wants(0, 0, at(0));
        locks.has(0, Access::Exclusive, at(10));
        locks.wants(1, 0, at(20));
        locks.begin_window(100);
        locks.releases(0, at(130));
        locks.has(1, Access::Exclusive, at(140));
        locks.wants(2, 0, at(150));
        let time = locks.end(200)[0];
        assert_eq!((time.held, time.busy, time.waited), (30 + 60, 100, 40 + 50));
        assert_eq!(time.acquired, 1);
    }

    #[test]
    fn a_wait_for_an_inner_lock_is_no_time_of_the_outer_ones_own() {
        let mut locks = Locks::new(2, 1);
        locks.wants(0, 0, at(0));
        locks.has(0, Access::Exclusive, at(0));
        locks.wants(0, 1, at(10));
        locks.has(0, Access::Exclusive, at(35));
        locks.releases(0, at(40));
        locks.releases(0, at(50));
        let times = locks.end(50);
        assert_eq!((times[0].held, times[0].nested), (50, 25));
        assert_eq!((times[1].held, times[1].waited, times[1].acquired_nested), (5, 25, 1));
    }

    #[test]
    fn hidden_work_is_of_the_lock_that_lent_its_time() {
        let mut locks = Locks::new(2, 1);
        let hidden = |time, hidden| Now { time, hidden, ..Now::default() };
        locks.wants(0, 1, hidden(0, 0));
        locks.has(0, Access::Exclusive, hidden(10, 0));
        // 6 of 9 cycles are done in the critical section and 3 after it.
        locks.releases(0, hidden(20, 6));
        locks.wants(0, 0, hidden(30, 9));
        let times = locks.end(40);
        assert_eq!((times[1].hidden, times[1].lent), (6, 9));
        assert_eq!((times[0].hidden, times[0].lent), (0, 0));
    }
}
