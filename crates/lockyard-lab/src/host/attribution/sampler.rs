//! Looking: one thread that wakes up at random intervals and reads the clocks and the phases of the others.

use super::line::{Clock, Watched};
use super::tally::Tally;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The mean time between two looks that serves most: two thousand looks a second.
pub const INTERVAL: Duration = Duration::from_micros(500);

/// The sampler sleeps at least so many times as long as a look takes: with many threads it looks less often.
const LEAST_SLEEP: u32 = 20;

/// A thread that looks at others.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Tally>,
}

impl Sampler {
    /// Begins to look at `watched`, whose phases are numbered below `phases`, every `interval` in the mean.
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

    /// Stops looking: what was seen, up to now.
    ///
    /// # Panics
    ///
    /// If the sampler has panicked.
    pub fn finish(self) -> Tally {
        // Relaxed: what was seen comes by the join.
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the sampler does not panic")
    }
}

/// A watched thread, as it was when it was last looked at.
struct Last {
    watched: Watched,
    phase: u32,
    cpu: Duration,
}

fn look(watched: &[Watched], phases: usize, interval: Duration, stop: &AtomicBool) -> Tally {
    be_prompt();
    let of = |&watched: &Watched| {
        let cpu = watched.cpu_time()?;
        Some(Last { watched, phase: watched.phase(), cpu })
    };
    let mut last: Vec<Last> = watched.iter().filter_map(of).collect();
    let mut tally = Tally::new(phases);
    // Marsaglia's xorshift: any numbers do that keep no step with the program.
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut look_took = Duration::ZERO;
    loop {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // From half the interval to one and a half.
        let factor = 0.5 + (random >> 11) as f64 / (1u64 << 53) as f64;
        let sleep = interval.mul_f64(factor).max(look_took * LEAST_SLEEP);
        std::thread::sleep(sleep);
        let stopping = stop.load(Ordering::Relaxed);
        let begin = Instant::now();
        for Last { watched, phase, cpu } in &mut last {
            let Some(now) = watched.cpu_time() else { continue };
            let in_phase = watched.phase();
            tally.add(*phase, in_phase, now.saturating_sub(*cpu));
            (*phase, *cpu) = (in_phase, now);
        }
        look_took = begin.elapsed();
        if stopping {
            break;
        }
    }
    let own = Clock::of_this_thread().ok().and_then(Clock::now);
    tally.sampler = own.unwrap_or_default();
    tally
}

/// Asks the kernel to wake the thread when it wants to be woken: no slack for its timers, and the short slice of a thread
/// that needs little, so that it need not wait until a spinning thread has used up its own. Where the kernel knows neither,
/// samples come later and are fewer; their weights are right all the same.
#[cfg(target_os = "linux")]
fn be_prompt() {
    /// `struct sched_attr` of sched_setattr(2), its first version.
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
        // The shortest that it grants, in nanoseconds.
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the call has no argument in memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    // SAFETY: the attributes are live, and as long as they say.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(not(target_os = "linux"))]
fn be_prompt() {}
