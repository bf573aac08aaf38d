//! Code that the queueing locks share: a waiter's node, and the node's 16-bit name.
//!
//! ```text
//!    15                              2 1     0
//!   +---------------------------------+-------+
//!   | slot + 1                        | level |        0 names no thread
//!   +---------------------------------+-------+
//! ```
//!
//! A word of a slot's first node records which of its nodes are in use: see
//! [`platform::queue_node`](crate::platform::queue_node).

use crate::lane::Lane;
use crate::platform::queue_node::{DONE_WITH, KEPT, TAKEN, levels};
use crate::platform::{
    Event, Host, HostWithSlots, Int, NEST_LEVELS, Ordering, QueueNode, Slot, Word,
};

/// Maximum number of slots that a name can distinguish: 14 bits, where 0 means no thread.
const MOST_SLOTS: u32 = (1 << 14) - 1;

const LEVEL_BITS: u32 = 2;
const _: () = assert!(1 << LEVEL_BITS == NEST_LEVELS);

/// Fails to compile if the host has more slots than names can distinguish.
pub(crate) const fn assert_slots_fit<H: Host>() {
    assert!(H::SLOTS <= MOST_SLOTS, "a queueing lock needs a host with at most 16383 slots");
}

/// Fails to compile if names do not fit: the lane is not of 32 bits, or the host has more slots.
pub(super) const fn assert_names_fit<H: Host, L: Lane>() {
    assert!(
        <L::Bits as Int>::BITS == 32,
        "a queueing lock needs 32 bits: a word of 4 bytes, or the upper half of one of 8"
    );
    assert_slots_fit::<H>();
}

/// The name of a node that the running thread or another thread has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(u16);

impl Name {
    /// Reads the name in the upper half of a lane. Returns `None` if its slot is 0, with any level.
    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Option<Name> {
        let bits = bits as u16;
        (bits >> LEVEL_BITS != 0).then_some(Name(bits))
    }

    /// Returns the name as bits. The result is never 0.
    #[inline]
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.0)
    }

    /// Returns the node.
    #[inline]
    pub(crate) fn node<H: Host>(self) -> &'static QueueNode<H::Atomics> {
        H::queue_node(self.slot(), self.level())
    }

    #[inline]
    fn slot(self) -> Slot {
        // The slot field is at least 1: only `from_bits` and `note_use` make names, and both ensure
        // it.
        Slot(u32::from(self.0 >> LEVEL_BITS) - 1)
    }

    #[inline]
    fn level(self) -> u32 {
        u32::from(self.0) & (NEST_LEVELS - 1)
    }
}

/// Makes a lane whose upper half, the tail, is `name`, and whose lower half is empty.
#[inline(always)]
fn tail_only<L: Lane>(name: Option<Name>) -> L::Bits {
    let name = name.map_or(0, Name::to_bits);
    L::Bits::truncate(name << <L::Bits as Int>::Half::BITS)
}

/// Joins the queue whose tail is in the lane's upper half, and returns its former last waiter.
#[inline]
pub(super) fn join<L: Lane>(lane: L, me: Name) -> Option<Name> {
    let name = <L::Bits as Int>::Half::truncate(me.to_bits());
    // Release: pairs with the acquire of the successor's own join. The successor then writes to
    // this node. Acquire: pairs with the release of the predecessor's join, and with the release of
    // `leave_if_last`.
    Name::from_bits(lane.swap_upper(name, Ordering::AcqRel).to_u64())
}

/// Joins the queue if the lane is 0, and returns true if it did.
#[inline]
pub(super) fn join_if_free<L: Lane>(lane: L, me: Name) -> bool {
    // Acquire and release: as in `join`.
    lane.compare_exchange(tail_only::<L>(None), tail_only::<L>(Some(me)), Ordering::AcqRel).is_ok()
}

/// Leaves the queue if no thread has joined after `me`, and sets the lane to 0. Returns true if it
/// did.
#[inline]
pub(super) fn leave_if_last<L: Lane>(lane: L, me: Name) -> bool {
    // Release: pairs with the acquire of the next thread to join.
    lane.compare_exchange(tail_only::<L>(Some(me)), tail_only::<L>(None), Ordering::Release).is_ok()
}

/// Returns the running thread's slot. Counts [`Event::NoSlot`] if the thread has none.
#[inline]
fn slot<H: HostWithSlots>() -> Option<Slot> {
    let slot = H::slot();
    if slot.is_none() {
        H::count(Event::NoSlot);
    }
    slot
}

/// Takes the running thread's lowest free node. Returns `None` if the thread has no slot, or no
/// node is free.
#[inline]
pub(crate) fn take<H: HostWithSlots>() -> Option<Name> {
    let slot = slot::<H>()?;
    // Relaxed, here and below: only this slot, and its interruptions, use the bits.
    let bits = H::queue_node(slot, 0).in_use.load(Ordering::Relaxed);
    let busy = if bits < KEPT { bits } else { levels(without_done::<H>(slot, bits)) };
    note_use::<H>(slot, bits, busy, TAKEN)
}

/// The same as [`take`], for a lock that may leave the node to its successor. Interruptions must
/// not call it.
#[inline]
pub(super) fn keep<H: HostWithSlots>() -> Option<Name> {
    let slot = slot::<H>()?;
    let mut bits = H::queue_node(slot, 0).in_use.load(Ordering::Relaxed);
    if bits >= KEPT {
        let now = without_done::<H>(slot, bits);
        for level in (0..NEST_LEVELS).filter(|level| (bits ^ now) & KEPT << level != 0) {
            H::queue_node(slot, level).parked.store(0, Ordering::Relaxed);
        }
        bits = now;
    }
    let name = note_use::<H>(slot, bits, levels(bits), KEPT);
    if name.is_none() {
        // No node is free, but record which left nodes successors have finished with.
        H::queue_node(slot, 0).in_use.store(bits, Ordering::Relaxed);
    }
    name
}

/// Marks the lowest node outside `busy` as used in `bits`, and returns its name.
#[inline]
fn note_use<H: HostWithSlots>(slot: Slot, bits: u32, busy: u32, bit: u32) -> Option<Name> {
    let level = busy.trailing_ones();
    if level >= NEST_LEVELS {
        return None;
    }
    H::queue_node(slot, 0).in_use.store(bits | bit << level, Ordering::Relaxed);
    // An interruption after this point sees that the node is in use.
    H::interruption_fence();
    Some(Name(((slot.0 + 1) << LEVEL_BITS | level) as u16))
}

/// Returns `bits` without the kept nodes that a successor has finished with.
#[cold]
fn without_done<H: HostWithSlots>(slot: Slot, mut bits: u32) -> u32 {
    for level in 0..NEST_LEVELS {
        let kept = KEPT << level;
        // Acquire: pairs with the release of `done_with`. So the successor's last access comes
        // before the node's next use.
        if bits & kept != 0
            && H::queue_node(slot, level).parked.load(Ordering::Acquire) == DONE_WITH
        {
            bits &= !kept;
        }
    }
    bits
}

/// Gives back a node that the running thread has taken or kept, and that no other thread will
/// access.
#[inline]
fn note_end<H: HostWithSlots>(name: Name, bit: u32) {
    // An interruption before this point sees that the node is in use.
    H::interruption_fence();
    let in_use = &H::queue_node(name.slot(), 0).in_use;
    // Relaxed: as in `take`.
    let bits = in_use.load(Ordering::Relaxed);
    in_use.store(bits & !(bit << name.level()), Ordering::Relaxed);
}

/// Gives back a node from [`take`].
#[inline]
pub(crate) fn give_back<H: HostWithSlots>(name: Name) {
    note_end::<H>(name, TAKEN);
}

/// Gives back a node from [`keep`] that was not left to a successor.
#[inline]
pub(super) fn give_back_kept<H: HostWithSlots>(name: Name) {
    note_end::<H>(name, KEPT);
}

/// Waits until a successor has finished with a node that this thread left to it. [`take`] and
/// [`keep`] then find that node. Called when all nodes are in use. Returns `false` if this thread
/// has left none.
///
/// The successor finishes with the node once it has the lock, which is already released. It needs
/// only a CPU for that.
#[cold]
pub(super) fn wait_for_left<H: HostWithSlots>() -> bool {
    let Some(slot) = H::slot() else { return false };
    // Relaxed, both: only this thread takes and leaves its nodes.
    let bits = H::queue_node(slot, 0).in_use.load(Ordering::Relaxed);
    let parked = |level| &H::queue_node(slot, level).parked;
    let is_left = |level: &u32| {
        bits & TAKEN << level == 0
            && bits & KEPT << level != 0
            && parked(*level).load(Ordering::Relaxed) != 0
    };
    let Some(level) = (0..NEST_LEVELS).find(is_left) else { return false };
    // Relaxed: `without_done` acquires.
    H::wait_until(parked(level), Ordering::Relaxed, |parked| parked == DONE_WITH);
    true
}

/// Gives back a node that another thread has left to the running thread.
#[inline]
pub(super) fn done_with<H: HostWithSlots>(name: Name) {
    // Release: pairs with the acquire in `without_done`.
    name.node::<H>().parked.store(DONE_WITH, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_16_bits_names_nobody_or_a_slot_and_a_level() {
        for bits in 0..=u64::from(u16::MAX) {
            match Name::from_bits(bits) {
                None => assert!(bits < u64::from(NEST_LEVELS), "{bits:#x} names somebody"),
                Some(name) => {
                    assert!(name.slot().0 < MOST_SLOTS && name.level() < NEST_LEVELS);
                    let again = u64::from((name.slot().0 + 1) << LEVEL_BITS | name.level());
                    assert_eq!((again, name.to_bits()), (bits, bits));
                }
            }
        }
    }
}
