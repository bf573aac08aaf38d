//! Chains of slots that are free, or whose objects were removed, linked through the slots.

use super::access::Access;
use super::slots::Slots;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Ordering, Word};

/// A chain of slots. Stored indices are the slots' indices plus one; 0 means none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    head: u32,
    tail: u32,
    pub(super) count: u32,
}

impl Chain {
    /// Adds a slot in front.
    #[inline(always)]
    pub(super) fn push<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
        index: u32,
    ) {
        // Relaxed, like all accesses to links: the chain belongs to the caller, or to a lock that
        // the caller holds.
        slots.at(index).next.store(self.head, Ordering::Relaxed);
        self.head = index + 1;
        if self.count == 0 {
            self.tail = index + 1;
        }
        self.count += 1;
    }

    /// Removes the first slot.
    #[inline(always)]
    pub(super) fn pop<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
    ) -> Option<u32> {
        let index = self.head.checked_sub(1)?;
        self.head = slots.at(index).next.load(Ordering::Relaxed);
        self.count -= 1;
        Some(index)
    }

    /// Removes the first `count` slots, or all.
    pub(super) fn split<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
        count: u32,
    ) -> Chain {
        if self.count <= count {
            return core::mem::take(self);
        }
        let mut last = self.head;
        for _ in 1..count {
            last = slots.at(last - 1).next.load(Ordering::Relaxed);
        }
        let link = &slots.at(last - 1).next;
        let rest = link.load(Ordering::Relaxed);
        link.store(0, Ordering::Relaxed);
        let first = Chain { head: self.head, tail: last, count };
        *self = Chain { head: rest, tail: self.tail, count: self.count - count };
        first
    }

    /// Adds another chain in front.
    pub(super) fn prepend<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
        other: Chain,
    ) {
        if self.count == 0 {
            *self = other;
        } else if other.count > 0 {
            slots.at(other.tail - 1).next.store(self.head, Ordering::Relaxed);
            self.head = other.head;
            self.count += other.count;
        }
    }

    /// Index of the first slot, plus one, and 0 for none. For a caller that follows the chain and
    /// does not change it.
    pub(super) fn head(self) -> u32 {
        self.head
    }
}
