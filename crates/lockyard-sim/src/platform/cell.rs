//! Non-atomic data in simulated memory.

use super::perform::perform;
use crate::op::Op;
use crate::shared::Shared;
use lockyard::platform::DataCell;
use std::cell::UnsafeCell;

/// A cell of simulated memory. Reading costs one load, and writing one store, for each line that
/// the cell covers.
#[repr(transparent)]
#[derive(Debug)]
pub struct SimulatedCell<T>(UnsafeCell<T>);

// SAFETY: the cell only hands out raw pointers. Code that dereferences them proves exclusive access
// (see `DataCell`).
unsafe impl<T: Send> Sync for SimulatedCell<T> {}

impl<T> SimulatedCell<T> {
    /// Touches each line that the data covers.
    #[track_caller]
    fn touch(&self, op: fn(usize) -> Op) {
        if size_of::<T>() == 0 {
            return;
        }
        let address = self.0.get() as usize;
        let line = Shared::with(|s| {
            s.check(address, size_of::<T>());
            s.machine().line_bytes()
        });
        let base = Shared::with(|s| s.arena().base());
        let first = (address - base) / line;
        let last = (address - base + size_of::<T>() - 1) / line;
        for index in first..=last {
            let within = (base + index * line).max(address) & !7;
            perform(op(within));
        }
    }
}

impl<T: Send> DataCell<T> for SimulatedCell<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.touch(|address| Op::Load { address, mask: 0, poll: false });
        f(self.0.get())
    }
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.touch(|address| Op::Store { address, mask: 0, value: 0 });
        f(self.0.get())
    }
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
