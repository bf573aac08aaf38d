//! The part of a run that is replayed: from the time when all main threads have begun until the
//! first of them ends. If there is hardly such a time, all of the run.
//!
//! Counts of acquisitions are exact, so the rate between windows is known too: the rate of the
//! program while no events were written.

use crate::recording::{Recording, Window};
use std::collections::HashMap;

/// Share of the acquisitions of the busiest thread below which a thread is no main one.
const LEAST_OF_BUSIEST: f64 = 0.02;

/// Minimum share of the run for a part in which all main threads run.
const LEAST_TOGETHER: f64 = 0.2;

/// Minimum share of a thread's time outside of windows from which this time has a rate.
const LEAST_OUTSIDE: f64 = 0.2;

/// A part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    begin: f64,
    end: f64,
    /// Mean number of main threads.
    pub(super) threads: f64,
    /// Acquisitions a second of these threads.
    pub(super) rate: f64,
    /// The same outside of windows, if there is enough time outside of them.
    pub(super) rate_outside: Option<f64>,
}

impl Phase {
    pub(super) fn contains(&self, time: u64) -> bool {
        (self.begin..=self.end).contains(&(time as f64))
    }

    /// Returns the duration in nanoseconds.
    pub(super) fn duration(&self) -> f64 {
        self.end - self.begin
    }
}

/// Returns the threads that take many locks, by their numbers of acquisitions.
pub(super) fn main_threads(acquired: &HashMap<u32, u64>) -> Vec<u32> {
    let most = acquired.values().copied().max().unwrap_or(0) as f64;
    let is_main = |count: u64| count as f64 >= most * LEAST_OF_BUSIEST;
    let mut threads: Vec<u32> =
        acquired.iter().filter(|(_, count)| is_main(**count)).map(|(thread, _)| *thread).collect();
    threads.sort_unstable();
    threads
}

/// Returns the part of a run that is replayed.
pub(super) fn of(recording: &Recording, threads: &[u32]) -> Phase {
    let mut spans: HashMap<u32, (f64, f64)> = HashMap::new();
    for window in recording.windows.iter().filter(|window| threads.contains(&window.thread)) {
        let (begin, end) = (window.begin as f64, window.end() as f64);
        let span = spans.entry(window.thread).or_insert((begin, end));
        *span = (span.0.min(begin), span.1.max(end));
    }
    let ends = |first: fn(f64, f64) -> f64, second: fn(f64, f64) -> f64| {
        let begin = spans.values().map(|span| span.0).reduce(first).unwrap_or(0.0);
        let end = spans.values().map(|span| span.1).reduce(second).unwrap_or(0.0);
        (begin, end)
    };
    let all = ends(f64::min, f64::max);
    let together = ends(f64::max, f64::min);
    let is_enough = together.1 - together.0 >= LEAST_TOGETHER * (all.1 - all.0);
    let (begin, end) = if is_enough { together } else { all };
    let within_phase = |span: &(f64, f64)| (span.1.min(end) - span.0.max(begin)).max(0.0);
    let duration = (end - begin).max(1.0);
    let threads_at_once = spans.values().map(within_phase).sum::<f64>() / duration;
    let of_thread = |thread: &u32| {
        let windows = recording.windows.iter().filter(|window| window.thread == *thread);
        let within: Vec<&Window> =
            windows.filter(|window| (begin..=end).contains(&(window.begin as f64))).collect();
        let share = spans.get(thread).map_or(0.0, within_phase) / duration;
        (rate(&within) * share, rate_outside(&within).map(|rate| rate * share))
    };
    let rates: Vec<(f64, Option<f64>)> = threads.iter().map(of_thread).collect();
    let rate = rates.iter().map(|(rate, _)| rate).sum();
    let rate_outside = rates.iter().map(|(_, outside)| *outside).sum();
    Phase { begin, end, threads: threads_at_once, rate, rate_outside }
}

/// Returns the acquisitions a second of one thread, from its counts at the beginnings of windows.
fn rate(windows: &[&Window]) -> f64 {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return 0.0 };
    let time = (last.end() - first.begin) as f64;
    let count = last.acquisitions_at_end() - first.acquisitions;
    if time > 0.0 { count as f64 / time * 1e9 } else { 0.0 }
}

/// Returns the acquisitions a second of one thread between its windows, if it was outside of them
/// for long enough.
fn rate_outside(windows: &[&Window]) -> Option<f64> {
    let (first, last) = windows.first().zip(windows.last())?;
    let between = || windows.iter().zip(windows.get(1..).unwrap_or_default());
    let time: u64 = between().map(|(one, next)| next.begin.saturating_sub(one.end())).sum();
    let count = |(one, next): (&&Window, &&Window)| {
        next.acquisitions.saturating_sub(one.acquisitions_at_end())
    };
    let is_enough = time as f64 >= LEAST_OUTSIDE * (last.end() - first.begin).max(1) as f64;
    is_enough.then(|| between().map(count).sum::<u64>() as f64 / time as f64 * 1e9)
}
