//! Time for which a core keeps a line, measured on this host or simulated. Two CPUs change one
//! word, with work between their changes. Each CPU counts how often its own change is followed by
//! another of its own.
//!
//! ```text
//! cargo study ownership -- 40 > measured.csv
//! cargo study ownership -- measured.csv mine.toml
//! ```
//!
//! The first command measures on the first two CPUs that the process may use, for 40 rounds. A
//! round visits every case once, in a new order. A visit consists of three tries of 150
//! microseconds. A try is discarded if a thread lost its CPU during the try.
//!
//! A row holds medians of the tries that were kept. Its columns are:
//!
//! - the operation
//! - the code between the operation and the work (0: nothing, 1: the work needs the operation's
//!   result, 2: a system call, 3: an `lfence` and a system call)
//! - steps of work, each of which takes one cycle; the loop around the steps takes a few more
//! - nanoseconds per operation, with its work, on one CPU
//! - the same on two CPUs together
//! - the mean number of consecutive changes by one CPU
//! - failed compare-exchanges per successful one
//!
//! The second command simulates these rows on a machine (a name or a file), except those whose work
//! needs the result. It derives the work from the single-CPU figure. It prints simulated
//! nanoseconds and consecutive changes next to the measured ones.

#[path = "support/pinned.rs"]
mod pinned;

use lockyard::platform::Ordering::Relaxed as Weak;
use lockyard::platform::{Host, Word};
use lockyard_predict::names;
use lockyard_results::statistics;
use lockyard_sim::{Machine, Simulated, SimulatedU64, Simulation};
use pinned::{allowed, cpu_time, pin};
use std::arch::asm;
use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_micros(150);
const TRIES: usize = 3;
/// Number of changes between two looks at the clock.
const BATCH: u64 = 32;
/// Maximum time without a CPU, in nanoseconds, before a try is discarded.
const LOST: u64 = 6000;
const STEPS: [u64; 14] = [0, 5, 10, 15, 20, 30, 40, 60, 80, 100, 140, 200, 280, 400];

/// Way of changing the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    /// A fetch-and-add.
    Add,
    /// A compare-exchange that first expects the value that this CPU left. After a failure, it
    /// expects the value that it found.
    Guess,
    /// A load and a compare-exchange. After a failure, both are repeated.
    Load,
    /// Same as `Load`, with a pause after a failure.
    Pause,
    /// Same as `Load`, with an instruction between the load and the compare-exchange that stops
    /// out-of-order execution.
    Fenced,
}

const CHANGES: [(Change, &str); 5] = [
    (Change::Add, "add"),
    (Change::Guess, "guess-exchange"),
    (Change::Load, "load-exchange"),
    (Change::Pause, "load-exchange-pause"),
    (Change::Fenced, "load-fence-exchange"),
];

#[repr(align(128))]
#[derive(Default)]
struct Line<T>(T);

/// State shared by the threads of a try.
#[derive(Default)]
struct Meeting {
    word: Line<AtomicU64>,
    ready: Line<AtomicBool>,
    go: Line<AtomicBool>,
    stop: Line<AtomicBool>,
}

/// Counts of a thread.
#[derive(Default, Clone, Copy)]
struct Counts {
    changes: u64,
    /// Number of changes that directly follow another CPU's change.
    runs: u64,
    failed: u64,
}

/// Works for `steps` cycles, and cannot begin before `from` is known. Returns 0.
#[inline(always)]
fn work(steps: u64, from: u64) -> u64 {
    let mut left = steps;
    // SAFETY: the code changes only two registers and the flags.
    unsafe {
        asm!(
            "and {from}, 0",
            "add {left}, {from}",
            "jz 3f",
            "2:",
            "sub {left}, 1",
            "jnz 2b",
            "3:",
            left = inout(reg) left,
            from = inout(reg) from => _,
            options(nomem, nostack)
        );
    }
    left
}

fn exchange(word: &AtomicU64, old: u64, add: u64) -> Result<u64, u64> {
    word.compare_exchange(old, old.wrapping_add(add), Relaxed, Relaxed)
}

/// Adds `add`, and returns the value before the change.
#[inline(always)]
fn change(what: Change, word: &AtomicU64, guess: u64, add: u64, failed: &mut u64) -> u64 {
    match what {
        Change::Add => word.fetch_add(add, Relaxed),
        Change::Guess => {
            let mut seen = guess;
            while let Err(found) = exchange(word, seen, add) {
                *failed += 1;
                seen = found;
            }
            seen
        }
        Change::Load | Change::Pause | Change::Fenced => loop {
            let seen = word.load(Relaxed);
            if what == Change::Fenced {
                // SAFETY: the instruction has no side effects.
                unsafe { asm!("lfence", options(nostack)) };
            }
            if exchange(word, seen, add).is_ok() {
                break seen;
            }
            *failed += 1;
            if what == Change::Pause {
                std::hint::spin_loop();
            }
        },
    }
}

/// Code between a change and the following work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Between {
    /// Nothing. The work can run ahead of the change.
    Nothing,
    /// The work depends on the result of the change.
    Result,
    /// A system call.
    Call,
    /// A system call after an instruction that stops out-of-order execution.
    FencedCall,
}

const BETWEEN: [Between; 4] =
    [Between::Nothing, Between::Result, Between::Call, Between::FencedCall];

/// Case: the change, the code between change and work, and the steps of work.
type Case = (Change, Between, u64);

/// Makes the shortest system call, which returns the parent's process ID.
#[inline(always)]
fn call() {
    // SAFETY: the call takes no arguments and has no side effects.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

#[inline(never)]
fn batch((what, between, steps): Case, word: &AtomicU64, expected: &mut u64) -> Counts {
    let mut counts = Counts::default();
    let mut add = 1;
    for _ in 0..BATCH {
        let seen = change(what, word, *expected, add, &mut counts.failed);
        counts.changes += 1;
        counts.runs += u64::from(seen != *expected);
        *expected = seen + 1;
        match between {
            Between::Nothing | Between::Result => {}
            Between::FencedCall => {
                // SAFETY: the instruction has no side effects.
                unsafe { asm!("lfence", options(nostack)) };
                call();
            }
            Between::Call => call(),
        }
        if between == Between::Result {
            add = 1 + work(steps, seen);
        } else {
            work(steps, 0);
        }
    }
    counts
}

/// Runs one thread's part of a try. Returns nanoseconds and counts, or `None` if the thread lost
/// its CPU. If `leads` is set, the thread ends the try when the window is over. Otherwise it stops
/// when the other thread stops.
fn attempt(case: Case, meeting: &Meeting, leads: bool) -> Option<(f64, Counts)> {
    let mut expected = 0;
    batch(case, &meeting.word.0, &mut expected);
    let mut all = Counts::default();
    let (cpu, begin) = (cpu_time(), Instant::now());
    let mut elapsed = Duration::ZERO;
    while if leads { elapsed < WINDOW } else { !meeting.stop.0.load(Relaxed) } {
        let counts = batch(case, &meeting.word.0, &mut expected);
        all.changes += counts.changes;
        all.runs += counts.runs;
        all.failed += counts.failed;
        elapsed = begin.elapsed();
    }
    if leads {
        meeting.stop.0.store(true, Relaxed);
    }
    let lost = (elapsed.as_nanos() as u64).saturating_sub(cpu_time() - cpu);
    (lost < LOST && all.changes > 0).then_some((elapsed.as_nanos() as f64, all))
}

/// Tries of a case so far.
#[derive(Default)]
struct Found {
    alone: Vec<f64>,
    two: Vec<f64>,
    run: Vec<f64>,
    failed: Vec<f64>,
}

fn visit(case: Case, cpus: [usize; 2], found: &mut Found) {
    let meetings: Arc<Vec<Meeting>> = Arc::new((0..=TRIES).map(|_| Meeting::default()).collect());
    let theirs = Arc::clone(&meetings);
    let other = std::thread::spawn(move || {
        pin(cpus[1]);
        let each = |meeting: &Meeting| {
            meeting.ready.0.store(true, Relaxed);
            while !meeting.go.0.load(Relaxed) {
                std::hint::spin_loop();
            }
            attempt(case, meeting, false)
        };
        theirs[..TRIES].iter().map(each).collect::<Vec<_>>()
    });
    let each = |meeting: &Meeting| {
        while !meeting.ready.0.load(Relaxed) {
            std::hint::spin_loop();
        }
        meeting.go.0.store(true, Relaxed);
        attempt(case, meeting, true)
    };
    let mine: Vec<_> = meetings[..TRIES].iter().map(each).collect();
    let other = other.join().expect("the other thread has no reason to panic");
    for (mine, other) in mine.into_iter().zip(other) {
        let (Some((time, a)), Some((their_time, b))) = (mine, other) else { continue };
        found.two.push(1.0 / (a.changes as f64 / time + b.changes as f64 / their_time));
        let changes = (a.changes + b.changes) as f64;
        found.run.push(changes / (a.runs + b.runs).max(1) as f64);
        found.failed.push((a.failed + b.failed) as f64 / changes);
    }
    if let Some((time, counts)) = attempt(case, &meetings[TRIES], true) {
        found.alone.push(time / counts.changes as f64);
    }
}

fn measure(rounds: usize) -> Result<(), String> {
    let [first, second, ..] = allowed()[..] else {
        return Err("two CPUs are needed, and the process may use one".to_owned());
    };
    pin(first);
    let mut cases: Vec<(&str, Case, Found)> = Vec::new();
    for (what, name) in CHANGES {
        for between in BETWEEN {
            let of = |steps| (name, (what, between, steps), Found::default());
            cases.extend(STEPS.into_iter().map(of));
        }
    }
    let mut state = 88_172_645_463_325_252u64;
    let mut order: Vec<usize> = (0..cases.len()).collect();
    for _ in 0..rounds {
        pinned::shuffle(&mut order, &mut state);
        for &index in &order {
            let (_, case, found) = &mut cases[index];
            visit(*case, [first, second], found);
        }
    }
    println!("operation,between,steps,alone_ns,two_ns,run,failed,tries");
    for (name, (_, between, steps), found) in &cases {
        let median = |figures: &[f64]| statistics::median(figures).unwrap_or(f64::NAN);
        println!(
            "{name},{},{steps},{:.2},{:.2},{:.3},{:.3},{}",
            *between as u8,
            median(&found.alone),
            median(&found.two),
            median(&found.run),
            median(&found.failed),
            found.two.len()
        );
    }
    Ok(())
}

/// Simulates `threads` threads with `work` nanoseconds of work. Returns the nanoseconds per change,
/// all threads together, and the mean number of consecutive changes by one thread.
fn simulate(machine: &Machine, what: Change, threads: usize, work: f64) -> (f64, f64) {
    const NANOSECONDS: f64 = 200_000.0;
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let runs = Rc::new(Cell::new(0u64));
    let starts = simulation.random_starts(threads);
    let all_there = starts.iter().copied().max().unwrap_or(0);
    for (place, &start) in starts.iter().enumerate() {
        let (word, runs) = (word.clone(), Rc::clone(&runs));
        simulation.spawn_at(place, start, move || {
            let mut expected = 0;
            while !lockyard_sim::stop_requested() {
                let mut guess = expected;
                let seen = loop {
                    let seen = match what {
                        Change::Add => break word.fetch_add(1, Weak),
                        Change::Guess => guess,
                        _ => word.load(Weak),
                    };
                    match word.compare_exchange(seen, seen + 1, Weak, Weak) {
                        Ok(seen) => break seen,
                        Err(found) => guess = found,
                    }
                    if what == Change::Pause {
                        Simulated::relax();
                    }
                };
                runs.set(runs.get() + u64::from(seen != expected));
                expected = seen + 1;
                lockyard_sim::work(work);
            }
        });
    }
    simulation.run_until(all_there);
    let before = (simulation.setup(|| word.load(Weak)), runs.get());
    simulation.run_until(all_there + machine.cycles(NANOSECONDS));
    let changes = (simulation.setup(|| word.load(Weak)) - before.0) as f64;
    let runs = (runs.get() - before.1).max(1) as f64;
    simulation.request_stop();
    simulation.run();
    (NANOSECONDS / changes, changes / runs)
}

fn compare(path: &str, machine: &str) -> Result<(), String> {
    let machine = names::machine(machine).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    println!("operation,steps,alone_ns,two_ns,simulated,run,simulated");
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, "0", steps, alone, two, run, ..] = fields[..] else { continue };
        let Some(&(what, _)) = CHANGES.iter().find(|(_, known)| *known == name) else { continue };
        if what == Change::Fenced {
            continue;
        }
        let number = |text: &str| text.parse::<f64>().map_err(|_| format!("{path}: `{line}`"));
        let wanted = number(alone)?;
        // Find the work for which one CPU takes as long as in the measurement.
        let (mut low, mut high) = (0.0, wanted);
        for _ in 0..12 {
            let middle = (low + high) / 2.0;
            if simulate(&machine, what, 1, middle).0 < wanted {
                low = middle
            } else {
                high = middle
            }
        }
        let (simulated, simulated_run) = simulate(&machine, what, 2, low);
        println!("{name},{steps},{alone},{two},{simulated:.2},{run},{simulated_run:.3}");
    }
    Ok(())
}

fn main() -> ExitCode {
    pinned::run("ownership", measure, compare)
}
