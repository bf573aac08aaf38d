//! Leases of slots to threads.

use super::Slot;
use core::sync::atomic::{AtomicU64, Ordering};

/// Set of slots, each of which is free or leased to a thread. For a [`Host`](super::Host) whose
/// threads come and go.
///
/// No function waits or allocates, so signal handlers may call all of them.
///
/// ```
/// use lockyard::platform::{Slot, SlotLeases};
///
/// static LEASES: SlotLeases<1> = SlotLeases::new(2);
/// assert_eq!((LEASES.take(), LEASES.take()), (Some(Slot(0)), Some(Slot(1))));
/// assert_eq!(LEASES.take(), None);
/// LEASES.give_back(Slot(0));
/// assert_eq!(LEASES.take(), Some(Slot(0)));
/// ```
#[derive(Debug)]
pub struct SlotLeases<const WORDS: usize> {
    /// Each set bit is a leased slot.
    leased: [AtomicU64; WORDS],
    slots: u32,
}

impl<const WORDS: usize> SlotLeases<WORDS> {
    /// Returns a set of free slots, with the numbers 0 to `slots - 1`.
    ///
    /// # Panics
    ///
    /// Panics if `WORDS` words of 64 bits are too few.
    #[must_use]
    pub const fn new(slots: u32) -> Self {
        assert!(slots as usize <= WORDS * 64, "each slot needs a bit");
        SlotLeases { leased: [const { AtomicU64::new(0) }; WORDS], slots }
    }

    /// Leases the lowest free slot. Everything that the slot's former thread did before it gave the
    /// slot back happens before the return.
    pub fn take(&self) -> Option<Slot> {
        for (index, word) in self.leased.iter().enumerate() {
            let mut seen = word.load(Ordering::Relaxed);
            while seen != u64::MAX {
                let bit = seen.trailing_ones();
                let slot = index as u32 * 64 + bit;
                if slot >= self.slots {
                    return None;
                }
                // Acquire: pairs with the release in `give_back`, so that this thread sees the
                // former thread's changes to the slot's nodes.
                match word.compare_exchange_weak(
                    seen,
                    seen | 1 << bit,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return Some(Slot(slot)),
                    Err(actual) => seen = actual,
                }
            }
        }
        None
    }

    /// Ends the lease of a slot. The caller must have that lease.
    pub fn give_back(&self, slot: Slot) {
        // Release: pairs with the acquire in `take`.
        self.leased[slot.0 as usize / 64].fetch_and(!(1 << (slot.0 % 64)), Ordering::Release);
    }

    /// Ends all leases except the lease of `kept`. For the child of a fork, which has one thread.
    pub fn keep_only(&self, kept: Option<Slot>) {
        for (index, word) in self.leased.iter().enumerate() {
            let kept = kept.filter(|slot| slot.0 as usize / 64 == index);
            let bit = kept.map_or(0, |slot| 1 << (slot.0 % 64));
            // Relaxed, both: there is one thread. Words that are already correct are not written,
            // so their pages are not copied.
            if word.load(Ordering::Relaxed) != bit {
                word.store(bit, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_leased_until_there_is_none() {
        let leases = SlotLeases::<2>::new(70);
        for number in 0..70 {
            assert_eq!(leases.take(), Some(Slot(number)));
        }
        assert_eq!(leases.take(), None);
        leases.give_back(Slot(69));
        leases.give_back(Slot(3));
        assert_eq!(
            (leases.take(), leases.take(), leases.take()),
            (Some(Slot(3)), Some(Slot(69)), None)
        );
    }

    #[test]
    fn one_lease_is_kept() {
        for kept in [None, Some(Slot(0)), Some(Slot(64))] {
            let leases = SlotLeases::<2>::new(65);
            while leases.take().is_some() {}
            leases.keep_only(kept);
            let free = (0..65).map(Slot).filter(|&slot| Some(slot) != kept);
            for slot in free {
                assert_eq!(leases.take(), Some(slot));
            }
            assert_eq!(leases.take(), None);
        }
    }
}
