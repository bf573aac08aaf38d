//! Explanation of a cell in a few sentences.

use super::bound::Bound;
use super::causes::Cause;
use super::costs::Costs;
use super::facts::{Facts, percent};
use super::ideal::LITTLE;

/// Returns a number of operations per second as text.
fn rate(per_second: f64) -> String {
    match per_second {
        millions if millions >= 1e6 => format!("{:.2} M op/s", millions / 1e6),
        thousands if thousands >= 1e3 => format!("{:.1} k op/s", thousands / 1e3),
        few => format!("{few:.1} op/s"),
    }
}

impl Costs {
    /// Returns the dominating cost, the bottleneck lock, and the effect of ideal locks, in words.
    pub fn sentence(&self) -> String {
        let (cause, name) = self.cause();
        let mut text = cause.sentence(&Facts::new(self, name));
        if let Some((lock, time)) = self.bottleneck()
            && cause != Cause::CriticalSection
        {
            text += &format!(
                " `{lock}` is the bottleneck: {}; {}.",
                self.shares_of(time),
                self.times_of(time)
            );
        }
        if let Some(failed) = self.failed_exchanges {
            text += &format!(" An operation has {failed:.2} failed compare-exchanges.");
        }
        text + &self.of_ideal(cause)
    }

    /// Returns sentences about the bound, ideal locks, a shorter critical section and a second
    /// lock. Empty if their effect is unknown.
    fn of_ideal(&self, cause: Cause) -> String {
        let Some(ideal) = self.ideal() else { return String::new() };
        // A bound if operations are alike, an estimate if they differ.
        let gives = |bound: Bound| {
            format!("at most about {} (+{})", rate(bound.throughput), percent(bound.gain))
        };
        let locks = if self.locks.len() > 1 { "ideal locks" } else { "an ideal lock" };
        let mut figures = format!("{locks} would give {}", gives(ideal));
        if let Some(half) = self.half_section() {
            figures += &format!(", half of the section {}", gives(half));
        }
        if let Some(second) = self.second_lock() {
            figures += &format!(", a second lock for half of the operations {}", gives(second));
        }
        let bound = self.of_bound();
        if cause == Cause::CriticalSection && ideal.gain < LITTLE {
            return format!("{bound} A faster lock would change little: {figures}.");
        }
        // The first letter is ASCII.
        format!("{bound} {}{}.", figures[..1].to_ascii_uppercase(), &figures[1..])
    }

    /// Returns a sentence that compares the throughput with the bottleneck's bound. Empty without a
    /// bottleneck.
    fn of_bound(&self) -> String {
        let Some((bound, holds)) = self.hold_bound().zip(self.holds()) else {
            return String::new();
        };
        let of = match (holds - 1.0).abs() < 0.05 {
            true => "1 / hold time".to_owned(),
            false => format!("1 / the {holds:.1} holds of an operation"),
        };
        format!(
            " If it were held all the time, it would allow {} ({of}); this is {} of that.",
            rate(bound),
            percent(self.throughput() / bound)
        )
    }
}
