//! The memory half of a platform: atomic words, parts of words, fences, and cells for shared data
//! that is not atomic.
//!
//! A primitive uses only these traits, and never names a concrete atomic or an `UnsafeCell`. So the
//! same source runs natively, on a simulated machine (where every operation is an event with a
//! cost) and under a model checker (where every operation is a branch). Every operation takes an
//! explicit ordering and is `#[track_caller]`, so a checker can name, and weaken, one ordering at
//! one place.

use super::words::PlainWords;
use bytemuck::NoUninit;
use core::fmt::Debug;
use core::hash::Hash;
pub use core::sync::atomic::Ordering;

/// An unsigned integer that a word or a part of a word can hold: `u8`, `u16`, `u32`, `u64`.
pub trait Int:
    Copy + Eq + Ord + Hash + Debug + Default + Send + Sync + 'static + sealed::Sealed
{
    /// The integer of half the width. `u8` is its own half, because it is not divided further.
    type Half: Int;
    /// Width in bits.
    const BITS: u32;
    /// Zero-extends to 64 bits.
    fn to_u64(self) -> u64;
    /// Keeps the low `BITS` bits of `bits`.
    fn truncate(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

macro_rules! int {
    ($int:ty, $half:ty) => {
        impl Int for $int {
            type Half = $half;
            const BITS: u32 = <$int>::BITS;
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn truncate(bits: u64) -> Self {
                bits as $int
            }
        }
    };
}
int!(u8, u8);
int!(u16, u8);
int!(u32, u16);
int!(u64, u32);

/// A limit on the polls of a waiting loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// No limit: the loop ends only when the predicate is true.
    Unbounded,
    /// At most this many polls of the word, with one [`Host::relax`](super::Host::relax) between
    /// two polls.
    Polls(u32),
}

/// The error of a bounded wait that ended before its predicate became true. It holds the last
/// polled value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetSpent<T>(pub T);

/// The atomic words, cells and fences of a platform.
///
/// # Safety
///
/// Primitives that are built on this memory are sound only if:
///
/// - the words are atomic in the sense of [`core::sync::atomic`], with the orderings that the
///   caller passes;
/// - the parts behave as [`Part`] requires, and the data in words as [`PlainWords`] does;
/// - `fence` is a fence.
pub unsafe trait Atomics: Sized + 'static {
    /// A 16-bit word.
    type U16: Word<Int = u16> + Part<u8>;
    /// A 32-bit word.
    type U32: Word<Int = u32> + Part<u8> + Part<u16>;
    /// A 64-bit word. Pointers are stored in words of this width.
    type U64: Word<Int = u64> + Part<u8> + Part<u16> + Part<u32>;
    /// Shared data that is not atomic: the protected word, chain links, records, buffers.
    type Cell<T: Send>: DataCell<T>;
    /// Shared plain data that is copied word by word, while other threads may write it.
    type Words<T: NoUninit + Send>: PlainWords<T>;

    /// An atomic fence, like [`core::sync::atomic::fence`].
    #[track_caller]
    fn fence(order: Ordering);

    /// Makes the caller's last read of `word` an acquire. The function is a fence, or a second read
    /// on platforms without fences (`--cfg lockyard_portable`). The caller must ensure that the
    /// word still exists, and that only read-modify-writes change it.
    #[inline(always)]
    #[track_caller]
    fn acquire_after<W: Word>(word: &W) {
        let _ = word;
        Self::fence(Ordering::Acquire);
    }
}

/// Ordering of a releasing change that [`acquire_late`] may later turn into an acquire without
/// touching the word again. With fences, `acquire_late` is a fence. Without fences, the acquire is
/// part of this ordering.
pub(crate) const RELEASE_ACQUIRE_LATE: Ordering =
    if cfg!(lockyard_portable) { Ordering::AcqRel } else { Ordering::Release };

/// Ordering of a relaxed change that [`acquire_late`] may later turn into an acquire.
pub(crate) const RELAXED_ACQUIRE_LATE: Ordering =
    if cfg!(lockyard_portable) { Ordering::Acquire } else { Ordering::Relaxed };

/// Makes an earlier change with [`RELEASE_ACQUIRE_LATE`] or [`RELAXED_ACQUIRE_LATE`] an acquire.
#[inline(always)]
#[track_caller]
pub(crate) fn acquire_late<A: Atomics>() {
    if !cfg!(lockyard_portable) {
        A::fence(Ordering::Acquire);
    }
}

/// Constant initial values, for platforms that have them. (The model checker's objects are made at
/// run time.) With them a raw lock can implement `lock_api`'s `RawMutex`, whose `INIT` is a
/// constant.
// Only a constant with interior mutability can give a `static` its initial value through a trait.
// Each use makes a fresh copy, as intended.
#[allow(clippy::declare_interior_mutable_const)]
pub trait ConstAtomics: Atomics {
    /// A 16-bit word that holds 0.
    const U16_ZERO: Self::U16;
    /// A 32-bit word that holds 0.
    const U32_ZERO: Self::U32;
    /// A 64-bit word that holds 0.
    const U64_ZERO: Self::U64;
}

/// One atomic word.
///
/// The operations are those of [`core::sync::atomic`]. Orderings mean the same, and an ordering
/// that the operation does not allow causes the same panic.
pub trait Word: Sized + Send + Sync + 'static {
    /// The integer that the word holds.
    type Int: Int;

    /// Makes a word that holds `value`. The function is not `const`, because a model checker's
    /// words cannot be constants; see [`ConstAtomics`].
    fn new(value: Self::Int) -> Self;
    /// Returns the value through exclusive access, without an atomic operation or an event.
    fn get(&mut self) -> Self::Int;
    /// Atomic load.
    #[track_caller]
    fn load(&self, order: Ordering) -> Self::Int;
    /// Atomic store of the whole word.
    #[track_caller]
    fn store(&self, value: Self::Int, order: Ordering);
    /// Atomic exchange; returns the previous value.
    #[track_caller]
    fn swap(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic compare-exchange. Returns `Ok(current)` if it stored `new`, otherwise `Err(actual)`.
    #[track_caller]
    fn compare_exchange(
        &self,
        current: Self::Int,
        new: Self::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Int, Self::Int>;
    /// The same as [`compare_exchange`](Self::compare_exchange), but may fail spuriously.
    #[track_caller]
    fn compare_exchange_weak(
        &self,
        current: Self::Int,
        new: Self::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Int, Self::Int>;
    /// Atomic wrapping addition; returns the previous value.
    #[track_caller]
    fn fetch_add(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic wrapping subtraction; returns the previous value.
    #[track_caller]
    fn fetch_sub(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic bitwise or; returns the previous value.
    #[track_caller]
    fn fetch_or(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic bitwise and; returns the previous value.
    #[track_caller]
    fn fetch_and(&self, value: Self::Int, order: Ordering) -> Self::Int;

    /// Polls the word until `predicate` is true of its value, or the budget is spent. Calls `relax`
    /// once between two polls. Each poll is a `load(order)`.
    ///
    /// Every waiting loop of a primitive is this call, through
    /// [`Host::wait_until`](super::Host::wait_until) and
    /// [`Host::wait_within`](super::Host::wait_within). So a platform can replace polling with
    /// something better. A simulated waiter sleeps until its core loses the line, and a checker
    /// explores a waiter only where a poll succeeds.
    ///
    /// The predicate must be pure. To wait on several words, loop over small budgets.
    #[track_caller]
    fn wait_until(
        &self,
        order: Ordering,
        budget: Budget,
        relax: fn(),
        predicate: impl FnMut(Self::Int) -> bool,
    ) -> Result<Self::Int, BudgetSpent<Self::Int>>;
}

/// Operations on a part of a word: byte or half-word number `index`, counted from the least
/// significant one.
///
/// The parts of a word are not separate atomics: Rust forbids unsynchronised atomics of different
/// sizes on the same bytes. Each operation here *stands for one masked read-modify-write of the
/// whole word*. A platform may refine it (natively on x86-64, by a plain store of the part in
/// assembly). But a caller may rely only on the guarantees of the masked read-modify-write.
#[diagnostic::on_unimplemented(
    message = "the atomic word `{Self}` has no part of width `{P}`",
    label = "a part must be narrower than its word: `u8` of a 16-bit word; \
             `u8` and `u16` of a 32-bit word; `u8`, `u16` and `u32` of a 64-bit word",
    note = "use a whole-word operation (`Word::store`, `Word::swap`), or a part that the word has"
)]
pub trait Part<P: Int>: Word {
    /// Replaces part `index`, which holds `old`, with `new`. `order` is `Relaxed` or `Release`.
    ///
    /// During the call, the caller must be the only thread that changes this part. (Others may
    /// write the value that the part already holds.) Other threads may change the rest of the word.
    /// The portable form needs `old`, so that it can be one addition instead of a loop. The native
    /// form does not read it.
    ///
    /// # Panics
    ///
    /// Panics if the word has no part `index` (the check folds away where `index` is a constant).
    /// In debug builds also if the platform finds that the part does not hold `old`.
    #[track_caller]
    fn store_part(&self, index: usize, old: P, new: P, order: Ordering);

    /// Exchanges part `index` for `new` and returns its previous value. Other threads may write the
    /// part at the same time.
    ///
    /// # Panics
    ///
    /// If the word has no part `index`.
    #[track_caller]
    fn swap_part(&self, index: usize, new: P, order: Ordering) -> P;

    /// Loads part `index`. `order` is `Relaxed` or `Acquire`. The operation stands for a load of
    /// the whole word that drops the other parts.
    ///
    /// There is one exception. After the same thread has stored *another* part, the value may be
    /// older than that store, until a read-modify-write of the word lies between the two.
    ///
    /// A platform may read less than the word (natively on x86-64, the part alone). Then the load
    /// need not wait for a store of another part to leave the core, as a load of the word must.
    ///
    /// # Panics
    ///
    /// If the word has no part `index`.
    #[inline(always)]
    #[track_caller]
    fn load_part(&self, index: usize, order: Ordering) -> P {
        part_of(self.load(order), index)
    }

    /// Waits until part `index` equals `value`, with acquire ordering. Uses an assembly loop if the
    /// platform has one, and otherwise [`wait_until`](Word::wait_until).
    ///
    /// This function lets us measure the claim "the loop in plain code is never slower".
    #[track_caller]
    fn wait_part_assembly(&self, index: usize, value: P, relax: fn()) {
        let done = self.wait_until(Ordering::Acquire, Budget::Unbounded, relax, |word| {
            part_of::<Self::Int, P>(word, index) == value
        });
        debug_assert!(done.is_ok());
    }
}

/// Returns the position of part `index` of width `P` in a word of width `W`, as a shift.
///
/// # Panics
///
/// If there is no such part.
#[inline(always)]
#[track_caller]
pub fn part_shift<W: Int, P: Int>(index: usize) -> u32 {
    assert!(index < (W::BITS / P::BITS) as usize, "the word has no such part");
    index as u32 * P::BITS
}

/// Extracts part `index` of the value `word`.
#[inline(always)]
#[track_caller]
pub fn part_of<W: Int, P: Int>(word: W, index: usize) -> P {
    P::truncate(word.to_u64() >> part_shift::<W, P>(index))
}

/// Returns the value `word` with its part `index` replaced by `part`.
#[inline(always)]
#[track_caller]
pub fn with_part<W: Int, P: Int>(word: W, index: usize, part: P) -> W {
    let shift = part_shift::<W, P>(index);
    let mask = P::truncate(u64::MAX).to_u64() << shift;
    W::truncate((word.to_u64() & !mask) | (part.to_u64() << shift))
}

/// Stores a part in the portable form of [`Part::store_part`]: one addition or subtraction of the
/// difference, which cannot carry into the next part.
#[inline(always)]
#[track_caller]
pub fn store_part_by_rmw<W: Word, P: Int>(word: &W, index: usize, old: P, new: P, order: Ordering) {
    let shift = part_shift::<W::Int, P>(index);
    let (old, new) = (old.to_u64(), new.to_u64());
    let before = if new >= old {
        word.fetch_add(W::Int::truncate((new - old) << shift), order)
    } else {
        word.fetch_sub(W::Int::truncate((old - new) << shift), order)
    };
    debug_assert!(
        part_of::<W::Int, P>(before, index).to_u64() == old,
        "a part was stored by a thread that is not its only writer"
    );
}

/// Exchanges a part in the portable form of [`Part::swap_part`]: a compare-exchange loop.
#[inline(always)]
#[track_caller]
pub fn swap_part_by_rmw<W: Word, P: Int>(word: &W, index: usize, new: P, order: Ordering) -> P {
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        let wanted = with_part(seen, index, new);
        match word.compare_exchange_weak(seen, wanted, order, Ordering::Relaxed) {
            Ok(before) => return part_of(before, index),
            Err(actual) => seen = actual,
        }
    }
}

/// Shared data that is not atomic.
///
/// A native cell is an `UnsafeCell`. On a simulated machine an access is a load, or a store, of
/// each line that the data covers, so layout (embedded, standalone, padded) has a price. A checker
/// reports data races on the cell.
///
/// The type is `Sync` for any `T: Send`, which is sound because it returns only raw pointers. Code
/// that dereferences them must show that no other thread writes (for `with`) or accesses (for
/// `with_mut`) the data at the same time. The primitive around the cell ensures that.
pub trait DataCell<T>: Send + Sync {
    /// Makes a cell that holds `value`.
    fn new(value: T) -> Self;
    /// Calls `f` with a pointer through which it may read.
    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R;
    /// Calls `f` with a pointer through which it may read and write.
    #[track_caller]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R;
    /// Returns the data.
    fn into_inner(self) -> T;
}
