//! The switches of a cache, each a type, and what was done before beside what is done now.
//!
//! They are independent of each other: [`With`] names one of each. What they cost is in the [module documentation](super).

use super::index::{FixedHash, Index, TreePerGroup, WideHash};
use crate::invariance::Invariant;
use crate::platform::Host;

/// When memory for a new buffer is allocated: [`EveryCall`], [`OnMiss`]. Sealed.
pub trait Allocate: sealed::Sealed + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const EVERY_CALL: bool;
}

/// Every call that may have to make a buffer allocates one first, and gives it back if it was not needed.
#[derive(Debug)]
pub struct EveryCall;
impl Allocate for EveryCall {
    const NAME: &'static str = "every-call";
    const EVERY_CALL: bool = true;
}

/// A buffer is allocated when it is known to be needed. The default.
#[derive(Debug)]
pub struct OnMiss;
impl Allocate for OnMiss {
    const NAME: &'static str = "on-miss";
    const EVERY_CALL: bool = false;
}

/// Where a new buffer's value is made: [`UnderLock`], [`Outside`]. Sealed.
pub trait Initialise: sealed::Sealed + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const UNDER_LOCK: bool;
}

/// The caller's function runs under the lock of the chain or tree in which the buffer will be: everybody waits for it who comes there. It
/// must not use the cache.
#[derive(Debug)]
pub struct UnderLock;
impl Initialise for UnderLock {
    const NAME: &'static str = "under-lock";
    const UNDER_LOCK: bool = true;
}

/// The caller's function runs outside all locks; only who wants this very buffer waits for it. The default.
#[derive(Debug)]
pub struct Outside;
impl Initialise for Outside {
    const NAME: &'static str = "outside";
    const UNDER_LOCK: bool = false;
}

/// What a hit notes, for the choice of what is reclaimed: [`MoveToFront`], [`ReferencedBit`]. Sealed.
pub trait Promote: sealed::Sealed + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const MOVES: bool;
}

/// A hit moves the buffer to the front of its list, under the list's lock: the one that was used least recently is reclaimed first.
#[derive(Debug)]
pub struct MoveToFront;
impl Promote for MoveToFront {
    const NAME: &'static str = "move-to-front";
    const MOVES: bool = true;
}

/// A hit sets a bit of the buffer, unless it is set; reclaim gives what has the bit a second chance. The default.
#[derive(Debug)]
pub struct ReferencedBit;
impl Promote for ReferencedBit {
    const NAME: &'static str = "referenced-bit";
    const MOVES: bool = false;
}

/// All switches of a cache: [`With`]. Sealed.
pub trait Switches<H: Host>: sealed::Sealed + 'static {
    /// When memory is allocated.
    type Allocate: Allocate;
    /// Where values are made.
    type Initialise: Initialise;
    /// What a hit notes.
    type Promote: Promote;
    /// How buffers are found.
    type Index: Index<H>;
}

type Named<A, I, P, X> = Invariant<(A, I, P, X)>;

/// One of each switch.
#[derive(Debug)]
pub struct With<A = OnMiss, I = Outside, P = ReferencedBit, X = WideHash>(Named<A, I, P, X>);

impl<A: Allocate, I: Initialise, P: Promote, X: Index<H>, H: Host> Switches<H>
    for With<A, I, P, X>
{
    type Allocate = A;
    type Initialise = I;
    type Promote = P;
    type Index = X;
}

/// The switches as they are now: the defaults.
pub type Standard = With;

/// The switches as they were before.
pub type Before = With<EveryCall, UnderLock, MoveToFront, super::Hash256>;

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::EveryCall {}
    impl Sealed for super::OnMiss {}
    impl Sealed for super::UnderLock {}
    impl Sealed for super::Outside {}
    impl Sealed for super::MoveToFront {}
    impl Sealed for super::ReferencedBit {}
    impl<A, I, P, X> Sealed for super::With<A, I, P, X> {}
    impl<const BITS: u32, K> Sealed for super::FixedHash<BITS, K> {}
    impl<const BITS: u32, K> Sealed for super::WideHash<BITS, K> {}
    impl<K> Sealed for super::TreePerGroup<K> {}
}
