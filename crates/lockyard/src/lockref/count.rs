//! The lower half of a lockref: what its 32 bits mean, and what each operation does to them.
//!
//! ```text
//!   0 ..= 2^30          references
//!   above, bit 31 off   saturated: it was incremented at 2^30, the object is leaked, nothing changes it
//!   bit 31 on           dead: nothing revives it
//! ```
//!
//! The functions here are pure. [`super::LockRef`] applies them by compare-exchange or under the
//! lock.

/// The greatest number of references that is counted exactly.
pub const MAX_COUNT: u32 = 1 << 30;

/// What an increment beyond [`MAX_COUNT`] leaves behind.
const SATURATED: u32 = 3 << 29;

/// What [`mark_dead`](super::LockRefGuard::mark_dead) leaves behind.
const DEAD: u32 = 1 << 31;

/// What a lockref counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// So many references.
    Live(u32),
    /// More than [`MAX_COUNT`] at some time: the object is leaked, and the count stays as it is.
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

/// What an operation does to a count: the new bits, or nothing because it does not apply.
pub(super) type Change = Option<u32>;

#[inline(always)]
fn incremented(bits: u32) -> u32 {
    if bits < MAX_COUNT {
        bits + 1
    } else {
        // Saturated and dead counts stay as they are.
        match Count::from_bits(bits) {
            Count::Live(_) => SATURATED,
            Count::Saturated | Count::Dead => bits,
        }
    }
}

#[inline(always)]
pub(super) fn get(bits: u32) -> Change {
    Some(incremented(bits))
}

#[inline(always)]
pub(super) fn get_not_zero(bits: u32) -> Change {
    if bits == 0 || bits & DEAD != 0 { None } else { Some(incremented(bits)) }
}

#[inline(always)]
pub(super) fn get_not_dead(bits: u32) -> Change {
    if bits & DEAD != 0 { None } else { Some(incremented(bits)) }
}

#[inline(always)]
pub(super) fn put(bits: u32) -> Change {
    if bits == 0 || bits & DEAD != 0 { None } else { Some(decremented(bits)) }
}

#[inline(always)]
pub(super) fn put_not_last(bits: u32) -> Change {
    if bits <= 1 || bits & DEAD != 0 { None } else { Some(decremented(bits)) }
}

#[inline(always)]
fn decremented(bits: u32) -> u32 {
    if bits <= MAX_COUNT { bits - 1 } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERESTING: [u32; 8] =
        [0, 1, 2, MAX_COUNT - 1, MAX_COUNT, MAX_COUNT + 1, SATURATED, DEAD];

    #[test]
    fn saturated_stays_saturated_and_dead_stays_dead() {
        for change in [get, get_not_zero, get_not_dead, put, put_not_last] {
            assert!(matches!(change(SATURATED), Some(SATURATED)));
            assert!(change(DEAD).is_none_or(|bits| bits == DEAD));
        }
    }

    #[test]
    fn an_increment_at_the_maximum_saturates() {
        assert_eq!(get(MAX_COUNT - 1), Some(MAX_COUNT));
        assert_eq!(get(MAX_COUNT), Some(SATURATED));
        assert_eq!(Count::from_bits(SATURATED), Count::Saturated);
    }

    #[test]
    fn a_put_undoes_a_get_while_the_count_is_exact() {
        for bits in INTERESTING.into_iter().filter(|&bits| bits < MAX_COUNT) {
            assert_eq!(get(bits).and_then(put), Some(bits));
        }
    }

    #[test]
    fn each_refusal_is_where_it_should_be() {
        assert_eq!(get_not_zero(0), None);
        assert_eq!(get_not_dead(0), Some(1));
        assert_eq!(put(0), None);
        assert_eq!(put(1), Some(0));
        assert_eq!(put_not_last(1), None);
        assert_eq!(put_not_last(2), Some(1));
    }

    #[test]
    fn a_count_survives_the_way_to_bits_and_back() {
        for bits in INTERESTING {
            let count = Count::from_bits(bits);
            assert_eq!(Count::from_bits(count.to_bits()), count);
        }
    }
}
