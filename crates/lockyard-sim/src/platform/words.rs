//! Words in simulated memory.

use super::perform::{Bits, perform, store, wait};
use crate::op::{Op, Rmw};
use lockyard::platform::{Budget, BudgetSpent, Ordering, Part, Word, part_of, part_shift};
use std::cell::UnsafeCell;

macro_rules! simulated_word {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $name(UnsafeCell<$int>);

        // SAFETY: operations go through the simulation that runs on the current OS thread, and
        // refuse a word outside its arena. A simulation stays on its OS thread. So no two OS
        // threads access the value at the same time.
        unsafe impl Sync for $name {}

        impl $name {
            /// Returns a word that holds `value`.
            pub const fn new(value: $int) -> Self {
                Self(UnsafeCell::new(value))
            }

            #[track_caller]
            #[inline(always)]
            pub(super) fn bits(&self) -> Bits {
                Bits::of(self.0.get().cast_const())
            }

            #[track_caller]
            #[inline(always)]
            fn rmw(&self, make: impl FnOnce(Bits) -> Rmw) -> $int {
                let bits = self.bits();
                bits.value(perform(Op::Rmw { address: bits.address, rmw: make(bits) }))
            }
        }

        impl Word for $name {
            type Int = $int;

            fn new(value: $int) -> Self {
                Self(UnsafeCell::new(value))
            }
            fn get(&mut self) -> $int {
                *self.0.get_mut()
            }
            #[inline]
            fn load(&self, order: Ordering) -> $int {
                assert!(
                    !matches!(order, Ordering::Release | Ordering::AcqRel),
                    "there is no such thing as a release load"
                );
                let bits = self.bits();
                let load = Op::Load { address: bits.address, mask: bits.mask, poll: false };
                bits.value(perform(load))
            }
            #[inline]
            fn store(&self, value: $int, order: Ordering) {
                assert!(
                    !matches!(order, Ordering::Acquire | Ordering::AcqRel),
                    "there is no such thing as an acquire store"
                );
                let bits = self.bits();
                store(bits, bits.unit(value), order);
            }
            #[inline]
            fn swap(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Swap { mask: bits.mask, value: bits.unit(value) })
            }
            #[inline]
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                _success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                assert!(
                    !matches!(failure, Ordering::Release | Ordering::AcqRel),
                    "there is no such thing as a release failure ordering"
                );
                let old = self.rmw(|bits| Rmw::CompareExchange {
                    mask: bits.mask,
                    current: bits.unit(current),
                    new: bits.unit(new),
                });
                if old == current { Ok(old) } else { Err(old) }
            }
            #[inline]
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                // The shipped machines are x86-64, which has no spurious failures.
                self.compare_exchange(current, new, success, failure)
            }
            #[inline]
            fn fetch_add(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Add { mask: bits.mask, value: bits.unit(value) })
            }
            #[inline]
            fn fetch_sub(&self, value: $int, _order: Ordering) -> $int {
                let negated = value.wrapping_neg();
                self.rmw(|bits| Rmw::Add { mask: bits.mask, value: bits.unit(negated) })
            }
            #[inline]
            fn fetch_or(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::Or { value: bits.unit(value) })
            }
            #[inline]
            fn fetch_and(&self, value: $int, _order: Ordering) -> $int {
                self.rmw(|bits| Rmw::And { value: bits.unit(value) | !bits.mask })
            }
            fn wait_until(
                &self,
                _order: Ordering,
                budget: Budget,
                _relax: fn(),
                predicate: impl FnMut($int) -> bool,
            ) -> Result<$int, BudgetSpent<$int>> {
                wait(self.bits(), budget, predicate)
            }
        }
    };
}

simulated_word!(
    /// A 16-bit word in simulated memory.
    SimulatedU16, u16
);
simulated_word!(
    /// A 32-bit word in simulated memory.
    SimulatedU32, u32
);
simulated_word!(
    /// A 64-bit word in simulated memory.
    SimulatedU64, u64
);

macro_rules! simulated_part {
    ($word:ty, $int:ty, $part:ty) => {
        impl Part<$part> for $word {
            fn store_part(&self, index: usize, old: $part, new: $part, order: Ordering) {
                assert!(
                    matches!(order, Ordering::Relaxed | Ordering::Release),
                    "a part is stored with relaxed or release ordering"
                );
                let _ = old;
                let part = self.bits().part::<$part>(part_shift::<$int, $part>(index));
                store(part, part.unit(new), order);
            }
            fn swap_part(&self, index: usize, new: $part, _order: Ordering) -> $part {
                let part = self.bits().part::<$part>(part_shift::<$int, $part>(index));
                let old = self.rmw(|_| Rmw::Swap { mask: part.mask, value: part.unit(new) });
                part_of(old, index)
            }
        }
    };
}

simulated_part!(SimulatedU16, u16, u8);
simulated_part!(SimulatedU32, u32, u8);
simulated_part!(SimulatedU32, u32, u16);
simulated_part!(SimulatedU64, u64, u8);
simulated_part!(SimulatedU64, u64, u16);
simulated_part!(SimulatedU64, u64, u32);
