//! Memory that is counted, and whose allocations fail on demand. It is for tests where each
//! allocation fails in turn, and for tests that nothing leaks.
//!
//! All counts are for the calling OS thread. A model or a simulated run has one OS thread. In a
//! test with threads, each thread has its own ration.

use lockyard::platform::hooked::{Effect, Hook, Operation};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;

std::thread_local! {
    static FAILS: Cell<Option<u64>> = const { Cell::new(None) };
    static ASKED: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
    /// Memory that was freed and not allocated again: from the first byte to one past the last.
    static FREED: RefCell<BTreeMap<usize, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// The hook that counts allocations, and makes one of them fail.
#[derive(Debug)]
pub struct Rationed(());

/// Resets the counts, and cancels the pending failure.
pub fn begin() {
    FAILS.set(None);
    ASKED.set(0);
    BYTES.set(0);
    FREED.with_borrow_mut(BTreeMap::clear);
}

/// Makes one allocation fail: the one after the next `successes`.
pub fn fail_after(successes: u64) {
    FAILS.set(Some(ASKED.get() + successes));
}

/// Returns the number of allocations requested since [`begin`].
pub fn asked() -> u64 {
    ASKED.get()
}

/// Returns the number of bytes allocated and not freed since [`begin`]. It is negative if a thread
/// frees memory that another thread allocated.
pub fn bytes() -> i64 {
    BYTES.get()
}

/// Returns true if the memory at `address` was freed and not allocated again.
pub(crate) fn is_freed(address: usize) -> bool {
    FREED.with_borrow(|freed| {
        freed.range(..=address).next_back().is_some_and(|(_, &end)| address < end)
    })
}

// SAFETY: the hook changes no operation.
unsafe impl Hook for Rationed {
    fn operation(_: &mut Operation) -> Effect {
        Effect::Performed
    }
    fn may_allocate(_: Layout) -> bool {
        let this = ASKED.get();
        ASKED.set(this + 1);
        FAILS.get() != Some(this)
    }
    fn allocated(memory: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get() + layout.size() as i64);
        let (first, end) = (memory.addr().get(), memory.addr().get() + layout.size());
        FREED.with_borrow_mut(|freed| {
            // The overlapping part of freed memory is in use again.
            let overlapping: Vec<(usize, usize)> = freed
                .range(..end)
                .rev()
                .take_while(|&(_, &to)| to > first)
                .map(|(&from, &to)| (from, to))
                .collect();
            for (from, to) in overlapping {
                freed.remove(&from);
                if from < first {
                    freed.insert(from, first);
                }
                if to > end {
                    freed.insert(end, to);
                }
            }
        });
    }
    fn freed(memory: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size() as i64);
        let first = memory.addr().get();
        FREED.with_borrow_mut(|freed| freed.insert(first, first + layout.size()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_known_until_it_is_handed_out_again() {
        begin();
        let at = |address: usize| NonNull::new(std::ptr::without_provenance_mut(address)).unwrap();
        let bytes = |size| Layout::from_size_align(size, 1).unwrap();
        Rationed::allocated(at(1000), bytes(100));
        assert!(!is_freed(1000));
        Rationed::freed(at(1000), bytes(100));
        assert!(is_freed(1000) && is_freed(1099) && !is_freed(1100) && !is_freed(999));
        Rationed::allocated(at(1040), bytes(20));
        assert!(is_freed(1039) && !is_freed(1040) && !is_freed(1059) && is_freed(1060));
        assert_eq!(self::bytes(), 20);
        begin();
    }

    #[test]
    fn one_allocation_fails_and_no_other() {
        begin();
        fail_after(1);
        let ask = || Rationed::may_allocate(Layout::new::<u64>());
        assert_eq!([ask(), ask(), ask()], [true, false, true]);
        assert_eq!(asked(), 3);
        begin();
    }
}
