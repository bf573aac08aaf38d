//! Mutexes at every level of subscription: throughput, the longest wait, and CPU time.
//!
//! The table is that of `docs/evidence/other-locks.md`. Each round measures each lock twice, in an
//! order that changes: for 0.15 s without looking at waits, and for 0.25 s with a look at the clock
//! before and after each lock. A figure is the median of 9 rounds. Its interval is from the second
//! least to the second greatest, which contains the median with a probability of 96 %. A ratio is
//! that of the figures of one round, with the median and the interval of the rounds.
//!
//! ```text
//! cargo study subscription -- SECTION THREADS,THREADS...
//! ```
//!
//! Sections: `empty`; `short`: 200 ns held and 1 us outside; `long`: 2 us each; `holder`: as
//! `short`, and one of the threads holds the lock for 1 ms; `bare`: one thread, beside a
//! compare-exchange and a plain store.

#[cfg(target_os = "linux")]
mod measured {
    use std::cell::UnsafeCell;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
    use std::sync::{Barrier, Mutex};
    use std::time::{Duration, Instant};
    use std::{mem, thread};

    const ROUNDS: usize = 9;
    const WINDOW: Duration = Duration::from_millis(150);
    const WAITS: Duration = Duration::from_millis(250);
    /// Locks whose waiters sleep, by their places in `LOCKS`.
    const SLEEPING: std::ops::Range<usize> = 1..4;

    /// A lock around a closure.
    trait Lock: Sync {
        fn with(&self, inside: impl FnOnce());
    }

    macro_rules! with_guards {
        ($($lock:ty),*) => {$(
            impl Lock for $lock {
                #[inline(always)]
                fn with(&self, inside: impl FnOnce()) {
                    let _guard = self.lock();
                    inside();
                }
            }
        )*};
    }
    with_guards!(
        lockyard::Mutex<()>,
        lockyard::PvQSpinLock<()>,
        parking_lot::Mutex<()>,
        Mutex<()>,
        spin::mutex::SpinMutex<()>
    );

    macro_rules! of_libc {
        ($($name:ident($raw:ty) $lock:ident $unlock:ident;)*) => {$(
            struct $name(Box<UnsafeCell<$raw>>);
            // SAFETY: the C library's locks are for several threads.
            unsafe impl Sync for $name {}
            impl Lock for $name {
                #[inline(always)]
                fn with(&self, inside: impl FnOnce()) {
                    // SAFETY: initialised, in memory that does not move.
                    unsafe { libc::$lock(self.0.get()) };
                    inside();
                    // SAFETY: taken above.
                    unsafe { libc::$unlock(self.0.get()) };
                }
            }
        )*};
    }
    of_libc! {
        PthreadMutex(libc::pthread_mutex_t) pthread_mutex_lock pthread_mutex_unlock;
        PthreadSpin(libc::pthread_spinlock_t) pthread_spin_lock pthread_spin_unlock;
    }

    /// A compare-exchange and a plain store of one byte. For one thread.
    struct Bare(AtomicU8);
    impl Lock for Bare {
        #[inline(always)]
        fn with(&self, inside: impl FnOnce()) {
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            while self.0.compare_exchange(0, 1, acquire, relaxed).is_err() {}
            inside();
            self.0.store(0, Ordering::Release);
        }
    }

    /// Work of each operation, in turns of a loop.
    #[derive(Clone, Copy)]
    struct Cell {
        threads: usize,
        held: u64,
        outside: u64,
        /// Work of the first thread under the lock.
        held_by_first: u64,
    }

    /// Figures of one window.
    #[derive(Clone, Copy, Default)]
    struct Figures {
        per_second: f64,
        cpu_ns: f64,
        longest_ms: f64,
    }

    #[inline(always)]
    fn work(turns: u64) {
        (0..turns).for_each(|turn| {
            black_box(turn);
        });
    }

    /// Returns the CPU time of this process.
    fn cpu() -> Duration {
        // SAFETY: all bytes of the structure may be 0.
        let mut time: libc::timespec = unsafe { mem::zeroed() };
        // SAFETY: the pointer is valid.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// Runs the threads for `window`. With `TIMED` it looks for the longest wait.
    fn run<const TIMED: bool>(lock: &impl Lock, cell: Cell, window: Duration) -> Figures {
        let (stop, done, longest) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let begin = Barrier::new(cell.threads + 1);
        let (mut began, mut used) = (Instant::now(), Duration::ZERO);
        thread::scope(|scope| {
            for number in 0..cell.threads {
                let (stop, done, longest, begin) = (&stop, &done, &longest, &begin);
                let held = if number == 0 { cell.held_by_first } else { cell.held };
                scope.spawn(move || {
                    let (mut operations, mut most) = (0, Duration::ZERO);
                    begin.wait();
                    while !stop.load(Ordering::Relaxed) {
                        let called = TIMED.then(Instant::now);
                        lock.with(|| {
                            if let Some(called) = called {
                                most = most.max(called.elapsed());
                            }
                            work(held);
                        });
                        operations += 1;
                        work(cell.outside);
                    }
                    done.fetch_add(operations, Ordering::Relaxed);
                    longest.fetch_max(most.as_nanos() as u64, Ordering::Relaxed);
                });
            }
            begin.wait();
            (began, used) = (Instant::now(), cpu());
            thread::sleep(window);
            stop.store(true, Ordering::Relaxed);
        });
        let (took, used) = (began.elapsed().as_secs_f64(), cpu() - used);
        let operations = done.into_inner() as f64;
        Figures {
            per_second: operations / took,
            cpu_ns: used.as_nanos() as f64 / operations,
            longest_ms: longest.into_inner() as f64 / 1e6,
        }
    }

    /// Returns the figures of a new lock of one kind.
    fn measure(lock: &impl Lock, cell: Cell) -> Figures {
        let figures = run::<false>(lock, cell, WINDOW);
        Figures { longest_ms: run::<true>(lock, cell, WAITS).longest_ms, ..figures }
    }

    type Measure = fn(Cell) -> Figures;
    const LOCKS: [(&str, Measure); 8] = [
        ("`Mutex`", |cell| measure(&lockyard::Mutex::new(()), cell)),
        ("`std`", |cell| measure(&Mutex::new(()), cell)),
        ("`parking_lot`", |cell| measure(&parking_lot::Mutex::new(()), cell)),
        ("`pthread`", |cell| {
            let raw = libc::PTHREAD_MUTEX_INITIALIZER;
            measure(&PthreadMutex(Box::new(UnsafeCell::new(raw))), cell)
        }),
        ("`pthread_spin`", |cell| {
            let raw = Box::new(UnsafeCell::new(0));
            // SAFETY: the pointer is valid, and no thread uses the lock yet.
            unsafe { libc::pthread_spin_init(raw.get(), libc::PTHREAD_PROCESS_PRIVATE) };
            measure(&PthreadSpin(raw), cell)
        }),
        ("`spin`", |cell| measure(&spin::mutex::SpinMutex::<()>::new(()), cell)),
        ("`PvQSpinLock`", |cell| measure(&lockyard::PvQSpinLock::new(()), cell)),
        ("bare", |cell| measure(&Bare(AtomicU8::new(0)), cell)),
    ];

    /// Returns the median, and the second least and second greatest.
    fn spread(mut values: Vec<f64>) -> [f64; 3] {
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        [values[last / 2], values[1.min(last)], values[last.saturating_sub(1)]]
    }

    /// Measures one cell and prints its rows.
    fn print(section: &str, cell: Cell, locks: usize) {
        let mut found = vec![Vec::new(); locks];
        for round in 0..ROUNDS {
            for place in 0..locks {
                let lock = (place + round) % locks;
                found[lock].push(LOCKS[lock].1(cell));
            }
        }
        let of = |lock: usize, figure: fn(&Figures) -> f64| {
            spread(found[lock].iter().map(figure).collect())
        };
        let rate = |lock| of(lock, |f: &Figures| f.per_second)[0];
        let best = SLEEPING.max_by(|&a, &b| rate(a).total_cmp(&rate(b))).unwrap_or(1);
        for (lock, (name, _)) in LOCKS.iter().enumerate().take(locks) {
            let [million, least, most] = of(lock, |f| f.per_second / 1e6);
            let over: Vec<_> = found[0]
                .iter()
                .zip(&found[lock])
                .map(|(a, b)| a.per_second / b.per_second)
                .collect();
            let [ratio, low, high] = spread(over);
            let [[cpu, ..], [wait, shortest, longest]] =
                [of(lock, |f| f.cpu_ns), of(lock, |f| f.longest_ms)];
            let mark = if lock == best { " (best)" } else { "" };
            println!(
                "| {section} | {} | {name}{mark} | {million:.3} | {least:.3}..{most:.3} | \
                 {ratio:.2}, {low:.2}..{high:.2} | {wait:.2} | {shortest:.2}..{longest:.2} | \
                 {cpu:.0} |",
                cell.threads
            );
        }
    }

    pub(super) fn main() -> Result<(), String> {
        let usage = "arguments: empty|short|long|holder|bare THREADS,THREADS...";
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [section, threads] = &arguments[..] else { return Err(usage.into()) };
        let began = Instant::now();
        work(20_000_000);
        let turns = 20e6 / began.elapsed().as_nanos() as f64;
        let turns = |ns: u64| (ns as f64 * turns) as u64;
        let (held, outside, held_by_first) = match section.as_str() {
            "empty" | "bare" => (0, 0, 0),
            "short" => (200, 1_000, 200),
            "long" => (2_000, 2_000, 2_000),
            "holder" => (200, 1_000, 1_000_000),
            _ => return Err(usage.into()),
        };
        println!(
            "| section | threads | lock | M op/s | interval | `Mutex` over it | longest wait, ms | \
             interval | CPU, ns/op |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        for threads in threads.split(',') {
            let threads = threads.parse().map_err(|_| usage)?;
            let cell = Cell {
                threads,
                held: turns(held),
                outside: turns(outside),
                held_by_first: turns(held_by_first),
            };
            let is_bare = section == "bare";
            if is_bare && threads != 1 {
                return Err("bare: one thread only".into());
            }
            print(section, cell, LOCKS.len() - usize::from(!is_bare));
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match measured::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("subscription: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example needs Linux");
}
