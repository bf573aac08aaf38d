//! Times of the kernel's sleeps and wake-ups on this host, by its own calls (`futex`).

use lockyard_measure::cpus::{Cpus, pin};
use lockyard_recording::recording::Costs;
use lockyard_results::statistics::median;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Number of times that two threads wake each other.
const TURNS: u32 = 600;

/// Number of calls that are timed together.
const CALLS: u32 = 1000;

/// Word on which the threads sleep: number of the turn.
static TURN: AtomicU32 = AtomicU32::new(0);

/// The calls, for threads of one process.
const WAIT: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: libc::c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Sleeps while the word has a value.
fn sleep_while(value: u32) {
    let timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word is a static, and a null timeout is none.
    unsafe { libc::syscall(libc::SYS_futex, TURN.as_ptr(), WAIT, value, timeout) };
}

/// Wakes a thread that sleeps.
fn wake() {
    // SAFETY: the word is a static.
    unsafe { libc::syscall(libc::SYS_futex, TURN.as_ptr(), WAKE, 1) };
}

/// Waits for a turn of this parity, and returns it.
fn wait(odd: u32) -> u32 {
    loop {
        // Acquire: pairs with the release of the other thread, whose turn is over.
        let turn = TURN.load(Ordering::Acquire);
        if turn % 2 == odd {
            return turn;
        }
        sleep_while(turn);
    }
}

/// Takes turns on a CPU: returns the times of a round, and of a call that wakes.
fn turns(odd: u32, cpu: Option<usize>) -> [Vec<f64>; 2] {
    // Without effect, the times are of any CPUs.
    cpu.map(pin);
    let [mut rounds, mut wakes] = [Vec::new(), Vec::new()];
    let mut begin = Instant::now();
    loop {
        let turn = wait(odd);
        rounds.push(begin.elapsed().as_nanos() as f64);
        begin = Instant::now();
        // Release: pairs with the acquire in `wait`.
        TURN.store(turn + 1, Ordering::Release);
        wake();
        wakes.push(begin.elapsed().as_nanos() as f64);
        if turn >= TURNS {
            return [rounds, wakes];
        }
    }
}

/// Returns the median; 0 without times.
fn usual(times: &[f64]) -> f64 {
    median(times).unwrap_or(0.0)
}

/// Returns the times of a number of calls, each.
fn each(call: impl Fn()) -> f64 {
    let time = |_| {
        let begin = Instant::now();
        (0..CALLS).for_each(|_| call());
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    usual(&(0..9).map(time).collect::<Vec<f64>>())
}

/// Measures a wake-up, from the call until the other thread runs, on two CPUs; and the calls. What
/// cannot be measured is 0.
pub(super) fn sleeps() -> Costs {
    TURN.store(0, Ordering::Relaxed);
    let park = each(|| sleep_while(1));
    let wake_nobody = each(wake);
    let cpus = Cpus::allowed();
    let (first, last) = (cpus.all().iter().min().copied(), cpus.all().iter().max().copied());
    let begin = |odd, cpu| std::thread::Builder::new().spawn(move || turns(odd, cpu)).ok();
    let found = begin(1, last).zip(begin(0, first)).and_then(|(_, first)| first.join().ok());
    let [rounds, wakes] = found.unwrap_or_default();
    let wake = usual(&wakes);
    // A round is two wake-ups, each with the call before it.
    Costs { park, wake_nobody, wake, wakeup: usual(&rounds) / 2.0, ..Costs::default() }
}
