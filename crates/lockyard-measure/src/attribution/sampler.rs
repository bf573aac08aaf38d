//! Sampler: a thread that wakes at random intervals and reads the clocks and phases of other
//! threads.

use super::line::{Clock, Watched};
use super::tally::{Look, Tally};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Default mean time between two looks: two thousand looks per second.
pub const INTERVAL: Duration = Duration::from_micros(500);

/// Minimum mean sleep of the sampler, as a multiple of the CPU time of a look. With many threads
/// the sampler looks less often. It never uses more than a sixth of a CPU.
const LEAST_SLEEP: u32 = 5;

/// Thread that samples other threads.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Tally>,
}

impl Sampler {
    /// Starts to sample `watched`, on average once per `interval`. Phase numbers are below
    /// `phases`.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn start(
        watched: Vec<Watched>,
        phases: usize,
        interval: Duration,
    ) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || look(&watched, phases, interval, &asked))?;
        Ok(Sampler { stop, thread })
    }

    /// Stops sampling, and returns all samples taken.
    ///
    /// # Panics
    ///
    /// If the sampler has panicked.
    pub fn finish(self) -> Tally {
        // Relaxed: the join publishes the tally.
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the sampler does not panic")
    }
}

/// State of a watched thread at the last look at which it had run.
struct Last {
    watched: Watched,
    phase: u32,
    cpu: Duration,
    /// CPU time between that look and the one before.
    used: Duration,
}

fn look(watched: &[Watched], phases: usize, interval: Duration, stop: &AtomicBool) -> Tally {
    be_prompt();
    let of = |&watched: &Watched| {
        let cpu = watched.cpu_time()?;
        Some(Last { watched, phase: watched.phase(), cpu, used: Duration::ZERO })
    };
    let mut last: Vec<Last> = watched.iter().filter_map(of).collect();
    let mut tally = Tally::new(phases);
    let mut intervals = Intervals::new();
    let clock = Clock::of_this_thread().ok();
    let own = || clock.and_then(Clock::now).unwrap_or_default();
    let mut looks = 0;
    loop {
        let mean = interval.max(own() / looks.max(1) * LEAST_SLEEP);
        std::thread::sleep(intervals.next(mean));
        looks += 1;
        let stopping = stop.load(Ordering::Relaxed);
        for Last { watched, phase, cpu, used } in &mut last {
            let Some(now) = watched.cpu_time() else { continue };
            let in_phase = watched.phase();
            let since = now.saturating_sub(*cpu);
            if since.is_zero() {
                // The thread has not run since the last look, so a new look would repeat the old
                // one.
                continue;
            }
            tally.add(Look { before: *phase, now: in_phase, earlier: *used, cpu: since });
            (*phase, *cpu, *used) = (in_phase, now, since);
        }
        if stopping {
            break;
        }
    }
    tally.sampler = own();
    tally
}

/// Exponentially distributed intervals between looks. Each moment is equally likely, regardless of
/// earlier looks. So the looks cannot synchronise with a program whose phases recur. With intervals
/// drawn from a bounded range, looks could synchronise if the program's period is near that range.
struct Intervals {
    random: u64,
}

impl Intervals {
    fn new() -> Intervals {
        Intervals { random: 0x9e37_79b9_7f4a_7c15 }
    }

    fn next(&mut self, mean: Duration) -> Duration {
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // Greater than 0, at most 1.
        let uniform = ((self.random >> 11) + 1) as f64 / (1u64 << 53) as f64;
        mean.mul_f64(-uniform.ln())
    }
}

/// Asks the kernel to wake the thread on time: without timer slack, and with a short time slice.
/// With a short slice, the thread does not wait until a spinning thread has used up its slice. If
/// the kernel supports neither, samples are later and fewer, but their weights stay correct.
#[cfg(target_os = "linux")]
fn be_prompt() {
    /// First version of `struct sched_attr` of sched_setattr(2).
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        // Shortest slice that the kernel accepts, in nanoseconds.
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    // SAFETY: the attributes are live, and contain their own size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(not(target_os = "linux"))]
fn be_prompt() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a sampler and a program whose phases recur: 70, 20 and 10 % of `period`. Returns
    /// the shares found. No thread runs and no clock is read, so the result is deterministic.
    fn found(period: Duration, mut next: impl FnMut() -> Duration) -> Vec<f64> {
        let phase =
            |time: Duration| match time.as_nanos() % period.as_nanos() * 10 / period.as_nanos() {
                0..7 => 0,
                7..9 => 1,
                _ => 2,
            };
        let mut tally = Tally::new(3);
        let (mut time, mut earlier) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..100_000 {
            let interval = next();
            let (before, now) = (phase(time), phase(time + interval));
            tally.add(Look { before, now, earlier, cpu: interval });
            (time, earlier) = (time + interval, interval);
        }
        tally.shares().expect("time has passed")
    }

    #[test]
    fn looks_keep_no_step_with_a_program() {
        let mut intervals = Intervals::new();
        for tenths in [1, 3, 5, 10, 20, 25, 100, 1000] {
            let shares = found(INTERVAL * tenths / 10, || intervals.next(INTERVAL));
            for (share, expected) in shares.iter().zip([0.7, 0.2, 0.1]) {
                assert!((share - expected).abs() < 0.005, "{tenths}: {shares:?}");
            }
        }
        // Fixed intervals do synchronise with the program, and give wrong shares.
        let shares = found(INTERVAL * 2, || INTERVAL);
        assert!((shares[0] - 0.7).abs() > 0.1, "{shares:?}");
    }
}
