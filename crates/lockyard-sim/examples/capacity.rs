//! Cost of a million objects: for the simulator, and for simulated threads that walk over them.
//!
//! ```text
//! cargo run --release -p lockyard-sim --example capacity [MACHINE]
//! ```
//!
//! Before threads run, objects of 80 bytes are laid out in chains of 256. Then each core's first
//! thread walks along random chains. The program prints:
//! - the host's time for the layout
//! - the cost of a step
//! - the sources of the lines that were loaded
//! - the host's memory for each line in use

#[path = "../tests/it/support/chain.rs"]
mod chain;

use chain::{BYTES, OBJECTS};
use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, RunEnd, random_below};
use std::time::Instant;

const CHAIN: usize = 256;
/// Number of chains along which each thread walks.
const WALKS: usize = 60;

/// Resident size of this process in bytes, where the host reports it.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cascade-lake-2s24c2t".to_owned());
    let Some(machine) = Machine::shipped(&name) else {
        eprintln!("there is no machine `{name}`");
        std::process::exit(2);
    };
    let begin = Instant::now();
    let mut simulation = chain::simulation(&machine);
    let word = chain::lay_out(&mut simulation);
    println!(
        "{OBJECTS} objects of {BYTES} bytes laid out in {:.2} s",
        begin.elapsed().as_secs_f64()
    );

    let before = resident();
    for place in 0..machine.cores() {
        simulation.spawn(place, move || {
            for _ in 0..WALKS {
                let first = random_below(OBJECTS as u64) as usize;
                (0..CHAIN).fold(first, |object, _| word(object).load(Ordering::Relaxed) as usize);
            }
        });
    }
    let begin = Instant::now();
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
    let seconds = begin.elapsed().as_secs_f64();
    let counted = simulation.statistics();
    let loads = counted.loads as f64;
    let lines = simulation.attribution().lines.len();
    println!(
        "{}: {loads} steps in {seconds:.2} s ({:.2} M/s), {:.0} ns each; \
         {:.1} % from memory, {:.1} % missed in the core",
        machine.name(),
        loads / seconds / 1e6,
        machine.nanoseconds(simulation.now()) / (WALKS * CHAIN) as f64,
        counted.memory_reads as f64 / loads * 100.0,
        counted.load_misses as f64 / loads * 100.0,
    );
    if let (Some(before), Some(after)) = (before, resident()) {
        println!(
            "{lines} lines in use, {:.0} bytes of the host's memory each",
            (after - before) / lines as f64
        );
    }
}
