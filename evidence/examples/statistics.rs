//! Costs of updating and reading statistics, compared with the usual alternatives: one shared
//! atomic word, and per-thread counters that a reader adds up.
//!
//! All are measured in one run, in rounds. A round visits each cell once, in a shuffled order, and
//! ratios are taken within a round. Then the same updates run on a simulated machine with two
//! nodes, because few hosts have two.
//!
//! - *atomic*: packets and bytes in one line for all threads; each is updated with a relaxed
//!   read-modify-write.
//! - *per-thread*: packets and bytes in a line for each thread; each is updated with a relaxed load
//!   and store. A thread needs its own line. A reader visits all lines, and the packets and bytes
//!   that it reads may not match.
//! - *shared*, *per-cpu*, *per-node*: `lockyard_tables::Statistics`, with packets, bytes, last use
//!   and flags behind a lock of 4 bytes. An update includes asking the host for the slot (per-cpu)
//!   or the node (per-node).
//!
//! ```text
//! cargo study statistics [ROUNDS]
//! ```

use lockyard::lock::Queued;
use lockyard_measure::cpus::{Cpus, pin};
use lockyard_measure::order::Orders;
use lockyard_results::statistics::{median, median_interval};
use lockyard_sim::{Machine, Simulated, Simulation, operation_done, stop_requested};
use lockyard_tables::Counts;
use lockyard_tables::statistics::Statistics;
use lockyard_tables::statistics::{PerCpu, PerNode, Shared, Variant};
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

const BYTES: u64 = 1500;
/// A small number of updates, so most batches fit between two interruptions by the host.
const UPDATES: u64 = 5_000;
const READS: u64 = 500;

/// A counter of packets and bytes.
trait Counter: Sync {
    fn new(threads: usize) -> Self;
    fn add(&self, thread: usize, now: u64);
    /// Returns packets and bytes.
    fn read(&self) -> (u64, u64);
}

#[repr(align(128))]
#[derive(Default)]
struct Line {
    packets: AtomicU64,
    bytes: AtomicU64,
}

struct OneAtomic(Line);

impl Counter for OneAtomic {
    fn new(_threads: usize) -> Self {
        OneAtomic(Line::default())
    }
    #[inline(always)]
    fn add(&self, _thread: usize, _now: u64) {
        // Relaxed, here and below: the counters order nothing.
        self.0.packets.fetch_add(1, Ordering::Relaxed);
        self.0.bytes.fetch_add(BYTES, Ordering::Relaxed);
    }
    fn read(&self) -> (u64, u64) {
        (self.0.packets.load(Ordering::Relaxed), self.0.bytes.load(Ordering::Relaxed))
    }
}

struct PerThread(Vec<Line>);

impl Counter for PerThread {
    fn new(threads: usize) -> Self {
        PerThread((0..threads).map(|_| Line::default()).collect())
    }
    #[inline(always)]
    fn add(&self, thread: usize, _now: u64) {
        let bump = |word: &AtomicU64, by| {
            word.store(word.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        };
        let line = &self.0[thread];
        bump(&line.packets, 1);
        bump(&line.bytes, BYTES);
    }
    fn read(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(packets, bytes), line| {
            let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
            (packets + load(&line.packets), bytes + load(&line.bytes))
        })
    }
}

/// Lockyard's statistics in one variant.
type Ours<V> = Statistics<V, Queued, lockyard::Native>;

impl<V: Variant> Counter for Ours<V> {
    fn new(_threads: usize) -> Self {
        Statistics::new().expect("there is memory")
    }
    #[inline(always)]
    fn add(&self, _thread: usize, now: u64) {
        self.update(&Counts::packet(BYTES, now, 1));
    }
    fn read(&self) -> (u64, u64) {
        let sum = Statistics::read(self);
        (sum.packets, sum.bytes)
    }
}

/// Quantity that a cell measures: nanoseconds per update, or per reading.
#[derive(Clone, Copy)]
enum Measure {
    /// Updates by this many threads, each on its own CPU.
    Updates(usize),
    /// Readings without concurrent updates, after all CPUs have updated.
    ReadQuiet,
    /// Readings while every other CPU runs an updating thread.
    ReadBusy,
}

fn updates<C: Counter>(counter: &C, thread: usize) -> f64 {
    let begin = Instant::now();
    for now in 0..UPDATES {
        black_box(counter).add(thread, now);
    }
    begin.elapsed().as_nanos() as f64 / UPDATES as f64
}

fn reads<C: Counter>(counter: &C) -> f64 {
    let begin = Instant::now();
    for _ in 0..READS {
        black_box(black_box(counter).read());
    }
    begin.elapsed().as_nanos() as f64 / READS as f64
}

/// Runs `body` in `threads` pinned threads that start together. Returns the mean of their results.
fn together(cpus: &Cpus, threads: usize, body: impl Fn(usize) -> f64 + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let sum: f64 = std::thread::scope(|scope| {
        let spawn = |thread| {
            let (barrier, body) = (&barrier, &body);
            scope.spawn(move || {
                pin(cpus.cpu(thread));
                barrier.wait();
                body(thread)
            })
        };
        let all: Vec<_> = (0..threads).map(spawn).collect();
        all.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    });
    sum / threads as f64
}

fn measure<C: Counter>(cpus: &Cpus, measure: Measure) -> f64 {
    let all = cpus.len();
    let counter = C::new(all);
    match measure {
        Measure::Updates(threads) => {
            let time = together(cpus, threads, |thread| updates(&counter, thread));
            let packets = threads as u64 * UPDATES;
            assert_eq!(counter.read(), (packets, packets * BYTES), "nothing is lost");
            time
        }
        Measure::ReadQuiet => {
            together(cpus, all, |thread| updates(&counter, thread));
            reads(&counter)
        }
        Measure::ReadBusy => {
            let done = AtomicBool::new(false);
            let time = together(cpus, all, |thread| {
                if thread == 0 {
                    let time = reads(&counter);
                    done.store(true, Ordering::Relaxed);
                    return time;
                }
                let mut now = 0;
                while !done.load(Ordering::Relaxed) {
                    counter.add(thread, now);
                    now += 1;
                }
                0.0
            });
            time * all as f64
        }
    }
}

type Run = fn(&Cpus, Measure) -> f64;

const COUNTERS: [(&str, Run); 5] = [
    ("atomic", measure::<OneAtomic>),
    ("per-thread", measure::<PerThread>),
    ("shared", measure::<Ours<Shared>>),
    ("per-cpu", measure::<Ours<PerCpu>>),
    ("per-node", measure::<Ours<PerNode>>),
];

fn main() {
    let argument = std::env::args().nth(1);
    let rounds = argument.as_deref().map_or(Ok(101), str::parse::<usize>);
    let Some(rounds) = rounds.ok().filter(|rounds| (1..=1_000_000).contains(rounds)) else {
        eprintln!("statistics: ROUNDS is a whole number from 1 to 1000000");
        std::process::exit(2);
    };
    let cpus = Cpus::allowed();
    let mut measures = vec![("update, 1 thread".to_owned(), Measure::Updates(1))];
    if cpus.len() > 1 {
        measures.push((format!("update, {} threads", cpus.len()), Measure::Updates(cpus.len())));
        measures.push(("read, others update".to_owned(), Measure::ReadBusy));
    }
    measures.push(("read, nobody updates".to_owned(), Measure::ReadQuiet));

    let mut samples = vec![vec![Vec::new(); COUNTERS.len()]; measures.len()];
    let mut orders = Orders::new(COUNTERS.len() * measures.len());
    for _ in 0..rounds {
        for &cell in orders.next_round() {
            let (what, counter) = (cell / COUNTERS.len(), cell % COUNTERS.len());
            let time = COUNTERS[counter].1(&cpus, measures[what].1);
            samples[what][counter].push(time);
        }
    }
    println!(
        "{rounds} rounds, {} CPUs, {UPDATES} updates a thread or {READS} readings a cell\n",
        cpus.len()
    );
    for ((name, _), samples) in measures.iter().zip(&samples) {
        println!("{name:22} {:>8} {:>13} {:>18}", "ns", "vs. atomic", "interval");
        for ((counter, _), times) in COUNTERS.iter().zip(samples) {
            let ratios: Vec<f64> = times.iter().zip(&samples[0]).map(|(a, b)| a / b).collect();
            let (Some(time), Some(ratio), Some(interval)) =
                (median(times), median(&ratios), median_interval(&ratios))
            else {
                unreachable!("there is a round")
            };
            let interval = format!("{:.2} .. {:.2}", interval.low, interval.high);
            println!("  {counter:20} {time:>8.1} {ratio:>13.2} {interval:>18}");
        }
        println!();
    }
    println!(
        "bytes: atomic 16, per-thread 128 a thread, shared 64, per-cpu (64) 4104, \
         per-node (8) 136 for one node\n"
    );
    predict();
}

/// Simulates updates of one object by all cores of a machine with two nodes. Prints the number of
/// updates per microsecond.
fn predict() {
    const MACHINE: &str = "cascade-lake-2s24c2t";
    const THREADS: usize = 48;
    const MICROSECONDS: f64 = 50.0;

    fn updates<V: Variant>(machine: &Machine) -> (f64, usize) {
        let mut simulation = Simulation::new(machine, 1);
        let statistics =
            simulation.setup(|| Statistics::<V, Queued, Simulated>::new().expect("memory"));
        let statistics = simulation.place(statistics, 64, 0);
        let starts = simulation.random_starts(THREADS);
        let all_there = starts.iter().copied().max().unwrap_or(0);
        for (place, &start) in starts.iter().enumerate() {
            let statistics = statistics.clone();
            simulation.spawn_at(place, start, move || {
                while !stop_requested() {
                    statistics.update(&Counts::packet(BYTES, 1, 1));
                    // The other work takes about as long as an uncontended update.
                    lockyard_sim::work(50.0);
                    operation_done();
                }
            });
        }
        let operations = |simulation: &mut Simulation, until| {
            let _ = simulation.run_until(until);
            simulation.operations().iter().sum::<u64>()
        };
        let before = operations(&mut simulation, all_there);
        let end = all_there + machine.cycles(MICROSECONDS * 1000.0);
        let operations = operations(&mut simulation, end) - before;
        simulation.request_stop();
        let _ = simulation.run();
        (operations as f64 / MICROSECONDS, simulation.setup(|| statistics.records()))
    }

    let machine = Machine::shipped(MACHINE).expect("it is shipped");
    let rows = [
        ("shared", updates::<Shared>(&machine)),
        ("per-node", updates::<PerNode>(&machine)),
        ("per-cpu", updates::<PerCpu<96>>(&machine)),
    ];
    println!("predicted, {MACHINE}, {THREADS} threads on 2 nodes, 50 ns between updates");
    println!("{:22} {:>12} {:>13} {:>8}", "", "updates/us", "vs. shared", "records");
    for (name, (rate, records)) in &rows {
        println!("  {name:20} {rate:>12.1} {:>13.2} {records:>8}", rate / rows[0].1.0);
    }
}
