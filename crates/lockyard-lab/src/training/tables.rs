//! Training tables, `training/*.csv`, with the corrections stated in their headers.
//!
//! The figure of a cell is the machine's nanoseconds per operation, all threads together: the
//! published figure minus the harness overhead. A cell that cannot be corrected is left out and
//! counted in [`Left`].

use super::programs::Program;

const X86_2: &str = include_str!("../../../../training/lockhammer_x86-2.csv");
const X86_3: &str = include_str!("../../../../training/lockhammer_x86-3.csv");
const SKYLAKE: &str = include_str!("../../../../training/concurrency_hierarchy_skylake.csv");

/// Machine of the second table.
const X86_3_MACHINE: &str = "broadwell-ep-2s22c2t";

/// Names of lockhammer's programs.
const LOCKHAMMER: [(&str, Program); 5] = [
    ("incdec_refcount", Program::Count),
    ("cas_lockref", Program::Lockref),
    ("queued_spinlock", Program::Queued),
    ("swap_mutex", Program::SwapLock),
    ("ticket_spinlock", Program::TicketLock),
];

/// Names of the other benchmark's programs.
const HIERARCHY: [(&str, Program); 5] = [
    ("atomic add", Program::Add),
    ("cas add", Program::ExchangeAdd),
    ("pause spin", Program::TestAndSwapCounter),
    ("pure spin", Program::TestAndSwapCounter),
    ("ticket spin", Program::TicketCounter),
];

/// Overhead of lockhammer for each non-zero setting of work, in nanoseconds (from its row `empty`).
const WORK_OVERHEAD_NS: f64 = 15.6;
/// Loop time of lockhammer for one thread, and for more threads, in nanoseconds (from its row
/// `empty`).
const LOOP_NS: (f64, f64) = (4.95, 5.97);
/// Operations per thread in a run of lockhammer. Starting and joining `n` threads takes (65 + 5.9
/// n) microseconds of a run.
const OPERATIONS_OF_A_RUN: f64 = 5000.0;

/// Correction factor of work on the host x86-3, where work was calibrated next to busy siblings.
/// Without busy siblings, work takes only this share of the time that the table states. (For
/// example, its critical sections of 1000 ns take 850 to 870 ns under the queued lock, because
/// waiters leave the core to the holder.)
const X86_3_WORK: f64 = 0.86;

/// A cell of a training table.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingCell {
    /// Name of the table.
    pub table: &'static str,
    /// Name of the shipped machine.
    pub machine: &'static str,
    /// Program with its work, as named in the table: `variant/crit/par`.
    pub variant: String,
    /// Program that the threads run.
    pub program: Program,
    /// Number of threads.
    pub threads: usize,
    /// Work inside, between, and of the loop itself, in nanoseconds without a busy sibling.
    pub work: [f64; 3],
    /// True if waiting loops pause.
    pub pauses: bool,
    /// Published figure after correction: nanoseconds per operation, all threads together.
    pub published: f64,
}

/// Numbers of cells that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Rows with 1 to 3 threads and no work. Their threads hardly overlap.
    pub not_overlapping: usize,
}

fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(str::to_owned).collect()
}

/// Returns all cells, and the numbers of those left out.
///
/// # Panics
///
/// If a shipped table is broken. A test parses them.
pub fn cells() -> (Vec<TrainingCell>, Left) {
    let mut cells = Vec::new();
    let mut left = Left::default();
    for (table, machine, text) in [
        ("lockhammer_x86-2", "skylake-sp-1s24c2t", X86_2),
        ("lockhammer_x86-3", X86_3_MACHINE, X86_3),
    ] {
        lockhammer(table, machine, text, &mut cells, &mut left);
    }
    for line in SKYLAKE.lines().skip(2) {
        let f = fields(line);
        let Some(&(_, program)) = HIERARCHY.iter().find(|(name, _)| *name == f[2]) else {
            continue;
        };
        let threads: usize = f[3].parse().expect("a number of threads");
        let figure: f64 = f[4].parse().expect("a time");
        cells.push(TrainingCell {
            table: "concurrency_hierarchy_skylake",
            machine: "skylake-client-4c",
            variant: f[2].clone(),
            program,
            threads,
            work: [0.0; 3],
            pauses: f[2] == "pause spin",
            // The table's figure is per thread.
            published: figure / threads as f64,
        });
    }
    (cells, left)
}

fn lockhammer(
    table: &'static str,
    machine: &'static str,
    text: &str,
    cells: &mut Vec<TrainingCell>,
    left: &mut Left,
) {
    for line in text.lines().skip(2) {
        let f = fields(line);
        let Some(&(_, program)) = LOCKHAMMER.iter().find(|(name, _)| *name == f[2]) else {
            continue;
        };
        let nanoseconds = |text: &str| text.trim_end_matches("ns").parse::<f64>().expect("a time");
        let (inside, between) = (nanoseconds(&f[3]), nanoseconds(&f[4]));
        let threads: usize = f[5].parse().expect("a number of threads");
        if threads <= 3 && inside + between == 0.0 {
            left.not_overlapping += 1;
            continue;
        }
        let n = threads as f64;
        let start_and_join = (65_000.0 + 5_900.0 * n) / (OPERATIONS_OF_A_RUN * n);
        let work = |ns: f64| if ns > 0.0 { ns + WORK_OVERHEAD_NS } else { 0.0 };
        let scale = if machine == X86_3_MACHINE && threads > 1 { X86_3_WORK } else { 1.0 };
        let own = if threads > 1 { LOOP_NS.1 } else { LOOP_NS.0 };
        cells.push(TrainingCell {
            table,
            machine,
            variant: format!(
                "{}/{}/{}",
                f[2],
                f[3].trim_end_matches("ns"),
                f[4].trim_end_matches("ns")
            ),
            program,
            threads,
            work: [work(inside) * scale, work(between) * scale, own],
            pauses: true,
            published: nanoseconds(&f[6]) - start_and_join,
        });
    }
}
