//! The queue nodes of the native host: a line of four for each slot, in static memory. They are a
//! megabyte of zeros, and are linked only into programs with a lock that queues. Only pages that
//! are used take memory.

use super::super::{NEST_LEVELS, NativeAtomics, QueueNode, Slot};

/// Number of slots: the number of threads that may wait for queued locks at the same time. A queued
/// lock's tail has 14 bits for the slot, in which 0 means no thread.
pub(super) const SLOTS: u32 = 16_383;

#[repr(C, align(64))]
struct Line([QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

const _: () = assert!(size_of::<Line>() == 64, "a slot's nodes fill one line");

static NODES: [Line; SLOTS as usize] =
    [const { Line([const { QueueNode::UNUSED }; NEST_LEVELS as usize]) }; SLOTS as usize];

#[inline]
pub(super) fn node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
    &NODES[slot.0 as usize].0[level as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_distinct_and_a_slots_four_share_a_line() {
        let address = |slot, level| core::ptr::from_ref(node(Slot(slot), level)) as usize;
        for slot in [0, 1, SLOTS - 1] {
            assert_eq!(address(slot, 0) % 64, 0);
            for level in 0..NEST_LEVELS {
                assert_eq!(address(slot, level), address(slot, 0) + 16 * level as usize);
            }
        }
        assert_eq!(address(1, 0) - address(0, 0), 64);
    }
}
