//! The program for any reference count. The thread that drops the last reference destroys the
//! object, and no thread may use the object afterwards.

use super::parts::{MOST_THREADS, Outcome, Program, Seen, linger, read, write};
use crate::finding::FREED;
use lockyard::lock::LaneLock;
use lockyard::lockref::LockRef;
use lockyard::lockref::policy::Policy;
use lockyard::platform::{Cell, DataCell, HostWithSlots};

const ALIVE: u64 = 7;

/// A reference count.
pub trait RefCount<H: HostWithSlots>: Send + Sync + 'static {
    /// Returns a count of `count` references.
    fn new(count: u32) -> Self;
    /// Takes a reference unless the count is zero. Returns true if it took one.
    fn get_not_zero(&self) -> bool;
    /// Drops a reference. Returns true if it was the last.
    fn put(&self) -> bool;
}

impl<K: LaneLock<H>, P: Policy, H: HostWithSlots> RefCount<H> for LockRef<K, P, H> {
    fn new(count: u32) -> Self {
        LockRef::from_count(count)
    }
    fn get_not_zero(&self) -> bool {
        LockRef::get_not_zero(self)
    }
    fn put(&self) -> bool {
        // No thread takes the lock in this program. `None` could therefore only mean a hundred lost
        // compare-exchanges.
        loop {
            if let Some(left) = self.put_return() {
                return left == 0;
            }
        }
    }
}

/// Operation of a thread on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseOp {
    /// Has a reference from the start; uses the object and drops the reference.
    Owner,
    /// Looks the object up: takes a reference if one remains, uses the object, and drops the
    /// reference.
    LookUp,
}

/// Threads that use one object until the last reference is gone. One round.
pub struct LastUse<R, H: HostWithSlots> {
    count: R,
    /// Part of the object: one number for each thread, which that thread writes.
    uses: [Cell<H, u64>; MOST_THREADS],
    /// Part of the object: a number that all threads read. It is 7 until the object is destroyed.
    object: Cell<H, u64>,
    ops: Vec<UseOp>,
    seen: Seen,
}

impl<R: RefCount<H>, H: HostWithSlots> LastUse<R, H> {
    fn use_and_put(&self, thread: usize) {
        assert!(
            read(&self.object) == ALIVE,
            "{FREED}thread {thread} has a reference to a destroyed object"
        );
        write(&self.uses[thread], 1);
        linger::<H>();
        assert!(
            read(&self.object) == ALIVE,
            "{FREED}an object was destroyed while thread {thread} used it"
        );
        let last = self.count.put();
        self.seen.note(thread, i64::from(last));
        if last {
            // All uses are ordered before this, because each ended with a put.
            for each in &self.uses {
                read(each);
            }
            write(&self.object, 0);
        }
    }
}

impl<R: RefCount<H>, H: HostWithSlots> Program for LastUse<R, H> {
    type Op = UseOp;

    fn new(ops: &[UseOp], rounds: u32) -> Self {
        assert!(rounds == 1, "an object is destroyed once");
        let owners = ops.iter().filter(|&&op| op == UseOp::Owner).count();
        LastUse {
            count: R::new(owners as u32),
            uses: std::array::from_fn(|_| DataCell::new(0)),
            object: DataCell::new(ALIVE),
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
        assert!(
            read(&self.object) != ALIVE,
            "{FREED}all references are gone and no thread was told"
        );
        assert!(!self.count.get_not_zero(), "{FREED}a reference to nothing was taken");
    }
    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
