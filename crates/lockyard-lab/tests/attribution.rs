//! Tests of the CPU-time sampler with a program whose shares are known. It must find them within
//! two points, or within the error that this number of samples allows.
//!
//! The tests compare CPU time, so on a loaded host a test gets slower and its bounds wider, but not
//! wrong. If the sampler hardly ever wakes, the test says so. It then only requires that the
//! sampler looked about as often as another thread woke up.

#![cfg(target_os = "linux")]

use lockyard::platform::during;
use lockyard_measure::attribution::{
    Accounted, Registered, Sampler, Tally, by_activity, by_phase, enter, numbers,
};
use lockyard_scenarios::{Activity, Region, RegionPart};
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Amount of work in each of the program's three phases.
const PARTS: [u64; 3] = [70, 20, 10];

/// Maximum error of the shares, given `ENOUGH` samples.
const POINTS: f64 = 0.02;

/// Number of samples for which two points are five standard deviations of a share of 0.7, if
/// samples are independent.
const ENOUGH: f64 = 13_000.0;

/// Maximum number of runs of a program to collect `ENOUGH` samples. The number of samples per run
/// depends on how promptly the sampler wakes. On a loaded host it can be a thousandth of the number
/// on an idle host.
const RUNS: usize = 12;

/// Interval of the sampler. It is shorter than the default, to end the test sooner.
const INTERVAL: Duration = Duration::from_micros(200);

/// Lock held by the running test. Two concurrent tests would have four threads, and the samplers
/// would have to wait for a CPU.
static TURN: Mutex<()> = Mutex::new(());

/// Number of times in the current test that a second thread woke. It repeatedly sleeps for
/// `INTERVAL`, while the sampler runs.
static WOKEN: AtomicU64 = AtomicU64::new(0);

/// Waits until no other test runs.
fn alone() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    WOKEN.store(0, Relaxed);
    turn
}

/// Performs this amount of work: dependent shifts (Marsaglia's xorshift).
fn work(rounds: u64) {
    let mut x = black_box(1u64);
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// Returns the CPU time of the calling thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs `program` on each of `threads` threads, under a sampler that distinguishes `phases` phase
/// numbers. Returns the samples, and the results of the threads.
fn sampled<R: Send + 'static>(
    threads: usize,
    phases: usize,
    program: fn() -> R,
) -> (Tally, Vec<R>) {
    let (to_sampler, watched) = channel();
    let (done, results) = channel();
    let mut running = Vec::new();
    for _ in 0..threads {
        let (to_sampler, done) = (to_sampler.clone(), done.clone());
        // A message starts the program. Closing the channel ends the thread; an ended thread has no
        // clock.
        let (go, told) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let (_registered, watched) = Registered::new().expect("there is a clock");
            to_sampler.send(watched).expect("the test listens");
            told.recv().expect("the test says so");
            done.send(program()).expect("the test listens");
            let _ = told.recv();
        });
        running.push((go, thread));
    }
    let watched: Vec<_> = watched.iter().take(threads).collect();
    let sampler = Sampler::start(watched, phases, INTERVAL).expect("it starts");
    let over = AtomicBool::new(false);
    let (results, tally) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                std::thread::sleep(INTERVAL);
                WOKEN.fetch_add(1, Relaxed);
            }
        });
        running.iter().for_each(|(go, _)| go.send(()).expect("it waits"));
        let results: Vec<R> = results.iter().take(threads).collect();
        let tally = sampler.finish();
        over.store(true, Relaxed);
        (results, tally)
    });
    for (go, thread) in running {
        drop(go);
        thread.join().expect("it ends");
    }
    (tally, results)
}

/// Minimum number of samples that is checked at all. With fewer, five standard deviations of a
/// share of 0.7 exceed 10 points.
const FEWEST: f64 = 500.0;

/// Returns the maximum error of a share of `expected` with this number of samples: two points or
/// five standard deviations, whichever is greater.
fn allowed(expected: f64, samples: f64) -> f64 {
    POINTS.max(5.0 * (expected * (1.0 - expected) / samples).sqrt())
}

/// Runs a program with `run` until there are `enough` samples, at most `RUNS` times.
fn until(enough: f64, mut run: impl FnMut() -> Tally) -> Tally {
    let mut found = run();
    for _ in 1..RUNS {
        if found.effective_samples() >= enough {
            break;
        }
        found.merge(&run());
    }
    found
}

/// Asserts that the three phases have the expected shares.
fn assert_alike(found: &Tally, expected: [f64; 3], samples: f64) {
    let shares = found.shares().expect("CPU time was used");
    assert_near(found, [shares[0], shares[1], shares[2]], expected, samples);
}

/// Prints the shares for a manual run. Asserts that they are within the error that this number of
/// samples allows.
fn assert_near(found: &Tally, shares: [f64; 3], expected: [f64; 3], samples: f64) {
    println!(
        "found {shares:.4?}, expected {expected:.4?}; {:.2} s, {} samples worth {:.0}, \
         sampler {:.1} ms",
        found.cpu().as_secs_f64(),
        found.samples(),
        found.effective_samples(),
        found.sampler().as_secs_f64() * 1e3
    );
    if samples < FEWEST {
        let woken = WOKEN.load(Relaxed);
        assert!(found.samples() >= woken / 10, "{} samples", found.samples());
        return lockyard_testing::skip!(
            "{samples:.0} samples tell nothing of shares; another thread was woken {woken} times"
        );
    }
    for (share, expected) in shares.iter().zip(expected) {
        let allowed = allowed(expected, samples);
        assert!(
            (share - expected).abs() < allowed,
            "{shares:?}, not {expected:?}: more than {allowed:.3} off"
        );
    }
}

/// Runs the three phases `cycles` times. Returns the CPU time of each phase according to the
/// thread's own clock.
fn program(cycles: u64, rounds: u64) -> [Duration; 3] {
    let mut used = [Duration::ZERO; 3];
    for _ in 0..cycles {
        for (phase, part) in PARTS.into_iter().enumerate() {
            enter(phase as u32);
            let begin = cpu_time();
            work(part * rounds);
            used[phase] += cpu_time() - begin;
        }
    }
    used
}

/// Returns the shares according to the threads' own clocks.
fn by_their_clocks(used: &[[Duration; 3]]) -> [f64; 3] {
    let of = |phase: usize| used.iter().map(|thread| thread[phase].as_secs_f64()).sum::<f64>();
    let all = of(0) + of(1) + of(2);
    [of(0) / all, of(1) / all, of(2) / all]
}

#[test]
fn phases_longer_than_the_time_between_samples_are_found() {
    let _alone = alone();
    // Each phase takes tens of milliseconds.
    let mut all = Vec::new();
    let found = until(ENOUGH, || {
        let (found, used) = sampled(2, PARTS.len(), || program(6, 600_000));
        all.extend(used);
        found
    });
    // The two threads start together and are sampled together, so their samples are not
    // independent. Count only half of them.
    assert_alike(&found, by_their_clocks(&all), found.effective_samples() / 2.0);
}

#[test]
fn phases_far_shorter_than_the_time_between_samples_are_found() {
    let _alone = alone();
    // Each phase takes a few microseconds. Reading a clock takes as long, so use the amounts of
    // work as the known shares.
    let found = until(ENOUGH, || {
        sampled(2, PARTS.len(), || {
            for _ in 0..100_000 {
                for (phase, part) in PARTS.into_iter().enumerate() {
                    enter(phase as u32);
                    work(part * 20);
                }
            }
        })
        .0
    });
    let all: u64 = PARTS.iter().sum();
    let expected = PARTS.map(|part| part as f64 / all as f64);
    assert_alike(&found, expected, found.effective_samples());
}

#[test]
fn regions_and_named_parts_of_them_are_found() {
    let _alone = alone();
    // 70 % copying, in a named part; 20 % look-ups; and 10 % waits for a lock, nested within the
    // look-ups.
    let named = [
        RegionPart { name: "halt".to_owned(), region: Region::Idle },
        RegionPart { name: "__memcpy".to_owned(), region: Region::Copy },
    ];
    let found = until(ENOUGH, || {
        sampled(2, numbers(named.len()), || {
            for _ in 0..100_000 {
                during::<Accounted, _>(Activity::part_of(Region::Copy, 2), || work(70 * 20));
                during::<Accounted, _>(Region::LookUp, || {
                    work(10 * 20);
                    during::<Accounted, _>(Region::LockWait, || work(10 * 20));
                    work(10 * 20);
                });
            }
        })
        .0
    });
    let listing = lockyard_measure::attribution::listing(&by_activity(&found, named.len()), &named);
    let share = |name: &str| listing.share_of(&[name.to_owned()]);
    let shares = [share("__memcpy"), share("look-up"), share("lock-wait")];
    assert_near(&found, shares, [0.7, 0.2, 0.1], found.effective_samples());
    // No phase was set, so all time counts as between steps.
    assert_eq!(by_phase(&found).shares().expect("CPU time was used")[0], 1.0);
}

#[test]
fn a_thread_that_sleeps_has_no_share() {
    let _alone = alone();
    let found = until(FEWEST, || {
        sampled(2, PARTS.len(), || {
            enter(0);
            work(20_000_000);
            enter(2);
            std::thread::sleep(Duration::from_millis(200));
            enter(1);
            work(20_000_000);
        })
        .0
    });
    let shares = found.shares().expect("CPU time was used");
    println!(
        "found {shares:.4?}, {} samples worth {:.0}",
        found.samples(),
        found.effective_samples()
    );
    // The sleep gets half of the time between the looks around its start, and likewise around its
    // end. Over a dozen runs with this total number of samples, that is three points.
    if found.effective_samples() >= FEWEST {
        assert!(shares[2] < 0.1, "{shares:?}");
        assert!(shares[0] > 0.2 && shares[1] > 0.2, "{shares:?}");
    }
}
