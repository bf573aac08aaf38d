//! The program over any reference count: who finds the last reference gone destroys the object, and
//! nobody may use it after that.

use super::{Outcome, Program, Seen, linger, read, write};
use crate::finding::FREED;
use lockyard::LockRef;
use lockyard::lock::LaneLock;
use lockyard::lockref::policy::Policy;
use lockyard::platform::{Cell, DataCell, Host, Ordering, U32, Word};

/// A reference count.
pub trait RefCount<H: Host>: Send + Sync + 'static {
    /// `count` references.
    fn new(count: u32) -> Self;
    /// Takes a reference unless there is none; says whether it did.
    fn get_not_zero(&self) -> bool;
    /// Drops a reference; says whether it was the last.
    fn put(&self) -> bool;
}

impl<K: LaneLock, P: Policy, H: Host> RefCount<H> for LockRef<K, P, H> {
    fn new(count: u32) -> Self {
        LockRef::from_count(count)
    }
    fn get_not_zero(&self) -> bool {
        LockRef::get_not_zero(self)
    }
    fn put(&self) -> bool {
        // Nobody takes the lock in this program, so the only reason for `None` would be a hundred
        // lost compare-exchanges.
        loop {
            if let Some(left) = self.put_return() {
                return left == 0;
            }
        }
    }
}

/// What a thread does with the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseOp {
    /// Has a reference from the start; uses the object and drops it.
    Owner,
    /// Looks the object up: takes a reference if there is one left, uses the object, drops it.
    LookUp,
}

/// Threads that use one object until nobody has a reference. One round.
pub struct LastUse<R, H: Host> {
    count: R,
    /// 1 when the object is destroyed. Relaxed: it must not order anything.
    destroyed: U32<H>,
    /// The object: one number for each thread, which it writes, and a last one that all read.
    uses: Vec<Cell<H, u64>>,
    object: Cell<H, u64>,
    ops: Vec<UseOp>,
    seen: Seen,
}

impl<R: RefCount<H>, H: Host> LastUse<R, H> {
    fn use_and_put(&self, thread: usize) {
        let destroyed = self.destroyed.load(Ordering::Relaxed) != 0;
        assert!(!destroyed, "{FREED}thread {thread} has a reference to a destroyed object");
        assert!(read(&self.object) == 7, "{FREED}thread {thread} reads a destroyed object");
        write(&self.uses[thread], 1);
        linger::<H>();
        let destroyed = self.destroyed.load(Ordering::Relaxed) != 0;
        assert!(!destroyed, "{FREED}an object was destroyed while thread {thread} used it");
        let last = self.count.put();
        self.seen.note(thread, i64::from(last));
        if last {
            // All uses are ordered before this: each ended with a put.
            for each in &self.uses {
                read(each);
            }
            self.destroyed.store(1, Ordering::Relaxed);
            write(&self.object, 0);
        }
    }
}

impl<R: RefCount<H>, H: Host> Program for LastUse<R, H> {
    type Op = UseOp;

    fn new(ops: &[UseOp], rounds: u32) -> Self {
        assert!(rounds == 1, "an object is destroyed once");
        let owners = ops.iter().filter(|&&op| op == UseOp::Owner).count();
        LastUse {
            count: R::new(owners as u32),
            destroyed: Word::new(0),
            uses: ops.iter().map(|_| DataCell::new(0)).collect(),
            object: DataCell::new(7),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        if self.ops[thread] == UseOp::Owner || self.count.get_not_zero() {
            self.use_and_put(thread);
        }
    }

    fn finish(&self) {
        let destroyed = self.destroyed.load(Ordering::Relaxed) != 0;
        assert!(destroyed, "{FREED}all references are gone and nobody was told");
        assert!(!self.count.get_not_zero(), "{FREED}a reference to nothing was taken");
    }
    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
