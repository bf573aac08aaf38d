//! The lower half of a lockref: its 32 bits, and the effect of each operation on these bits.
//!
//! ```text
//!   0 ..= 2^30          references
//!   above, bit 31 off   saturated: it was incremented at 2^30; the object is leaked, and the
//!                       count never changes again
//!   bit 31 on           dead: nothing revives it
//! ```
//!
//! The operations here are pure. [`super::LockRef`] applies them by compare-exchange or under the
//! lock.

use crate::platform::{Ordering, RELEASE_ACQUIRE_LATE};
use core::hint;

/// Maximum number of references that is counted exactly.
pub const MAX_COUNT: u32 = 1 << 30;

/// The count after an increment beyond [`MAX_COUNT`].
const SATURATED: u32 = 3 << 29;

/// The count after [`mark_dead`](super::LockRefGuard::mark_dead).
const DEAD: u32 = 1 << 31;

/// The count of a lockref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// This many references.
    Live(u32),
    /// The count exceeded [`MAX_COUNT`] at some time. The object is leaked, and the count never
    /// changes again.
    Saturated,
    /// Marked dead under the lock: no reference can be taken any more.
    Dead,
}

impl Count {
    #[inline(always)]
    pub(super) const fn from_bits(bits: u32) -> Self {
        if bits & DEAD != 0 {
            Count::Dead
        } else if bits > MAX_COUNT {
            Count::Saturated
        } else {
            Count::Live(bits)
        }
    }

    #[inline(always)]
    pub(super) const fn to_bits(self) -> u32 {
        match self {
            Count::Live(count) => count,
            Count::Saturated => SATURATED,
            Count::Dead => DEAD,
        }
    }
}

#[inline(always)]
fn incremented(bits: u32) -> u32 {
    if bits >= MAX_COUNT {
        hint::cold_path();
        // Saturated and dead counts do not change.
        return if bits == MAX_COUNT { SATURATED } else { bits };
    }
    bits + 1
}

#[inline(always)]
fn decremented(bits: u32) -> u32 {
    if bits > MAX_COUNT {
        hint::cold_path();
        return bits;
    }
    bits - 1
}

#[inline(always)]
fn is_dead(bits: u32) -> bool {
    bits & DEAD != 0
}

/// An operation on the count.
pub(super) trait Operation {
    /// The ordering of the operation's compare-exchange.
    const SUCCESS: Ordering;

    /// Returns the new bits, or `None` if the operation does not apply to a count of `bits`.
    fn apply(bits: u32) -> Option<u32>;
}

/// Takes a reference unconditionally.
pub(super) struct Get;
impl Operation for Get {
    // Relaxed: the caller has a reference, or has another reason to know that the object is alive.
    const SUCCESS: Ordering = Ordering::Relaxed;

    #[inline(always)]
    fn apply(bits: u32) -> Option<u32> {
        Some(incremented(bits))
    }
}

/// Takes a reference unless there is none.
pub(super) struct GetNotZero;
impl Operation for GetNotZero {
    // Acquire: pairs with the release of a put, and of an unlock.
    const SUCCESS: Ordering = Ordering::Acquire;

    #[inline(always)]
    fn apply(bits: u32) -> Option<u32> {
        if bits == 0 || is_dead(bits) { None } else { Some(incremented(bits)) }
    }
}

/// Takes a reference unless the lockref is dead.
pub(super) struct GetNotDead;
impl Operation for GetNotDead {
    // Acquire: pairs with the release of a put, and of an unlock.
    const SUCCESS: Ordering = Ordering::Acquire;

    #[inline(always)]
    fn apply(bits: u32) -> Option<u32> {
        if is_dead(bits) { None } else { Some(incremented(bits)) }
    }
}

/// Drops a reference, even the last one.
pub(super) struct Put;
impl Operation for Put {
    // Release: pairs with the acquire of the thread that finds the count at zero, and of
    // `get_not_*`. When the count reaches zero, `put_return` adds the acquire by `acquire_late`.
    const SUCCESS: Ordering = RELEASE_ACQUIRE_LATE;

    #[inline(always)]
    fn apply(bits: u32) -> Option<u32> {
        if bits == 0 || is_dead(bits) { None } else { Some(decremented(bits)) }
    }
}

/// Drops a reference unless it is the last one.
pub(super) struct PutNotLast;
impl Operation for PutNotLast {
    // Release: pairs with the acquire of the thread that finds the count at zero, and of
    // `get_not_*`.
    const SUCCESS: Ordering = Ordering::Release;

    #[inline(always)]
    fn apply(bits: u32) -> Option<u32> {
        if bits <= 1 || is_dead(bits) { None } else { Some(decremented(bits)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERESTING: [u32; 8] =
        [0, 1, 2, MAX_COUNT - 1, MAX_COUNT, MAX_COUNT + 1, SATURATED, DEAD];

    #[test]
    fn saturated_stays_saturated_and_dead_stays_dead() {
        for change in
            [Get::apply, GetNotZero::apply, GetNotDead::apply, Put::apply, PutNotLast::apply]
        {
            assert!(matches!(change(SATURATED), Some(SATURATED)));
            assert!(change(DEAD).is_none_or(|bits| bits == DEAD));
        }
    }

    #[test]
    fn an_increment_at_the_maximum_saturates() {
        assert_eq!(Get::apply(MAX_COUNT - 1), Some(MAX_COUNT));
        assert_eq!(Get::apply(MAX_COUNT), Some(SATURATED));
        assert_eq!(Count::from_bits(SATURATED), Count::Saturated);
    }

    #[test]
    fn a_put_undoes_a_get_while_the_count_is_exact() {
        for bits in INTERESTING.into_iter().filter(|&bits| bits < MAX_COUNT) {
            assert_eq!(Get::apply(bits).and_then(Put::apply), Some(bits));
        }
    }

    #[test]
    fn each_refusal_is_where_it_should_be() {
        assert_eq!(GetNotZero::apply(0), None);
        assert_eq!(GetNotDead::apply(0), Some(1));
        assert_eq!(Put::apply(0), None);
        assert_eq!(Put::apply(1), Some(0));
        assert_eq!(PutNotLast::apply(1), None);
        assert_eq!(PutNotLast::apply(2), Some(1));
    }

    #[test]
    fn a_count_survives_the_way_to_bits_and_back() {
        for bits in INTERESTING {
            let count = Count::from_bits(bits);
            assert_eq!(Count::from_bits(count.to_bits()), count);
        }
    }
}
