//! Words for each thread, which only this thread writes.
//!
//! ```text
//!   group      0         1          2           ...
//!   slots      0 .. 7    8 .. 23    24 .. 55    allocated when one of its slots first updates
//!
//!   record     [c0 c1 c2 ...            ]       each counter a word, in lines of the record's own
//! ```
//!
//! An update is a load and a plain store of each counter: no locked instruction, and no line that
//! another thread writes. Restartable sequences would give the same for each CPU. They need an
//! assembler section for each access, and work only on Linux, on two processor families, with a
//! recent C library. A thread's slot is equally cheap, and every host has slots. The price is
//! memory for each thread that updates, not for each CPU.
//!
//! A thread without a slot, or for whose group there is no memory, adds to a record that all such
//! threads share, by read-modify-writes.
//!
//! Only a record's own thread can clear the record without losing a count. So `take` remembers the
//! sums that it has returned, and later readings subtract these sums. Until the first `take`,
//! readers need no lock.

use super::record::{Counters, Kind, LockedRecord};
use super::records::Records;
use crate::memory::{AllocationFailed, from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::{DataCell, Host, Ordering, U32, U64, Word};

/// Binary logarithm of the number of records in the first group.
const FIRST_BITS: u32 = 3;
/// Number of groups, with room for 32,760 slots.
const GROUPS: usize = 12;
/// Alignment of a record.
const LINE: usize = 64;

/// Words for each [slot](Host::slot) that updates, which only its thread writes. An update takes no
/// lock. It is for records of [`Counters`].
///
/// Each counter of a reading is exact, but the counters need not be consistent with each other: a
/// reader may see a packet without its bytes. `take` does not clear counters of the kinds
/// [`Max`](Kind::Max) and [`Union`](Kind::Union).
///
/// An interruption of an update that updates the same statistics may lose counts, unless the
/// [`Context`] keeps it out. After a `take` the next reading may then wrap below zero. On a host
/// whose slots are CPUs, the context must switch preemption off.
#[derive(Debug)]
pub struct PerThread;

/// The records of [`PerThread`].
pub struct ThreadRecords<R: Counters, K: LaneLock<H>, H: Host, C: Context> {
    /// The addresses of the groups, or 0.
    groups: [U64<H>; GROUPS],
    /// The address of the record that all threads without their own record share.
    shared: NonNull<U64<H>>,
    /// 1 after the first `take` has begun.
    takes: U32<H>,
    /// Sums that `take` has returned.
    taken: LockedRecord<R, K, H, C>,
    /// Marks the words as owned.
    _words: PhantomData<U64<H>>,
}

// SAFETY: the words are owned, and each is `Send` and `Sync`, as is `taken`.
unsafe impl<R: Counters, K: LaneLock<H>, H: Host, C: Context> Send for ThreadRecords<R, K, H, C> {}
// SAFETY: as above.
unsafe impl<R: Counters, K: LaneLock<H>, H: Host, C: Context> Sync for ThreadRecords<R, K, H, C> {}

/// A context that is left when this value is dropped, even if a record's own code panics.
struct Inside<C: Context>(Option<C::State>);

impl<C: Context> Drop for Inside<C> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(state) = self.0.take() {
            C::leave(state);
        }
    }
}

/// Returns the first slot and the number of records of group `k`.
const fn extent(k: usize) -> (u32, u32) {
    (((1 << k) - 1) << FIRST_BITS, 1 << (FIRST_BITS as usize + k))
}

/// Counters of one record.
struct Words<'s, H: Host>(&'s [U64<H>]);

impl<H: Host> Words<'_, H> {
    /// Adds to the caller's own words.
    #[inline(always)]
    fn add_alone<R: Counters>(&self, counts: &R) {
        for (index, word) in self.0.iter().enumerate() {
            // Relaxed: only this thread writes the word, and earlier threads with the same slot
            // did. The host has ordered these threads before this one.
            let sum = R::KINDS[index].merge(word.load(Ordering::Relaxed), counts.counter(index));
            // Release: pairs with the acquire in `read`. A reader that sees this update also sees a
            // `take` that this thread knows of.
            word.store(sum, Ordering::Release);
        }
    }

    /// Adds to words that other threads write.
    fn add_shared<R: Counters>(&self, counts: &R) {
        for (index, word) in self.0.iter().enumerate() {
            let (kind, more) = (R::KINDS[index], counts.counter(index));
            let mut old = word.load(Ordering::Relaxed);
            // Release: as in `add_alone`. Relaxed on failure: only the number matters.
            while let Err(actual) = word.compare_exchange_weak(
                old,
                kind.merge(old, more),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                old = actual;
            }
        }
    }

    fn read<R: Counters>(&self) -> R {
        // Acquire: pairs with the releases in `add_alone` and `add_shared`.
        R::from_counters(|index| self.0[index].load(Ordering::Acquire))
    }
}

impl<R: Counters, K: LaneLock<H>, H: Host, C: Context> ThreadRecords<R, K, H, C> {
    /// Number of words from one record to the next.
    const STRIDE: usize = {
        let line = LINE / size_of::<u64>();
        R::KINDS.len().div_ceil(line) * line
    };

    fn layout(records: u32) -> Option<Layout> {
        let words = Layout::array::<U64<H>>(records as usize * Self::STRIDE).ok()?;
        words.align_to(LINE).ok()
    }

    fn allocate(records: u32) -> Option<NonNull<U64<H>>> {
        let words = from_host::<H>(Self::layout(records)?, None)?.cast::<U64<H>>();
        for index in 0..records as usize * Self::STRIDE {
            // SAFETY: the memory has room for this number of words, and no other thread has it.
            unsafe { words.add(index).write(Word::new(0)) };
        }
        Some(words)
    }

    /// # Safety
    ///
    /// The words must come from `allocate` with the same number, and must no longer be used.
    unsafe fn free(words: NonNull<U64<H>>, records: u32) {
        for index in 0..records as usize * Self::STRIDE {
            // SAFETY: initialised in `allocate`.
            unsafe { words.add(index).drop_in_place() };
        }
        let layout = Self::layout(records).expect("it was allocated");
        // SAFETY: allocated with this layout.
        unsafe { to_host::<H>(words.cast(), layout) };
    }

    /// Returns the record that begins at `words`.
    ///
    /// # Safety
    ///
    /// The words must be the words of one of this object's records.
    #[inline(always)]
    unsafe fn words(&self, words: *const U64<H>) -> Words<'_, H> {
        // SAFETY: a record has a word for each counter, and lives as long as `self`.
        Words(unsafe { core::slice::from_raw_parts(words, R::KINDS.len()) })
    }

    fn shared(&self) -> Words<'_, H> {
        // SAFETY: `new` allocated one record there.
        unsafe { self.words(self.shared.as_ptr()) }
    }

    /// Returns record `index` of group `k`, if the group exists.
    #[inline(always)]
    fn record(&self, k: usize, index: u32) -> Option<Words<'_, H>> {
        // Acquire: pairs with the release in `add_group`; the words are initialised.
        let group = from_word::<U64<H>>(self.groups.get(k)?.load(Ordering::Acquire));
        if group.is_null() {
            return None;
        }
        // SAFETY: the index is below the group's number of records.
        Some(unsafe { self.words(group.add(index as usize * Self::STRIDE)) })
    }

    /// Allocates group `k` if it is missing.
    #[cold]
    fn add_group(&self, k: usize) -> Option<()> {
        let (_, records) = extent(k);
        let word = self.groups.get(k)?;
        let new = Self::allocate(records)?;
        // Release: pairs with the acquire in `record`.
        let published =
            word.compare_exchange(0, to_word(new.as_ptr()), Ordering::Release, Ordering::Relaxed);
        if published.is_err() {
            // SAFETY: another thread was first; no other thread has these words.
            unsafe { Self::free(new, records) };
        }
        Some(())
    }

    /// Calls `see` with every record.
    fn visit(&self, mut see: impl FnMut(Words<'_, H>)) {
        see(self.shared());
        for k in 0..GROUPS {
            for index in 0..extent(k).1 {
                match self.record(k, index) {
                    Some(words) => see(words),
                    None => break,
                }
            }
        }
    }

    /// Returns the sum of all words since the beginning.
    fn total(&self) -> R {
        let mut sum = R::default();
        self.visit(|words| sum.merge(&words.read()));
        sum
    }
}

/// Returns `total` minus the sums that were taken.
fn less<R: Counters>(total: &R, taken: &R) -> R {
    R::from_counters(|index| match R::KINDS[index] {
        Kind::Sum => total.counter(index).wrapping_sub(taken.counter(index)),
        _ => total.counter(index),
    })
}

impl<R: Counters, K: LaneLock<H>, H: Host, C: Context> Records<R> for ThreadRecords<R, K, H, C> {
    fn new() -> Result<Self, AllocationFailed> {
        Ok(ThreadRecords {
            groups: core::array::from_fn(|_| Word::new(0)),
            shared: Self::allocate(1).ok_or(AllocationFailed)?,
            takes: Word::new(0),
            taken: LockedRecord::new(R::default()),
            _words: PhantomData,
        })
    }

    #[inline(always)]
    fn add_here(&self, counts: &R) {
        let _inside = Inside::<C>(Some(C::enter()));
        let own = H::slot().and_then(|slot| {
            let k = ((slot.0 >> FIRST_BITS) + 1).ilog2() as usize;
            let index = slot.0 - extent(k.min(GROUPS)).0;
            self.record(k, index).or_else(|| {
                self.add_group(k)?;
                self.record(k, index)
            })
        });
        match own {
            Some(words) => words.add_alone(counts),
            None => self.shared().add_shared(counts),
        }
    }

    fn add(&self, _place: usize, counts: &R) {
        self.shared().add_shared(counts);
    }

    fn read(&self) -> R {
        // Relaxed, here and below: a reader that knows of a `take`, directly or through an update
        // that it sees, also sees this word.
        if self.takes.load(Ordering::Relaxed) == 0 {
            let total = self.total();
            if self.takes.load(Ordering::Relaxed) == 0 {
                return total;
            }
        }
        // SAFETY: the lock is held.
        self.taken.locked(|cell| less(&self.total(), &cell.with(|taken| unsafe { *taken })))
    }

    fn take(&self) -> R {
        self.taken.locked(|cell| {
            self.takes.store(1, Ordering::Relaxed);
            let total = self.total();
            // SAFETY: the lock is held.
            let taken = cell.with_mut(|taken| unsafe { core::mem::replace(&mut *taken, total) });
            less(&total, &taken)
        })
    }

    fn number(&self) -> usize {
        let mut records = 0;
        self.visit(|_| records += 1);
        records
    }

    fn allocated(&self) -> usize {
        self.number() * Self::STRIDE * size_of::<U64<H>>()
    }
}

impl<R: Counters, K: LaneLock<H>, H: Host, C: Context> Drop for ThreadRecords<R, K, H, C> {
    fn drop(&mut self) {
        for (k, word) in self.groups.iter_mut().enumerate() {
            if let Some(words) = NonNull::new(from_word::<U64<H>>(word.get())) {
                // SAFETY: `add_group` allocated them, and no thread has the object any more.
                unsafe { Self::free(words, extent(k).1) };
            }
        }
        // SAFETY: as above, but allocated by `new`.
        unsafe { Self::free(self.shared, 1) };
    }
}
