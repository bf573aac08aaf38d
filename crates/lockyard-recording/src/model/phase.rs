//! The part of a run that is replayed: from the time when all main threads have begun until the
//! first of them ends. If there is hardly such a time, all of the run.

use crate::recording::{Recording, Window};
use std::collections::HashMap;

/// Share of the acquisitions of the busiest thread below which a thread is no main one.
const LEAST_OF_BUSIEST: f64 = 0.02;

/// Minimum share of the run for a part in which all main threads run.
const LEAST_TOGETHER: f64 = 0.2;

/// A part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    begin: f64,
    end: f64,
    /// Mean number of main threads.
    pub(super) threads: f64,
    /// Acquisitions a second of these threads.
    pub(super) rate: f64,
}

impl Phase {
    pub(super) fn contains(&self, time: u64) -> bool {
        (self.begin..=self.end).contains(&(time as f64))
    }

    /// Returns the times that it contains.
    pub(super) fn times(&self) -> std::ops::RangeInclusive<u64> {
        self.begin.ceil() as u64..=self.end.floor() as u64
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
    let within = |span: &(f64, f64)| (span.1.min(end) - span.0.max(begin)).max(0.0);
    let duration = (end - begin).max(1.0);
    let threads_at_once = spans.values().map(within).sum::<f64>() / duration;
    let of_thread = |thread: u32| {
        let windows = recording.windows.iter().filter(|window| window.thread == thread);
        let share = spans.get(&thread).map_or(0.0, within) / duration;
        rate(windows, begin, end) * share
    };
    let rate = threads.iter().map(|thread| of_thread(*thread)).sum();
    Phase { begin, end, threads: threads_at_once, rate }
}

/// Returns the acquisitions a second of one thread, from its counts at the beginnings of windows.
fn rate<'w>(windows: impl Iterator<Item = &'w Window>, begin: f64, end: f64) -> f64 {
    let within: Vec<&Window> =
        windows.filter(|window| (begin..=end).contains(&(window.begin as f64))).collect();
    let (Some(first), Some(last)) = (within.first(), within.last()) else { return 0.0 };
    let time = (last.end() - first.begin) as f64;
    let count = last.acquisitions_at_end() - first.acquisitions;
    if time > 0.0 { count as f64 / time * 1e9 } else { 0.0 }
}
