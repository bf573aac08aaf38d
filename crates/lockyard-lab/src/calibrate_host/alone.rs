//! Costs on a single CPU: the clock, and loads, stores, locked operations, the fence and the pause
//! on an uncontended line.
//!
//! A try takes a few tens of microseconds, so most tries fit between two interrupts. A sample is
//! the median of several tries.

use super::on_cpu::OnCpu;
use lockyard_results::statistics;
use std::hint::{black_box, spin_loop};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use std::time::Instant;

/// Tries per sample. The first one is a warm-up, and is discarded.
const TRIES: usize = 16;

/// A measurement on a single CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alone {
    /// Clock frequency of a busy core, in GHz.
    Clock,
    /// A load that hits the cache. Its address comes from the previous load.
    Load,
    /// A store that hits the cache.
    Store,
    /// An atomic addition whose result is used.
    FetchAdd,
    /// A successful compare-exchange.
    CompareExchange,
    /// An atomic exchange.
    Swap,
    /// A store and a sequentially consistent fence.
    Fence,
    /// The pause instruction of waiting loops.
    Pause,
}

impl Alone {
    /// All measurements.
    pub const ALL: [Alone; 8] = [
        Alone::Clock,
        Alone::Load,
        Alone::Store,
        Alone::FetchAdd,
        Alone::CompareExchange,
        Alone::Swap,
        Alone::Fence,
        Alone::Pause,
    ];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Alone::Clock => "clock",
            Alone::Load => "load",
            Alone::Store => "store",
            Alone::FetchAdd => "fetch_add",
            Alone::CompareExchange => "compare_exchange",
            Alone::Swap => "swap",
            Alone::Fence => "store_and_fence",
            Alone::Pause => "pause",
        }
    }

    /// Returns the unit.
    pub fn unit(self) -> &'static str {
        if self == Alone::Clock { "GHz" } else { "ns" }
    }
}

/// Returns one sample of `what` on `cpu`.
///
/// # Errors
///
/// If the process may not run on that CPU.
pub(super) fn sample(what: Alone, cpu: usize) -> Result<f64, String> {
    OnCpu::start(cpu, move || {
        let tries: Vec<f64> = (0..TRIES).map(|_| one(what)).collect();
        statistics::median(&tries[1..]).unwrap_or(f64::NAN)
    })?
    .finish()
}

/// Padding to a separate line, including the adjacent line that is prefetched with it.
#[repr(align(128))]
struct Line<T>(T);

/// Returns the result of one try.
fn one(what: Alone) -> f64 {
    match what {
        // One round of the chain takes two cycles.
        Alone::Clock => 2.0 / per_operation(20_000, chain),
        Alone::Load => per_operation(10_000, loads),
        Alone::Store => per_operation(20_000, |operations| {
            let word = Line(AtomicU64::new(0));
            let word = black_box(&word.0);
            for value in 0..operations {
                word.store(value, Ordering::Relaxed);
            }
        }),
        Alone::FetchAdd => per_operation(2_000, |operations| {
            let word = Line(AtomicU64::new(0));
            let word = black_box(&word.0);
            // Use the result. Otherwise the compiler would choose another instruction.
            let sum = (0..operations)
                .fold(0u64, |sum, _| sum.wrapping_add(word.fetch_add(1, Ordering::Relaxed)));
            black_box(sum);
        }),
        Alone::CompareExchange => per_operation(2_000, |operations| {
            let word = Line(AtomicU64::new(0));
            let word = black_box(&word.0);
            for value in 0..operations {
                let _ =
                    word.compare_exchange(value, value + 1, Ordering::Relaxed, Ordering::Relaxed);
            }
        }),
        Alone::Swap => per_operation(2_000, |operations| {
            let word = Line(AtomicU64::new(0));
            let word = black_box(&word.0);
            let last =
                (0..operations).fold(0, |last, value| last ^ word.swap(value, Ordering::Relaxed));
            black_box(last);
        }),
        Alone::Fence => per_operation(1_000, |operations| {
            let word = Line(AtomicU64::new(0));
            let word = black_box(&word.0);
            for value in 0..operations {
                word.store(value, Ordering::Relaxed);
                // This measures only the cost of the fence; it orders nothing here.
                fence(Ordering::SeqCst);
            }
        }),
        Alone::Pause => per_operation(500, |operations| {
            for _ in 0..operations {
                spin_loop();
            }
        }),
    }
}

/// Runs this many operations. Returns the nanoseconds per operation.
fn per_operation(operations: u64, run: impl Fn(u64)) -> f64 {
    let begin = Instant::now();
    run(black_box(operations));
    begin.elapsed().as_nanos().max(1) as f64 / operations as f64
}

/// Runs a chain of dependent operations, two per round: an exclusive or and an addition. Each has
/// taken one cycle on every processor of the last twenty years. Both work on registers, because
/// some processors add constants for free.
fn chain(rounds: u64) {
    let (a, b) = (black_box(0x9e37_79b9_7f4a_7c15u64), black_box(0xbf58_476d_1ce4_e5b9u64));
    let mut x = black_box(1u64);
    for _ in 0..rounds {
        x = (x ^ a).wrapping_add(b);
    }
    black_box(x);
}

/// Number of places in the chain of loads. The chain fits into every first-level cache. A single
/// place would not suffice: some processors predict the value of a load that has always returned
/// the same value.
const PLACES: usize = 64;

/// Runs loads. Each takes its address from the previous one.
fn loads(operations: u64) {
    let places: [Line<AtomicPtr<u8>>; PLACES] =
        std::array::from_fn(|_| Line(AtomicPtr::new(std::ptr::null_mut())));
    let places = black_box(&places);
    for index in 0..PLACES {
        // 27 and 64 have no common divisor, so the chain visits all places.
        let next = &raw const places[(index + 27) % PLACES].0;
        places[index].0.store(next.cast_mut().cast(), Ordering::Relaxed);
    }
    let mut at: NonNull<AtomicPtr<u8>> = NonNull::from(&places[0].0);
    for _ in 0..operations {
        // SAFETY: `at` is the address of one of `places`, which live until the end of this
        // function. Each place holds the address of another place.
        let found = unsafe { at.as_ref() }.load(Ordering::Relaxed);
        match NonNull::new(found.cast::<AtomicPtr<u8>>()) {
            Some(next) => at = next,
            None => break,
        }
    }
    black_box(at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_measure::cpus::Cpus;

    #[test]
    fn each_has_a_figure_on_a_cpu_of_the_process_and_none_on_one_that_it_may_not_use() {
        let cpu = Cpus::allowed().cpu(0);
        for what in Alone::ALL {
            match sample(what, cpu) {
                Ok(figure) => assert!(figure.is_finite() && figure > 0.0, "{what:?}: {figure}"),
                Err(message) => assert!(message.contains("cannot be pinned"), "{message}"),
            }
        }
        let error = sample(Alone::Load, 1_000_000).unwrap_err();
        assert!(error.contains("cannot be pinned to CPU 1000000"), "{error}");
    }
}
