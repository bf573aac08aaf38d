//! The program for a lock that a thread takes while it waits for another lock. This models a signal
//! handler or an interrupt in the middle of a wait.

use super::parts::{Outcome, Program, Protected, Seen};
use crate::hooks;
use lockyard::RawSpinLock;
use lockyard::lock::LaneLock;
use lockyard::platform::{HostWithSlots, NEST_LEVELS};
use std::rc::Rc;
use std::sync::Arc;

/// Operation of a thread on the two locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedOp {
    /// Takes and releases the first lock.
    First,
    /// Takes and releases the second lock.
    Second,
    /// Takes the first lock. If the thread must wait, an interruption takes the second lock. If the
    /// interruption must wait too, it records how many nodes of the slot are in use.
    Interrupted,
    /// Takes the first lock, and takes the second while it holds the first.
    Holding,
}

/// Threads that take two locks, some of them while they wait. For models only: on the native host a
/// test uses real signals.
pub struct NestedProgram<K: LaneLock<H>, H: HostWithSlots>(Arc<Shared<K, H>>);

/// A lock, and the data that it protects.
type Guarded<K, H> = (RawSpinLock<K, H>, Protected<H>);

struct Shared<K: LaneLock<H>, H: HostWithSlots> {
    locks: [Guarded<K, H>; 2],
    ops: Vec<NestedOp>,
    seen: Seen,
}

impl<K: LaneLock<H>, H: HostWithSlots> Shared<K, H> {
    fn locked<R>(&self, which: usize, thread: usize, then: impl FnOnce() -> R) -> R {
        let (lock, protected) = &self.locks[which];
        let held = lock.acquire();
        protected.section(thread);
        let result = then();
        // SAFETY: acquired above.
        unsafe { lock.release(held) };
        result
    }

    fn note_nodes(&self, thread: usize) {
        let Some(slot) = H::slot() else { return };
        let nodes = H::queue_node(slot, 0).nodes_in_use();
        assert!(nodes <= NEST_LEVELS);
        self.seen.note(thread, i64::from(nodes));
    }
}

impl<K: LaneLock<H>, H: HostWithSlots> Program for NestedProgram<K, H>
where
    RawSpinLock<K, H>: Send + Sync,
{
    type Op = NestedOp;

    fn new(ops: &[NestedOp], rounds: u32) -> Self {
        assert!(rounds == 1, "for models only");
        hooks::interrupt_nothing();
        NestedProgram(Arc::new(Shared {
            locks: std::array::from_fn(|_| (RawSpinLock::new(), Protected::new())),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }))
    }

    fn step(&self, thread: usize, _round: u32) {
        let shared = &self.0;
        match shared.ops[thread] {
            NestedOp::First => shared.locked(0, thread, || ()),
            NestedOp::Second => shared.locked(1, thread, || ()),
            NestedOp::Holding => shared.locked(0, thread, || shared.locked(1, thread, || ())),
            NestedOp::Interrupted => {
                let handler = {
                    let shared = Arc::clone(shared);
                    move || {
                        let innermost = Arc::clone(&shared);
                        hooks::interrupt_next_wait(Rc::new(move || innermost.note_nodes(thread)));
                        shared.locked(1, thread, || ());
                    }
                };
                hooks::interrupt_next_wait(Rc::new(handler));
                shared.locked(0, thread, || ());
            }
        }
    }

    fn finish(&self) {
        hooks::interrupt_nothing();
        for (lock, protected) in &self.0.locks {
            protected.finish();
            assert!(
                !lock.is_held(),
                "{}everyone has left and a lock is held",
                crate::finding::STUCK
            );
        }
    }

    fn outcome(&self) -> Outcome {
        self.0.seen.all()
    }
}
