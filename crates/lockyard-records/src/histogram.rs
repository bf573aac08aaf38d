//! Histograms of times on a logarithmic scale: four buckets to each doubling.

/// Number of buckets.
pub const BUCKETS: usize = 128;

/// Times below this number of ticks share the first bucket.
const FIRST: u64 = 16;

/// Returns the bucket of a time.
pub fn bucket(ticks: u64) -> usize {
    if ticks < FIRST {
        return 0;
    }
    let log = 63 - ticks.leading_zeros();
    let quarter = (ticks >> (log - 2)) & 3;
    let bucket = (log - 4) * 4 + quarter as u32 + 1;
    (bucket as usize).min(BUCKETS - 1)
}

/// Returns the least time of a bucket. That of the next bucket is its end; the last has none.
pub fn least(bucket: usize) -> u64 {
    match bucket {
        0 => 0,
        _ => {
            let (log, quarter) = ((bucket - 1) / 4 + 4, (bucket - 1) % 4);
            (4 + quarter as u64) << (log - 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_within_its_bucket() {
        let times = (0..200).chain((0..40).flat_map(|log| [(1 << log) - 1, 1 << log, 3 << log]));
        for time in times {
            let of = bucket(time);
            assert!(least(of) <= time, "{time}");
            assert!(of == BUCKETS - 1 || time < least(of + 1), "{time}");
        }
        assert_eq!((bucket(0), bucket(15), bucket(16), bucket(u64::MAX)), (0, 0, 1, 127));
    }
}
