//! Wake-ups: a thread sleeps on one CPU for a known time, and a thread on another CPU wakes it.
//!
//! The longer a CPU is idle, the deeper it sleeps, and in a guest the hypervisor may have given its
//! processor to another guest. So wake-ups are measured for several idle times. The waking CPU is
//! never idle.

use super::cost::{Cost, Costs, figure};
use super::futex::{self, Slept};
use crate::cpus::pin;
use lockyard_results::row::Measured;
use lockyard_results::statistics::median;
use lockyard_support::jobs;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Idle times in nanoseconds, ascending, and the number of wake-ups after each.
const IDLE: [(u64, usize); 4] = [(20_000, 301), (100_000, 101), (500_000, 101), (2_000_000, 101)];

/// Maximum duration of the wake-ups after one idle time.
const LONGEST: Duration = Duration::from_millis(350);

/// Longest sleep of the thread that is to be woken. The thread ends if no thread wakes it for this
/// long.
const PATIENCE: Duration = Duration::from_millis(200);

/// Longest wake-up of an idle CPU in nanoseconds: the deepest idle states take up to a millisecond
/// to leave. After a longer wake-up, another thread must have had the CPU.
const LONGEST_OF_IDLE: f64 = 1e6;

/// Value of the word that tells the sleeping thread to end.
const OVER: u32 = u32::MAX;

/// Words of the two threads.
struct Shared {
    begin: Instant,
    /// Word on which a thread sleeps: the number of times that it was woken.
    word: AtomicU32,
    /// Number of sleeps that have begun.
    sleeps: AtomicU32,
    /// Time of the last wake-up, on the woken thread's CPU, in nanoseconds from `begin`; 0 before.
    awake: AtomicU64,
}

impl Shared {
    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }
}

/// Times of wake-ups after one idle time.
#[derive(Default)]
struct Times {
    /// Time of the waking call, for its caller.
    calls: Vec<f64>,
    /// Time from the beginning of the call until the woken thread runs.
    wakeups: Vec<f64>,
}

/// Measures wake-ups of a thread on one CPU by a thread on another: after all idle times, or only
/// after the shortest.
pub(super) fn measure(waker: usize, sleeper: usize, all: bool) -> Costs {
    let shared = Arc::new(Shared {
        begin: Instant::now(),
        word: AtomicU32::new(0),
        sleeps: AtomicU32::new(0),
        awake: AtomicU64::new(0),
    });
    let of_sleeper = Arc::clone(&shared);
    let asleep = std::thread::Builder::new().spawn(move || pin(sleeper) && sleep(&of_sleeper));
    let Ok(asleep) = asleep else { return Costs::new() };
    let of_waker = Arc::clone(&shared);
    let wakes = std::thread::Builder::new().spawn(move || {
        let idle = &IDLE[..if all { IDLE.len() } else { 1 }];
        let each = || idle.iter().map(|(idle, most)| wake(&of_waker, *idle, *most)).collect();
        let times: Option<Vec<Times>> = pin(waker).then(each);
        of_waker.word.store(OVER, Ordering::Relaxed);
        futex::wake(&of_waker.word);
        times
    });
    let times = wakes.ok().and_then(|wakes| wakes.join().ok()).flatten();
    // If the waker was not started, the sleeper ends after its patience.
    let slept = asleep.join().is_ok_and(|slept| slept);
    times.filter(|_| slept).map(|times| costs(&times)).unwrap_or_default()
}

/// Sleeps, and records when it runs again, until the word tells it to end. Returns false if the
/// system refuses to let it sleep.
fn sleep(shared: &Shared) -> bool {
    let mut woken = 0;
    loop {
        shared.sleeps.store(woken + 1, Ordering::Relaxed);
        let end = loop {
            let end = futex::wait(&shared.word, woken, Some(PATIENCE));
            // A wake-up may be spurious.
            if end != Slept::Woken || shared.word.load(Ordering::Relaxed) != woken {
                break end;
            }
        };
        let now = shared.now();
        // Relaxed: the words publish no other data.
        let value = shared.word.load(Ordering::Relaxed);
        match end {
            _ if value == OVER => return true,
            Slept::Woken | Slept::Changed => shared.awake.store(now.max(1), Ordering::Relaxed),
            Slept::Interrupted | Slept::Refused => return false,
        }
        woken = value;
    }
}

/// Wakes the thread `most` times, each time after its CPU was idle for `idle` nanoseconds.
fn wake(shared: &Shared, idle: u64, most: usize) -> Times {
    let mut times = Times::default();
    let deadline = Instant::now() + LONGEST;
    while times.wakeups.len() < most && !jobs::interrupted() {
        let woken = shared.word.load(Ordering::Relaxed);
        if !until(deadline, || shared.sleeps.load(Ordering::Relaxed) == woken + 1) {
            break;
        }
        let asleep = shared.now();
        if !until(deadline, || shared.now() - asleep >= idle) {
            break;
        }
        shared.awake.store(0, Ordering::Relaxed);
        let begin = shared.now();
        shared.word.store(woken + 1, Ordering::Relaxed);
        let count = futex::wake(&shared.word);
        let end = shared.now();
        if !until(deadline, || shared.awake.load(Ordering::Relaxed) > 0) {
            break;
        }
        let awake = shared.awake.load(Ordering::Relaxed);
        // Otherwise the thread was not yet asleep, or the CPUs' clocks differ.
        if count == Some(1) && awake > begin {
            times.calls.push((end - begin) as f64);
            times.wakeups.push((awake - begin) as f64);
        }
    }
    times
}

/// Waits until a condition holds. Returns false if it does not at the deadline.
fn until(deadline: Instant, holds: impl Fn() -> bool) -> bool {
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        spin_loop();
    }
}

/// Returns the costs of wake-ups after each idle time.
fn costs(times: &[Times]) -> Costs {
    let Some(short) = times.first() else { return Costs::new() };
    let wakeup = idle(&short.wakeups).and_then(figure);
    let deep = times.get(IDLE.len() - 1).and_then(|long| idle(&long.wakeups).and_then(figure));
    let medians: Vec<Option<f64>> = times.iter().map(|times| median(&times.wakeups)).collect();
    let both = wakeup.zip(deep);
    let after = both.and_then(|(short, deep)| deep_after(&medians, short.value, deep.value));
    let found = [
        (Cost::Wake, wakeup.and_then(|_| figure(&short.calls))),
        (Cost::Wakeup, wakeup),
        (Cost::DeepWakeup, deep),
        (Cost::DeepAfter, after),
    ];
    found.into_iter().filter_map(|(what, figure)| Some((what, figure?))).collect()
}

/// Returns the wake-ups if in most of them the CPU was idle.
fn idle(wakeups: &[f64]) -> Option<&[f64]> {
    median(wakeups).filter(|median| *median < LONGEST_OF_IDLE).map(|_| wakeups)
}

/// Returns the idle time from which on a wake-up's time is nearer, as a ratio, to the deep wake-up
/// than to the short one. It lies between the last idle time for which this is false and the next
/// one, which form its interval. If there is hardly a difference, it is the longest idle time.
fn deep_after(medians: &[Option<f64>], wakeup: f64, deep: f64) -> Option<Measured> {
    const DIFFERENT: f64 = 1.25;
    let at = |index: usize| IDLE.get(index).map(|(idle, _)| *idle as f64);
    let (low, high) = if deep < DIFFERENT * wakeup {
        let longest = at(IDLE.len() - 1)?;
        (longest, longest)
    } else {
        let middle = (wakeup * deep).sqrt();
        let is_short = |median: &Option<f64>| median.is_none_or(|median| median < middle);
        let last_short = medians.iter().rposition(is_short)?;
        (at(last_short)?, at(last_short + 1)?)
    };
    Some(Measured { value: (low * high).sqrt(), ci_low: low, ci_high: high, samples: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_time_of_deep_wake_ups_is_found() {
        let between = |medians: [Option<f64>; 4], wakeup, deep| {
            let found = deep_after(&medians, wakeup, deep).expect("there are both");
            assert!((found.value - (found.ci_low * found.ci_high).sqrt()).abs() < 1.0);
            (found.ci_low, found.ci_high)
        };
        let of = |medians: [f64; 4]| between(medians.map(Some), medians[0], medians[3]);
        assert_eq!(of([6e3, 6e3, 21e3, 27e3]), (100e3, 500e3), "21 is nearer to 27 than to 6");
        assert_eq!(of([6e3, 6e3, 12e3, 27e3]), (500e3, 2e6));
        assert_eq!(of([6e3, 25e3, 25e3, 27e3]), (20e3, 100e3));
        assert_eq!(of([6e3, 6e3, 6e3, 6.5e3]), (2e6, 2e6), "there is no deep sleep");
        assert_eq!(of([6e3, 50e3, 6e3, 50e3]), (500e3, 2e6), "slow before fast is no depth");
        assert_eq!(between([Some(6e3), None, None, Some(50e3)], 6e3, 5e4), (500e3, 2e6));
    }

    #[test]
    fn wake_ups_of_a_cpu_that_another_thread_has_are_no_figure() {
        let times = |ns: f64| Times { calls: vec![1000.0; 9], wakeups: vec![ns; 9] };
        let of = |ns: [f64; 4]| costs(&ns.map(times));
        let names = |costs: Costs| costs.iter().map(|(what, _)| *what).collect::<Vec<_>>();
        let all = [Cost::Wake, Cost::Wakeup, Cost::DeepWakeup, Cost::DeepAfter];
        assert_eq!(names(of([6e3, 6e3, 2e4, 3e4])), all);
        assert_eq!(names(of([6e3, 6e3, 2e4, 4e6])), [Cost::Wake, Cost::Wakeup]);
        assert_eq!(names(of([4e6; 4])), []);
        assert_eq!(costs(&[]), []);
    }

    #[test]
    fn a_cpu_that_is_not_there_has_no_costs() {
        let begin = Instant::now();
        assert_eq!(measure(usize::MAX, 0, true), []);
        assert_eq!(measure(0, usize::MAX, true), []);
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody waits for ever");
    }
}
