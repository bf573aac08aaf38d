//! Sampling of the CPU time of a program whose shares are known. It finds them within two points,
//! or within the error that this number of samples allows. The tests compare CPU time. So a loaded
//! host makes a test slower and its bounds wider, but not wrong. If the sampler is hardly woken,
//! the test says so. It then demands only that the sampler looked about as often as another thread
//! was woken.

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

/// Quantities of work in the three phases of the program.
const PARTS: [u64; 3] = [70, 20, 10];

/// Maximum error of the shares, if there are `ENOUGH` samples.
const POINTS: f64 = 0.02;

/// Number of samples at which two points are five standard deviations of a share of 0.7. Each
/// sample is a draw.
const ENOUGH: f64 = 13_000.0;

/// Maximum number of runs of a program to reach `ENOUGH` samples. The samples of a run depend on
/// how promptly the sampler is woken. A loaded host gives a thousandth of those of an idle one.
const RUNS: usize = 12;

/// Interval of the sampler, shorter than usual so that the test ends soon.
const INTERVAL: Duration = Duration::from_micros(200);

/// Lock that the running test holds. Two tests at once would have four threads, and samplers would
/// wait for a CPU.
static TURN: Mutex<()> = Mutex::new(());

/// Number of wake-ups of a second thread in the present test, which repeatedly sleeps for
/// `INTERVAL` beside the sampler.
static WOKEN: AtomicU64 = AtomicU64::new(0);

/// Waits until no other test runs.
fn alone() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    WOKEN.store(0, Relaxed);
    turn
}

/// Performs a quantity of work: dependent shifts (Marsaglia's xorshift).
fn work(rounds: u64) {
    let mut x = black_box(1u64);
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// Returns the CPU time that the calling thread has used.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs `program` on each of `threads` threads, under a sampler that distinguishes `phases`
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
        // A message begins the program, and hanging up ends it: a thread that has ended has no
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

/// Minimum number of samples of which anything is demanded. With fewer, five standard deviations of
/// a share of 0.7 are more than 10 points.
const FEWEST: f64 = 500.0;

/// Returns the maximum error of a share of `expected` at this number of samples: two points, or
/// five standard deviations, if that is more.
fn allowed(expected: f64, samples: f64) -> f64 {
    POINTS.max(5.0 * (expected * (1.0 - expected) / samples).sqrt())
}

/// Runs a program, as `run` does, until there are `enough` samples, or `RUNS` runs.
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

/// Prints the shares for a manual run, and asserts that they are within the error that this number
/// of samples allows.
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

/// Runs the three phases `cycles` times. Returns the CPU time of each phase, by the thread's own
/// clock.
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

/// Returns the shares that the threads' own clocks found.
fn by_their_clocks(used: &[[Duration; 3]]) -> [f64; 3] {
    let of = |phase: usize| used.iter().map(|thread| thread[phase].as_secs_f64()).sum::<f64>();
    let all = of(0) + of(1) + of(2);
    [of(0) / all, of(1) / all, of(2) / all]
}

#[test]
fn phases_longer_than_the_time_between_samples_are_found() {
    let _alone = alone();
    // A phase takes tens of milliseconds.
    let mut all = Vec::new();
    let found = until(ENOUGH, || {
        let (found, used) = sampled(2, PARTS.len(), || program(6, 600_000));
        all.extend(used);
        found
    });
    // The two threads begin together and are sampled together, so samples of one apply to the
    // other.
    assert_alike(&found, by_their_clocks(&all), found.effective_samples() / 2.0);
}

#[test]
fn phases_far_shorter_than_the_time_between_samples_are_found() {
    let _alone = alone();
    // A phase takes a few microseconds. Reading a clock takes as long, so the quantities of work
    // are the known shares.
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
    // 70 % copies, in a part that has a name; 20 % look-ups, and within these 10 % waits for a
    // lock.
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
    // No phase was set, so all time is between steps.
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
    // The sleep gets half of the time between the looks around its beginning and around its end.
    // Over a dozen runs with this many samples in all, that is three points.
    if found.effective_samples() >= FEWEST {
        assert!(shares[2] < 0.1, "{shares:?}");
        assert!(shares[0] > 0.2 && shares[1] > 0.2, "{shares:?}");
    }
}
