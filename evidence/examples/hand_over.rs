//! Costs of the operations in a hand-over, measured on this host or simulated. Two CPUs take turns.
//! In its turn, a CPU writes lines that the other one owns, or takes a lock as the head of a queue
//! does.
//!
//! ```text
//! cargo study hand_over -- 300 > measured.csv
//! cargo study hand_over -- measured.csv mine.toml
//! ```
//!
//! The first command measures on the first two CPUs that the process may use, for 300 rounds. A
//! round visits every case once, in a new order. A visit consists of three tries of 1,500 turns. A
//! try is discarded if a thread lost its CPU during the try.
//!
//! A row holds:
//!
//! - the case
//! - the median in nanoseconds
//! - an interval that covers the median with a probability of at least 95 %
//! - the number of tries that were kept
//!
//! In most cases the figure is the median of a whole turn. In the `timed` cases it is the median of
//! the timed part of a turn, measured with the time-stamp counter between two fences.
//!
//! That part contains operations on lines that the other CPU has changed. It ends with an addition
//! to the thread's own line, which waits for these operations. The time of the addition by itself
//! is subtracted.
//!
//! The second command runs the same code on a simulated machine (a name or a file). It prints the
//! simulated nanoseconds next to the measured ones.

#[path = "support/pinned.rs"]
mod pinned;

use lockyard::Native;
use lockyard::platform::Ordering::{Acquire, Relaxed as Weak, Release};
use lockyard::platform::{Host, Part, U32, Word};
use lockyard_predict::names;
use lockyard_results::statistics;
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
use pinned::{allowed, cpu_time, pin};
use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::cell::Cell;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

const TRIES: usize = 3;
const TURNS: u32 = 1500;
/// Maximum time without a CPU, in nanoseconds, before a try is discarded.
const LOST: u64 = 6000;

/// Padding to separate lines. It takes two lines, because processors prefetch lines in pairs.
#[repr(align(128))]
struct Apart<W>(W);

impl<W: Word<Int = u32>> Apart<W> {
    fn new(value: u32) -> Self {
        Apart(W::new(value))
    }
}

/// Lines shared by the two threads.
struct Lines<H: Host> {
    /// Index of the turn; or the word of a lock, whose lower byte is 1 while it is held.
    word: Apart<U32<H>>,
    /// Lines that each thread writes during its turn.
    others: [Apart<U32<H>>; 4],
    /// Word of each thread by which it learns that it is the head of the queue.
    head: [Apart<U32<H>>; 2],
}

impl<H: Host> Lines<H> {
    fn new() -> Self {
        Lines {
            word: Apart::new(0),
            // The values that a turn before the first one would have left.
            others: std::array::from_fn(|_| Apart::new(u32::MAX)),
            head: std::array::from_fn(|_| Apart::new(0)),
        }
    }

    /// Waits for turn `turn`, as shown by the lower byte of the word.
    #[inline(always)]
    fn await_turn(&self, turn: u32) {
        // Acquire: pairs with the release of `pass`.
        H::wait_until(&self.word.0, Acquire, |word| word as u8 == turn as u8);
    }

    #[inline(always)]
    fn pass(&self, turn: u32) {
        // Release: pairs with the acquire of `await_turn`.
        self.word.0.store(u32::from(turn as u8 + 1), Release);
    }

    #[inline(always)]
    fn exchange(&self, word: &U32<H>, old: u32, new: u32) {
        let done = word.compare_exchange(old, new, Weak, Weak);
        debug_assert!(done.is_ok(), "nobody else writes it meanwhile");
    }
}

/// A platform that can time a few operations.
trait Timed: Host {
    /// Returns the ticks. They are read after all earlier loads have completed, and before any
    /// later instruction begins.
    fn ticks() -> u64;
}

impl Timed for Native {
    fn ticks() -> u64 {
        // SAFETY: every processor of this architecture has these instructions, and they have no
        // side effects.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }
}

impl Timed for Simulated {
    fn ticks() -> u64 {
        lockyard_sim::now()
    }
}

/// Function for one turn, given the thread `me` and the index of the turn. Returns the timed
/// ticks.
type Turn<H> = fn(&Lines<H>, usize, u32) -> u64;

/// Passes the turn to the other thread with a store or a compare-exchange.
fn passes<H: Host, const BY_EXCHANGE: bool>(lines: &Lines<H>, _: usize, turn: u32) -> u64 {
    lines.await_turn(turn);
    if BY_EXCHANGE {
        lines.exchange(&lines.word.0, u32::from(turn as u8), u32::from(turn as u8 + 1));
    } else {
        lines.pass(turn);
    }
    0
}

const LOAD: u8 = b'l';
const STORE: u8 = b's';
const ADD: u8 = b'a';
const EXCHANGE: u8 = b'x';
const SWAP: u8 = b'w';
const BYTE: u8 = b'b';
const NOT: u8 = b'-';

/// Times operations on lines that the other thread has changed: `FIRST` on one line, `SECOND` on
/// another and `THIRD` on a third.
fn times<H: Timed, const FIRST: u8, const SECOND: u8, const THIRD: u8>(
    lines: &Lines<H>,
    me: usize,
    turn: u32,
) -> u64 {
    lines.await_turn(turn);
    let begin = H::ticks();
    for (line, what) in lines.others.iter().zip([FIRST, SECOND, THIRD]) {
        match what {
            LOAD => drop(std::hint::black_box(line.0.load(Weak))),
            STORE => line.0.store(turn, Weak),
            ADD => drop(line.0.fetch_add(1, Weak)),
            EXCHANGE => lines.exchange(&line.0, turn.wrapping_sub(1), turn),
            _ => {}
        }
    }
    lines.head[me].0.fetch_add(1, Weak);
    let ticks = H::ticks() - begin;
    for line in &lines.others {
        line.0.store(turn, Weak);
    }
    lines.head[me].0.fetch_add(1, Weak);
    lines.pass(turn);
    ticks
}

/// Waits to become the head, waits for the lock, and takes it with the operation `HOW`. Then makes
/// the other thread the head (and writes its own node if `OWN`), and releases the lock.
fn grabs<H: Host, const HOW: u8, const OWN: bool>(lines: &Lines<H>, me: usize, turn: u32) -> u64 {
    // Acquire: pairs with the release below.
    H::wait_until(&lines.head[me].0, Acquire, |head| head == turn);
    // Acquire: pairs with the release at the end.
    H::wait_until(&lines.word.0, Acquire, |word| word as u8 == 0);
    match HOW {
        STORE => lines.word.0.store(1, Weak),
        BYTE => lines.word.0.store_part(0, 0u8, 1, Weak),
        EXCHANGE => lines.exchange(&lines.word.0, 0, 1),
        SWAP => drop(lines.word.0.swap(1, Weak)),
        _ => {}
    }
    // Release: pairs with the first acquire.
    lines.head[1 - me].0.store(turn + 1, Release);
    if OWN {
        lines.head[me].0.store(0, Weak);
    }
    // Release: pairs with the second acquire.
    if HOW == NOT {
        lines.word.0.store(turn << 8, Release);
    } else {
        lines.word.0.store_part(0, 1u8, 0, Release);
    }
    0
}

/// First of the `timed` cases: only the part that all of them include.
const NOTHING: &str = "timed-nothing";

/// Returns the cases.
fn cases<H: Timed>() -> Vec<(&'static str, Turn<H>)> {
    vec![
        (NOTHING, times::<H, NOT, NOT, NOT>),
        ("timed-load", times::<H, LOAD, NOT, NOT>),
        ("timed-store", times::<H, STORE, NOT, NOT>),
        ("timed-add", times::<H, ADD, NOT, NOT>),
        ("timed-exchange", times::<H, EXCHANGE, NOT, NOT>),
        ("timed-store-store", times::<H, STORE, STORE, NOT>),
        ("timed-store-store-store", times::<H, STORE, STORE, STORE>),
        ("timed-exchange-store", times::<H, EXCHANGE, STORE, NOT>),
        ("timed-exchange-store-store", times::<H, EXCHANGE, STORE, STORE>),
        ("timed-add-add", times::<H, ADD, ADD, NOT>),
        ("timed-load-load", times::<H, LOAD, LOAD, NOT>),
        ("pass-by-store", passes::<H, false>),
        ("pass-by-exchange", passes::<H, true>),
        ("grab-not", grabs::<H, NOT, false>),
        ("grab-by-store", grabs::<H, STORE, false>),
        ("grab-by-byte-store", grabs::<H, BYTE, false>),
        ("grab-by-exchange", grabs::<H, EXCHANGE, false>),
        ("grab-by-swap", grabs::<H, SWAP, false>),
        ("grab-by-byte-store-own", grabs::<H, BYTE, true>),
        ("grab-by-exchange-own", grabs::<H, EXCHANGE, true>),
    ]
}

/// Runs the turns of one thread, and returns the median of their results.
#[inline(never)]
fn turns<H: Host>(turn: Turn<H>, lines: &Lines<H>, me: usize) -> u64 {
    let mut ticks: Vec<u64> = (me as u32..TURNS).step_by(2).map(|t| turn(lines, me, t)).collect();
    ticks.sort_unstable();
    ticks[ticks.len() / 2]
}

/// Runs one thread's part of a try. Returns the nanoseconds of a turn and of its timed part, or
/// `None` if the thread lost its CPU.
fn attempt(
    turn: Turn<Native>,
    lines: &Lines<Native>,
    me: usize,
    ready: &AtomicU32,
) -> Option<[f64; 2]> {
    ready.fetch_add(1, SeqCst);
    while ready.load(SeqCst) < 2 {
        std::hint::spin_loop();
    }
    let (cpu, begin, first) = (cpu_time(), Instant::now(), Native::ticks());
    let ticks = turns(turn, lines, me);
    let (elapsed, all) = (begin.elapsed().as_nanos() as u64, Native::ticks() - first);
    let lost = elapsed.saturating_sub(cpu_time() - cpu);
    let timed = ticks as f64 * elapsed as f64 / all as f64;
    (lost < LOST).then_some([elapsed as f64 / f64::from(TURNS), timed])
}

/// Returns true if the figure is the timed part of a turn.
fn is_timed(name: &str) -> bool {
    name.starts_with("timed")
}

/// Lines of a try, and the number of threads that have arrived.
type Meeting = (Lines<Native>, Apart<AtomicU32>);

fn visit((name, turn): (&str, Turn<Native>), cpus: [usize; 2], found: &mut Vec<f64>) {
    let meeting = || (Lines::new(), Apart(AtomicU32::new(0)));
    let meetings: Arc<Vec<Meeting>> = Arc::new((0..TRIES).map(|_| meeting()).collect());
    let theirs = Arc::clone(&meetings);
    let other = std::thread::spawn(move || {
        pin(cpus[1]);
        let each = |(lines, ready): &Meeting| attempt(turn, lines, 1, &ready.0);
        theirs.iter().map(each).collect::<Vec<_>>()
    });
    let each = |(lines, ready): &Meeting| attempt(turn, lines, 0, &ready.0);
    let mine: Vec<_> = meetings.iter().map(each).collect();
    let other = other.join().expect("the other thread has no reason to panic");
    let both = mine.into_iter().zip(other).filter_map(|(mine, other)| mine.and(other));
    found.extend(both.map(|figures| figures[usize::from(is_timed(name))]));
}

fn measure(rounds: usize) -> Result<(), String> {
    let [first, second, ..] = allowed()[..] else {
        return Err("two CPUs are needed, and the process may use one".to_owned());
    };
    pin(first);
    let cases = cases::<Native>();
    let mut found = vec![Vec::new(); cases.len()];
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let mut state = 88_172_645_463_325_252;
    for _ in 0..rounds {
        pinned::shuffle(&mut order, &mut state);
        for &index in &order {
            visit(cases[index], [first, second], &mut found[index]);
        }
    }
    println!("case,ns,low,high,tries");
    let nothing = statistics::median(&found[0]).unwrap_or(f64::NAN);
    for ((name, _), found) in cases.iter().zip(&mut found).skip(1) {
        if is_timed(name) {
            found.iter_mut().for_each(|figure| *figure -= nothing);
        }
        let median = statistics::median(found).unwrap_or(f64::NAN);
        let (low, high) = statistics::median_interval(found)
            .map_or((f64::NAN, f64::NAN), |interval| (interval.low, interval.high));
        println!("{name},{median:.2},{low:.2},{high:.2},{}", found.len());
    }
    Ok(())
}

/// Simulates turns on the first two hardware threads of a machine. Returns the nanoseconds of a
/// turn, or of its timed part.
fn simulate(machine: &Machine, (name, turn): (&str, Turn<Simulated>)) -> f64 {
    let mut simulation = Simulation::new(machine, 1);
    let lines = simulation.place(Lines::<Simulated>::new(), 128, 0);
    let ticks = Rc::new(Cell::new(0));
    for me in 0..2 {
        let (lines, ticks) = (lines.clone(), Rc::clone(&ticks));
        simulation.spawn(me, move || ticks.set(turns(turn, &lines, me)));
    }
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
    if is_timed(name) {
        return machine.nanoseconds(ticks.get());
    }
    machine.nanoseconds(simulation.now()) / f64::from(TURNS)
}

fn compare(path: &str, machine: &str) -> Result<(), String> {
    let machine = names::machine(machine).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let nothing = simulate(&machine, (NOTHING, times::<Simulated, NOT, NOT, NOT>));
    println!("case,ns,low,high,simulated,error_percent");
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, measured, low, high, _] = fields[..] else { continue };
        let Some(case) = cases().into_iter().find(|(known, _)| *known == name) else { continue };
        let number = measured.parse::<f64>().map_err(|_| format!("{path}: `{line}`"))?;
        let besides = if is_timed(name) { nothing } else { 0.0 };
        let simulated = simulate(&machine, case) - besides;
        let error = (simulated / number - 1.0) * 100.0;
        println!("{name},{measured},{low},{high},{simulated:.1},{error:+.1}");
    }
    Ok(())
}

fn main() -> ExitCode {
    pinned::run("hand_over", measure, compare)
}
