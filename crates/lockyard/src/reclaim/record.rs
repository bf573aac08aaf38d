//! The records of a domain: one line for each slot, in segments. A segment is allocated when one of
//! its slots first enters, and does not move.
//!
//! ```text
//!   slot      0 .. 7    8 .. 23    24 .. 55    56 .. 119   ...
//!   segment   0         1          2           3           k holds 8 * 2^k records
//! ```

use super::header::Header;
use crate::memory::{self, AllocationFailed};
use crate::platform::{ConstAtomics, Host, Ordering, Slot, U32, U64, Word};
use core::alloc::Layout;
use core::ptr::{NonNull, with_exposed_provenance};

/// Number of records in the first segment, as a power of two.
const FIRST_BITS: u32 = 3;
/// Number of segments, with room for 32,760 slots. A higher slot has no record.
const SEGMENTS: usize = 12;

/// Number of bits in a record's state that count guards.
const NEST_BITS: u32 = 12;
const NEST_MASK: u64 = (1 << NEST_BITS) - 1;

/// The state of a record.
///
/// ```text
///    63                              12 11         0
///   +----------------------------------+------------+
///   | epoch in which the outermost     | guards     |   no guards: the slot reads nothing
///   | guard entered                    |            |
///   +----------------------------------+------------+
/// ```
///
/// Only the slot's thread writes the state. Interruptions of that thread also write it, but restore
/// its value. An epoch has 52 bits, which last for 14 years at ten million epochs a second.
#[derive(Clone, Copy)]
pub(super) struct State(pub(super) u64);

impl State {
    /// Returns the state with one guard, in `epoch`.
    #[inline(always)]
    pub(super) fn entered(epoch: u64) -> State {
        State(epoch << NEST_BITS | 1)
    }

    /// Number of guards.
    #[inline(always)]
    pub(super) fn guards(self) -> u64 {
        self.0 & NEST_MASK
    }

    /// Returns the state with one more guard, or `None` if the counter of guards is full.
    #[inline(always)]
    pub(super) fn nested(self) -> Option<State> {
        (self.guards() < NEST_MASK).then_some(State(self.0 + 1))
    }

    /// Returns the state with one guard fewer. There must be a guard. (The exception is a failed
    /// model check: guards are dropped while it unwinds, and every word then reads as 0.)
    #[inline(always)]
    pub(super) fn left(self) -> State {
        debug_assert!(self.guards() > 0 || self.0 == 0, "a guard that was not counted is dropped");
        State(self.0.wrapping_sub(1))
    }

    /// Returns the epoch of the outermost guard, or of the last guard if there is no guard now.
    #[inline(always)]
    pub(super) fn epoch(self) -> u64 {
        self.0 >> NEST_BITS
    }

    /// Returns true if the slot does not prevent the end of `epoch`.
    #[inline(always)]
    pub(super) fn allows_end_of(self, epoch: u64) -> bool {
        self.guards() == 0 || self.epoch() >= epoch
    }
}

/// Retired objects that wait: a stack. Any thread pushes onto it, and its collector takes it as a
/// whole.
pub(super) struct List<H: Host> {
    /// The address of the newest object's header, or 0.
    pub(super) head: U64<H>,
    /// Number of objects that were ever pushed.
    pub(super) retired: U64<H>,
    /// Number of objects that were freed. Only the collector writes it.
    pub(super) freed: U64<H>,
    /// Number of pushed objects at the last scan of the list.
    pub(super) looked: U64<H>,
    /// The epoch of the last collection of the list.
    pub(super) tended: U64<H>,
    /// The collector: its slot plus one, [`List::NO_SLOT`], or 0 if there is none; possibly with
    /// [`List::WAITED`].
    pub(super) collector: U32<H>,
}

#[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
impl<H: Host<Atomics: ConstAtomics>> List<H> {
    pub(super) const EMPTY: Self = List {
        head: <H::Atomics as ConstAtomics>::U64_ZERO,
        retired: <H::Atomics as ConstAtomics>::U64_ZERO,
        freed: <H::Atomics as ConstAtomics>::U64_ZERO,
        looked: <H::Atomics as ConstAtomics>::U64_ZERO,
        tended: <H::Atomics as ConstAtomics>::U64_ZERO,
        collector: <H::Atomics as ConstAtomics>::U32_ZERO,
    };
}

impl<H: Host> List<H> {
    /// Bit of `collector`: a thread is parked until the collector ends.
    pub(super) const WAITED: u32 = 1 << 31;
    /// Value of `collector`: a collector without a slot.
    pub(super) const NO_SLOT: u32 = Self::WAITED - 1;

    pub(super) fn new() -> Self {
        List {
            head: Word::new(0),
            retired: Word::new(0),
            freed: Word::new(0),
            looked: Word::new(0),
            tended: Word::new(0),
            collector: Word::new(0),
        }
    }

    /// Number of waiting objects. A snapshot (relaxed), exact while no thread retires or frees.
    pub(super) fn pending(&self) -> u64 {
        // In this order, the difference of the two loads is negative only if the loads are
        // reordered.
        let freed = self.freed.load(Ordering::Relaxed);
        self.retired.load(Ordering::Relaxed).saturating_sub(freed)
    }

    /// Returns the header at `address`, which a push or a collector stored there.
    pub(super) fn header(address: u64) -> Option<NonNull<Header<H>>> {
        NonNull::new(with_exposed_provenance::<Header<H>>(address as usize).cast_mut())
    }
}

/// The words that a slot writes: its guards, and its retired objects.
#[repr(C, align(64))]
pub(super) struct Record<H: Host> {
    /// A [`State`].
    pub(super) state: U64<H>,
    pub(super) retired: List<H>,
}

/// The segments of a domain.
pub(super) struct Records<H: Host>([U64<H>; SEGMENTS]);

#[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
impl<H: Host<Atomics: ConstAtomics>> Records<H> {
    pub(super) const NONE: Self = Records([<H::Atomics as ConstAtomics>::U64_ZERO; SEGMENTS]);
}

/// Returns the first slot and the number of records of segment `k`. The number is 0 if the host has
/// no such slots.
const fn extent(k: usize, slots: u32) -> (u32, u32) {
    let first = ((1u32 << k) - 1) << FIRST_BITS;
    let full = 1u32 << (FIRST_BITS as usize + k);
    let left = slots.saturating_sub(first);
    (first, if left < full { left } else { full })
}

/// Returns the segment of `slot`.
#[inline(always)]
const fn segment_of(slot: u32) -> usize {
    ((slot >> FIRST_BITS) + 1).ilog2() as usize
}

impl<H: Host> Records<H> {
    pub(super) fn new() -> Self {
        Records(core::array::from_fn(|_| Word::new(0)))
    }

    fn layout(k: usize) -> Layout {
        let (_, records) = extent(k, H::SLOTS);
        Layout::array::<Record<H>>(records as usize).expect("a segment is below 2^31 bytes")
    }

    fn at(address: u64) -> *const Record<H> {
        with_exposed_provenance(address as usize)
    }

    /// Returns the record of `slot`, if it exists.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&Record<H>> {
        let k = segment_of(slot.0);
        // Acquire: pairs with the release in `allocate`, so that the records are initialised.
        let segment = Self::at(self.0.get(k)?.load(Ordering::Acquire));
        if segment.is_null() {
            return None;
        }
        let (first, records) = extent(k, H::SLOTS);
        let index = slot.0 - first;
        debug_assert!(index < records, "a slot is below the host's number of slots");
        // SAFETY: the segment has `records` initialised records, and `index` is lower (slots are
        // below `SLOTS`). The segment is not freed before the domain is dropped.
        Some(unsafe { &*segment.add(index as usize) })
    }

    /// Returns the record of `slot`, and allocates it if it is missing. Returns `None` without
    /// memory, or beyond the last segment.
    #[cold]
    pub(super) fn get_or_allocate(&self, slot: Slot) -> Option<&Record<H>> {
        self.allocate(segment_of(slot.0)).ok()?;
        self.get(slot)
    }

    pub(super) fn reserve(&self, slots: u32) -> Result<(), AllocationFailed> {
        let needed = (0..SEGMENTS).take_while(|&k| extent(k, slots).1 > 0);
        needed.into_iter().try_for_each(|k| self.allocate(k))
    }

    /// Allocates segment `k` if it is missing.
    fn allocate(&self, k: usize) -> Result<(), AllocationFailed> {
        let word = self.0.get(k).ok_or(AllocationFailed)?;
        // Relaxed: a thread that uses the segment loads the word again, with acquire.
        if word.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let memory = memory::from_host::<H>(Self::layout(k), None)
            .ok_or(AllocationFailed)?
            .cast::<Record<H>>();
        let (_, records) = extent(k, H::SLOTS);
        for index in 0..records as usize {
            let record = Record { state: Word::new(0), retired: List::new() };
            // SAFETY: the memory has room for `records` records, and no other thread uses it yet.
            unsafe { memory.add(index).write(record) };
        }
        let address = memory.as_ptr().expose_provenance() as u64;
        // Release: pairs with the acquire in `get` and `iter`.
        if word.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed).is_err() {
            // Another thread has published the segment first. SAFETY: the memory was not published,
            // and its records are initialised.
            unsafe { Self::destroy(k, memory) };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `segment` must be segment `k`, initialised, and no longer used.
    unsafe fn destroy(k: usize, segment: NonNull<Record<H>>) {
        let (_, records) = extent(k, H::SLOTS);
        for index in 0..records as usize {
            // SAFETY: the record is initialised, and only the caller uses it.
            unsafe { segment.add(index).drop_in_place() };
        }
        // SAFETY: allocated with this layout.
        unsafe { memory::to_host::<H>(segment.cast(), Self::layout(k)) };
    }

    /// Iterates over the existing records, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &Record<H>)> {
        self.0.iter().enumerate().flat_map(|(k, word)| {
            // Acquire: pairs with the release in `allocate`, so that the records are initialised.
            let segment = Self::at(word.load(Ordering::Acquire));
            let (first, records) = extent(k, H::SLOTS);
            let records = if segment.is_null() { 0 } else { records };
            (0..records).map(move |index| {
                // SAFETY: as in `get`.
                (Slot(first + index), unsafe { &*segment.add(index as usize) })
            })
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let there = |&k: &usize| self.0[k].load(Ordering::Relaxed) != 0;
        (0..SEGMENTS).filter(there).map(|k| Self::layout(k).size()).sum()
    }

    /// Calls `each` with each record.
    pub(super) fn each_mut(&mut self, mut each: impl FnMut(&mut Record<H>)) {
        for (k, word) in self.0.iter_mut().enumerate() {
            let segment = Self::at(word.get()).cast_mut();
            let (_, records) = extent(k, H::SLOTS);
            for index in 0..if segment.is_null() { 0 } else { records as usize } {
                // SAFETY: the segment has this many initialised records. The domain is borrowed
                // exclusively.
                each(unsafe { &mut *segment.add(index) });
            }
        }
    }

    /// Frees all segments.
    pub(super) fn free(&mut self) {
        for (k, word) in self.0.iter_mut().enumerate() {
            let segment = Self::at(word.get()).cast_mut();
            *word = Word::new(0);
            if let Some(segment) = NonNull::new(segment) {
                // SAFETY: `allocate` initialised and published the segment, and the domain is being
                // dropped.
                unsafe { Self::destroy(k, segment) };
            }
        }
    }
}
