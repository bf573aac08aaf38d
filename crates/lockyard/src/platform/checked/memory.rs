//! Checked memory: loom's atomics and cells.
//!
//! An operation on a part of a word is one masked read-modify-write: one transition of the model.
//!
//! A load is two transitions: first a relaxed store to a separate word, which orders nothing, and
//! then the load. The reason is a limit of loom 0.7. It finds schedules to explore by comparing
//! each operation with only the *last* access of its object, and treats two loads as independent.
//! Suppose that thread A loads, B loads, and B stores. loom compares the store with B's own load,
//! so it never explores the schedule in which B's store comes before A's load. The extra store
//! makes loads of one word depend on each other, so loom tries their other order and finds that
//! schedule. (A test in the crate `lockyard-check` shows the problem with loom's atomics and with
//! these words.)
//!
//! While a panic unwinds, the words do nothing and the cells are not tracked. A failed check drops
//! the stacks of its threads after the execution is gone, and their guards release locks. An access
//! to loom would then panic inside a panic.

use super::super::{
    Atomics, Budget, BudgetSpent, DataCell, Int, NoUninit, Ordering, Part, Word, part_of,
    store_part_by_rmw, with_part,
};
use super::waiting;
use super::words::BoxedWords;
use core::cell::RefCell;
use core::sync::atomic as plain;
use std::thread::panicking;

/// The memory that loom models.
#[derive(Debug)]
pub struct CheckedAtomics(());

macro_rules! checked_word {
    ($(#[$doc:meta])* $name:ident, $atomic:ty, $int:ty, $plain:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            word: $atomic,
            /// Every load writes this word; see the module documentation.
            reads: loom::sync::atomic::AtomicU8,
            /// The newest value, outside the model. loom schedules no other thread between an
            /// operation and the update of this value.
            newest: $plain,
        }

        impl $name {
            fn note(&self, value: $int) {
                // Relaxed: all threads of a model run on one OS thread.
                self.newest.store(value, plain::Ordering::Relaxed);
                waiting::note_change();
            }
        }

        impl Word for $name {
            type Int = $int;

            #[track_caller]
            fn new(value: $int) -> Self {
                Self {
                    word: <$atomic>::new(value),
                    reads: loom::sync::atomic::AtomicU8::new(0),
                    newest: <$plain>::new(value),
                }
            }
            fn get(&mut self) -> $int {
                if panicking() {
                    return 0;
                }
                self.word.with_mut(|value| *value)
            }
            fn load(&self, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                self.reads.store(0, Ordering::Relaxed);
                self.word.load(order)
            }
            fn store(&self, value: $int, order: Ordering) {
                if panicking() {
                    return;
                }
                self.word.store(value, order);
                self.note(value);
            }
            fn swap(&self, value: $int, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                let before = self.word.swap(value, order);
                self.note(value);
                before
            }
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                if panicking() {
                    return Ok(current);
                }
                let result = self.word.compare_exchange(current, new, success, failure);
                if result.is_ok() {
                    self.note(new);
                }
                result
            }
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.compare_exchange(current, new, success, failure)
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                let before = self.word.fetch_add(value, order);
                self.note(before.wrapping_add(value));
                before
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                let before = self.word.fetch_sub(value, order);
                self.note(before.wrapping_sub(value));
                before
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                let before = self.word.fetch_or(value, order);
                self.note(before | value);
                before
            }
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                if panicking() {
                    return 0;
                }
                let before = self.word.fetch_and(value, order);
                self.note(before & value);
                before
            }
            /// Does not call `relax`, which orders nothing. A bounded wait is one poll: each state
            /// in which a longer wait can end is also an end state of this one.
            fn wait_until(
                &self,
                order: Ordering,
                budget: Budget,
                relax: fn(),
                mut predicate: impl FnMut($int) -> bool,
            ) -> Result<$int, BudgetSpent<$int>> {
                let _ = relax;
                if panicking() {
                    return Ok(0);
                }
                match budget {
                    Budget::Unbounded => {
                        let predicate = RefCell::new(predicate);
                        let holds = |value: $int| (predicate.borrow_mut())(value);
                        Ok(waiting::wait(
                            || holds(self.newest()),
                            || Some(self.load(order)).filter(|&value| holds(value)),
                        ))
                    }
                    Budget::Polls(_) => {
                        let value = self.load(order);
                        if predicate(value) { Ok(value) } else { Err(BudgetSpent(value)) }
                    }
                }
            }
        }

        impl Newest for $name {
            fn newest(&self) -> $int {
                self.newest.load(plain::Ordering::Relaxed)
            }
        }
    };
}

/// A word whose newest value is visible without a transition of the model.
pub(super) trait Newest: Word {
    fn newest(&self) -> Self::Int;
}

checked_word!(
    /// A 16-bit word of checked memory.
    CheckedU16, loom::sync::atomic::AtomicU16, u16, plain::AtomicU16
);
checked_word!(
    /// A 32-bit word of checked memory.
    CheckedU32, loom::sync::atomic::AtomicU32, u32, plain::AtomicU32
);
checked_word!(
    /// A 64-bit word of checked memory.
    CheckedU64, loom::sync::atomic::AtomicU64, u64, plain::AtomicU64
);

/// Exchanges a part by one masked read-modify-write.
///
/// loom has no read-modify-write with a caller's function, so this is a compare-exchange that
/// expects the newest value. It fails only if loom scheduled another thread at the transition
/// itself, and that thread changed the word. Then the second exchange *is* the read-modify-write,
/// after that change. If the second exchange also fails, loom need not explore that schedule
/// further: the schedule in which the first exchange failed later leads to the same state.
#[track_caller]
fn swap_part<W: Newest, P: Int>(word: &W, index: usize, new: P, order: Ordering) -> P {
    let mut seen = word.newest();
    let mut failures = 0;
    loop {
        let wanted = with_part(seen, index, new);
        match word.compare_exchange(seen, wanted, order, Ordering::Relaxed) {
            Ok(before) => return part_of(before, index),
            Err(actual) => seen = actual,
        }
        failures += 1;
        if failures == 2 {
            loom::skip_branch();
        }
    }
}

macro_rules! checked_part {
    ($word:ty, $part:ty) => {
        impl Part<$part> for $word {
            fn store_part(&self, index: usize, old: $part, new: $part, order: Ordering) {
                if !panicking() {
                    store_part_by_rmw(self, index, old, new, order);
                }
            }
            fn swap_part(&self, index: usize, new: $part, order: Ordering) -> $part {
                swap_part(self, index, new, order)
            }
        }
    };
}
checked_part!(CheckedU16, u8);
checked_part!(CheckedU32, u8);
checked_part!(CheckedU32, u16);
checked_part!(CheckedU64, u8);
checked_part!(CheckedU64, u16);
checked_part!(CheckedU64, u32);

/// A cell of checked memory: loom reports accesses that have no order between them.
///
/// The data are next to loom's cell, not in it, so destructors can use them while a panic unwinds.
#[derive(Debug)]
pub struct CheckedCell<T> {
    accesses: loom::cell::UnsafeCell<()>,
    data: core::cell::UnsafeCell<T>,
}

// SAFETY: the cell returns only raw pointers. Code that dereferences them must ensure exclusion
// (see `DataCell`), and loom checks that.
unsafe impl<T: Send> Sync for CheckedCell<T> {}
// SAFETY: the data are `Send`, and loom's own cell is only an index.
unsafe impl<T: Send> Send for CheckedCell<T> {}

impl<T: Send> DataCell<T> for CheckedCell<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        Self { accesses: loom::cell::UnsafeCell::new(()), data: core::cell::UnsafeCell::new(value) }
    }
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        if panicking() {
            return f(self.data.get());
        }
        self.accesses.with(|_| f(self.data.get()))
    }
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        if panicking() {
            return f(self.data.get());
        }
        self.accesses.with_mut(|_| f(self.data.get()))
    }
    fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

// SAFETY: loom's atomics, cells and fences model `core`'s; a part is one masked read-modify-write.
unsafe impl Atomics for CheckedAtomics {
    type U16 = CheckedU16;
    type U32 = CheckedU32;
    type U64 = CheckedU64;
    type Cell<T: Send> = CheckedCell<T>;
    type Words<T: NoUninit + Send> = BoxedWords<T, CheckedU64>;

    fn fence(order: Ordering) {
        if !panicking() {
            loom::sync::atomic::fence(order);
        }
    }
}
