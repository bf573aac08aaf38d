//! Hooks: the operations that a hook sees, and the decisions that it makes.

use crate::platform::Ordering;
use core::alloc::Layout;
use core::panic::Location;
use core::ptr::NonNull;
use core::time::Duration;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// [`Word::load`](crate::platform::Word::load).
    Load,
    /// [`Word::store`](crate::platform::Word::store).
    Store,
    /// [`Word::swap`](crate::platform::Word::swap).
    Swap,
    /// [`Word::compare_exchange`] and [`Word::compare_exchange_weak`]. Only this kind has two
    /// orderings.
    ///
    /// [`Word::compare_exchange`]: crate::platform::Word::compare_exchange
    /// [`Word::compare_exchange_weak`]: crate::platform::Word::compare_exchange_weak
    CompareExchange,
    /// [`Word::fetch_add`] and [`Word::fetch_sub`].
    ///
    /// [`Word::fetch_add`]: crate::platform::Word::fetch_add
    /// [`Word::fetch_sub`]: crate::platform::Word::fetch_sub
    FetchAdd,
    /// [`Word::fetch_or`] and [`Word::fetch_and`].
    ///
    /// [`Word::fetch_or`]: crate::platform::Word::fetch_or
    /// [`Word::fetch_and`]: crate::platform::Word::fetch_and
    FetchBits,
    /// [`Part::store_part`](crate::platform::Part::store_part).
    StorePart,
    /// [`Part::swap_part`](crate::platform::Part::swap_part).
    SwapPart,
    /// [`Word::wait_until`] without a bound, and [`Part::wait_part_assembly`]. The assembly has a
    /// fixed ordering (acquire), so with another ordering that wait runs as a plain loop.
    ///
    /// [`Word::wait_until`]: crate::platform::Word::wait_until
    /// [`Part::wait_part_assembly`]: crate::platform::Part::wait_part_assembly
    Wait,
    /// [`Word::wait_until`](crate::platform::Word::wait_until) for a number of polls.
    WaitBounded,
    /// [`Atomics::fence`](crate::platform::Atomics::fence) and
    /// [`Atomics::acquire_after`](crate::platform::Atomics::acquire_after).
    Fence,
}

/// One operation, before it is performed.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The source location of the call in the primitive. (Platform functions and lanes pass on
    /// their callers' locations.)
    pub place: &'static Location<'static>,
    /// The address of the word, or 0 for a fence.
    pub address: usize,
    /// The ordering. For a compare-exchange, the success ordering.
    pub order: Ordering,
    /// The failure ordering of a compare-exchange; `None` for every other kind.
    pub failure: Option<Ordering>,
}

/// The effect that a hook allows an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The operation is performed.
    Performed,
    /// The operation changes nothing and is reported as done. A store is dropped. A
    /// read-modify-write returns the value that it found. A compare-exchange that found the
    /// expected value returns `Ok`. A wait returns the value that it found, even if its predicate
    /// is false. A fence orders nothing. A load has no effect to suppress, so it is performed.
    Pretended,
}

/// Code that decides about each operation of a [`Hooked`] platform.
///
/// # Safety
///
/// A primitive on [`Hooked`] keeps its guarantees only while the hook changes nothing. A hook may
/// weaken orderings, or [pretend](Effect::Pretended) operations. The implementer of such a hook
/// must ensure that primitives on it protect nothing that would be unsound to access unprotected.
/// (The checks of this project protect atomics and cells of a model.)
///
/// [`Hooked`]: super::Hooked
pub unsafe trait Hook: 'static {
    /// True if unbounded waits are cut into slices. After each slice the platform calls
    /// [`waiting`](Self::waiting).
    const WATCHES_WAITS: bool = false;

    /// Sees an operation before it is performed, and decides its effect. It may replace the
    /// orderings with others that the kind of operation allows.
    fn operation(operation: &mut Operation) -> Effect;

    /// Sees an operation after it was performed or pretended, with the orderings that were used.
    fn done(operation: &Operation) {
        let _ = operation;
    }

    /// Sees an unfinished wait, after each [`SLICE`] polls, and after each [`PARKED_SLICE`] of a
    /// park. `slices` is the length of this wait so far, in slices of polls. A slice of a park
    /// counts as a fixed number of slices of polls. The hook may yield. The hook may also panic, to
    /// end a wait that would never end.
    fn waiting(slices: u64) {
        let _ = slices;
    }

    /// Returns true if an allocation may succeed. Otherwise [`Host::allocate`] returns `None`.
    ///
    /// [`Host::allocate`]: crate::platform::Host::allocate
    fn may_allocate(layout: Layout) -> bool {
        let _ = layout;
        true
    }

    /// Sees memory that was allocated.
    fn allocated(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }

    /// Sees memory that is about to be freed.
    fn freed(memory: NonNull<u8>, layout: Layout) {
        let _ = (memory, layout);
    }
}

/// Number of polls between two calls of [`Hook::waiting`].
pub const SLICE: u32 = 64;

/// Duration of a watched park between two calls of [`Hook::waiting`].
pub const PARKED_SLICE: Duration = Duration::from_millis(1);
