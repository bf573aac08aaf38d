//! Random programs whose threads share CPUs, on machines with random scheduler numbers. No update
//! is lost, no runnable thread is lost, and the same seed gives the same run.
//!
//! Debug builds check three rules at every switch: a CPU has one thread, a thread is in one place,
//! and a thread that waits for a CPU will get it. A failure names the seed, which is the whole
//! input.

use lockyard::RawSpinLock;
use lockyard::lock::Mcs;
use lockyard::on::RawQSpinLock;
use lockyard::on::RawTicketLock;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, Simulated, SimulatedU32, SimulatedU64, Simulation, random_below,
    wait_for_others, work,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

struct Program {
    count: Placed<SimulatedU64>,
    guarded: Placed<SimulatedU64>,
    queued: Placed<RawQSpinLock<Simulated>>,
    ticket: Placed<RawTicketLock<Simulated>>,
    mcs: Placed<RawSpinLock<Mcs, Simulated>>,
    /// Word on which threads park. It counts wake-ups.
    bell: Placed<SimulatedU32>,
}

impl Program {
    fn under_a_lock(&self, which: u64) {
        let change = || {
            let value = self.guarded.load(Ordering::Relaxed);
            if random_below(3) == 0 {
                work(random_below(5000) as f64);
            }
            self.guarded.store(value + 1, Ordering::Relaxed);
        };
        // All locks of a run are of the same kind, which is drawn before the run.
        match which % 3 {
            0 => {
                let held = self.queued.acquire();
                change();
                // SAFETY: acquired above.
                unsafe { self.queued.release(held) };
            }
            1 => {
                let held = self.ticket.acquire();
                change();
                // SAFETY: acquired above.
                unsafe { self.ticket.release(held) };
            }
            _ => {
                let held = self.mcs.acquire();
                change();
                // SAFETY: acquired above.
                unsafe { self.mcs.release(held) };
            }
        }
    }

    /// Runs one thread. Returns the number of operations that it counted, and of its changes to the
    /// guarded words.
    fn run(&self, lock: u64) -> (u64, u64) {
        let (mut counted, mut guarded) = (0, 0);
        for _ in 0..40 {
            match random_below(10) {
                0 | 1 => {
                    self.count.fetch_add(1, Ordering::Relaxed);
                    counted += 1;
                }
                2..=4 => {
                    self.under_a_lock(lock);
                    guarded += 1;
                }
                5 => work(random_below(20_000) as f64),
                6 => wait_for_others(),
                7 => Simulated::yield_now(),
                8 => {
                    let rung = self.bell.load(Ordering::Acquire);
                    let timeout = Duration::from_nanos(1 + random_below(30_000));
                    Simulated::park(&self.bell, rung, Some(timeout));
                }
                _ => {
                    self.bell.fetch_add(1, Ordering::Release);
                    Simulated::unpark(std::ptr::from_ref(&*self.bell), 1 + random_below(3) as u32);
                }
            }
        }
        (counted, guarded)
    }
}

/// Runs the program for a seed. Returns the run's hash.
fn run(machine: &Machine, seed: u64) -> u64 {
    let mut simulation = Simulation::new(machine, seed);
    simulation.share_cpus();
    let program = Rc::new(Program {
        count: simulation.place(SimulatedU64::new(0), 64, 0),
        guarded: simulation.place(SimulatedU64::new(0), 8, 0),
        queued: simulation.place(RawSpinLock::new(), 4, 0),
        ticket: simulation.place(RawTicketLock::new(), 4, 0),
        mcs: simulation.place(RawSpinLock::new(), 64, 0),
        bell: simulation.place(SimulatedU32::new(0), 64, 0),
    });
    let sums = Rc::new(Cell::new((0, 0)));
    let threads = 2 + seed % 14;
    let cpus = 1 + seed / 3 % 5;
    for thread in 0..threads {
        let (program, sums) = (Rc::clone(&program), Rc::clone(&sums));
        let apart = if seed.is_multiple_of(4) { 3 } else { 1 };
        let place = (thread % cpus) as usize * apart;
        simulation.spawn_in((thread / cpus % 2) as u32, place, move || {
            let (counted, guarded) = program.run(seed);
            let (a, b) = sums.get();
            sums.set((a + counted, b + guarded));
        });
    }
    // Threads that spin in order of arrival, and share CPUs, may need hundreds of millions.
    simulation.limit_events(400_000_000);
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "seed {seed}: {outcome}");
    if let Err(left) = simulation.check_quiet() {
        panic!("seed {seed}: {left}");
    }
    let (counted, guarded) = sums.get();
    simulation.setup(|| {
        assert_eq!(program.count.load(Ordering::Relaxed), counted, "seed {seed}");
        assert_eq!(program.guarded.load(Ordering::Relaxed), guarded, "seed {seed}");
    });
    simulation.hash()
}

/// Returns a machine whose scheduler numbers are drawn from the seed.
fn machine(seed: u64) -> Machine {
    let name = ["cascade-lake-2s24c2t", "zen4-7840u", "westmere-ex-4s10c"][seed as usize % 3];
    let mut next = crate::support::random(seed);
    let mut pick = |choices: &[f64]| choices[(next() % choices.len() as u64) as usize];
    let numbers = [
        ("scheduler.period", pick(&[1.0, 20.0, 300.0, 2000.0])),
        ("scheduler.granularity", pick(&[1.0, 3.0, 50.0])),
        ("scheduler.lead", pick(&[0.0, 5.0, 200.0])),
        ("scheduler.switch", pick(&[0.0, 0.5, 5.0])),
        ("scheduler.pause_gap", pick(&[0.0, 128.0, 1000.0])),
        ("scheduler.pause_window", pick(&[0.0, 1000.0, 4096.0, 30_000.0])),
        ("scheduler.pause_exit", pick(&[0.1, 1.0])),
        ("scheduler.directed_yield", pick(&[0.0, 1.0])),
        ("scheduler.interrupt", pick(&[0.0, 2.0, 20.0])),
        ("scheduler.interrupt_work", pick(&[0.0, 1.0, 10.0])),
        ("kernel.wakeup", pick(&[1.0, 5000.0])),
        ("kernel.deep_wakeup", pick(&[1.0, 20_000.0])),
        ("kernel.bucket", pick(&[0.0, 500.0])),
        ("kernel.block", pick(&[0.0, 1000.0])),
    ];
    let shipped = Machine::shipped(name).expect("it is shipped");
    numbers.into_iter().fold(shipped, |machine, (name, value)| {
        machine.with(name, value).unwrap_or_else(|| panic!("a machine has {name}"))
    })
}

#[test]
fn no_update_is_lost_and_no_thread_is_forgotten() {
    for seed in 1..=300 {
        run(&machine(seed), seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [4, 9, 23] {
        assert_eq!(run(&machine(seed), seed), run(&machine(seed), seed), "seed {seed}");
    }
    assert_ne!(run(&machine(4), 4), run(&machine(4), 9));
}
