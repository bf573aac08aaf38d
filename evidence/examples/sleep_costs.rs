//! The price of sleeping on this host: what `[kernel]` and `scheduler.switch` of a machine file
//! stand for.
//!
//! Each figure is the median of 11 rounds of some thousand operations, in nanoseconds.
//!
//! ```text
//! cargo study sleep_costs
//! ```

#[cfg(target_os = "linux")]
fn main() {
    costs::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example needs Linux");
}

#[cfg(target_os = "linux")]
mod costs {
    use lockyard::platform::{Host, Native, Ordering, U32, Word};
    use std::time::Instant;
    use std::{mem, thread};

    type Flag = U32<Native>;
    const ROUNDS: usize = 11;
    const EACH: u32 = 4_000;

    /// Lets the calling thread run on one CPU only. Returns false if it must not.
    fn pin(cpu: usize) -> bool {
        // SAFETY: all bytes of the set may be 0.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: `cpu` is below the size of the set, and the pointer is valid.
        unsafe {
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0
        }
    }

    /// Returns the median time of one of `EACH` operations.
    fn median(mut round: impl FnMut()) -> u128 {
        let mut times: Vec<_> = (0..ROUNDS)
            .map(|_| {
                let began = Instant::now();
                round();
                began.elapsed().as_nanos() / u128::from(EACH)
            })
            .collect();
        times.sort_unstable();
        times[ROUNDS / 2]
    }

    /// Sleeps while `flag` is not `wanted`.
    fn sleep_until(flag: &Flag, wanted: u32) {
        loop {
            let seen = flag.load(Ordering::Acquire);
            if seen == wanted {
                return;
            }
            Native::park(flag, seen, None);
        }
    }

    /// Two threads that wake each other and sleep in turn. Returns the time from one to the other.
    fn ping_pong(cpus: [usize; 2]) -> Option<u128> {
        let flag = Flag::new(0);
        thread::scope(|scope| {
            let turns = EACH * ROUNDS as u32 / 2;
            let turn = |mine: u32| {
                sleep_until(&flag, mine);
                flag.store(1 - mine, Ordering::Release);
                Native::unpark(&flag, 1);
            };
            let other = scope.spawn(move || pin(cpus[1]).then(|| (0..turns).for_each(|_| turn(1))));
            let median = scope.spawn(move || {
                pin(cpus[0]).then(|| median(|| (0..EACH / 2).for_each(|_| turn(0))))
            });
            let median = median.join().expect("it does not panic");
            other.join().expect("it does not panic").and(median)
        })
    }

    pub(super) fn main() {
        let nobody = Flag::new(0);
        let print = |what: &str, time: Option<u128>| match time {
            Some(time) => println!("| {what} | {time} |"),
            None => println!("| {what} | not measured: the CPUs cannot be chosen |"),
        };
        println!("| operation | ns |\n| --- | --- |");
        let wakes = || (0..EACH).for_each(|_| Native::unpark(&nobody, 1));
        print("a wake-up of nobody", Some(median(wakes)));
        let sleeps = || (0..EACH).for_each(|_| Native::park(&nobody, 1, None));
        print("a sleep whose word has changed", Some(median(sleeps)));
        let yields = || (0..EACH).for_each(|_| Native::yield_now());
        print("a yield with nobody else to run", Some(median(yields)));
        print("wake, sleep, and the other runs: one CPU", ping_pong([0, 0]));
        print("wake, sleep, and the other runs: two CPUs", ping_pong([0, 1]));
    }
}
