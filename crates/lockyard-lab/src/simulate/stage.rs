//! A simulated machine as a scenario sees it, and what it records: how long steps wait and locks are held.
//!
//! Recording costs no simulated time. A simulation stays on its OS thread, so the record is the OS thread's.

use crate::served;
use hdrhistogram::Histogram;
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
    /// Cycles in which locks were held, all locks together.
    pub held: u64,
    /// Those of them in which the holder's operations waited for lines.
    pub held_stalled: u64,
    /// When each thread's current wait began.
    waiting_since: Vec<u64>,
    /// When each thread took its locks, innermost last, and how long its operations had waited until then.
    holding_since: Vec<Vec<(u64, u64)>>,
}

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// Begins a record of `threads` threads.
pub(super) fn begin(threads: usize) {
    let record = Record {
        waits: served::histogram(),
        held: 0,
        held_stalled: 0,
        waiting_since: vec![u64::MAX; threads],
        holding_since: vec![Vec::new(); threads],
    };
    RECORD.set(Some(record));
}

/// Ends the record.
pub(super) fn end() -> Record {
    RECORD.take().expect("a record was begun")
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

    fn work(nanoseconds: f64) {
        lockyard_sim::work(nanoseconds);
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
            if since != u64::MAX {
                record.waits.saturating_record(lockyard_sim::nanoseconds(now - since) as u64);
            }
        });
    }
    fn hold_begins() {
        recording(|record, thread, now| {
            record.holding_since[thread].push((now, lockyard_sim::stalled()))
        });
    }
    fn hold_ends() {
        recording(|record, thread, now| {
            // A lock that was taken before the record began is not in it.
            if let Some((since, stalled)) = record.holding_since[thread].pop() {
                record.held += now - since;
                record.held_stalled += lockyard_sim::stalled() - stalled;
            }
        });
    }
}
