//! Slots, in pages that double in size and never move.
//!
//! ```text
//!   index     0 .. 15   16 .. 47   48 .. 111   ...
//!   page      0         1          2           k: 16 * 2^k slots
//!
//!   generation of a slot:   2 --insert--> 3 --remove--> 4 --insert--> 5 ...   odd: has one
//! ```
//!
//! A page lives as long as the table. A slot can therefore be examined with any handle, at any time
//! and without protection. Only its value needs protection.

use super::access::Access;
use crate::memory::{Invariant, from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::{Cell, ConstAtomics, DataCell, HostWithSlots, Ordering, U32, U64, Word};

/// Binary logarithm of the number of slots in the first page.
const FIRST_BITS: u32 = 4;
const PAGES: usize = 27;
/// Maximum number of slots in a table: 2^31 - 16.
pub const MAX_HANDLES: u32 = ((1 << PAGES) - 1) << FIRST_BITS;

/// Generation of a slot that had no object yet.
pub(super) const FIRST_GENERATION: u32 = 2;
/// Generation of a slot that gets no further object, because its generations are used up.
pub(super) const WORN_OUT: u32 = u32::MAX - 1;

/// Place of one object.
pub(super) struct Slot<T: Send, A: Access<H>, H: HostWithSlots, C: Context> {
    /// The lock of an exclusive object; nothing for a shared object.
    pub(super) lock: A::Lock<C>,
    /// Odd while the slot has an object.
    pub(super) generation: U32<H>,
    /// In a chain: one more than the index of the next slot, or 0.
    pub(super) next: U32<H>,
    /// The object: initialised while the generation is odd, and until its readers have left.
    pub(super) value: Cell<H, MaybeUninit<T>>,
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Slot<T, A, H, C> {
    /// Returns true if the slot has the object of this generation. Acquire: the caller then sees
    /// the object.
    #[inline(always)]
    pub(super) fn has(&self, generation: u32) -> bool {
        // Acquire: pairs with the release in `fill`.
        self.generation.load(Ordering::Acquire) == generation
    }

    /// Puts an object into a free slot that belongs to the caller; returns the generation.
    #[inline(always)]
    pub(super) fn fill(&self, value: T) -> u32 {
        // Relaxed: the slot belongs to the caller.
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        self.value.with_mut(|place| {
            // SAFETY: the slot has no object, and no reader of an earlier object is left.
            unsafe { place.write(MaybeUninit::new(value)) };
        });
        // Release: pairs with the acquire in `has`; the object is initialised.
        self.generation.store(generation, Ordering::Release);
        generation
    }

    /// Returns the object.
    ///
    /// # Safety
    ///
    /// `has` must have returned true. During the life of the reference, the caller must protect the
    /// object by a guard that it made before that call, or by the slot's lock.
    #[inline(always)]
    pub(super) unsafe fn value<'a>(&self) -> &'a T {
        // SAFETY: the object is initialised, and the caller keeps it.
        self.value.with(|place| unsafe { (*place).assume_init_ref() })
    }

    /// Takes the object out.
    ///
    /// # Safety
    ///
    /// The slot must have an object that no other thread uses, and that no thread takes again.
    #[inline(always)]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: the caller's promise.
        self.value.with_mut(|place| unsafe { (*place).assume_init_read() })
    }

    /// Drops the object.
    ///
    /// # Safety
    ///
    /// The same as for [`take`](Self::take).
    pub(super) unsafe fn drop_value(&self) {
        // SAFETY: the caller's promise.
        self.value.with_mut(|place| unsafe { (*place).assume_init_drop() });
    }
}

/// The pages of a table: their addresses, or 0.
pub(super) struct Slots<T: Send, A: Access<H>, H: HostWithSlots, C: Context> {
    pages: [U64<H>; PAGES],
    /// The table owns the objects, and any thread may drop them.
    _slots: PhantomData<Cell<H, T>>,
    _access: Invariant<(A, C)>,
}

/// Returns the number of slots in page `k`.
const fn length(k: usize) -> u32 {
    1 << (FIRST_BITS as usize + k)
}

/// Returns the first index of page `k`.
const fn first(k: usize) -> u32 {
    (((1_u64 << k) - 1) << FIRST_BITS) as u32
}

/// Returns the page of `index`.
#[inline(always)]
pub(super) const fn page_of(index: u32) -> usize {
    ((index >> FIRST_BITS) + 1).ilog2() as usize
}

/// Returns the index after the last one in the page of `index`.
pub(super) const fn page_end(index: u32) -> u32 {
    let k = page_of(index);
    first(k) + length(k)
}

impl<T: Send, A: Access<H>, H: HostWithSlots<Atomics: ConstAtomics>, C: Context> Slots<T, A, H, C> {
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    pub(super) const NONE: Self = Slots {
        pages: [<H::Atomics as ConstAtomics>::U64_ZERO; PAGES],
        _slots: PhantomData,
        _access: PhantomData,
    };
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Slots<T, A, H, C> {
    pub(super) fn new() -> Self {
        Slots {
            pages: core::array::from_fn(|_| Word::new(0)),
            _slots: PhantomData,
            _access: PhantomData,
        }
    }

    fn layout(k: usize) -> Option<Layout> {
        Layout::array::<Slot<T, A, H, C>>(length(k) as usize).ok()
    }

    /// Returns the slot of `index`, if its page exists.
    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&Slot<T, A, H, C>> {
        let k = page_of(index);
        // Acquire: pairs with the release in `add_page`; the slots are initialised.
        let address = self.pages.get(k)?.load(Ordering::Acquire);
        if address == 0 {
            return None;
        }
        let page = from_word::<Slot<T, A, H, C>>(address);
        // SAFETY: the page has a slot for each of its indices, and lives as long as the table.
        Some(unsafe { &*page.add((index - first(k)) as usize) })
    }

    /// Returns the slot of an index that the table has given out.
    #[inline(always)]
    pub(super) fn at(&self, index: u32) -> &Slot<T, A, H, C> {
        self.get(index).expect("the page of an index exists")
    }

    /// Adds page `k` unless it exists; returns false if it does not exist and there is no memory.
    /// Any thread may call it at any time.
    #[cold]
    pub(super) fn add_page(&self, k: usize) -> bool {
        // Relaxed: a thread that uses the page loads the word again, with acquire.
        let exists = || self.pages[k].load(Ordering::Relaxed) != 0;
        if exists() {
            return true;
        }
        let Some(layout) = Self::layout(k) else { return false };
        let Some(memory) = from_host::<H>(layout, None) else {
            return exists(); // Another thread may have had more luck.
        };
        let page = memory.cast::<Slot<T, A, H, C>>();
        for index in 0..length(k) as usize {
            let slot = Slot {
                lock: Default::default(),
                generation: Word::new(FIRST_GENERATION),
                next: Word::new(0),
                value: DataCell::new(MaybeUninit::uninit()),
            };
            // SAFETY: the memory has room for the slot, and no other thread has it.
            unsafe { page.add(index).write(slot) };
        }
        let word = &self.pages[k];
        // Release: pairs with the acquire in `get`.
        let published =
            word.compare_exchange(0, to_word(page.as_ptr()), Ordering::Release, Ordering::Relaxed);
        if published.is_err() {
            // SAFETY: another thread was first; no other thread has this page.
            unsafe { Self::free_page(k, page) };
        }
        true
    }

    /// # Safety
    ///
    /// The page must have number `k`, must come from `add_page`, and must no longer be used.
    unsafe fn free_page(k: usize, page: NonNull<Slot<T, A, H, C>>) {
        for index in 0..length(k) as usize {
            // SAFETY: initialised in `add_page`. A slot does not drop its object.
            unsafe { page.add(index).drop_in_place() };
        }
        let layout = Self::layout(k).expect("it was allocated");
        // SAFETY: allocated with this layout.
        unsafe { to_host::<H>(page.cast(), layout) };
    }

    /// Returns the numbers of the pages that exist.
    fn existing(&self) -> impl Iterator<Item = usize> {
        // Relaxed: a snapshot.
        (0..PAGES).filter(|&k| self.pages[k].load(Ordering::Relaxed) != 0)
    }

    /// Number of slots.
    pub(super) fn capacity(&self) -> usize {
        self.existing().map(|k| length(k) as usize).sum()
    }

    /// Bytes of the pages.
    pub(super) fn bytes(&self) -> usize {
        self.existing().map(|k| Self::layout(k).map_or(0, |layout| layout.size())).sum()
    }

    /// Bytes of one slot.
    pub(super) const fn slot_bytes() -> usize {
        size_of::<Slot<T, A, H, C>>()
    }

    /// Drops each object that is in the table.
    pub(super) fn drop_objects(&mut self) {
        for k in 0..PAGES {
            let page = from_word::<Slot<T, A, H, C>>(self.pages[k].get());
            if page.is_null() {
                continue;
            }
            for index in 0..length(k) as usize {
                // SAFETY: the page has this number of slots, and no other thread has the table.
                let slot = unsafe { &mut *page.add(index) };
                let generation = slot.generation.get();
                if generation & 1 == 1 {
                    // Relaxed, as below: no other thread has the table.
                    slot.generation.store(generation + 1, Ordering::Relaxed);
                    // SAFETY: no other thread has the object, and the new generation says that it
                    // is gone.
                    unsafe { slot.drop_value() };
                }
            }
        }
    }

    /// Frees all pages.
    pub(super) fn free(&mut self) {
        for k in 0..PAGES {
            let address = self.pages[k].get();
            if let Some(page) = NonNull::new(from_word::<Slot<T, A, H, C>>(address)) {
                self.pages[k].store(0, Ordering::Relaxed);
                // SAFETY: no other thread has the table.
                unsafe { Self::free_page(k, page) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_one_place() {
        let (mut k, mut index) = (0, 0);
        for expected in 0..100_000 {
            assert_eq!((page_of(expected), expected - first(k)), (k, index));
            index += 1;
            if index == length(k) {
                assert_eq!(page_end(expected), expected + 1);
                (k, index) = (k + 1, 0);
            }
        }
        assert_eq!(page_of(MAX_HANDLES - 1), PAGES - 1);
        assert_eq!(page_end(MAX_HANDLES - 1), MAX_HANDLES);
        assert_eq!(page_of(MAX_HANDLES), PAGES, "beyond the last page");
    }
}
