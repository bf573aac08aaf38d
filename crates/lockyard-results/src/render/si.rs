//! Figures with an SI prefix, which keeps columns narrow.

/// Prefixes, largest first.
const PREFIXES: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];

/// Formats a figure with three significant digits, with an SI prefix from 1000 up.
pub fn si(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let rounded = three_digits(value);
    let (scaled, prefix) = scale(rounded);
    format!("{}{prefix}", digits(scaled))
}

/// Formats an interval. A common prefix of both ends is written once. If only the upper end had
/// one, it would seem to be the lower end's too, which therefore gets one.
pub(super) fn si_interval(low: f64, high: f64) -> String {
    let ((a, first), (b, second)) = (scale(three_digits(low)), scale(three_digits(high)));
    if first.is_empty() && !second.is_empty() && a != 0.0 {
        let in_thousands = digits(a / 1e3);
        let first = if second == " k" { "" } else { " k" };
        return format!("{in_thousands}{first}..{}{second}", digits(b));
    }
    if first == second {
        return format!("{}..{}{second}", digits(a), digits(b));
    }
    format!("{}..{}", si(low), si(high))
}

/// Rounds to three significant digits. For example, 999.9 becomes 1000, which is written 1 k.
fn three_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    (value / unit).round() * unit
}

fn scale(value: f64) -> (f64, &'static str) {
    let found = PREFIXES.iter().find(|(unit, _)| value.abs() >= *unit * (1.0 - 1e-12));
    found.map_or((value, ""), |(unit, prefix)| (value / unit, prefix))
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        // Rounding may leave values just below a power of ten.
        large if large >= 99.9999 => format!("{value:.0}"),
        medium if medium >= 9.99999 => format!("{value:.1}"),
        small if small >= 0.999999 => format!("{value:.2}"),
        tenth if tenth >= 0.0999999 => format!("{value:.3}"),
        hundredth if hundredth >= 0.000999999 => format!("{value:.5}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_prefix() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (0.01234, "0.01230"),
            (2.8, "2.80"),
            (42.14, "42.1"),
            (226.4, "226"),
            (999.96, "1.00 k"),
            (9_043.0, "9.04 k"),
            (1_234_567.8, "1.23 M"),
            (999_600.0, "1.00 M"),
            (45_600_000_000.0, "45.6 G"),
            (-1_500.0, "-1.50 k"),
        ] {
            assert_eq!(si(value), text);
        }
        assert_eq!(si_interval(17_733_570.0, 35_375_222.0), "17.7..35.4 M");
        assert_eq!(si_interval(900.0, 1_100.0), "0.900..1.10 k");
        assert_eq!(si_interval(13.0, 6_780_000.0), "0.01300 k..6.78 M");
        assert_eq!(si_interval(778_000.0, 13e6), "778 k..13.0 M");
        assert_eq!(si_interval(0.0, 5_000.0), "0..5.00 k");
        assert_eq!(si_interval(1.5, 42.0), "1.50..42.0");
    }
}
