//! Programs for a condition variable.

use super::fair::SHORT;
use super::parts::{Outcome, Program, Protected, Seen};
use crate::finding::STUCK;
use lockyard::RawSpinLock;
use lockyard::condvar::Condvar;
use lockyard::lock::TestAndSet;
use lockyard::platform::{HostWithSlots, Instant, Ordering, U32, Word};

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CondOp {
    /// Waits until the condition is true.
    Wait,
    /// Waits until the condition is true, or a short time has passed.
    GivesUp,
    /// Makes the condition true and notifies one waiter.
    NotifyOne,
    /// Makes the condition true and notifies all waiters.
    NotifyAll,
}

/// Threads that wait until a condition is true. The mutex is the simplest lock, so that the model
/// is about the condition variable.
pub struct CondProgram<H: HostWithSlots> {
    mutex: RawSpinLock<TestAndSet, H>,
    condvar: Condvar<H>,
    /// The condition, which the mutex protects.
    ready: U32<H>,
    protected: Protected<H>,
    ops: Vec<CondOp>,
    seen: Seen,
}

impl<H: HostWithSlots> CondProgram<H> {
    /// Runs `body` with the mutex.
    fn locked<R>(&self, thread: usize, body: impl FnOnce() -> R) -> R {
        let held = self.mutex.acquire();
        self.protected.section(thread);
        let result = body();
        // SAFETY: taken above.
        unsafe { self.mutex.release(held) };
        result
    }

    /// Waits while the condition is false. Returns false on a timeout.
    fn wait(&self, thread: usize, until: Option<Instant<H>>) -> bool {
        loop {
            let held = self.mutex.acquire();
            self.protected.section(thread);
            // Relaxed: the mutex orders it.
            if self.ready.load(Ordering::Relaxed) != 0 {
                // SAFETY: taken above.
                unsafe { self.mutex.release(held) };
                return true;
            }
            // SAFETY: taken above.
            let release = || unsafe { self.mutex.release(held) };
            if !self.condvar.wait_with(1, release, until) {
                return false;
            }
        }
    }
}

impl<H: HostWithSlots> Program for CondProgram<H> {
    type Op = CondOp;

    fn new(ops: &[CondOp], _rounds: u32) -> Self {
        CondProgram {
            mutex: RawSpinLock::new(),
            condvar: Condvar::on_host(),
            ready: Word::new(0),
            protected: Protected::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        let op = self.ops[thread];
        let result = match op {
            CondOp::Wait => i64::from(self.wait(thread, None)),
            CondOp::GivesUp => i64::from(self.wait(thread, Some(Instant::now() + SHORT))),
            CondOp::NotifyOne | CondOp::NotifyAll => {
                // Relaxed: the mutex orders it.
                self.locked(thread, || self.ready.store(1, Ordering::Relaxed));
                if op == CondOp::NotifyOne {
                    i64::from(self.condvar.notify_one())
                } else {
                    self.condvar.notify_all() as i64
                }
            }
        };
        self.seen.note(thread, result);
    }

    fn finish(&self) {
        self.protected.finish();
        assert!(!self.mutex.is_held(), "{STUCK}everyone has left and the mutex is held");
        assert_eq!(
            self.condvar.notify_all(),
            0,
            "{STUCK}everyone has left, but one is in the ring"
        );
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
