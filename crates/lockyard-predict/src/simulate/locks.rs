//! Use of the locks in a run: the times at which each lock is held, waited for, or free.
//!
//! A lock is *busy* from the moment at which a thread wants it until no thread holds or wants it. A
//! busy lock that no thread holds is being handed over. Counting begins with the run. So a hold
//! across the start or the end of the window counts with its part inside the window.

//!
//! Readers of a reader-writer lock keep no other reader out, but each changes the lock's word when
//! it comes and when it leaves, and one thread at a time can. So such a lock serves one thread at a
//! time (it is *serial*) while a reader acquires or releases it, and not while one has it.

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
    /// Number of threads that hold or want the lock; readers only while they come or leave.
    in_turn: u32,
    serial_since: u64,
}

impl Lock {
    fn serial_begins(&mut self, time: u64) {
        if self.in_turn == 0 {
            self.serial_since = time;
        }
        self.in_turn += 1;
    }

    fn serial_ends(&mut self, time: u64, window: u64) {
        self.in_turn -= 1;
        if self.in_turn == 0 {
            self.time.serial += time - self.serial_since.max(window);
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Lock for which the thread waits, and its times when the wait began.
    waits: Option<(usize, Now)>,
    /// Lock that the thread is releasing, its access, and the start of the release.
    leaves: Option<(usize, Access, u64)>,
    /// Locks that the thread holds, innermost last.
    holds: Vec<Hold>,
    /// Lock for which the thread last waited.
    last: Option<usize>,
    hidden: u64,
}

#[derive(Clone, Debug)]
struct Hold {
    lock: usize,
    access: Access,
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
        self.threads[thread].waits = Some((lock, now));
        self.threads[thread].last = Some(lock);
        let lock = &mut self.locks[lock];
        if lock.users == 0 {
            lock.busy_since = now.time;
        }
        lock.users += 1;
        lock.serial_begins(now.time);
    }

    /// Records that the thread has the lock that it wanted, with this access.
    pub(super) fn has(&mut self, thread: usize, access: Access, now: Now) {
        self.attributes_hidden(thread, now);
        let Thread { waits, holds, .. } = &mut self.threads[thread];
        let Some((lock, since)) = waits.take() else { return };
        let waited = now.time - since.time.max(self.window);
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
        let calls = &mut time.calls[access as usize];
        calls.stalled += now.stalled - since.stalled;
        calls.acquired += 1;
        holds.push(Hold { lock, access, since: now });
        if access == Access::Shared {
            self.locks[lock].serial_ends(now.time, self.window);
        }
    }

    /// Records that the thread releases the lock that it took last.
    pub(super) fn releases(&mut self, thread: usize, now: Now) {
        self.attributes_hidden(thread, now);
        let Some(Hold { lock, access, since }) = self.threads[thread].holds.pop() else { return };
        let window = self.window;
        self.threads[thread].leaves = Some((lock, access, now.time));
        let of = &mut self.locks[lock];
        match access {
            Access::Shared => of.serial_begins(now.time),
            Access::Exclusive => {
                of.time.alone += now.time - since.time.max(window);
                of.serial_ends(now.time, window);
            }
        }
        let Lock { time, users, busy_since, holders, occupied_since, .. } = of;
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

    /// Records that the thread has released the lock.
    pub(super) fn released(&mut self, thread: usize, time: u64) {
        let Some((lock, access, since)) = self.threads[thread].leaves.take() else { return };
        let of = &mut self.locks[lock];
        of.time.calls[access as usize].left += time - since.max(self.window);
        if access == Access::Shared {
            of.serial_ends(time, self.window);
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
                let waited = time - since.time.max(window);
                self.locks[lock].time.waited += waited;
                for outer in &thread.holds {
                    self.locks[outer.lock].time.nested += waited;
                }
            }
            for Hold { lock, access, since } in &thread.holds {
                let (held, of) = (time - since.time.max(window), &mut self.locks[*lock].time);
                of.held += held;
                of.alone += if *access == Access::Exclusive { held } else { 0 };
            }
        }
        for of in &mut self.locks {
            if of.in_turn > 0 {
                of.in_turn = 1;
                of.serial_ends(time, window);
            }
            let Lock { time: counted, users, busy_since, holders, occupied_since, .. } = of;
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

    #[test]
    fn a_lock_serves_one_thread_at_a_time_while_a_reader_comes_or_leaves() {
        let mut locks = Locks::new(1, 2);
        // The first thread, after it has waited for a line.
        let first = |time| Now { stalled: 3, ..at(time) };
        for thread in [0, 1] {
            locks.wants(thread, 0, at(10));
        }
        locks.has(0, Access::Shared, first(14));
        locks.has(1, Access::Shared, at(18));
        locks.releases(0, first(50));
        locks.released(0, 55);
        locks.releases(1, at(60));
        locks.released(1, 63);
        // A writer that comes while the lock is read waits, and nobody else is served.
        locks.wants(0, 0, first(70));
        locks.has(0, Access::Shared, first(72));
        locks.wants(1, 0, at(80));
        locks.releases(0, first(100));
        locks.has(1, Access::Exclusive, at(102));
        locks.released(0, 103);
        locks.releases(1, at(110));
        locks.released(1, 112);
        let time = locks.end(200)[0];
        assert_eq!((time.serial, time.alone), (8 + 5 + 3 + 2 + 30, 8));
        let calls = time.calls.map(|calls| (calls.acquired, calls.stalled, calls.left));
        assert_eq!(calls, [(1, 0, 2), (3, 3, 5 + 3 + 3)]);
    }

    #[test]
    fn without_readers_a_lock_serves_one_thread_at_a_time_whenever_it_is_busy() {
        let mut locks = Locks::new(1, 3);
        locks.wants(0, 0, at(0));
        locks.has(0, Access::Exclusive, at(10));
        locks.begin_window(100);
        locks.wants(1, 0, at(110));
        locks.releases(0, at(130));
        locks.has(1, Access::Exclusive, at(140));
        locks.wants(2, 0, at(150));
        let time = locks.end(200)[0];
        assert_eq!((time.serial, time.alone), (time.busy, time.held));
    }
}
