//! Queue nodes: the words of a waiter, and the bits that record which nodes of a slot are in use.
//!
//! A lock that queues takes nodes and gives them back (`lock/queue.rs`). A host must know, without
//! knowing any lock, when a slot has no node in use. Only then may another thread get the slot.
//!
//! A slot has [`NEST_LEVELS`] nodes, one for each level at which it can wait: a signal handler (on
//! a CPU, an interrupt) may interrupt a waiting thread and wait as well. Two sets of bits in one
//! word ([`QueueNode::in_use`]) record which nodes are in use. Only the slot writes that word.
//!
//! ```text
//!    7          4 3          0
//!   +------------+------------+   kept: by the CLH lock, which leaves nodes to successors; set
//!   | kept       | taken      |   until its next lock in the slot finds that the successor has
//!   +------------+------------+   finished. taken: by the other locks, until they give it back
//! ```
//!
//! A node is free if it is not taken, and if it is not kept or its successor has finished with it.
//!
//! The word needs no atomic change. An interruption between the read and the write takes a node and
//! gives it back before it returns, so the bits are the same as before. An interruption must not do
//! one thing: find that a successor has finished with a node, and clear `kept`. The interrupted
//! write would set the bit again, and no code would clear it later. (The interruption may still use
//! such a node.) So interruptions may use all locks except the CLH lock.

use super::atomics::{Atomics, ConstAtomics, Ordering, Word};

/// Maximum depth of nested lock waits in one slot: a thread and three levels of interruption.
pub const NEST_LEVELS: u32 = 4;

/// The words that a waiter of a queued lock spins on. The host owns one node for each slot and
/// nesting level, with a slot's four nodes in one 64-byte line. Nodes are never freed while the
/// host runs.
///
/// Only the lock that uses a node may write to its words. Other code cannot write to them, because
/// such a write could end another thread's wait. A host creates nodes, and passes them to the
/// locks.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct QueueNode<A: Atomics> {
    /// The next waiter, as the lock encodes it; 0 for none.
    pub(crate) next: A::U32,
    /// The word that the waiter spins on.
    pub(crate) ready: A::U32,
    /// In the level 0 node: which of the slot's nodes are in use, and how ([`TAKEN`], [`KEPT`]). In
    /// the level 1 node: the slot's number of reclamation guards. Only the slot writes it.
    pub(crate) in_use: A::U32,
    /// For the lock's own use: the turn for which a parked waiter waits, or the node's current
    /// owner.
    pub(crate) parked: A::U32,
}

impl<A: Atomics> QueueNode<A> {
    /// An unused node: all its words are 0.
    pub fn new() -> Self {
        let zero = || <A::U32 as Word>::new(0);
        QueueNode { next: zero(), ready: zero(), in_use: zero(), parked: zero() }
    }

    /// Number of the slot's nodes in use, when called on the slot's node of level 0. The result is
    /// a snapshot (relaxed), exact in the slot's own thread. Cost: one load.
    #[track_caller]
    pub fn nodes_in_use(&self) -> u32 {
        levels(self.in_use.load(Ordering::Relaxed)).count_ones()
    }
}

impl<A: ConstAtomics> QueueNode<A> {
    /// An unused node, for statics.
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    pub const UNUSED: Self = QueueNode {
        next: A::U32_ZERO,
        ready: A::U32_ZERO,
        in_use: A::U32_ZERO,
        parked: A::U32_ZERO,
    };
}

impl<A: Atomics> Default for QueueNode<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// Value of [`QueueNode::parked`]: the node's user has left it to its successor
/// ([`Clh`](crate::lock::Clh)), which will set [`DONE_WITH`].
pub(crate) const LEFT: u32 = 1;
/// Value of [`QueueNode::parked`]: the successor has finished with the node.
pub(crate) const DONE_WITH: u32 = 2;

/// The bit of [`QueueNode::in_use`] for a taken node of level 0.
pub(crate) const TAKEN: u32 = 1;
/// The bit of [`QueueNode::in_use`] for a kept node of level 0.
pub(crate) const KEPT: u32 = 1 << NEST_LEVELS;

/// Returns the nodes that `in_use` marks as taken or kept, one bit for each level.
#[inline]
pub(crate) fn levels(in_use: u32) -> u32 {
    (in_use | (in_use / KEPT)) & (KEPT - 1)
}

/// Returns true if the running thread uses none of its slot's nodes. Nodes that successors will
/// give back do not count.
fn uses_no_node<A: Atomics>(node: impl Fn(u32) -> &'static QueueNode<A>) -> bool {
    // Relaxed: this thread wrote these bits, and left these nodes.
    let bits = node(0).in_use.load(Ordering::Relaxed);
    let is_left = |level| node(level).parked.load(Ordering::Relaxed) != 0;
    let is_used =
        |level| bits & TAKEN << level != 0 || bits & KEPT << level != 0 && !is_left(level);
    !(0..NEST_LEVELS).any(is_used)
}

/// Returns true if another thread may now get the running thread's slot: the thread uses none of
/// the slot's nodes, and has no guard of reclamation.
#[track_caller]
pub(super) fn is_idle<A: Atomics>(node: impl Fn(u32) -> &'static QueueNode<A>) -> bool {
    uses_no_node(&node) && guards(node(1)).load(Ordering::Relaxed) == 0
}

/// Returns the slot's number of reclamation guards, in its node of level 1.
pub(super) fn guards<A: Atomics>(node: &QueueNode<A>) -> &A::U32 {
    &node.in_use
}

/// Runs in the child of a `fork`. Releases those nodes of the running thread's slot that were left
/// to successors, because the child has no other threads. Does not change the bits of nodes in use,
/// because the `fork` may have interrupted a change of these bits. The slot's next CLH lock clears
/// the bits.
#[cfg(all(feature = "std", unix))]
pub(super) fn forget_successors<A: Atomics>(node: impl Fn(u32) -> &'static QueueNode<A>) {
    for level in 0..NEST_LEVELS {
        let parked = &node(level).parked;
        // Relaxed, both: this is the only thread.
        if parked.load(Ordering::Relaxed) == LEFT {
            parked.store(DONE_WITH, Ordering::Relaxed);
        }
    }
}
