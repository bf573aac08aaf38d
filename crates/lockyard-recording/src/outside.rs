//! The rate of a program while it was not looked at: between the windows of its threads, by exact
//! counts. Windows cost time, and their events show a program that is disturbed. Between two
//! windows of a thread the recorder only counts, so this rate is that of the program itself,
//! nearly.
//!
//! All versions of the format have what is needed: each window says how many acquisitions its
//! thread had before.

use crate::recording::{Recording, Window};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Minimum number of acquisitions between windows. Fewer tell no rate.
const LEAST: u64 = 1000;

/// Minimum share of the threads' time that must be between windows. A program that takes few locks
/// is in windows nearly all the time, and then their rate is the program's.
const LEAST_TIME: f64 = 0.05;

/// Acquisitions of threads between their windows, and the time for these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outside {
    /// Number of acquisitions between windows.
    pub acquisitions: u64,
    /// Time between windows, of all threads together.
    pub seconds: f64,
    /// Mean number of threads at a time: their times from the first window to the last, divided by
    /// that from the first window of any to the last of any.
    pub threads: f64,
    /// Acquisitions a second of all these threads.
    pub rate: f64,
}

/// A thread between its first window and its last one.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: u64,
    end: u64,
    /// Count at the end.
    counted: u64,
    acquisitions: u64,
    /// Number of times outside of windows, and their sum.
    gaps: u64,
    outside: u64,
}

impl Recording {
    /// Returns what all threads did between their windows; `None` if that is too little to tell a
    /// rate.
    pub fn outside(&self) -> Option<Outside> {
        self.outside_of(|_| true, 0..=u64::MAX)
    }

    /// Does so for some threads, and for the windows that begin within a time.
    pub fn outside_of(
        &self,
        is_one: impl Fn(u32) -> bool,
        within: RangeInclusive<u64>,
    ) -> Option<Outside> {
        let mut spans: HashMap<u32, Span> = HashMap::new();
        for window in &self.windows {
            if is_one(window.thread) && within.contains(&window.begin) {
                spans.entry(window.thread).and_modify(|span| span.add(window)).or_insert(Span {
                    begin: window.begin,
                    end: window.end(),
                    counted: window.acquisitions_at_end(),
                    acquisitions: 0,
                    gaps: 0,
                    outside: 0,
                });
            }
        }
        // The order of a map is no order of a sum.
        let mut spans: Vec<Span> = spans.into_values().collect();
        spans.sort_by_key(|span| (span.begin, span.end, span.counted));
        // A file of somebody else's may have any numbers.
        let acquisitions = spans.iter().map(|span| span.acquisitions).fold(0, u64::saturating_add);
        let outside: f64 = spans.iter().map(|span| span.outside as f64).sum();
        let all: f64 = spans.iter().map(|span| (span.end - span.begin) as f64).sum();
        if acquisitions < LEAST || outside < LEAST_TIME * all {
            return None;
        }
        let begin = spans.iter().map(|span| span.begin).min()?;
        let end = spans.iter().map(|span| span.end).max()?;
        let run = (end - begin).max(1) as f64;
        // Each thread for the share of the run in which it was there. From a release to the next
        // window's first acquisition there is one more interval than there are acquisitions.
        let rate = |span: &Span| {
            let time = span.outside.max(1) as f64 / 1e9;
            span.acquisitions.saturating_add(span.gaps) as f64 / time
                * (span.end - span.begin) as f64
                / run
        };
        Some(Outside {
            acquisitions,
            seconds: outside / 1e9,
            threads: all / run,
            rate: spans.iter().map(rate).sum(),
        })
    }
}

impl Span {
    fn add(&mut self, window: &Window) {
        if !window.continues {
            let counted = window.acquisitions.saturating_sub(self.counted);
            self.acquisitions = self.acquisitions.saturating_add(counted);
            self.gaps += 1;
            self.outside += window.begin.saturating_sub(self.end);
        }
        (self.end, self.counted) = (window.end(), window.acquisitions_at_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Event, How};

    /// A window of ten visits of 1 us each, every other nanosecond of it the recorder's.
    fn window(thread: u32, begin: u64, acquisitions: u64) -> Window {
        let visit = [
            Event::Acquired { after: 900, lock: 0, site: 0, how: How::Waits, wait: 0 },
            Event::Released { after: 100, lock: 0 },
        ];
        let events = visit.repeat(10);
        Window { thread, begin, acquisitions, continues: false, events }
    }

    /// A thread that does a visit in 500 ns while it is not looked at, for 990 us between windows.
    fn windows(thread: u32, first: u64) -> Vec<Window> {
        (0..20).map(|number| window(thread, first + number * 1_000_000, number * 1_990)).collect()
    }

    #[test]
    fn the_rate_is_that_between_windows() {
        let both = [windows(1, 0), windows(2, 7_000)].concat();
        let found = Recording { windows: both, ..Recording::default() }.outside().expect("one");
        assert_eq!(found.acquisitions, 2 * 19 * 1_980);
        assert!((found.seconds - 2.0 * 19.0 * 990e-6).abs() < 1e-9, "{found:?}");
        assert!((found.threads - 2.0).abs() < 0.01, "{found:?}");
        // Within windows it is half of that.
        assert!((found.rate / 4e6 - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn few_acquisitions_between_windows_do_not_make_the_rate_low() {
        // Three acquisitions between two windows, so four intervals of a microsecond, less a hold
        // of 100 ns.
        let one = |number: u64| window(1, number * 13_900, number * 13);
        let windows: Vec<Window> = (0..2000).map(one).collect();
        let found = Recording { windows, ..Recording::default() }.outside().expect("one");
        assert_eq!(found.acquisitions, 1999 * 3);
        assert!((found.rate / (4.0 / 3.9 * 1e6) - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_thread_counts_for_the_time_in_which_it_was_there() {
        let mut half = windows(2, 0);
        half.truncate(11);
        let both = Recording { windows: [windows(1, 0), half].concat(), ..Recording::default() };
        let found = both.outside().expect("one");
        assert!((found.threads - 1.5).abs() < 0.05, "{found:?}");
        assert!((found.rate / 3e6 - 1.0).abs() < 0.05, "{found:?}");
        let first = both.outside_of(|thread| thread == 1, 0..=u64::MAX).expect("one");
        assert!((first.rate / 2e6 - 1.0).abs() < 0.01, "{first:?}");
        let early = both.outside_of(|_| true, 0..=10_000_000).expect("one");
        assert!((early.rate / 4e6 - 1.0).abs() < 0.01, "{early:?}");
    }

    #[test]
    fn a_program_in_windows_all_the_time_has_none() {
        assert_eq!(Recording::default().outside(), None);
        let mut whole = windows(1, 0);
        for (window, number) in whole.iter_mut().zip(0u64..) {
            (window.begin, window.continues) = (number * 10_000, number > 0);
            window.acquisitions = number * 10;
        }
        assert_eq!(Recording { windows: whole, ..Recording::default() }.outside(), None);
        // A twentieth of the time is too little, however much was counted.
        let mut short = windows(1, 0);
        for (window, number) in short.iter_mut().zip(0u64..) {
            window.begin = number * 10_400;
        }
        assert_eq!(Recording { windows: short, ..Recording::default() }.outside(), None);
    }
}
