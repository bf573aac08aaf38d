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
    let ending = match number {
        1 => "",
        _ if thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {thing}{ending}")
}

/// Formats a number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{count, grouped, share};

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|number| count(number, "cell")), ["0 cells", "1 cell", "2 cells"]);
        assert_eq!([1, 2].map(|number| count(number, "class")), ["1 class", "2 classes"]);
    }

    #[test]
    fn digits_have_groups_of_three() {
        let numbers = [1, 7, 999, 1234, 2931, 1_234_567].map(grouped);
        assert_eq!(numbers, ["1", "7", "999", "1,234", "2,931", "1,234,567"]);
    }

    #[test]
    fn only_nothing_is_nothing() {
        assert_eq!(
            [0.0, 1e-9, 0.000_49, 0.000_51, 0.5, 1.0].map(share),
            ["0.0 %", "<0.1 %", "<0.1 %", "0.1 %", "50.0 %", "100.0 %"]
        );
    }
}
