//! Formats of cells: numbers of a row as text.

use super::cells::{figure, per_cent};
use super::si::{si, si_interval};

/// Formats of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// A figure in the row's unit.
    Figure,
    /// Both ends of an interval in the row's unit.
    Interval,
    /// A change in per cent. On a screen, inputs are marked instead.
    Error,
    /// A ratio.
    Ratio,
    /// Both ends of the interval of a ratio.
    RatioInterval,
    /// A figure that is a whole number.
    Whole,
    /// A number.
    Count,
    /// A number of sleeps per operation.
    Sleeps,
    /// A share.
    Share,
    /// A share that is empty if it is zero.
    SomeShare,
    /// Both ends of a range of shares.
    Shares,
    /// A share, and half the width of its interval.
    ShareWithin,
    /// A number per operation.
    PerOperation,
    /// A number with two decimal places.
    Hundredths,
}

/// Output for which a cell is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A screen, where columns are narrow.
    Screen,
    /// A document.
    Document,
}

impl Print {
    /// Returns the text of numbers. `None` if a number is not known.
    pub(super) fn text(self, values: &[Option<f64>], medium: Medium) -> Option<String> {
        let value = |index: usize| values.get(index).copied().flatten();
        let one = value(0)?;
        let gap = if medium == Medium::Screen { ".." } else { " .. " };
        Some(match self {
            Print::Figure if medium == Medium::Screen => si(one),
            Print::Figure => figure(one),
            Print::Interval if medium == Medium::Screen => si_interval(one, value(1)?),
            Print::Interval => format!("{}{gap}{}", figure(one), figure(value(1)?)),
            Print::Error => percent(one),
            Print::Ratio => format!("{one:.3}"),
            Print::RatioInterval => format!("{one:.3}{gap}{:.3}", value(1)?),
            Print::Whole => figure(one).trim_end_matches(".0").to_owned(),
            Print::Count => one.to_string(),
            Print::Sleeps => sleeps(one),
            Print::Share => per_cent(one),
            Print::SomeShare if one > 0.0 => per_cent(one),
            Print::SomeShare => return None,
            Print::Shares => format!("{:.1} .. {:.1} %", one * 100.0, value(1)? * 100.0),
            Print::ShareWithin => {
                format!("{:.1} \u{b1} {:.1} %", one * 100.0, value(1)? * 100.0)
            }
            Print::PerOperation if one < 10.0 => format!("{one:.4}"),
            Print::PerOperation => figure(one),
            Print::Hundredths => format!("{one:.2}"),
        })
    }
}

pub(super) fn percent(value: f64) -> String {
    format!("{:+.1} %", value * 100.0)
}

/// Returns a number of sleeps per operation as text, with two digits that count.
pub(super) fn sleeps(sleeps: f64) -> String {
    match sleeps {
        0.0 => "0".to_owned(),
        _ if sleeps < 1e-6 => "< 0.000001".to_owned(),
        _ => format!("{sleeps:.*}", (1.0 - sleeps.log10().floor()).clamp(1.0, 7.0) as usize),
    }
}
