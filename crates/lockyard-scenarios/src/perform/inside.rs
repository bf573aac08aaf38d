//! Counts of the tasks inside a reader-writer lock.

use crate::model::Access;
use std::sync::atomic::{AtomicU64, Ordering};

/// One reader inside. A writer counts 1.
const READER: u64 = 1 << 32;

/// Number of tasks inside a lock. It is not part of the experiment's shared memory.
#[derive(Default)]
pub(super) struct Inside(AtomicU64);

impl Inside {
    /// Adds a task. Returns the violation, if the task may not be inside now.
    pub(super) fn enter(&self, access: Access) -> Option<&'static str> {
        // Relaxed, here and below: the lock orders the changes of tasks that exclude each other.
        match access {
            Access::Shared => {
                let inside = self.0.fetch_add(READER, Ordering::Relaxed);
                (!inside.is_multiple_of(READER)).then_some("a reader is inside beside a writer")
            }
            Access::Exclusive => match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => None,
                inside if !inside.is_multiple_of(READER) => Some("two writers are inside together"),
                _ => Some("a writer is inside beside a reader"),
            },
        }
    }

    pub(super) fn leave(&self, access: Access) {
        let one = if access == Access::Shared { READER } else { 1 };
        self.0.fetch_sub(one, Ordering::Relaxed);
    }
}

/// A read of data: the object, and the value.
pub(super) type Seen = (usize, u64);

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Exclusive, Shared};

    #[test]
    fn readers_are_inside_together_and_a_writer_alone() {
        let inside = Inside::default();
        assert_eq!((inside.enter(Shared), inside.enter(Shared)), (None, None));
        assert_eq!(inside.enter(Exclusive), Some("a writer is inside beside a reader"));
        inside.leave(Shared);
        inside.leave(Shared);
        assert_eq!(inside.enter(Exclusive), Some("two writers are inside together"));
        inside.leave(Exclusive);
        assert_eq!(inside.enter(Shared), Some("a reader is inside beside a writer"));
        inside.leave(Exclusive);
        inside.leave(Shared);
        assert_eq!(inside.enter(Exclusive), None);
    }
}
