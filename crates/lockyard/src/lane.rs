//! Lanes: the bits of a word that a lock lives in.
//!
//! Each lock of this crate is an algorithm that runs on a *lane*. A lane is a whole word
//! ([`Whole`]), or the upper half of a 64-bit word whose lower half belongs to another object
//! ([`High`]). In a [`LockRef`](crate::LockRef) that object is the count. So the same source serves
//! for a lock in a separate word and for the lock inside a lockref.
//!
//! A lane has an upper and a lower half (for a ticket lock: `next` and `owner`). A carry out of the
//! upper half is dropped at the top of the word, and changes nothing else.

use crate::platform::{Atomics, ConstAtomics, Host, Int, Ordering, Part, Word, part_of};

/// The bits of a word that a lock lives in. See the [module](self).
pub trait Lane: Copy {
    /// The lane's bits as an integer.
    type Bits: Int;
    /// The word that the lane is in.
    type Word: Word + Part<u8> + Part<<Self::Bits as Int>::Half>;
    /// Position of the lane's lowest bit in the word.
    const SHIFT: u32;

    /// The word that the lane is in.
    fn word(&self) -> &Self::Word;

    /// Atomic compare-exchange of the lane. It fails only if the lane differs from `old`. If only
    /// the rest of the word has changed, it retries. A failure is relaxed.
    #[track_caller]
    fn compare_exchange(
        &self,
        old: Self::Bits,
        new: Self::Bits,
        success: Ordering,
    ) -> Result<Self::Bits, Self::Bits>;

    /// The same as [`compare_exchange`](Self::compare_exchange), but may also fail with `Err(old)`,
    /// if the rest of the word changes too often. It ends after a fixed number of exchanges,
    /// however often other threads change the word.
    #[track_caller]
    fn compare_exchange_bounded(
        &self,
        old: Self::Bits,
        new: Self::Bits,
        success: Ordering,
    ) -> Result<Self::Bits, Self::Bits>;

    /// Extracts the lane's bits from a value of the word.
    #[inline(always)]
    fn bits(word: <Self::Word as Word>::Int) -> Self::Bits {
        Self::Bits::truncate(word.to_u64() >> Self::SHIFT)
    }

    /// Atomic load of the lane.
    #[inline(always)]
    #[track_caller]
    fn load(&self, order: Ordering) -> Self::Bits {
        Self::bits(self.word().load(order))
    }

    /// Atomic addition of one to the upper half. Returns the previous lane.
    #[inline(always)]
    #[track_caller]
    fn fetch_increment_upper(&self, order: Ordering) -> Self::Bits {
        let one = 1u64 << (Self::SHIFT + <Self::Bits as Int>::Half::BITS);
        Self::bits(self.word().fetch_add(<Self::Word as Word>::Int::truncate(one), order))
    }

    /// Atomic wrapping addition of `bits` to the lane. Returns the previous lane. A carry out of
    /// the lane is dropped at the top of the word.
    #[inline(always)]
    #[track_caller]
    fn fetch_add(&self, bits: Self::Bits, order: Ordering) -> Self::Bits {
        let bits = <Self::Word as Word>::Int::truncate(bits.to_u64() << Self::SHIFT);
        Self::bits(self.word().fetch_add(bits, order))
    }

    /// Atomic bitwise or of `bits` into the lane. Returns the previous lane.
    #[inline(always)]
    #[track_caller]
    fn fetch_or(&self, bits: Self::Bits, order: Ordering) -> Self::Bits {
        let bits = <Self::Word as Word>::Int::truncate(bits.to_u64() << Self::SHIFT);
        Self::bits(self.word().fetch_or(bits, order))
    }

    /// Replaces the lower half. It holds `old`, and the caller is its only writer (see
    /// [`Part::store_part`]).
    #[inline(always)]
    #[track_caller]
    fn store_lower(
        &self,
        old: <Self::Bits as Int>::Half,
        new: <Self::Bits as Int>::Half,
        order: Ordering,
    ) {
        let index = Self::SHIFT / <Self::Bits as Int>::Half::BITS;
        self.word().store_part(index as usize, old, new, order);
    }

    /// Exchanges the upper half and returns its previous value. Other threads may change the lane
    /// at the same time.
    #[inline(always)]
    #[track_caller]
    fn swap_upper(
        &self,
        new: <Self::Bits as Int>::Half,
        order: Ordering,
    ) -> <Self::Bits as Int>::Half {
        let index = Self::SHIFT / <Self::Bits as Int>::Half::BITS + 1;
        self.word().swap_part(index as usize, new, order)
    }

    /// Replaces the lowest byte. It holds `old`, and the caller is its only writer (see
    /// [`Part::store_part`]).
    #[inline(always)]
    #[track_caller]
    fn store_lowest_byte(&self, old: u8, new: u8, order: Ordering) {
        self.word().store_part((Self::SHIFT / u8::BITS) as usize, old, new, order);
    }

    /// Exchanges the lowest byte and returns its previous value. Other threads may change the lane
    /// at the same time.
    #[inline(always)]
    #[track_caller]
    fn swap_lowest_byte(&self, new: u8, order: Ordering) -> u8 {
        self.word().swap_part((Self::SHIFT / u8::BITS) as usize, new, order)
    }

    /// Loads byte `index`, counted from the lane's lowest (see [`Part::load_part`]).
    #[inline(always)]
    #[track_caller]
    fn load_byte(&self, index: u32, order: Ordering) -> u8 {
        self.word().load_part((Self::SHIFT / u8::BITS + index) as usize, order)
    }

    /// Waits until `predicate` is true of the lane's bits, and returns them.
    #[inline(always)]
    #[track_caller]
    fn wait_until<H: Host>(
        &self,
        order: Ordering,
        mut predicate: impl FnMut(Self::Bits) -> bool,
    ) -> Self::Bits {
        Self::bits(H::wait_until(self.word(), order, |word| predicate(Self::bits(word))))
    }

    /// Waits for at most `polls` polls until `predicate` is true of the lane's bits, and returns
    /// them. Returns `None` after the last poll.
    #[inline(always)]
    #[track_caller]
    fn wait_within<H: Host>(
        &self,
        order: Ordering,
        polls: u32,
        mut predicate: impl FnMut(u64) -> bool,
    ) -> Option<Self::Bits> {
        let lane = |word| Self::bits(word);
        H::wait_within(self.word(), order, polls, |word| predicate(lane(word).to_u64()))
            .ok()
            .map(lane)
    }

    /// The same as [`wait_until`](Self::wait_until), but yields from time to time
    /// ([`Host::wait_yielding`]).
    #[inline(always)]
    #[track_caller]
    fn wait_yielding<H: Host>(
        &self,
        order: Ordering,
        mut predicate: impl FnMut(u64) -> bool,
    ) -> Self::Bits {
        let lane = |word| Self::bits(word);
        lane(H::wait_yielding(self.word(), order, |word| predicate(lane(word).to_u64())))
    }

    /// Waits, with acquire ordering, until the lower half equals `value`. Uses an assembly loop on
    /// platforms that have one (see [`Part::wait_part_assembly`]).
    #[inline(always)]
    #[track_caller]
    fn wait_lower_assembly<H: Host>(&self, value: <Self::Bits as Int>::Half) {
        let index = Self::SHIFT / <Self::Bits as Int>::Half::BITS;
        self.word().wait_part_assembly(index as usize, value, H::relax);
    }
}

/// The upper half of the lane value `bits`.
#[inline(always)]
pub fn upper<B: Int>(bits: B) -> B::Half {
    part_of(bits, 1)
}

/// The lower half of the lane value `bits`.
#[inline(always)]
pub fn lower<B: Int>(bits: B) -> B::Half {
    part_of(bits, 0)
}

/// A word that can be a lane by itself.
pub trait LaneWord: Word + Part<u8> + Part<<<Self as Word>::Int as Int>::Half> {}

impl<W: Word + Part<u8> + Part<<<W as Word>::Int as Int>::Half>> LaneWord for W {}

/// The width of a lock's word: [`FourBytes`] or [`TwoBytes`]. Sealed, because exclusion requires a
/// word type of the platform.
pub trait Width: sealed::Sealed + 'static {
    /// The type of the word.
    type Word<A: Atomics>: LaneWord;
}

/// A [`Width`] whose word has a constant initial value.
#[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
pub trait ConstWidth<A: ConstAtomics>: Width {
    /// A word that holds 0.
    const ZERO: Self::Word<A>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::FourBytes {}
    impl Sealed for super::TwoBytes {}
}

/// A lock in 4 bytes.
#[derive(Debug)]
pub struct FourBytes;

/// A lock in 2 bytes.
#[derive(Debug)]
pub struct TwoBytes;

impl Width for FourBytes {
    type Word<A: Atomics> = A::U32;
}
impl<A: ConstAtomics> ConstWidth<A> for FourBytes {
    const ZERO: A::U32 = A::U32_ZERO;
}
impl Width for TwoBytes {
    type Word<A: Atomics> = A::U16;
}
impl<A: ConstAtomics> ConstWidth<A> for TwoBytes {
    const ZERO: A::U16 = A::U16_ZERO;
}

/// A lane that is a whole word.
#[derive(Debug)]
pub struct Whole<'a, W>(pub &'a W);

impl<W> Clone for Whole<'_, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Whole<'_, W> {}

impl<W: LaneWord> Lane for Whole<'_, W> {
    type Bits = W::Int;
    type Word = W;
    const SHIFT: u32 = 0;

    #[inline(always)]
    fn word(&self) -> &W {
        self.0
    }

    #[inline(always)]
    fn compare_exchange(
        &self,
        old: W::Int,
        new: W::Int,
        success: Ordering,
    ) -> Result<W::Int, W::Int> {
        self.0.compare_exchange(old, new, success, Ordering::Relaxed)
    }

    #[inline(always)]
    fn compare_exchange_bounded(
        &self,
        old: W::Int,
        new: W::Int,
        success: Ordering,
    ) -> Result<W::Int, W::Int> {
        // A whole word has no other bits that could change.
        self.compare_exchange(old, new, success)
    }
}

/// Maximum number of exchanges in a bounded compare-exchange. A newcomer to the queued lock makes
/// at most five bounded compare-exchanges. So its exchanges fail at most as often as those of a
/// lockref operation may ([`MAX_FAILURES`](crate::lockref::policy::MAX_FAILURES)).
const MOST_EXCHANGES: u32 = 20;

/// The lane in bits 32 to 63 of a 64-bit word.
#[derive(Debug)]
pub struct High<'a, W>(pub &'a W);

impl<W> Clone for High<'_, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for High<'_, W> {}

impl<W: Word<Int = u64> + Part<u8> + Part<u16>> Lane for High<'_, W> {
    type Bits = u32;
    type Word = W;
    const SHIFT: u32 = 32;

    #[inline(always)]
    fn word(&self) -> &W {
        self.0
    }

    #[inline(always)]
    fn compare_exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        // Lock-free: each failure means that another thread has changed the word.
        self.compare_exchange_while(old, new, success, || true)
    }

    #[inline(always)]
    fn compare_exchange_bounded(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        let mut left = MOST_EXCHANGES;
        self.compare_exchange_while(old, new, success, || {
            left -= 1;
            left > 0
        })
    }
}

impl<W: Word<Int = u64>> High<'_, W> {
    /// Repeats the compare-exchange while only the rest of the word changes and `go_on` returns
    /// true.
    #[inline(always)]
    #[track_caller]
    fn compare_exchange_while(
        &self,
        old: u32,
        new: u32,
        success: Ordering,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<u32, u32> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let bits = (seen >> 32) as u32;
            if bits != old {
                return Err(bits);
            }
            let wanted = (u64::from(new) << 32) | (seen & u64::from(u32::MAX));
            match self.0.compare_exchange_weak(seen, wanted, success, Ordering::Relaxed) {
                Ok(_) => return Ok(old),
                Err(actual) => seen = actual,
            }
            if !go_on() {
                return Err((seen >> 32) as u32);
            }
        }
    }
}
