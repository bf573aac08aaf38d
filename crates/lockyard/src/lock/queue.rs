//! What the queueing locks have in common: a waiter's node, by a name of 16 bits.
//!
//! ```text
//!    15                              2 1     0
//!   +---------------------------------+-------+
//!   | slot + 1                        | level |        0 names nobody
//!   +---------------------------------+-------+
//! ```
//!
//! A slot has [`NEST_LEVELS`] nodes, one for each level at which it can wait: a thread that waits may be
//! interrupted by a signal handler (a CPU by an interrupt) that waits too. Which of them are in use are two
//! sets of bits in one word ([`QueueNode::in_use`]) that only the slot writes:
//!
//! ```text
//!    7          4 3          0
//!   +------------+------------+     kept: taken by the CLH lock, which leaves nodes to successors; stays set
//!   | kept       | taken      |     until the slot's next CLH lock finds that the successor has done with it
//!   +------------+------------+     taken: by the other locks, until they give it back
//! ```
//!
//! A node is free if it is not taken, and not kept or its successor has done with it. The word needs no atomic
//! change: an interruption that comes between the read and the write takes a node, and gives it back before it
//! returns, so the bits are then what they were. (It must not be the one to find that a successor has done with a
//! node, and to clear `kept`: the write that it interrupted would set the bit again, with nobody to clear it. It may
//! use such a node meanwhile. So interruptions use all locks but the CLH lock.)

use crate::lane::Lane;
use crate::platform::{
    Event, Host, HostWithSlots, Int, NEST_LEVELS, Ordering, QueueNode, Slot, Word,
};

/// Slots that a name can tell apart: 14 bits, with 0 for nobody.
const MOST_SLOTS: u32 = (1 << 14) - 1;

const LEVEL_BITS: u32 = 2;
const _: () = assert!(1 << LEVEL_BITS == NEST_LEVELS);

/// Fails to compile where names do not fit: the lane has other than 32 bits, or the host more slots.
pub(super) const fn assert_names_fit<H: Host, L: Lane>() {
    assert!(
        <L::Bits as Int>::BITS == 32,
        "a queueing lock needs 32 bits: a word of 4 bytes, or the upper half of one of 8"
    );
    assert!(H::SLOTS <= MOST_SLOTS, "a queueing lock needs a host with at most 16383 slots");
}

/// The name of a node that the running thread has taken, or of another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u16);

impl Name {
    /// Reads the name in the upper half of a lane. `None` if it names nobody: its slot is 0,
    /// whatever its level.
    #[inline]
    pub(super) fn from_bits(bits: u64) -> Option<Name> {
        let bits = bits as u16;
        (bits >> LEVEL_BITS != 0).then_some(Name(bits))
    }

    /// The name as bits; never 0.
    #[inline]
    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.0)
    }

    /// The node.
    #[inline]
    pub(super) fn node<H: Host>(self) -> &'static QueueNode<H::Atomics> {
        H::queue_node(self.slot(), self.level())
    }

    #[inline]
    fn slot(self) -> Slot {
        // At least 1: `from_bits` and `note_use` make no other name.
        Slot(u32::from(self.0 >> LEVEL_BITS) - 1)
    }

    #[inline]
    fn level(self) -> u32 {
        u32::from(self.0) & (NEST_LEVELS - 1)
    }
}

/// The lane in whose upper half, the tail, `name` stands, and nothing in the lower.
#[inline(always)]
fn tail_only<L: Lane>(name: Option<Name>) -> L::Bits {
    let name = name.map_or(0, Name::to_bits);
    L::Bits::truncate(name << <L::Bits as Int>::Half::BITS)
}

/// Joins the queue whose tail is in the lane's upper half; returns who was the last in it.
#[inline]
pub(super) fn join<L: Lane>(lane: L, me: Name) -> Option<Name> {
    let name = <L::Bits as Int>::Half::truncate(me.to_bits());
    // Release: pairs with the acquire of the successor's own join, who then writes to this node. Acquire: pairs with the
    // release of the predecessor's, and with that of `leave_if_last`.
    Name::from_bits(lane.swap_upper(name, Ordering::AcqRel).to_u64())
}

/// Joins the queue if the lane is 0; says whether it did.
#[inline]
pub(super) fn join_if_free<L: Lane>(lane: L, me: Name) -> bool {
    // Acquire and release: as in `join`.
    lane.compare_exchange(tail_only::<L>(None), tail_only::<L>(Some(me)), Ordering::AcqRel).is_ok()
}

/// Leaves the queue, and the lane 0, if nobody has joined after `me`; says whether it did.
#[inline]
pub(super) fn leave_if_last<L: Lane>(lane: L, me: Name) -> bool {
    // Release: pairs with the acquire of the next one to join.
    lane.compare_exchange(tail_only::<L>(Some(me)), tail_only::<L>(None), Ordering::Release).is_ok()
}

/// In [`QueueNode::parked`]: the node's user has left it to his successor ([`Clh`](super::Clh)), who will
/// say [`DONE_WITH`].
pub(super) const LEFT: u32 = 1;
/// In [`QueueNode::parked`]: the successor has done with the node.
pub(super) const DONE_WITH: u32 = 2;

/// The bit of [`QueueNode::in_use`] for a node of level 0 that is taken.
const TAKEN: u32 = 1;
/// For one that is kept.
const KEPT: u32 = 1 << NEST_LEVELS;

/// The nodes that `in_use` says are taken or kept, one bit for each level.
#[inline]
pub(crate) fn levels(in_use: u32) -> u32 {
    (in_use | (in_use / KEPT)) & (KEPT - 1)
}

/// Whether no node of `slot`, the running thread's, is in use, but for those that successors give back: then the slot
/// may be another thread's from now on.
pub(crate) fn is_idle<H: Host>(slot: Slot) -> bool {
    // Relaxed: this thread has written the bits, and left the nodes.
    let bits = H::queue_node(slot, 0).in_use.load(Ordering::Relaxed);
    let is_left = |level| H::queue_node(slot, level).parked.load(Ordering::Relaxed) != 0;
    let is_used =
        |level| bits & TAKEN << level != 0 || bits & KEPT << level != 0 && !is_left(level);
    !(0..NEST_LEVELS).any(is_used)
}

/// The running thread's slot. That it has none is counted.
#[inline]
fn slot<H: HostWithSlots>() -> Option<Slot> {
    let slot = H::slot();
    if slot.is_none() {
        H::count(Event::NoSlot);
    }
    slot
}

/// Takes the running thread's lowest free node; `None` if it has no slot, or none is free.
#[inline]
pub(super) fn take<H: HostWithSlots>() -> Option<Name> {
    let slot = slot::<H>()?;
    // Relaxed, here and below: only this slot, and what interrupts it, uses the bits.
    let bits = H::queue_node(slot, 0).in_use.load(Ordering::Relaxed);
    let busy = if bits < KEPT { bits } else { levels(without_done::<H>(slot, bits)) };
    note_use::<H>(slot, bits, busy, TAKEN)
}

/// The same, for a lock that may leave the node to its successor. Not in an interruption.
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
        // What was found out about nodes that are taken too.
        H::queue_node(slot, 0).in_use.store(bits, Ordering::Relaxed);
    }
    name
}

/// Notes in `bits` that the lowest node that is not `busy` is used; returns its name.
#[inline]
fn note_use<H: HostWithSlots>(slot: Slot, bits: u32, busy: u32, bit: u32) -> Option<Name> {
    let level = busy.trailing_ones();
    if level >= NEST_LEVELS {
        return None;
    }
    H::queue_node(slot, 0).in_use.store(bits | bit << level, Ordering::Relaxed);
    // What interrupts from here on sees that the node is in use.
    H::interruption_fence();
    Some(Name(((slot.0 + 1) << LEVEL_BITS | level) as u16))
}

/// `bits` without the kept nodes that a successor has done with.
#[cold]
fn without_done<H: HostWithSlots>(slot: Slot, mut bits: u32) -> u32 {
    for level in 0..NEST_LEVELS {
        let kept = KEPT << level;
        // Acquire: pairs with the release of `done_with`; the successor's last access comes before the
        // node's next use.
        if bits & kept != 0
            && H::queue_node(slot, level).parked.load(Ordering::Acquire) == DONE_WITH
        {
            bits &= !kept;
        }
    }
    bits
}

/// Gives back a node that the running thread has taken or kept, and that nobody else will access.
#[inline]
fn note_end<H: HostWithSlots>(name: Name, bit: u32) {
    // What interrupts before here sees that the node is in use.
    H::interruption_fence();
    let in_use = &H::queue_node(name.slot(), 0).in_use;
    // Relaxed: as in `take`.
    let bits = in_use.load(Ordering::Relaxed);
    in_use.store(bits & !(bit << name.level()), Ordering::Relaxed);
}

/// Gives back a node from [`take`].
#[inline]
pub(super) fn give_back<H: HostWithSlots>(name: Name) {
    note_end::<H>(name, TAKEN);
}

/// Gives back a node from [`keep`] that was not left to a successor.
#[inline]
pub(super) fn give_back_kept<H: HostWithSlots>(name: Name) {
    note_end::<H>(name, KEPT);
}

/// Where all nodes are in use: waits until a successor has done with one that this thread has left to him, which [`take`] and
/// [`keep`] then find; `false` if it has left none. He does so when he has the lock that was released, for which he needs a CPU and
/// nothing else.
#[cold]
pub(super) fn wait_for_left<H: HostWithSlots>() -> bool {
    let Some(slot) = H::slot() else { return false };
    // Relaxed, both: this thread takes and leaves its nodes itself.
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

/// After a `fork`, in the child: nobody is there any more to whom a node of `slot`, the running thread's, could have been left. The bits
/// of nodes in use stay as they are, because the `fork` may have interrupted a change of them: the slot's next CLH lock clears them.
#[cfg(all(feature = "std", unix))]
pub(crate) fn forget_successors<H: Host>(slot: Slot) {
    for level in 0..NEST_LEVELS {
        let parked = &H::queue_node(slot, level).parked;
        // Relaxed, both: this is the only thread.
        if parked.load(Ordering::Relaxed) == LEFT {
            parked.store(DONE_WITH, Ordering::Relaxed);
        }
    }
}

/// Gives back a node of another thread, who has left it to the running one.
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
