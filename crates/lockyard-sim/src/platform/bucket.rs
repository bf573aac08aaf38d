//! The cache line of a kernel bucket. System calls on one word share it: it has the number of
//! waiting calls, the lock and the list. So calls on one word cost each other transfers of that
//! line, like everything that threads share.
//!
//! | call | accesses of the line |
//! | --- | --- |
//! | waits | counts itself, takes the lock, gives it back, counts itself out |
//! | waits, and sleeps | the same without the last; it is counted out by the thread that wakes it |
//! | wakes | reads the count; if it is not 0, takes the lock and gives it back |
//!
//! The engine decides which call has the lock, and which is next (`engine/buckets.rs`). A call that
//! has waited for the lock reads it before taking it.

use super::perform::perform;
use crate::op::{Op, Rmw};
use crate::shared::Shared;

/// Bucket of a word, if the kernel has buckets.
#[derive(Clone, Copy)]
pub(super) struct Bucket(Option<usize>);

impl Bucket {
    /// Returns the bucket of the word at this address.
    pub(super) fn of(word: usize) -> Self {
        Bucket(Shared::with(|s| s.kernel().has_buckets.then(|| s.bucket_of(word))))
    }

    /// Reads the number of waiting calls, or the lock.
    pub(super) fn read(self) {
        if let Some(address) = self.0 {
            perform(Op::Load { address, mask: u64::MAX, poll: false });
        }
    }

    /// Changes the number of waiting calls, or the lock, by a locked operation.
    pub(super) fn change(self) {
        if let Some(address) = self.0 {
            perform(Op::Rmw { address, rmw: Rmw::Or { value: 0 } });
        }
    }

    /// Takes the lock, which the call may have waited for.
    pub(super) fn take(self, waited: bool) {
        if waited {
            self.read();
        }
        self.change();
    }
}
