//! Cycles: the end of simulated time, and rounding to whole cycles.

/// Latest time of any event, in cycles (a century). It leaves room for sums.
pub(super) const END_OF_TIME: u64 = 1 << 63;

/// Rounds `cycles`, which must not be negative, to a whole number, halves up. (`f64::round` is a
/// function call on baseline x86-64.)
pub(super) fn whole(cycles: f64) -> u64 {
    // (Signed numbers convert faster.)
    let below = cycles as i64;
    if below == i64::MAX {
        return cycles as u64;
    }
    let more = cycles - below as f64 >= 0.5;
    below as u64 + u64::from(more)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn cycles_are_rounded_as_the_library_rounds() {
        let mut x: u64 = 1;
        for i in 0..100_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let cycles = (x >> 11) as f64 / f64::from(1u32 << (i % 32)) / f64::from(1u32 << 20);
            for cycles in
                [cycles, (cycles * 2.0).floor() / 2.0, cycles.floor() + 0.5f64.next_down()]
            {
                assert_eq!(whole(cycles), cycles.round() as u64, "{cycles}");
            }
        }
        for cycles in [0.0, 0.5f64.next_down(), 0.5, 1e300, f64::INFINITY] {
            assert_eq!(whole(cycles), cycles.round() as u64, "{cycles}");
        }
    }
}
