//! Threads on all CPUs that make system calls on one word at the same time. The word is in one
//! bucket of the kernel's table, and the kernel admits one call of a bucket at a time. So each call
//! takes as long as the calls of all threads together keep the bucket.

use super::cost::{Cost, Costs, figure};
use super::futex::{self, Slept};
use crate::cpus::pin;
use lockyard_results::statistics::median;
use lockyard_support::jobs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum number of threads. With fewer threads, the calls do not always queue: the rest of one
/// call continues while another call is admitted.
const LEAST_CALLERS: usize = 4;

/// Maximum number of threads.
const MOST_CALLERS: usize = 64;

/// Time for which all threads call in a round.
const WINDOW: Duration = Duration::from_millis(12);

/// Number of rounds on one shared word, and on separate words.
const ROUNDS: usize = 9;

/// Number of calls between two looks at the clock.
const BATCH: u64 = 16;

/// Timeout of a thread that waits for the other threads to be ready.
const PATIENCE: Duration = Duration::from_millis(100);

/// Minimum ratio of the time of a call on the shared word to the time of a call on a separate word,
/// for calls to count as waiting for each other.
const WAIT_FOR_EACH_OTHER: f64 = 1.5;

/// A word in separate cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU32);

/// Words of a round.
struct Round {
    words: Vec<Word>,
    /// Number of threads that are ready.
    ready: AtomicUsize,
}

/// Measures the time for which a call keeps other calls out. There is no figure with few CPUs, or
/// if calls on one word take about as long as calls on separate words.
pub(super) fn measure(cpus: &[usize]) -> Costs {
    let cpus = &cpus[..cpus.len().min(MOST_CALLERS)];
    if cpus.len() < LEAST_CALLERS {
        return Costs::new();
    }
    let (mut one, mut own) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.extend(round(cpus, 1));
        own.extend(round(cpus, cpus.len()));
    }
    kept_out(&one, &own, cpus.len())
}

/// Returns the time for which a call keeps other calls out, from the times of calls in each round:
/// on one word, and on separate words.
fn kept_out(one: &[f64], own: &[f64], callers: usize) -> Costs {
    let slower = median(one).zip(median(own)).map(|(one, own)| one / own);
    if slower.is_none_or(|slower| slower < WAIT_FOR_EACH_OTHER) {
        return Costs::new();
    }
    let each: Vec<f64> = one.iter().map(|call| call / callers as f64).collect();
    figure(&each).map(|figure| (Cost::Bucket, figure)).into_iter().collect()
}

/// Lets a thread on each CPU call on one of `words` words. Returns the nanoseconds of a call,
/// computed from the rate of all calls. `None` if a thread cannot be started or pinned, was not
/// ready at the beginning, or if its calls are refused.
fn round(cpus: &[usize], words: usize) -> Option<f64> {
    if jobs::interrupted() {
        return None;
    }
    let words = (0..words).map(|_| Word(AtomicU32::new(1))).collect();
    let round = Arc::new(Round { words, ready: AtomicUsize::new(0) });
    let start = |(index, &cpu): (usize, &usize)| {
        let (round, callers) = (Arc::clone(&round), cpus.len());
        let work = move || if pin(cpu) { call(&round, index, callers) } else { None };
        std::thread::Builder::new().spawn(work).ok()
    };
    let threads: Vec<Option<JoinHandle<Option<f64>>>> =
        cpus.iter().enumerate().map(start).collect();
    // All threads end by themselves, even if some could not be started.
    let rates = threads.into_iter().map(|thread| thread?.join().ok().flatten());
    let rate: f64 = rates.collect::<Vec<_>>().into_iter().sum::<Option<f64>>()?;
    Some(cpus.len() as f64 / rate)
}

/// Calls as one of several threads. Returns the calls per nanosecond.
fn call(round: &Round, index: usize, callers: usize) -> Option<f64> {
    let word = &round.words[index % round.words.len()].0;
    let begin = Instant::now();
    // Relaxed: the count publishes no other data.
    round.ready.fetch_add(1, Ordering::Relaxed);
    while round.ready.load(Ordering::Relaxed) < callers {
        if begin.elapsed() > PATIENCE {
            return None;
        }
        std::thread::yield_now();
    }
    let (begin, mut calls) = (Instant::now(), 0);
    loop {
        let changed = || futex::wait(word, 0, None) == Slept::Changed;
        if !(0..BATCH).all(|_| changed()) {
            return None;
        }
        calls += BATCH;
        let passed = begin.elapsed();
        if passed >= WINDOW {
            return Some(calls as f64 / passed.as_nanos() as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::Cpus;

    #[test]
    fn calls_that_wait_for_each_other_share_the_time() {
        let found = kept_out(&[800.0; 9], &[200.0; 9], 4);
        assert_eq!((found[0].0, found[0].1.value), (Cost::Bucket, 200.0));
        assert_eq!(kept_out(&[210.0; 9], &[200.0; 9], 4), [], "nobody waits");
        assert_eq!(measure(&[0; LEAST_CALLERS - 1]), [], "with few callers it cannot be told");
        assert_eq!(kept_out(&[], &[], 4), []);
    }

    #[test]
    fn a_round_has_a_time_and_ends_though_a_thread_is_missing() {
        let cpus = Cpus::allowed();
        match round(cpus.all(), 1) {
            Some(call) => assert!(call.is_finite() && call > 0.0, "{call}"),
            None => lockyard_testing::skip!("threads cannot be pinned, or not all had their CPU"),
        }
        let begin = Instant::now();
        assert_eq!(round(&[cpus.cpu(0), usize::MAX], 1), None);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
