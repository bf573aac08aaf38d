//! The words that point to a table's objects, in segments that double in size and never move.
//!
//! ```text
//!   id        0 .. 15   16 .. 47   48 .. 111   ...
//!   segment   0         1          2           k: 16 * 2^k words, and the bitmap of used ones
//! ```

use super::bits::{self, Bits};
use crate::memory::{from_host, to_host};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::forget;
use core::ptr::{NonNull, with_exposed_provenance_mut};
use core::slice;
use lockyard::platform::{Cell, ConstAtomics, DataCell, Host, Ordering, U64, Word};

/// Binary logarithm of the number of identifiers in the first segment.
const FIRST_BITS: u32 = 4;
const SEGMENTS: usize = 27;
/// Maximum number of identifiers in a table: 2^31 - 16.
pub const MAX_IDS: u32 = ((1 << SEGMENTS) - 1) << FIRST_BITS;

/// A segment: its number, and its memory.
pub(super) struct Segment<H: Host> {
    k: usize,
    memory: NonNull<U64<H>>,
    /// Marks the memory as owned: dropping the segment frees it.
    _owned: PhantomData<Cell<H, u64>>,
}

impl<H: Host> Segment<H> {
    const fn ids(k: usize) -> u32 {
        1 << (FIRST_BITS as usize + k)
    }

    /// Returns the lowest identifier of segment `k`.
    pub(super) const fn first_id(k: usize) -> u64 {
        ((1 << k) - 1) << FIRST_BITS
    }

    /// Returns the segment and the index of `id`.
    #[inline(always)]
    pub(super) const fn place_of(id: u32) -> (usize, u32) {
        let k = ((id >> FIRST_BITS) + 1).ilog2() as usize;
        (k, id - Self::first_id(k) as u32)
    }

    /// Returns the layout of segment `k`, and the offset of its bitmap.
    fn layout(k: usize) -> Option<(Layout, usize)> {
        let words = Layout::array::<U64<H>>(Self::ids(k) as usize).ok()?;
        let bits = Layout::array::<Cell<H, u64>>(bits::words(Self::ids(k)) as usize).ok()?;
        words.extend(bits).ok()
    }

    /// Allocates segment `k`, with all its identifiers free; `None` if there is no memory.
    pub(super) fn allocate(k: usize) -> Option<Self> {
        let (layout, bitmap) = Self::layout(k)?;
        let memory = from_host::<H>(layout, None)?;
        let words = memory.cast::<U64<H>>();
        // SAFETY: the bitmap is inside the memory.
        let cells = unsafe { memory.add(bitmap) }.cast::<Cell<H, u64>>();
        for index in 0..Self::ids(k) {
            // SAFETY: the memory has room for this number, and no other thread has it.
            unsafe { words.add(index as usize).write(Word::new(0)) };
        }
        for index in 0..bits::words(Self::ids(k)) {
            let cell = DataCell::new(bits::initial(Self::ids(k), index));
            // SAFETY: as above.
            unsafe { cells.add(index as usize).write(cell) };
        }
        Some(Segment { k, memory: words, _owned: PhantomData })
    }

    /// Returns the word for the object with `index` in this segment.
    #[inline(always)]
    pub(super) fn entry(&self, index: u32) -> &U64<H> {
        debug_assert!(index < Self::ids(self.k));
        // SAFETY: the index is below the segment's number of words, which `allocate` initialised.
        unsafe { self.memory.add(index as usize).as_ref() }
    }

    fn bits(&self) -> Bits<'_, H> {
        let numbers = Self::ids(self.k);
        let (_, bitmap) = Self::layout(self.k).expect("it was allocated");
        // SAFETY: `allocate` initialised this number of cells there.
        let cells = unsafe {
            let first = self.memory.cast::<u8>().add(bitmap).cast::<Cell<H, u64>>();
            slice::from_raw_parts(first.as_ptr(), bits::words(numbers) as usize)
        };
        Bits { numbers, cells }
    }

    /// Returns the lowest free index. The caller holds the table's lock, also in the next two
    /// functions.
    pub(super) fn lowest_free(&self) -> u32 {
        self.bits().lowest_free()
    }

    /// Marks `index` as used; returns true if no identifier is free afterwards.
    pub(super) fn mark_used(&self, index: u32) -> bool {
        self.bits().mark_used(index)
    }

    pub(super) fn mark_free(&self, index: u32) {
        self.bits().mark_free(index);
    }
}

impl<H: Host> Drop for Segment<H> {
    fn drop(&mut self) {
        let (layout, bitmap) = Self::layout(self.k).expect("it was allocated");
        for index in 0..Self::ids(self.k) {
            // SAFETY: initialised in `allocate`; no thread uses it any more.
            unsafe { self.memory.add(index as usize).drop_in_place() };
        }
        for index in 0..bits::words(Self::ids(self.k)) {
            // SAFETY: as above.
            unsafe {
                let cells = self.memory.cast::<u8>().add(bitmap).cast::<Cell<H, u64>>();
                cells.add(index as usize).drop_in_place();
            }
        }
        // SAFETY: allocated with this layout.
        unsafe { to_host::<H>(self.memory.cast(), layout) };
    }
}

/// The addresses of a table's segments, by segment number; 0 for absent ones.
pub(super) struct Segments<H: Host>([U64<H>; SEGMENTS]);

#[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
impl<H: Host<Atomics: ConstAtomics>> Segments<H> {
    pub(super) const NONE: Self = Segments([<H::Atomics as ConstAtomics>::U64_ZERO; SEGMENTS]);
}

/// A segment that belongs to its table.
pub(super) struct Borrowed<H: Host>(core::mem::ManuallyDrop<Segment<H>>);

impl<H: Host> core::ops::Deref for Borrowed<H> {
    type Target = Segment<H>;

    fn deref(&self) -> &Segment<H> {
        &self.0
    }
}

impl<H: Host> Segments<H> {
    pub(super) fn new() -> Self {
        Segments(core::array::from_fn(|_| Word::new(0)))
    }

    fn at(k: usize, address: u64) -> Option<Segment<H>> {
        let memory = NonNull::new(with_exposed_provenance_mut(address as usize))?;
        Some(Segment { k, memory, _owned: PhantomData })
    }

    /// Returns segment `k`, if it exists.
    #[inline]
    pub(super) fn get(&self, k: usize) -> Option<Borrowed<H>> {
        // Acquire: pairs with the release in `publish`; the segment is initialised.
        let address = self.0.get(k)?.load(Ordering::Acquire);
        Self::at(k, address).map(|segment| Borrowed(core::mem::ManuallyDrop::new(segment)))
    }

    /// Returns the word for the object of `id`, if its segment exists.
    #[inline]
    pub(super) fn entry(&self, id: u32) -> Option<&U64<H>> {
        let (k, index) = Segment::<H>::place_of(id);
        let segment = self.get(k)?;
        // SAFETY: the word is in the segment, which lives as long as the table.
        Some(unsafe { &*core::ptr::from_ref(segment.entry(index)) })
    }

    /// Publishes a segment, or returns it if the table already has one of this number.
    ///
    /// # Safety
    ///
    /// The caller must hold the table's lock.
    pub(super) unsafe fn publish(&self, segment: Segment<H>) -> Option<Segment<H>> {
        let word = &self.0[segment.k];
        if word.load(Ordering::Relaxed) != 0 {
            return Some(segment);
        }
        // Release: pairs with the acquire in `get`.
        word.store(segment.memory.as_ptr().expose_provenance() as u64, Ordering::Release);
        forget(segment);
        None
    }

    pub(super) fn bytes(&self) -> usize {
        let there = |&k: &usize| self.0[k].load(Ordering::Relaxed) != 0;
        let size = |k| Segment::<H>::layout(k).map_or(0, |(layout, _)| layout.size());
        (0..SEGMENTS).filter(there).map(size).sum()
    }

    /// Clears each word and calls `each` with its bits.
    pub(super) fn drain(&mut self, mut each: impl FnMut(u64)) {
        for k in 0..SEGMENTS {
            let Some(segment) = self.get(k) else { continue };
            for index in 0..Segment::<H>::ids(k) {
                // Relaxed: no other thread has the table.
                let bits = segment.entry(index).swap(0, Ordering::Relaxed);
                if bits != 0 {
                    each(bits);
                }
            }
        }
    }

    /// Frees all segments.
    pub(super) fn free(&mut self) {
        for k in 0..SEGMENTS {
            let address = self.0[k].get();
            self.0[k] = Word::new(0);
            drop(Self::at(k, address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard::Native;

    #[test]
    fn every_identifier_has_one_place() {
        let mut expected = (0, 0);
        for id in 0..100_000 {
            assert_eq!(Segment::<Native>::place_of(id), expected);
            expected.1 += 1;
            if expected.1 == Segment::<Native>::ids(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        let (k, index) = Segment::<Native>::place_of(MAX_IDS - 1);
        assert_eq!((k, index), (SEGMENTS - 1, Segment::<Native>::ids(SEGMENTS - 1) - 1));
        assert_eq!(Segment::<Native>::place_of(MAX_IDS), (SEGMENTS, 0), "beyond the last segment");
    }
}
