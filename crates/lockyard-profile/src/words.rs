//! Counts and times in words and in few characters, for text and for reasons.

/// Returns a number of things in words, with groups of digits.
fn many(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

pub(crate) fn acquisitions(count: u64) -> String {
    many(count, "acquisition")
}

pub(crate) fn locks(count: usize) -> String {
    many(count as u64, "lock")
}

pub(crate) fn threads(count: u64) -> String {
    many(count, "thread")
}

pub(crate) use lockyard_support::grouped;

/// Formats a count in at most six characters.
pub(crate) fn si(count: u64) -> String {
    let value = count as f64;
    match count {
        0..100_000 => count.to_string(),
        100_000..1_000_000 => format!("{:.0} k", value / 1e3),
        1_000_000..1_000_000_000 => format!("{} M", three(value / 1e6)),
        _ => format!("{} G", three(value / 1e9)),
    }
}

pub(crate) fn three(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Formats nanoseconds with three digits and a unit.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_500.0 => format!("{} us", three(ns / 1e3)),
        ns if ns < 999_500_000.0 => format!("{} ms", three(ns / 1e6)),
        ns => format!("{} s", three(ns / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 99_999, 123_456, 1_234_567].map(si), ["0", "99999", "123 k", "1.23 M"]);
        let times = [0.0, 999.0, 1234.0, 2e6, 12.3e9].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.23 us", "2.00 ms", "12.3 s"]);
        assert_eq!([1, 1234, 1_234_567].map(grouped), ["1", "1,234", "1,234,567"]);
    }
}
