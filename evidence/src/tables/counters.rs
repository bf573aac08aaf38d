//! Counters of packets, bytes, the time of the last packet, and flags. Every thread counts, and a
//! reader sums up.

use super::subject::{Subject, SubjectRole, SubjectRow, rows};
use super::work::{Done, Load, Worker, draws};
use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::Counts;
use lockyard_tables::statistics::{self, PerCpu, PerNode, Shared, Variant};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a packet.
const BYTES: u64 = 1500;

/// A counter.
pub trait Counter: Send + Sync + Sized + 'static {
    /// Returns a counter at zero, for the given number of threads.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory.
    fn new(threads: usize) -> Result<Self, String>;

    /// Adds `counts`, on `thread`.
    fn update(&self, thread: usize, counts: &Counts);

    /// Returns the sum.
    fn read(&self) -> Counts;
}

struct Counting<C>(C);

fn table<C: Counter>(load: &Load) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Counting(C::new(load.threads)?)))
}

impl<C: Counter> Subject for Counting<C> {
    fn work(&self, worker: &Worker) -> Done {
        let draws = draws(worker, 1, |_| ((), 0));
        let (thread, mut now) = (worker.thread, 0);
        worker.run(
            &draws,
            &mut now,
            |_, ()| {
                black_box(self.0.read());
                Some(0)
            },
            |now, ()| {
                *now += 1;
                self.0.update(thread, &Counts::packet(BYTES, *now, 1));
            },
        )
    }

    fn verify(&self, done: &[Done]) -> Result<(), String> {
        let (sum, updates) = (self.0.read(), Done::sum(done).changes);
        let last_used = done.iter().map(|done| done.changes).max().unwrap_or(0);
        let flags = u32::from(updates > 0);
        let expected = Counts { packets: updates, bytes: updates * BYTES, last_used, flags };
        if sum == expected {
            return Ok(());
        }
        Err(format!("it has counted {sum:?} instead of {expected:?}"))
    }
}

impl<V: Variant> Counter for Statistics<V> {
    fn new(_threads: usize) -> Result<Self, String> {
        Statistics::new().map_err(|_| "there is no memory for the counter".to_owned())
    }
    #[inline(always)]
    fn update(&self, _thread: usize, counts: &Counts) {
        Statistics::update(self, counts);
    }
    #[inline(always)]
    fn read(&self) -> Counts {
        Statistics::read(self)
    }
}

/// Four words, each atomic.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Words {
    packets: AtomicU64,
    bytes: AtomicU64,
    last_used: AtomicU64,
    flags: AtomicU64,
}

impl Words {
    /// Adds to words that no other thread writes.
    #[inline(always)]
    fn add_alone(&self, counts: &Counts) {
        let mut all = self.read();
        all.merge(counts);
        self.packets.store(all.packets, Ordering::Relaxed);
        self.bytes.store(all.bytes, Ordering::Relaxed);
        self.last_used.store(all.last_used, Ordering::Relaxed);
        self.flags.store(u64::from(all.flags), Ordering::Relaxed);
    }

    #[inline(always)]
    fn read(&self) -> Counts {
        Counts {
            packets: self.packets.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            last_used: self.last_used.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed) as u32,
        }
    }
}

/// One record for all threads: an atomic addition to each word that changes.
struct SharedAtomic(Words);

impl Counter for SharedAtomic {
    fn new(_threads: usize) -> Result<Self, String> {
        Ok(SharedAtomic(Words::default()))
    }
    #[inline(always)]
    fn update(&self, _thread: usize, counts: &Counts) {
        let words = &self.0;
        words.packets.fetch_add(counts.packets, Ordering::Relaxed);
        words.bytes.fetch_add(counts.bytes, Ordering::Relaxed);
        // Write only on a change: a load is cheaper.
        if words.last_used.load(Ordering::Relaxed) < counts.last_used {
            words.last_used.fetch_max(counts.last_used, Ordering::Relaxed);
        }
        let flags = u64::from(counts.flags);
        if words.flags.load(Ordering::Relaxed) & flags != flags {
            words.flags.fetch_or(flags, Ordering::Relaxed);
        }
    }
    #[inline(always)]
    fn read(&self) -> Counts {
        self.0.read()
    }
}

/// Words for each thread, which knows its number: an update is a load and a store of each word.
struct PerThread(Vec<Words>);

impl Counter for PerThread {
    fn new(threads: usize) -> Result<Self, String> {
        Ok(PerThread((0..threads).map(|_| Words::default()).collect()))
    }
    #[inline(always)]
    fn update(&self, thread: usize, counts: &Counts) {
        self.0[thread].add_alone(counts);
    }
    #[inline(always)]
    fn read(&self) -> Counts {
        let mut sum = Counts::default();
        self.0.iter().for_each(|words| sum.merge(&words.read()));
        sum
    }
}

/// Words for each thread, found through `thread_local`.
struct ThreadLocal(thread_local::ThreadLocal<Words>);

impl Counter for ThreadLocal {
    fn new(_threads: usize) -> Result<Self, String> {
        Ok(ThreadLocal(thread_local::ThreadLocal::new()))
    }
    #[inline(always)]
    fn update(&self, _thread: usize, counts: &Counts) {
        self.0.get_or_default().add_alone(counts);
    }
    #[inline(always)]
    fn read(&self) -> Counts {
        let mut sum = Counts::default();
        self.0.iter().for_each(|words| sum.merge(&words.read()));
        sum
    }
}

/// Our statistics, of a given variant.
type Statistics<V> = statistics::Statistics<V, Queued, Native>;

/// The rows of `counter`.
pub(super) const ROWS: &[SubjectRow] = rows! {
    "statistics-per-node", Ours, "lockyard", "MIT OR Apache-2.0", Statistics<PerNode>,
        "a record for each NUMA node that updates, behind its own lock";
    "statistics-per-cpu", Ours, "lockyard", "MIT OR Apache-2.0", Statistics<PerCpu>,
        "64 records, each behind its own lock; a reader visits all of them";
    "statistics-per-thread", Ours, "lockyard", "MIT OR Apache-2.0",
        Statistics<statistics::PerThread>,
        "words for each thread that updates, plainly stored: no lock; a reader may see packets \
         without their bytes";
    "statistics-shared", Ours, "lockyard", "MIT OR Apache-2.0", Statistics<Shared>,
        "one record behind a lock";
    "thread-local", Peer, "thread_local 1.1.10", "MIT OR Apache-2.0", ThreadLocal,
        "words for each thread, plainly stored: a reader may see packets without their bytes";
    "shared-atomic", Yardstick, "here", "MIT OR Apache-2.0", SharedAtomic,
        "four atomic words in one line: a reader may see packets without their bytes";
    "per-thread", Yardstick, "here", "MIT OR Apache-2.0", PerThread,
        "four words in a line of each thread, which knows its number; plain stores: a reader \
         may see packets without their bytes";
};
