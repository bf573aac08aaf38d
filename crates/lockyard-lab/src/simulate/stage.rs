//! A simulated machine as a scenario sees it, and what it records: how long steps wait and locks are held.
//!
//! Recording costs no simulated time. A simulation stays on its OS thread, so the record is the OS thread's.

use crate::explain::LockTime;
use crate::served;
use hdrhistogram::Histogram;
use lockyard::platform::{Activity, Region, during};
use lockyard_scenarios::Stage;
use lockyard_sim::Simulated;
use std::cell::RefCell;

/// A simulated machine, as a scenario sees it.
#[derive(Debug)]
pub(super) struct OnMachine(());

/// What a run recorded.
pub(super) struct Record {
    /// Waits, in cycles of the machine at first, in nanoseconds when the record is ended.
    pub waits: Histogram<u64>,
    /// Of each object, in cycles, how its lock was held; nothing of an object without one.
    pub locks: Vec<LockTime>,
    /// Cycles of all threads in steps of the region `user`.
    pub user: u64,
    /// Cycles of all threads in steps of the region `idle`.
    pub idle: u64,
    /// When each thread's current wait began.
    waiting_since: Vec<u64>,
    /// How long each thread's last wait was.
    waited: Vec<u64>,
    /// The locks of each thread, innermost last.
    holding: Vec<Vec<Hold>>,
}

/// A lock that a thread holds.
struct Hold {
    object: usize,
    since: u64,
    /// How long the thread's operations had waited until then.
    stalled: u64,
}

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// A record that has begun. Dropped before its end, as by a run that failed, it is forgotten: the next run of the OS thread, which
/// may have more threads, records nothing into it.
pub(super) struct Recording(());

/// Begins a record of `threads` threads and `objects` objects.
pub(super) fn begin(threads: usize, objects: usize) -> Recording {
    let record = Record {
        waits: served::histogram(),
        locks: vec![LockTime::default(); objects],
        user: 0,
        idle: 0,
        waiting_since: vec![u64::MAX; threads],
        waited: vec![0; threads],
        holding: (0..threads).map(|_| Vec::new()).collect(),
    };
    RECORD.set(Some(record));
    Recording(())
}

impl Recording {
    /// Ends the record.
    pub(super) fn end(self) -> Record {
        RECORD.take().expect("a record was begun")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        RECORD.set(None);
    }
}

fn recording(with: impl FnOnce(&mut Record, usize, u64)) {
    RECORD.with_borrow_mut(|record| {
        if let Some(record) = record {
            with(record, lockyard_sim::thread_index(), lockyard_sim::now());
        }
    });
}

impl Stage for OnMachine {
    type Host = Simulated;
    const GIVES_BACK: bool = false;
    const OTHERS: bool = true;

    fn wait_for_others() {
        lockyard_sim::wait_for_others();
    }
    fn random_below(n: u64) -> u64 {
        lockyard_sim::random_below(n)
    }

    fn work(nanoseconds: f64) {
        lockyard_sim::work(nanoseconds);
    }
    fn work_in(activity: Activity, nanoseconds: f64) {
        let (began, off_cpu) = (lockyard_sim::now(), lockyard_sim::off_cpu());
        during::<Simulated, _>(activity, || match activity.region {
            Region::User | Region::Idle => lockyard_sim::work_behind_entry(nanoseconds),
            _ => Self::work(nanoseconds),
        });
        let off_cpu = lockyard_sim::off_cpu() - off_cpu;
        recording(|record, _, now| {
            let spent = (now - began).saturating_sub(off_cpu);
            match activity.region {
                Region::User => record.user += spent,
                Region::Idle => record.idle += spent,
                _ => {}
            }
        });
    }
    fn stopping() -> bool {
        lockyard_sim::stop_requested()
    }
    fn operation_done() {
        lockyard_sim::operation_done();
    }
    fn wait_begins() {
        recording(|record, thread, now| record.waiting_since[thread] = now);
    }
    fn wait_ends() {
        recording(|record, thread, now| {
            let since = std::mem::replace(&mut record.waiting_since[thread], u64::MAX);
            record.waited[thread] = if since == u64::MAX { 0 } else { now - since };
            if since != u64::MAX {
                record.waits.saturating_record(lockyard_sim::nanoseconds(now - since) as u64);
            }
        });
    }
    fn hold_begins(object: usize) {
        recording(|record, thread, now| {
            record.locks[object].waited += record.waited[thread];
            let stalled = lockyard_sim::stalled();
            record.holding[thread].push(Hold { object, since: now, stalled });
        });
    }
    fn hold_ends() {
        recording(|record, thread, now| {
            // A lock that was taken before the record began is not in it.
            if let Some(hold) = record.holding[thread].pop() {
                let lock = &mut record.locks[hold.object];
                lock.held += now - hold.since;
                lock.stalled += lockyard_sim::stalled() - hold.stalled;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_sim::{Machine, Outcome, Simulation};

    #[test]
    fn a_run_that_failed_leaves_no_record_to_the_next_one() {
        drop(begin(1, 1));
        let machine = Machine::shipped("skylake-client-4c").unwrap();
        let mut simulation = Simulation::new(&machine, 1);
        for place in 0..2 {
            // The second one had no place in the record.
            simulation.spawn(place, || {
                OnMachine::wait_begins();
                OnMachine::wait_ends();
            });
        }
        let outcome = simulation.run();
        assert!(matches!(outcome, Outcome::Finished), "{outcome}");
        let recording = begin(2, 1);
        assert_eq!(recording.end().waits.len(), 0);
    }
}
