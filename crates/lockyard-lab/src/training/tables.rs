//! Training tables, `training/*.csv`, with the corrections stated in their headers.
//!
//! The figure of a cell is the machine's nanoseconds per operation, all threads together: the
//! published figure minus the harness overhead. A cell that cannot be corrected is left out and
//! counted in [`Left`].

use super::programs::Program;
use std::collections::BTreeMap;

const X86_1: &str = include_str!("../../../../training/lockhammer_x86-1.csv");
const X86_2: &str = include_str!("../../../../training/lockhammer_x86-2.csv");
const X86_3: &str = include_str!("../../../../training/lockhammer_x86-3.csv");
const SKYLAKE: &str = include_str!("../../../../training/concurrency_hierarchy_skylake.csv");

/// A host of lockhammer's table.
struct Host {
    table: &'static str,
    machine: &'static str,
    text: &'static str,
    /// Correction factor of work with more than one thread. There it was calibrated next to busy
    /// siblings. Without busy siblings, work takes only this share of the time that the table
    /// states. (For example, critical sections of 1000 ns take 850 to 870 ns on x86-3 under the
    /// queued lock, because waiters leave the core to the holder.)
    work_share: f64,
}

const HOSTS: [Host; 3] = [
    Host { table: "lockhammer_x86-2", machine: "skylake-sp-1s24c2t", text: X86_2, work_share: 1.0 },
    Host {
        table: "lockhammer_x86-3",
        machine: "broadwell-ep-2s22c2t",
        text: X86_3,
        work_share: 0.86,
    },
    Host { table: "lockhammer_x86-1", machine: "zen1-8x4c2t", text: X86_1, work_share: 1.0 },
];

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
/// Loop time of lockhammer for two threads of a core, in nanoseconds, on a host whose siblings do
/// not slow work (from the row `empty` of x86-2). Elsewhere the machine's `smt_slowdown` is
/// simulated.
const LOOP_BESIDE_SIBLING_NS: f64 = 5.97;

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
    /// Rows with 2 or 3 threads and no work. Their threads hardly overlap.
    pub not_overlapping: usize,
}

fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(str::to_owned).collect()
}

/// Returns all cells, and the numbers of cells left out.
///
/// # Panics
///
/// If a shipped table is broken. A test parses them.
pub fn cells() -> (Vec<TrainingCell>, Left) {
    let mut cells = Vec::new();
    let mut left = Left::default();
    for host in &HOSTS {
        lockhammer(host, &mut cells, &mut left);
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

/// The benchmark's overhead per operation, in nanoseconds, from its row `empty`: the start and the
/// end of the threads, and a thread's loop.
fn empty(lines: &[Vec<String>]) -> BTreeMap<usize, (f64, f64)> {
    lines
        .iter()
        .filter(|f| f[2] == "empty" && nanoseconds(&f[3]) + nanoseconds(&f[4]) == 0.0)
        .map(|f| {
            let threads: usize = f[5].parse().expect("a number of threads");
            let own = nanoseconds(&f[9]);
            (threads, (nanoseconds(&f[6]) - own / threads as f64, own))
        })
        .collect()
}

fn nanoseconds(text: &str) -> f64 {
    text.trim_end_matches("ns").parse().expect("a time")
}

fn lockhammer(host: &Host, cells: &mut Vec<TrainingCell>, left: &mut Left) {
    let lines: Vec<Vec<String>> = host.text.lines().skip(2).map(fields).collect();
    let empty = empty(&lines);
    let alone = empty[&1].1;
    for f in &lines {
        let Some(&(_, program)) = LOCKHAMMER.iter().find(|(name, _)| *name == f[2]) else {
            continue;
        };
        let (inside, between) = (nanoseconds(&f[3]), nanoseconds(&f[4]));
        let threads: usize = f[5].parse().expect("a number of threads");
        if (2..=3).contains(&threads) && inside + between == 0.0 {
            left.not_overlapping += 1;
            continue;
        }
        let work = |ns: f64| if ns > 0.0 { ns + WORK_OVERHEAD_NS } else { 0.0 };

        let scale = if threads > 1 { host.work_share } else { 1.0 };
        let own = if threads > 1 { alone.max(LOOP_BESIDE_SIBLING_NS) } else { alone };
        cells.push(TrainingCell {
            table: host.table,
            machine: host.machine,
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
            published: nanoseconds(&f[6]) - empty[&threads].0,
        });
    }
}
