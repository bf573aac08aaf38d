//! Handles: an index and a generation in one word.

use core::fmt;
use core::num::NonZeroU64;

/// Name of an object in a [`HandleTable`](super::HandleTable).
///
/// ```text
///    63                 32 31                  0
///   +---------------------+---------------------+
///   | generation, odd     | index of the slot   |
///   +---------------------+---------------------+
/// ```
///
/// A slot gets another generation each time an object is removed from it. A handle whose object was
/// removed therefore finds nothing, even if another object has the slot. An `Option<Handle>` also
/// has 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Handle(NonZeroU64);

impl Handle {
    /// `generation` is odd.
    #[inline(always)]
    pub(super) fn new(index: u32, generation: u32) -> Self {
        let bits = u64::from(generation) << 32 | u64::from(index);
        Handle(NonZeroU64::new(bits).expect("an odd generation is not 0"))
    }

    /// Returns the handle as a number, for example to pass it to another program.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// Restores a handle from the result of [`to_bits`](Self::to_bits); `None` if no handle has
    /// these bits. Any number is safe: a wrong number names no object, or another object.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(some) if bits >> 32 & 1 == 1 => Some(Handle(some)),
            _ => None,
        }
    }

    /// Index of the object's slot: below the table's [limit](super::HandleTable::limit), and unique
    /// among the objects that are in the table.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.0.get() as u32
    }

    /// Generation of the object in its slot.
    #[inline(always)]
    pub const fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({}, generation {})", self.index(), self.generation())
    }
}
