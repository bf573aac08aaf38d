//! System calls of one thread that neither sleeps nor wakes another thread.

use super::cost::{Cost, Costs, figure};
use super::futex::{self, Slept};
use crate::cpus::pin;
use lockyard_support::jobs;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// Number of calls that are timed together: few enough that most tries fit between two interrupts.
const CALLS: u32 = 100;

/// Number of tries. The first one is a warm-up, and is discarded.
const TRIES: usize = 61;

/// Maximum duration of the tries of one call. A yield to another thread takes that thread's turn.
const LONGEST: Duration = Duration::from_millis(100);

/// Measures the calls on one CPU. If the thread cannot be pinned, the calls run on any CPU.
pub(super) fn measure(cpu: usize) -> Costs {
    let all = move || {
        pin(cpu);
        let word = AtomicU32::new(1);
        let changed = || futex::wait(&word, 0, None) == Slept::Changed;
        let nobody = || futex::wake(&word) == Some(0);
        let found = [
            (Cost::WaitChanged, each(changed)),
            (Cost::WakeNobody, each(nobody)),
            (Cost::Yield, each(futex::yield_cpu)),
        ];
        found.into_iter().filter_map(|(what, samples)| Some((what, figure(&samples)?))).collect()
    };
    let thread = std::thread::Builder::new().spawn(all).ok();
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// Returns the nanoseconds of a call, for each try in which the thread kept its CPU. Returns no
/// values if a call fails.
fn each(call: impl Fn() -> bool) -> Vec<f64> {
    let begin = Instant::now();
    let mut samples = Vec::with_capacity(TRIES);
    for _ in 0..TRIES {
        let (before, from) = (futex::switches(), Instant::now());
        if !(0..CALLS).all(|_| call()) || jobs::interrupted() {
            return Vec::new();
        }
        let passed = from.elapsed();
        if futex::switches() == before {
            samples.push(passed.as_nanos() as f64 / f64::from(CALLS));
        }
        if begin.elapsed() > LONGEST {
            break;
        }
    }
    samples.split_off(samples.len().min(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_call_that_fails_has_no_time() {
        let calls = Cell::new(0u32);
        let fails_once = || {
            calls.set(calls.get() + 1);
            calls.get() != 3 * CALLS
        };
        assert!(each(fails_once).is_empty());
    }

    #[test]
    fn a_try_in_which_another_thread_ran_is_not_counted() {
        let still = each(|| true).len();
        assert!(still < TRIES && (still > 0 || futex::switches().is_none()), "{still}");
        let calls = Cell::new(0u32);
        let sleeps_in_each_try = || {
            calls.set(calls.get() + 1);
            if calls.get().is_multiple_of(CALLS) {
                std::thread::sleep(Duration::from_micros(50));
            }
            true
        };
        assert!(each(sleeps_in_each_try).is_empty());
    }

    #[test]
    fn long_calls_end_the_tries() {
        let slow = || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(500) {}
            true
        };
        let samples = each(slow);
        assert!(samples.len() < 10, "{samples:?}");
        assert!(samples.iter().all(|sample| *sample >= 500e3), "{samples:?}");
    }
}
