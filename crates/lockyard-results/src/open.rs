//! An open load: requests come from outside at a rate, whether threads are free or not.

use crate::details::RequestsDetail;
use crate::fairness::Waits;
use lockyard_support::{grouped, threads as in_words};
use serde::Serialize;

/// Share of the requests that threads must begin. With less, the waits grow without end.
const KEPT_UP: f64 = 0.95;

/// Share of the threads' time that must be left if all requests seem to be begun.
const LEFT: f64 = 0.01;

/// A recorded program under an open load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenLoad {
    /// Name of the machine.
    pub machine: String,
    /// Number of threads.
    pub threads: usize,
    /// Requests that come, per second.
    pub requests_per_s: f64,
    /// Requests that threads begin, per second.
    pub begun_per_s: f64,
    /// Share of the threads' time without waits for a request.
    pub share_busy: f64,
    /// True if more requests come than the threads can begin.
    pub saturated: bool,
    /// Waits of the requests until a thread begins them; `None` if it is saturated, because they
    /// grow with the length of the run.
    pub waits: Option<Waits>,
}

impl OpenLoad {
    /// Returns the load of a simulated cell.
    pub fn of(machine: &str, threads: usize, offered: f64, found: RequestsDetail) -> OpenLoad {
        let RequestsDetail { begun_per_s, share_busy, waits } = found;
        let saturated = begun_per_s < KEPT_UP * offered || share_busy > 1.0 - LEFT;
        OpenLoad {
            machine: machine.to_owned(),
            threads,
            requests_per_s: offered,
            begun_per_s,
            share_busy,
            saturated,
            waits: (!saturated).then_some(waits),
        }
    }

    /// Returns the result in a sentence.
    pub fn sentence(&self) -> String {
        let (threads, machine) = (in_words(self.threads), &self.machine);
        let rate = |of: f64| grouped(of.round() as u64);
        let (come, begun) = (rate(self.requests_per_s), rate(self.begun_per_s));
        let Some(waits) = self.waits else {
            return format!(
                "{threads} on {machine}: saturated. {come} requests/s come, and at most {begun}/s \
                 are done: the rest waits, for longer and longer."
            );
        };
        let known = [("median", waits.p50), ("p99", waits.p99), ("p99.9", waits.p999)];
        let known = known.into_iter().filter_map(|(name, wait)| Some((name, wait?)));
        let mut said: Vec<String> =
            known.map(|(name, wait)| format!("{name} {}", time(wait))).collect();
        said.push(format!("longest {}", time(waits.maximum)));
        format!(
            "{threads} on {machine}: {begun} of {come} requests/s reached, threads busy for \
             {:.0} % of the time. A request waits for a thread: {}.",
            self.share_busy * 100.0,
            said.join(", ")
        )
    }
}

/// Returns a time with its unit.
fn time(nanoseconds: u64) -> String {
    match nanoseconds as f64 {
        ns if ns >= 9.95e8 => format!("{:.1} s", ns / 1e9),
        ns if ns >= 9.95e5 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 9.95e2 => format!("{:.1} us", ns / 1e3),
        ns => format!("{ns:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairness::histogram;

    fn found(begun_per_s: f64, share_busy: f64) -> RequestsDetail {
        let mut waits = histogram();
        (1..=2_000).for_each(|wait| waits.saturating_record(wait * 1_000));
        RequestsDetail { begun_per_s, share_busy, waits: Waits::of(&waits).expect("some") }
    }

    #[test]
    fn a_load_that_threads_keep_up_with_has_waits() {
        let of = OpenLoad::of("host", 8, 50_000.0, found(49_800.0, 0.43));
        assert!(!of.saturated);
        assert_eq!(
            of.sentence(),
            "8 threads on host: 49,800 of 50,000 requests/s reached, threads busy for 43 % of the \
             time. A request waits for a thread: median 1.0 ms, p99 2.0 ms, longest 2.0 ms."
        );
    }

    #[test]
    fn more_requests_than_threads_can_begin_are_saturation() {
        for (begun, busy) in [(31_000.0, 0.999), (49_900.0, 0.999), (31_000.0, 0.6)] {
            let of = OpenLoad::of("host", 8, 50_000.0, found(begun, busy));
            assert!(of.saturated && of.waits.is_none(), "{begun} {busy}");
            assert!(of.sentence().contains("8 threads on host: saturated. 50,000 requests/s come"));
        }
    }
}
