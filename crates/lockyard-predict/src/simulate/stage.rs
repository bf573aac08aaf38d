//! A simulated machine as a scenario sees it, and its records: waits of steps, and use of locks.
//!
//! Recording costs no simulated time. A simulation stays on its OS thread, so the record is
//! thread-local.

use super::changes::{Changes, StepKind, Steps};
use super::locks::{Locks, Now};
use crate::explain::LockTime;
use hdrhistogram::Histogram;
use lockyard::platform::{Activity, Region, during};
use lockyard_results::fairness;
use lockyard_scenarios::{Access, Stage};
use lockyard_sim::Simulated;
use std::cell::RefCell;
use std::time::Duration;

/// A simulated machine, as a scenario sees it.
#[derive(Debug)]
pub(super) struct OnMachine(());

/// Record of a run.
pub(super) struct Record {
    /// Waits: in cycles of the machine during recording, in nanoseconds after its end.
    pub waits: Histogram<u64>,
    /// Use of each object's lock, summed over all guests. The entry of an object without a lock is
    /// empty.
    pub locks: Vec<LockTime>,
    /// Cycles of all threads in steps of the region `user`.
    pub user: u64,
    /// Cycles of all threads in steps of the region `idle`.
    pub idle: u64,
    /// Waits of requests from outside, until a thread begins them, in nanoseconds.
    pub requests: Histogram<u64>,
    /// Cycles of all threads that wait for a request which has not come yet.
    pub awaiting: u64,
    /// Start of each thread's wait for a request.
    awaiting_since: Vec<u64>,
    /// Start of each thread's current wait.
    waiting_since: Vec<u64>,
    /// The locks of all guests' objects, guest by guest.
    using: Locks,
    /// Open steps of each thread, for a trace.
    steps: Option<Steps>,
    objects: usize,
    threads_of_guest: usize,
}

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// A record in progress. If it is dropped before its end, as after a failed run, it is discarded.
/// The OS thread's next run may have more threads, and must not record into it.
pub(super) struct Recording(());

/// Begins a record of `guests` guests, each with `threads` threads and `objects` objects. The
/// record follows the use of locks from now on. Figures come from the
/// [window](Recording::begin_window).
pub(super) fn begin(guests: usize, threads: usize, objects: usize) -> Recording {
    let all = guests * threads;
    let record = Record {
        waits: fairness::histogram(),
        locks: Vec::new(),
        user: 0,
        idle: 0,
        requests: fairness::histogram(),
        awaiting: 0,
        awaiting_since: vec![u64::MAX; all],
        waiting_since: vec![u64::MAX; all],
        using: Locks::new(guests * objects, all),
        steps: None,
        objects,
        threads_of_guest: threads,
    };
    RECORD.set(Some(record));
    Recording(())
}

impl Recording {
    /// Follows the steps of threads from now on. Call this before any thread runs.
    pub(super) fn keep_steps(&self) {
        RECORD.with_borrow_mut(|record| {
            let record = record.as_mut().expect("a record was begun");
            record.steps = Some(Steps::new(record.waiting_since.len()));
        });
    }

    /// Appends the steps of threads to `changes`. The first entries are the steps that are open at
    /// `time`.
    pub(super) fn begin_changes(&self, time: u64, changes: Changes) {
        RECORD.with_borrow_mut(|record| {
            let record = record.as_mut().expect("a record was begun");
            record.steps.as_mut().expect("steps are followed").begin_list(time, changes);
        });
    }

    /// Discards the record so far. Figures begin at `time`.
    pub(super) fn begin_window(&self, time: u64) {
        RECORD.with_borrow_mut(|record| {
            let record = record.as_mut().expect("a record was begun");
            record.waits.reset();
            record.waiting_since.fill(u64::MAX);
            (record.user, record.idle, record.awaiting) = (0, 0, 0);
            record.requests.reset();
            let awaits = |since: &&mut u64| **since != u64::MAX;
            record.awaiting_since.iter_mut().filter(awaits).for_each(|since| *since = time);
            record.using.begin_window(time);
        });
    }

    /// Ends the record at `time`.
    pub(super) fn end(self, time: u64) -> Record {
        let mut record = RECORD.take().expect("a record was begun");
        let still = record.awaiting_since.iter().filter(|since| **since != u64::MAX);
        record.awaiting += still.map(|since| time.saturating_sub(*since)).sum::<u64>();
        let using = std::mem::replace(&mut record.using, Locks::new(0, 0)).end(time);
        let of = |object| using.iter().skip(object).step_by(record.objects).copied().sum();
        record.locks = (0..record.objects).map(of).collect();
        record
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

/// Passes a step of the running thread to the trace, if there is one.
fn stepping(with: impl FnOnce(&mut Steps, usize, u64)) {
    RECORD.with_borrow_mut(|record| {
        if let Some(steps) = record.as_mut().and_then(|record| record.steps.as_mut()) {
            with(steps, lockyard_sim::thread_index(), lockyard_sim::now());
        }
    });
}

/// Returns the times of the running thread.
fn now(time: u64) -> Now {
    Now {
        time,
        stalled: lockyard_sim::stalled(),
        hidden: lockyard_sim::hidden(),
        off_cpu: lockyard_sim::off_cpu(),
    }
}

impl Stage for OnMachine {
    type Host = Simulated;
    const GIVES_BACK: bool = false;
    const OTHERS: bool = true;
    const SEES_INSIDE: bool = true;
    const ARRIVALS: bool = true;
    // Each turn is simulated, so an endless loop would take minutes to reach the longest window.
    const MOST_TURNS: u64 = 1 << 20;

    fn wait_for_others() {
        lockyard_sim::wait_for_others();
    }
    fn random_below(n: u64) -> u64 {
        lockyard_sim::random_below(n)
    }
    fn request_awaited() {
        recording(|record, thread, now| record.awaiting_since[thread] = now);
    }
    fn request_begins(waited: Duration) {
        recording(|record, thread, now| {
            let since = std::mem::replace(&mut record.awaiting_since[thread], u64::MAX);
            record.awaiting += now.saturating_sub(since);
            record.requests.saturating_record(waited.as_nanos() as u64);
        });
    }

    fn work(nanoseconds: f64) {
        lockyard_sim::work(nanoseconds);
    }
    fn work_in(activity: Activity, ahead: bool, nanoseconds: f64) {
        let (began, off_cpu) = (lockyard_sim::now(), lockyard_sim::off_cpu());
        stepping(|steps, thread, time| {
            steps.begins(time, thread, StepKind::Work(activity.region));
        });
        during::<Simulated, _>(activity, || match activity.region {
            // A kernel entry or exit is before such work.
            Region::User | Region::Idle => lockyard_sim::work_in_order(nanoseconds),
            _ if ahead => Self::work(nanoseconds),
            _ => lockyard_sim::work_in_order(nanoseconds),
        });
        let off_cpu = lockyard_sim::off_cpu() - off_cpu;
        recording(|record, thread, now| {
            if let Some(steps) = &mut record.steps {
                steps.ends(now, thread);
            }
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
        recording(|record, thread, now| {
            record.waiting_since[thread] = now;
            if let Some(steps) = &mut record.steps {
                steps.begins(now, thread, StepKind::Access);
            }
        });
    }
    fn wait_ends() {
        recording(|record, thread, now| {
            if let Some(steps) = &mut record.steps {
                steps.ends(now, thread);
            }
            let since = std::mem::replace(&mut record.waiting_since[thread], u64::MAX);
            if since != u64::MAX {
                record.waits.saturating_record(lockyard_sim::nanoseconds(now - since) as u64);
            }
        });
    }
    fn lock_wait_begins(object: usize) {
        recording(|record, thread, time| {
            let lock = thread / record.threads_of_guest * record.objects + object;
            record.using.wants(thread, lock, now(time));
            if let Some(steps) = &mut record.steps {
                steps.is_wait(thread, lock);
            }
        });
    }
    fn hold_begins(object: usize) {
        Self::holds(object, Access::Exclusive);
    }
    fn shared_hold_begins(object: usize) {
        Self::holds(object, Access::Shared);
    }
    fn hold_ends() {
        recording(|record, thread, time| {
            record.using.releases(thread, now(time));
            if let Some(steps) = &mut record.steps {
                steps.ends(time, thread);
            }
        });
    }
    fn release_ends(_object: usize) {
        recording(|record, thread, time| record.using.released(thread, time));
    }
}

impl OnMachine {
    /// Records that the running thread has taken a lock.
    fn holds(object: usize, access: Access) {
        recording(|record, thread, time| {
            record.using.has(thread, access, now(time));
            let lock = thread / record.threads_of_guest * record.objects + object;
            if let Some(steps) = &mut record.steps {
                steps.begins(time, thread, StepKind::Holds(lock as u32));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_sim::{Machine, RunEnd, Simulation};

    #[test]
    fn a_run_that_failed_leaves_no_record_to_the_next_one() {
        drop(begin(1, 1, 1));
        let machine = Machine::shipped("skylake-client-4c").unwrap();
        let mut simulation = Simulation::new(&machine, 1);
        for place in 0..2 {
            // The second thread has no place in the first record.
            simulation.spawn(place, || {
                OnMachine::wait_begins();
                OnMachine::wait_ends();
            });
        }
        let outcome = simulation.run();
        assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
        let recording = begin(1, 2, 1);
        assert_eq!(recording.end(0).waits.len(), 0);
    }
}
