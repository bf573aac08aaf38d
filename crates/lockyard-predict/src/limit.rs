//! Upper bound of a recorded program's figures.
//!
//! A recorded thread needs some time for each operation: what passed in the whole run, less its
//! waits for locks, less the time without a CPU, less the cost of recording. In a closed loop, `m`
//! threads cannot do more than `m` operations in that time, whatever their locks are. The time is
//! from exact counts. The replay has its times from a few bursts, and simulates milliseconds. So it
//! may miss rare long sleeps, and then its figures are above the bound by any factor.

use lockyard_results::render::si;

/// Upper bound of a program's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// Least time of an operation, for its thread, in nanoseconds.
    pub nanoseconds: f64,
    /// The same for variants with less work: beginnings of their names.
    pub of_variants: Vec<(String, f64)>,
    /// Factor by which a figure may be above the bound, because of its own errors.
    pub slack: f64,
}

impl Limit {
    /// Returns the reason for which a figure in operations a second cannot be, if it cannot.
    pub fn refuse(&self, variant: &str, threads: usize, figure: f64) -> Option<String> {
        let own = self.of_variants.iter().find(|(name, _)| variant.starts_with(name));
        let nanoseconds = own.map_or(self.nanoseconds, |(_, nanoseconds)| *nanoseconds);
        let of_thread = 1e9 / nanoseconds.max(f64::MIN_POSITIVE);
        (nanoseconds > 0.0 && figure > of_thread * threads as f64 * self.slack).then(|| {
            format!(
                "the replay does more than a closed loop can: at most {}/s for each thread, \
                 because a recorded thread needed {} for an operation, its waits for locks left \
                 out; the bursts of the recording do not show where that time goes (sleep between \
                 them?)",
                si(of_thread),
                time(nanoseconds)
            )
        })
    }
}

/// Returns a time with its unit.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time >= 1e6 => format!("{:.1} ms", time / 1e6),
        time if time >= 1e3 => format!("{:.1} us", time / 1e3),
        time => format!("{time:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_at_most_their_number_times_what_one_does() {
        let of_variants = vec![("half".to_owned(), 500.0)];
        let limit = Limit { nanoseconds: 1_000.0, of_variants, slack: 1.1 };
        let refused = |variant, threads, figure| limit.refuse(variant, threads, figure);
        assert_eq!(refused("recorded", 8, 8.7e6), None);
        let why = refused("recorded", 8, 8.9e6).expect("it is above");
        assert!(why.contains("at most 1.00 M/s for each thread"), "{why}");
        assert!(why.contains("needed 1.0 us for an operation"), "{why}");
        assert_eq!(refused("half", 8, 17e6), None);
        assert!(refused("half", 8, 18e6).is_some() && refused("mutex", 1, 1.2e6).is_some());
        let unknown = Limit { nanoseconds: 0.0, ..limit.clone() };
        assert_eq!(unknown.refuse("recorded", 1, 1e12), None);
    }
}
