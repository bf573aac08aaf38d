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
//! interrupted by a signal handler (a CPU by an interrupt) that waits too. Which of them are in use is a
//! set of bits that only the slot writes. It needs no atomic change: an interruption that comes between
//! the read and the write takes a node and gives it back before it returns, so the bits are then what
//! they were.

use crate::lane::Lane;
use crate::platform::{Host, Int, NEST_LEVELS, Ordering, QueueNode, Slot, Word};

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
    /// The name in the upper half of a lane; `None` if it names nobody.
    #[inline]
    pub(super) fn from_bits(bits: u64) -> Option<Name> {
        (bits != 0).then_some(Name(bits as u16))
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

/// Takes the running thread's lowest free node; `None` if it has no slot, or none is free.
#[inline]
pub(super) fn take<H: Host>() -> Option<Name> {
    let slot = H::slot()?;
    let in_use = &H::queue_node(slot, 0).in_use;
    // Relaxed, here and below: only this slot, and what interrupts it, uses the bits.
    let mut bits = in_use.load(Ordering::Relaxed);
    if bits != 0 {
        bits = without_done::<H>(slot, bits);
    }
    let level = bits.trailing_ones();
    if level >= NEST_LEVELS {
        return None;
    }
    in_use.store(bits | 1 << level, Ordering::Relaxed);
    // What interrupts from here on sees that the node is in use.
    H::interruption_fence();
    Some(Name(((slot.0 + 1) << LEVEL_BITS | level) as u16))
}

/// `bits` without the nodes that a successor has done with.
#[cold]
fn without_done<H: Host>(slot: Slot, mut bits: u32) -> u32 {
    for level in 0..NEST_LEVELS {
        let parked = &H::queue_node(slot, level).parked;
        // Acquire: pairs with the release of `done_with`; the successor's last access comes before the
        // node's next use.
        if bits & 1 << level != 0 && parked.load(Ordering::Acquire) == DONE_WITH {
            parked.store(0, Ordering::Relaxed);
            bits &= !(1 << level);
        }
    }
    bits
}

/// Gives back a node that the running thread has taken, and that nobody else will access.
#[inline]
pub(super) fn give_back<H: Host>(name: Name) {
    // What interrupts before here sees that the node is in use.
    H::interruption_fence();
    let in_use = &H::queue_node(name.slot(), 0).in_use;
    // Relaxed: as in `take`.
    let bits = in_use.load(Ordering::Relaxed);
    in_use.store(bits & !(1 << name.level()), Ordering::Relaxed);
}

/// Gives back a node of another thread, who has left it to the running one.
#[inline]
pub(super) fn done_with<H: Host>(name: Name) {
    // Release: pairs with the acquire in `without_done`.
    name.node::<H>().parked.store(DONE_WITH, Ordering::Release);
}
