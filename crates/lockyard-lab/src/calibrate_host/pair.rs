//! Costs between two CPUs: handing over a word, changing it concurrently, and loading lines that
//! the other CPU has modified.
//!
//! Two pinned threads meet before every try. A try takes tens to hundreds of microseconds, and is
//! discarded if a thread lost its CPU (`share`). A thread stops waiting for the other thread after
//! [`PATIENCE`]. So losing a CPU ends the try, but does not hang the program.

use super::lines::Lines;
use super::on_cpu::OnCpu;
use super::share::Share;
use lockyard_results::statistics;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Timeout of a thread that waits for the other one.
const PATIENCE: Duration = Duration::from_millis(200);

/// Number of polls between two clock reads.
const POLLS: u32 = 4096;

/// Tries per sample. The first one is a warm-up, and is discarded.
const TRIES: u64 = 7;

/// Half the number of hand-overs in a try.
const TURNS: u64 = 400;

/// Time for which two threads change a word in a try.
const WINDOW: Duration = Duration::from_micros(150);

/// Number of operations between two clock reads.
const BATCH: u64 = 64;

/// Number of words, used in turn by the tries. The time of a hand-over depends on the home of the
/// line, and adjacent lines have different homes.
const WORDS: usize = 61;

/// An operation by two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pair {
    /// The CPUs change a word alternately by compare-exchange: nanoseconds per hand-over.
    HandOver,
    /// Both CPUs add to a word: nanoseconds per addition, counting the additions of both.
    Add,
    /// Both CPUs add to a word with a load and a loop of compare-exchanges.
    CompareExchange,
    /// One CPU loads lines that the other one has modified. The lines' home is at the loading CPU.
    LoadHomedReader,
    /// One CPU loads lines that the other one has modified. The lines' home is at the modifying
    /// CPU.
    LoadHomedWriter,
}

impl Pair {
    /// All measurements.
    pub const ALL: [Pair; 5] = [
        Pair::HandOver,
        Pair::Add,
        Pair::CompareExchange,
        Pair::LoadHomedReader,
        Pair::LoadHomedWriter,
    ];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Pair::HandOver => "ping_pong",
            Pair::Add => "atomic_add_two_threads",
            Pair::CompareExchange => "compare_exchange_two_threads",
            Pair::LoadHomedReader => "load_modified_homed_reader",
            Pair::LoadHomedWriter => "load_modified_homed_writer",
        }
    }
}

/// Result of one visit to a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Median of the tries that were kept, in nanoseconds; `None` if there are none.
    pub figure: Option<f64>,
    /// Number of tries that were kept.
    pub counted: u64,
    /// Number of tries that were discarded.
    pub lost: u64,
}

/// Padding to a separate line, including the adjacent line that is prefetched with it.
#[repr(align(128))]
#[derive(Default)]
struct Line<T>(T);

/// State shared by the two threads.
struct Meeting {
    /// Contended words, one for each try.
    words: [Line<AtomicU64>; WORDS],
    /// Word of the first try.
    begin: usize,
    /// Number of arrivals of each thread.
    arrived: [Line<AtomicU64>; 2],
    /// Set when the try is over.
    stop: Line<AtomicU64>,
    /// Set when a thread has given up.
    gone: Line<AtomicBool>,
    /// True if the second thread had its CPU during the whole try.
    whole: Line<AtomicBool>,
}

/// Error of a thread whose wait for the other one timed out.
#[derive(Debug)]
struct Alone;

impl Meeting {
    fn new(begin: usize) -> Meeting {
        Meeting {
            words: std::array::from_fn(|_| Line::default()),
            begin,
            arrived: Default::default(),
            stop: Line::default(),
            gone: Line::default(),
            whole: Line::default(),
        }
    }

    /// Returns the word for a try.
    fn word(&self, time: u64) -> &AtomicU64 {
        &self.words[(self.begin + time as usize) % WORDS].0
    }

    /// Polls until `done` returns true. Gives up after [`PATIENCE`], or when the other thread has
    /// given up.
    #[inline]
    fn wait(&self, mut done: impl FnMut() -> bool) -> Result<(), Alone> {
        let mut since = None;
        let mut polls = 0u32;
        while !done() {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS) {
                let since: Instant = *since.get_or_insert_with(Instant::now);
                if self.gone.0.load(Ordering::Relaxed) || since.elapsed() > PATIENCE {
                    self.gone.0.store(true, Ordering::Relaxed);
                    return Err(Alone);
                }
                // Another thread may need this CPU. After a loss of CPUs, it may even be the other
                // thread of the pair.
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Waits until both threads have arrived here `time` times.
    fn meet(&self, me: usize, time: u64) -> Result<(), Alone> {
        // Release: pairs with the acquire below. The other thread then sees all earlier writes.
        self.arrived[me].0.store(time, Ordering::Release);
        self.wait(|| {
            spin_loop();
            // Acquire: pairs with the release above.
            self.arrived[1 - me].0.load(Ordering::Acquire) >= time
        })
    }

    /// Hands the word over from `me` to the other thread, [`TURNS`] times.
    fn hand_over(&self, me: u64, time: u64) -> Result<(), Alone> {
        let word = self.word(time);
        for _ in 0..TURNS {
            self.wait(|| {
                // Acquire and release: pairs with the other thread's compare-exchange, as on a lock
                // word.
                word.compare_exchange(me, 1 - me, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            })?;
        }
        Ok(())
    }
}

/// Changes a word once, with an addition or a loop of compare-exchanges.
#[inline]
fn change(word: &AtomicU64, exchange: bool) -> u64 {
    if !exchange {
        return word.fetch_add(1, Ordering::Relaxed);
    }
    let mut seen = word.load(Ordering::Relaxed);
    while let Err(found) =
        word.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed)
    {
        seen = found;
    }
    seen
}

/// Visits the CPUs `a` and `b` once. Every round uses different words.
///
/// # Errors
///
/// If the process may not run on these CPUs, or there is not enough memory.
pub(super) fn visit(what: Pair, a: usize, b: usize, round: usize) -> Result<Visit, String> {
    let meeting = Arc::new(Meeting::new(round * TRIES as usize));
    let lines = match what {
        Pair::LoadHomedReader | Pair::LoadHomedWriter => Some(Arc::new(Lines::new()?)),
        _ => None,
    };
    let first = {
        let (meeting, lines) = (Arc::clone(&meeting), lines.clone());
        OnCpu::start(a, move || first(what, &meeting, lines.as_deref()))?
    };
    let second = {
        let meeting = Arc::clone(&meeting);
        OnCpu::start(b, move || second(what, &meeting, lines.as_deref()))
    };
    let second = match second {
        Ok(second) => second,
        Err(message) => {
            meeting.gone.0.store(true, Ordering::Relaxed);
            first.finish()?;
            return Err(message);
        }
    };
    let (tries, lost) = first.finish()?;
    second.finish()?;
    Ok(Visit { figure: statistics::median(&tries), counted: tries.len() as u64, lost })
}

/// Runs the measuring thread. Returns the results of the tries that were kept, and the number of
/// discarded tries.
fn first(what: Pair, meeting: &Meeting, lines: Option<&Lines>) -> (Vec<f64>, u64) {
    let (mut tries, mut lost) = (Vec::new(), 0);
    if let (Pair::LoadHomedReader, Some(lines)) = (what, lines) {
        lines.settle();
    }
    for time in 0..TRIES {
        let Ok((nanoseconds, counts)) = measured(what, meeting, lines, time) else {
            lost += TRIES - time;
            break;
        };
        match (time, counts) {
            (0, _) => {}
            (_, true) => tries.push(nanoseconds),
            (_, false) => lost += 1,
        }
    }
    (tries, lost)
}

/// Runs one try. Returns the nanoseconds per operation, and true if both threads kept their CPUs.
fn measured(
    what: Pair,
    meeting: &Meeting,
    lines: Option<&Lines>,
    time: u64,
) -> Result<(f64, bool), Alone> {
    let meetings = time * 3;
    meeting.meet(0, meetings + 1)?;
    let own = Share::begin();
    let nanoseconds = match what {
        Pair::HandOver => {
            let begin = Instant::now();
            meeting.hand_over(0, time)?;
            begin.elapsed().as_nanos() as f64 / (2 * TURNS - 1) as f64
        }
        Pair::Add | Pair::CompareExchange => {
            let (word, exchange) = (meeting.word(time), what == Pair::CompareExchange);
            for _ in 0..BATCH {
                change(word, exchange);
            }
            let (begin, before) = (Instant::now(), change(word, exchange));
            let mut elapsed = Duration::ZERO;
            while elapsed < WINDOW {
                for _ in 0..BATCH {
                    change(word, exchange);
                }
                elapsed = begin.elapsed();
            }
            // The word counts the operations of both threads.
            let (after, elapsed) = (change(word, exchange), begin.elapsed());
            meeting.stop.0.store(time + 1, Ordering::Relaxed);
            elapsed.as_nanos() as f64 / (after - before) as f64
        }
        Pair::LoadHomedReader | Pair::LoadHomedWriter => {
            // Now the other thread has modified the lines.
            meeting.meet(0, meetings + 2)?;
            lines.map_or(f64::NAN, Lines::chase)
        }
    };
    let whole = own.was_whole();
    meeting.meet(0, meetings + 3)?;
    Ok((nanoseconds, whole && meeting.whole.0.load(Ordering::Relaxed)))
}

/// Runs the other thread.
fn second(what: Pair, meeting: &Meeting, lines: Option<&Lines>) {
    if let (Pair::LoadHomedWriter, Some(lines)) = (what, lines) {
        lines.settle();
    }
    for time in 0..TRIES {
        if beside(what, meeting, lines, time).is_err() {
            return;
        }
    }
}

fn beside(what: Pair, meeting: &Meeting, lines: Option<&Lines>, time: u64) -> Result<(), Alone> {
    let meetings = time * 3;
    meeting.meet(1, meetings + 1)?;
    let own = Share::begin();
    match what {
        Pair::HandOver => meeting.hand_over(1, time)?,
        Pair::Add | Pair::CompareExchange => {
            let (word, exchange) = (meeting.word(time), what == Pair::CompareExchange);
            let mut since = 0u32;
            while meeting.stop.0.load(Ordering::Relaxed) <= time {
                change(word, exchange);
                since = since.wrapping_add(1);
                if since.is_multiple_of(1 << 20) && meeting.gone.0.load(Ordering::Relaxed) {
                    return Err(Alone);
                }
            }
        }
        Pair::LoadHomedReader | Pair::LoadHomedWriter => {
            if let Some(lines) = lines {
                lines.modify();
            }
            meeting.meet(1, meetings + 2)?;
        }
    }
    meeting.whole.0.store(own.was_whole(), Ordering::Relaxed);
    meeting.meet(1, meetings + 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_measure::cpus::Cpus;

    #[test]
    fn a_visit_accounts_for_every_try() {
        let cpus = Cpus::allowed();
        if cpus.len() < 2 {
            return lockyard_testing::skip!("there is one CPU");
        }
        for what in Pair::ALL {
            let visit = match visit(what, cpus.cpu(0), cpus.cpu(1), 100) {
                Ok(visit) => visit,
                Err(message) => {
                    assert!(message.contains("cannot be pinned"), "{message}");
                    continue;
                }
            };
            // The first try is a warm-up, unless the threads never met.
            assert!([TRIES - 1, TRIES].contains(&(visit.counted + visit.lost)), "{visit:?}");
            assert_eq!(visit.figure.is_some(), visit.counted > 0, "{visit:?}");
            assert!(visit.figure.is_none_or(|figure| figure > 0.0), "{visit:?}");
        }
    }

    #[test]
    fn two_threads_on_one_cpu_end_too() {
        let cpu = Cpus::allowed().cpu(0);
        for what in Pair::ALL {
            // Both threads share one CPU, so each waits until the other is scheduled. The tries are
            // discarded or slow, but the visit ends.
            if let Ok(visit) = visit(what, cpu, cpu, 0) {
                assert!(visit.counted + visit.lost >= TRIES - 1, "{visit:?}");
            }
        }
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_named_and_nobody_waits_for_it() {
        let error = visit(Pair::HandOver, Cpus::allowed().cpu(0), 1_000_000, 0).unwrap_err();
        assert!(error.contains("cannot be pinned to CPU"), "{error}");
    }
}
