//! What a million objects cost the simulator, and what walks over them cost the simulated machine.
//!
//! ```text
//! cargo run --release -p lockyard-sim --example capacity [MACHINE]
//! ```
//!
//! Objects of 80 bytes are laid out in chains of 256 before threads run; then each core's first thread walks along chains at
//! random. Printed: how long it took the host to lay them out, what a step cost, where the lines came from, and how
//! much of the host's memory a line in use takes.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, Outcome, Simulated, SimulatedU64, Simulation, random_below};
use std::alloc::Layout;
use std::time::Instant;

const OBJECTS: usize = 1_000_000;
const BYTES: usize = 80;
const CHAIN: usize = 256;
/// Chains that each thread walks along.
const WALKS: usize = 60;

/// The resident size of this process in bytes, where the host says it.
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
    let mut simulation = Simulation::with_memory(&machine, 1, OBJECTS * BYTES + 4096);
    let layout = Layout::from_size_align(OBJECTS * BYTES, 64).expect("it is sane");
    let memory = simulation.setup(|| Simulated::allocate(layout, Some(0)).expect("it fits"));
    let base = memory.as_ptr() as usize;
    let word = move |object: usize| {
        // SAFETY: within the allocation, aligned to 8, all zero at first, and alive while the simulation is.
        unsafe { &*((base + object * BYTES) as *const SimulatedU64) }
    };
    // A permutation: the next object of a chain is far away.
    let next = |object: usize| (object + 618_033) % OBJECTS;
    simulation.setup(|| {
        for object in 0..OBJECTS {
            word(object).store(next(object) as u64, Ordering::Relaxed);
        }
    });
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
    assert!(matches!(outcome, Outcome::Finished), "{outcome}");
    let seconds = begin.elapsed().as_secs_f64();
    let counted = simulation.statistics();
    let loads = counted.loads as f64;
    let lines = simulation.attribution().lines.len();
    println!(
        "{}: {loads} steps in {seconds:.2} s ({:.2} M/s), {:.0} ns each; {:.1} % from memory, {:.1} % missed in the core",
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
