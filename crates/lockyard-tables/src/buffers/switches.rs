//! The switches of a cache, each a type. With them the earlier design can be compared with the
//! present design.
//!
//! The switches are independent: [`With`] selects one option of each. The [module
//! documentation](super) says what they cost.

use super::index::{Hash256, Index, WideHash};
use super::key::{CacheKey, Key};
use super::sealed::Sealed;
use crate::memory::Invariant;
use lockyard::platform::Host;

/// Time of a new buffer's allocation: [`EveryCall`], [`OnMiss`]. Sealed.
pub trait Allocate: Sealed + 'static {
    /// Name of the option in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const EVERY_CALL: bool;
}

/// Every call that may have to create a buffer allocates one first, and frees it if it was not
/// needed.
#[derive(Debug)]
pub struct EveryCall;
impl Allocate for EveryCall {
    const NAME: &'static str = "every-call";
    const EVERY_CALL: bool = true;
}

/// A buffer is allocated once it is known to be needed. The default.
#[derive(Debug)]
pub struct OnMiss;
impl Allocate for OnMiss {
    const NAME: &'static str = "on-miss";
    const EVERY_CALL: bool = false;
}

/// The place where a new buffer's value is made: [`UnderLock`], [`Outside`]. Sealed.
pub trait Initialise: Sealed + 'static {
    /// Name of the option in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const UNDER_LOCK: bool;
}

/// The caller's function runs under the lock of the chain or tree that will contain the buffer. All
/// users of that chain or tree wait for it. The function must not use the cache.
#[derive(Debug)]
pub struct UnderLock;
impl Initialise for UnderLock {
    const NAME: &'static str = "under-lock";
    const UNDER_LOCK: bool = true;
}

/// The caller's function runs outside all locks; only callers that want the same buffer wait for
/// it. The default.
#[derive(Debug)]
pub struct Outside;
impl Initialise for Outside {
    const NAME: &'static str = "outside";
    const UNDER_LOCK: bool = false;
}

/// The record that a hit leaves for reclaim: [`MoveToFront`], [`ReferencedBit`]. Sealed.
pub trait Promote: Sealed + 'static {
    /// Name of the option in tables.
    const NAME: &'static str;
    #[doc(hidden)]
    const MOVES: bool;
}

/// A hit moves the buffer to the front of its list, under the list's lock. The least recently used
/// buffer is reclaimed first.
#[derive(Debug)]
pub struct MoveToFront;
impl Promote for MoveToFront {
    const NAME: &'static str = "move-to-front";
    const MOVES: bool = true;
}

/// A hit sets a bit of the buffer, unless it is already set. Reclaim gives a buffer with the bit a
/// second chance. The default.
#[derive(Debug)]
pub struct ReferencedBit;
impl Promote for ReferencedBit {
    const NAME: &'static str = "referenced-bit";
    const MOVES: bool = false;
}

/// All switches of a cache: [`With`]. Sealed.
pub trait Switches<H: Host, Q: CacheKey = Key>: Sealed + 'static {
    /// The time when memory is allocated.
    type Allocate: Allocate;
    /// The place where values are made.
    type Initialise: Initialise;
    /// The record that a hit leaves for reclaim.
    type Promote: Promote;
    /// The way to find buffers.
    type Index: Index<H, Q>;
}

type Named<A, I, P, X> = Invariant<(A, I, P, X)>;

/// A choice of one option for each switch.
#[derive(Debug)]
pub struct With<A = OnMiss, I = Outside, P = ReferencedBit, X = WideHash>(Named<A, I, P, X>);

impl<A: Allocate, I: Initialise, P: Promote, X: Index<H, Q>, H: Host, Q: CacheKey> Switches<H, Q>
    for With<A, I, P, X>
{
    type Allocate = A;
    type Initialise = I;
    type Promote = P;
    type Index = X;
}

/// The present switches: the defaults.
pub type Standard = With;

/// The switches of earlier caches.
pub type Before = With<EveryCall, UnderLock, MoveToFront, Hash256>;

impl Sealed for EveryCall {}
impl Sealed for OnMiss {}
impl Sealed for UnderLock {}
impl Sealed for Outside {}
impl Sealed for MoveToFront {}
impl Sealed for ReferencedBit {}
impl<A, I, P, X> Sealed for With<A, I, P, X> {}
