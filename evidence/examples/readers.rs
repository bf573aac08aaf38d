//! Reader-writer locks beside each other: throughput, and the longest waits of readers and writers.
//!
//! The table is that of `docs/evidence/readers.md`. Each round measures each lock twice, in an
//! order that changes: for 0.1 s without looking at waits, and for 0.15 s with a look at the clock
//! before and after each lock. A figure is the median of the rounds. Its interval is from the
//! second least to the second greatest. A ratio compares a lock with the best of other people's
//! within a round, with the median and the interval of the rounds.
//!
//! ```text
//! cargo study readers -- READS,READS... WORK,WORK... \
//!     THREADS,THREADS... [ROUNDS]
//! ```
//!
//! `READS` is the percentage of reads, or `writer`: one thread writes and pauses for 0.1 ms, and
//! the others read. `WORK` is what a thread does inside: `empty`; `lines`: 50 ns, with accesses to
//! four lines; `long`: 1 us, the same. `ROUNDS` is 9 unless it is given.
//!
//! `QRwLock` spins, and is only measured with at most as many threads as CPUs. Readers of `SeqLock`
//! copy 32 bytes and do their work after that, without a lock.

#[cfg(target_os = "linux")]
mod measured {
    use std::cell::UnsafeCell;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Barrier, RwLock};
    use std::thread;
    use std::time::{Duration, Instant};

    const WINDOW: Duration = Duration::from_millis(100);
    const WAITS: Duration = Duration::from_millis(150);
    /// Pause of the only writer.
    const PAUSE: Duration = Duration::from_micros(100);

    /// A reader-writer lock around closures.
    trait Lock: Sync {
        fn read(&self, inside: impl FnOnce());
        fn write(&self, inside: impl FnOnce());
    }

    macro_rules! with_guards {
        ($($lock:ty)*) => {$(
            impl Lock for $lock {
                #[inline(always)]
                fn read(&self, inside: impl FnOnce()) {
                    let _guard = <$lock>::read(self);
                    inside();
                }
                #[inline(always)]
                fn write(&self, inside: impl FnOnce()) {
                    let _guard = <$lock>::write(self);
                    inside();
                }
            }
        )*};
    }
    with_guards!(
        lockyard::RwLock<()> lockyard::ShardedRwLock<()> lockyard::QRwLock<()> RwLock<()>
        parking_lot::RwLock<()>
    );

    impl Lock for lockyard::SeqLock<[u64; 4]> {
        #[inline(always)]
        fn read(&self, inside: impl FnOnce()) {
            black_box(lockyard::SeqLock::read(self));
            inside();
        }
        #[inline(always)]
        fn write(&self, inside: impl FnOnce()) {
            let mut guard = lockyard::SeqLock::write(self);
            guard.iter_mut().for_each(|word| *word += 1);
            inside();
        }
    }

    struct Pthread(Box<UnsafeCell<libc::pthread_rwlock_t>>);
    // SAFETY: the C library's locks are for several threads.
    unsafe impl Sync for Pthread {}
    impl Lock for Pthread {
        #[inline(always)]
        fn read(&self, inside: impl FnOnce()) {
            // SAFETY: initialised, in memory that does not move.
            unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
            inside();
            // SAFETY: taken above.
            unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        }
        #[inline(always)]
        fn write(&self, inside: impl FnOnce()) {
            // SAFETY: as above.
            unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
            inside();
            // SAFETY: taken above.
            unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        }
    }

    /// Work of the threads.
    #[derive(Clone, Copy)]
    struct Cell {
        threads: usize,
        /// Percentage of reads; `None`: one thread writes.
        reads: Option<u64>,
        /// Number of lines that each operation uses.
        lines: usize,
        /// Work inside, in turns of a loop.
        turns: u64,
    }

    /// Figures of one window.
    #[derive(Clone, Copy, Default)]
    struct Figures {
        per_second: f64,
        read_ms: f64,
        write_ms: f64,
    }

    #[repr(align(64))]
    #[derive(Default)]
    struct Line(AtomicU64);

    #[inline(always)]
    fn work(turns: u64) {
        (0..turns).for_each(|turn| {
            black_box(turn);
        });
    }

    /// One thread of a window. Returns its number of operations, and its longest waits to read and
    /// to write.
    fn visits<const TIMED: bool>(
        lock: &impl Lock,
        cell: Cell,
        number: usize,
        data: &[Line; 4],
        stop: &AtomicBool,
    ) -> (u64, [Duration; 2]) {
        let (mut operations, mut most) = (0, [Duration::ZERO; 2]);
        let mut random = number as u64 * 0x9e37_79b9_7f4a_7c15 + 1;
        while !stop.load(Ordering::Relaxed) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let reads = cell.reads.map_or(number > 0, |percent| (random >> 32) % 100 < percent);
            let called = TIMED.then(Instant::now);
            let mut note = |place: usize| {
                if let Some(called) = called {
                    most[place] = most[place].max(called.elapsed());
                }
            };
            if reads {
                lock.read(|| {
                    note(0);
                    for line in &data[..cell.lines] {
                        black_box(line.0.load(Ordering::Relaxed));
                    }
                    work(cell.turns);
                });
            } else {
                lock.write(|| {
                    note(1);
                    for line in &data[..cell.lines] {
                        line.0.store(random, Ordering::Relaxed);
                    }
                    work(cell.turns);
                });
                if cell.reads.is_none() {
                    thread::sleep(PAUSE);
                }
            }
            operations += 1;
        }
        (operations, most)
    }

    /// Runs the threads for `window`. With `TIMED` it looks for the longest waits.
    fn run<const TIMED: bool>(lock: &impl Lock, cell: Cell, window: Duration) -> Figures {
        let stop = AtomicBool::new(false);
        let (done, longest) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
        let data: [Line; 4] = Default::default();
        let begin = Barrier::new(cell.threads + 1);
        let mut began = Instant::now();
        thread::scope(|scope| {
            for number in 0..cell.threads {
                let (stop, done, longest, begin, data) = (&stop, &done, &longest, &begin, &data);
                scope.spawn(move || {
                    begin.wait();
                    let (operations, most) = visits::<TIMED>(lock, cell, number, data, stop);
                    done.fetch_add(operations, Ordering::Relaxed);
                    for (all, most) in longest.iter().zip(most) {
                        all.fetch_max(most.as_nanos() as u64, Ordering::Relaxed);
                    }
                });
            }
            begin.wait();
            began = Instant::now();
            thread::sleep(window);
            stop.store(true, Ordering::Relaxed);
        });
        let [read_ms, write_ms] = longest.map(|longest| longest.into_inner() as f64 / 1e6);
        let per_second = done.into_inner() as f64 / began.elapsed().as_secs_f64();
        Figures { per_second, read_ms, write_ms }
    }

    /// Returns the figures of a new lock of one kind.
    fn measure(lock: &impl Lock, cell: Cell) -> Figures {
        let figures = run::<false>(lock, cell, WINDOW);
        Figures { per_second: figures.per_second, ..run::<true>(lock, cell, WAITS) }
    }

    /// The lock whose waiters keep their CPUs.
    const QUEUED: &str = "`QRwLock`";
    /// Number of locks that are lockyard's.
    const OURS: usize = 4;

    type Measure = fn(Cell) -> Figures;
    const LOCKS: [(&str, Measure); 7] = [
        ("`RwLock`", |cell| measure(&lockyard::RwLock::new(()), cell)),
        ("`ShardedRwLock`", |cell| measure(&lockyard::ShardedRwLock::new(()), cell)),
        ("`SeqLock`", |cell| measure(&lockyard::SeqLock::new([0; 4]), cell)),
        (QUEUED, |cell| measure(&lockyard::QRwLock::new(()), cell)),
        ("`std`", |cell| measure(&RwLock::new(()), cell)),
        ("`parking_lot`", |cell| measure(&parking_lot::RwLock::new(()), cell)),
        ("`pthread`", |cell| {
            let raw = libc::PTHREAD_RWLOCK_INITIALIZER;
            measure(&Pthread(Box::new(UnsafeCell::new(raw))), cell)
        }),
    ];

    /// Returns the median, and the second least and second greatest.
    fn spread(mut values: Vec<f64>) -> [f64; 3] {
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let median = f64::midpoint(values[last / 2], values[values.len() / 2]);
        [median, values[1.min(last)], values[last.saturating_sub(1)]]
    }

    /// Measures one cell and prints its rows. The ratio is to the best of other people's locks,
    /// which has a mark.
    fn print(names: [&str; 2], cell: Cell, rounds: usize) {
        let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let locks: Vec<(usize, (&str, Measure))> = LOCKS
            .into_iter()
            .enumerate()
            .filter(|(_, (name, _))| *name != QUEUED || cell.threads <= cpus)
            .collect();
        let mut found = vec![Vec::new(); LOCKS.len()];
        for round in 0..rounds {
            for place in 0..locks.len() {
                let (lock, (_, measure)) = locks[(place + round) % locks.len()];
                found[lock].push(measure(cell));
            }
        }
        let of = |lock: usize, figure: fn(&Figures) -> f64| {
            spread(found[lock].iter().map(figure).collect())
        };
        let rate = |lock| of(lock, |f: &Figures| f.per_second)[0];
        let best = (OURS..LOCKS.len()).max_by(|&a, &b| rate(a).total_cmp(&rate(b)));
        let best = best.unwrap_or(OURS);
        for (lock, (name, _)) in locks {
            let [million, least, most] = of(lock, |f| f.per_second / 1e6);
            let pairs = found[lock].iter().zip(&found[best]);
            let [ratio, low, high] =
                spread(pairs.map(|(its, best)| its.per_second / best.per_second).collect());
            let [[read, ..], [wait, shortest, longest]] =
                [of(lock, |f| f.read_ms), of(lock, |f| f.write_ms)];
            let mark = if lock == best { " (best)" } else { "" };
            println!(
                "| {} | {} | {} | {name}{mark} | {million:.3} | {least:.3}..{most:.3} | \
                 {ratio:.2}, {low:.2}..{high:.2} | {read:.2} | {wait:.2}, \
                 {shortest:.2}..{longest:.2} |",
                names[0], names[1], cell.threads
            );
        }
    }

    pub(super) fn main() -> Result<(), String> {
        let usage = "arguments: READS,READS... WORK,WORK... THREADS,THREADS... [ROUNDS]; READS: \
                     0 to 100, or writer; WORK: empty, lines, long";
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (reads, works, threads, rounds) = match &arguments[..] {
            [reads, works, threads] => (reads, works, threads, 9),
            [reads, works, threads, rounds] => {
                (reads, works, threads, rounds.parse().ok().filter(|&it| it > 0).ok_or(usage)?)
            }
            _ => return Err(usage.into()),
        };
        let began = Instant::now();
        work(20_000_000);
        let turns = 20e6 / began.elapsed().as_nanos() as f64;
        println!(
            "| reads, % | inside | threads | lock | M op/s | interval | over the best | \
             longest wait to read, ms | to write, interval |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        for read in reads.split(',') {
            let percent = match read {
                "writer" => None,
                _ => Some(read.parse().ok().filter(|&it| it <= 100).ok_or(usage)?),
            };
            for name in works.split(',') {
                let (lines, ns) = match name {
                    "empty" => (0, 0.0),
                    "lines" => (4, 50.0),
                    "long" => (4, 1_000.0),
                    _ => return Err(usage.into()),
                };
                for threads in threads.split(',') {
                    let threads = threads.parse().ok().filter(|&it| it > 0).ok_or(usage)?;
                    let turns = (ns * turns) as u64;
                    let cell = Cell { threads, reads: percent, lines, turns };
                    print([read, name], cell, rounds);
                }
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match measured::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("readers: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example needs Linux");
}
