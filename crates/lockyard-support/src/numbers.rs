//! Shares and counts, for readers.

/// Formats a share of one in per cent. A share that would read `0.0 %` and is more than nothing is
/// `<0.1 %`.
pub fn share(share: f64) -> String {
    match share * 100.0 {
        per_cent if per_cent > 0.0 && per_cent < 0.05 => "<0.1 %".to_owned(),
        per_cent => format!("{per_cent:.1} %"),
    }
}

/// Returns a number of things in words. The name is that of one thing.
pub fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::{count, share};

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|number| count(number, "cell")), ["0 cells", "1 cell", "2 cells"]);
    }

    #[test]
    fn only_nothing_is_nothing() {
        assert_eq!(
            [0.0, 1e-9, 0.000_49, 0.000_51, 0.5, 1.0].map(share),
            ["0.0 %", "<0.1 %", "<0.1 %", "0.1 %", "50.0 %", "100.0 %"]
        );
    }
}
