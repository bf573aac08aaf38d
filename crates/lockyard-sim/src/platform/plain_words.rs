//! Plain data of a simulated machine that is copied word by word.

use super::perform::perform;
use crate::op::Op;
use crate::shared::Shared;
use lockyard::platform::{NoUninit, PlainWords};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Data in units of 8 bytes. Each access to a unit is an event, and a store goes through the store
/// buffer.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct SimulatedWords<T>(UnsafeCell<T>);

// SAFETY: as for simulated words: a simulation stays on its OS thread. The data are copied to
// other simulated threads, so they must be `Send`.
unsafe impl<T: Send> Sync for SimulatedWords<T> {}

impl<T> SimulatedWords<T> {
    /// Calls `access` with each unit: its address, its offset, and the number of its bytes that
    /// belong to the data.
    #[track_caller]
    #[inline(always)]
    fn each_unit(&self, mut access: impl FnMut(usize, usize, usize)) {
        let (size, address) = (size_of::<T>(), self.0.get() as usize);
        if size > 0 {
            Shared::with(|s| s.check(address, size));
        }
        for at in (0..size).step_by(8) {
            access(address + at, at, (size - at).min(8));
        }
    }
}

/// Returns the bits of the first `length` bytes of a unit.
fn mask(length: usize) -> u64 {
    u64::MAX >> (64 - 8 * length)
}

impl<T: NoUninit + Send> PlainWords<T> for SimulatedWords<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline]
    fn load(&self) -> MaybeUninit<T> {
        let mut copy = MaybeUninit::<T>::uninit();
        let to = copy.as_mut_ptr().cast::<u8>();
        self.each_unit(|address, at, length| {
            let unit = perform(Op::Load { address, mask: mask(length), poll: false }).to_le_bytes();
            // SAFETY: the bytes are inside the copy, and inside the unit.
            unsafe { to.add(at).copy_from_nonoverlapping(unit.as_ptr(), length) };
        });
        copy
    }

    #[inline]
    fn store(&self, value: T) {
        let from = (&raw const value).cast::<u8>();
        self.each_unit(|address, at, length| {
            let mut unit = [0; 8];
            // SAFETY: the bytes are inside the value, all of which are initialised, and inside the
            // unit.
            unsafe { unit.as_mut_ptr().copy_from_nonoverlapping(from.add(at), length) };
            let value = u64::from_le_bytes(unit);
            perform(Op::Store { address, mask: mask(length), value });
        });
    }

    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
