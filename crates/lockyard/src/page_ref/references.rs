//! The state of a page reference count: the number of references, and its maximum.

/// Maximum number of references that are counted. Beyond it the count saturates and stays there:
/// the object is leaked, and [`Event::Saturated`](crate::platform::Event::Saturated) is counted.
///
/// A count could leave the saturated band only if 2^29 threads were in the middle of an operation
/// at the same time.
pub const MAX_REFERENCES: u32 = 1 << 30;

/// The state of a count. A snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum References {
    /// This many references. (The number is 0 only with [`LockedBit`], while the last reference is
    /// being dropped and another can still be taken.)
    ///
    /// [`LockedBit`]: super::LockedBit
    Live(u32),
    /// There is no reference, and none can be taken. The last one was dropped, or the owner has
    /// frozen the count.
    Frozen,
    /// More references than can be counted: the object is never freed.
    Saturated,
}
