//! Speed of the simulated machine on this host. For comparison, the limit: the same number of
//! coroutines that only switch.
//!
//! ```text
//! cargo run --release -p lockyard-sim --example speed
//! ```
//!
//! The operations are those of the scenario `fstat2`, variant `lockref-pause`: take a reference,
//! work, drop the reference. Platform operations are loads, stores, read-modify-writes, pauses,
//! work and waits. Internal messages do not count.

use corosensei::{Coroutine, CoroutineResult};
use lockyard::lock::Queued;
use lockyard::lockref::LockRef;
use lockyard::lockref::policy::Pause;
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation, stop_requested, work};
use std::time::Instant;

/// Simulates `threads` threads of `machine` for `milliseconds`. Prints the host's time.
fn simulate(machine: &Machine, threads: usize, milliseconds: f64) {
    let mut simulation = Simulation::new(machine, 1);
    let entry = simulation.place(LockRef::<Queued, Pause, Simulated>::from_count(1), 64, 0);
    for place in 0..threads {
        let entry = entry.clone();
        simulation.spawn(place, move || {
            while !stop_requested() {
                work(105.0);
                entry.get();
                work(105.0);
                let _ = entry.put_return();
                work(105.0);
            }
        });
    }
    let begin = Instant::now();
    let outcome = simulation.run_until(machine.cycles(milliseconds * 1e6));
    let seconds = begin.elapsed().as_secs_f64();
    assert!(matches!(outcome, RunEnd::TimeOver), "{outcome}");
    let statistics = simulation.statistics();
    println!(
        "{threads:5} threads, {milliseconds} ms of {}: {seconds:.3} s; \
         {:.1} M platform operations/s, {:.1} M events/s",
        machine.name(),
        statistics.platform_operations as f64 / seconds / 1e6,
        statistics.events as f64 / seconds / 1e6
    );
    simulation.request_stop();
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

/// Switches between coroutines in turn, and does nothing else. Returns switches per second.
fn switches(coroutines: usize) -> f64 {
    const ROUNDS: usize = 20_000;
    let mut all: Vec<Coroutine<u64, u64, ()>> = (0..coroutines)
        .map(|_| {
            Coroutine::new(|yielder, mut value: u64| {
                for _ in 0..ROUNDS {
                    value = yielder.suspend(value + 1);
                }
            })
        })
        .collect();
    let begin = Instant::now();
    let mut value = 0;
    for _ in 0..=ROUNDS {
        for coroutine in &mut all {
            if let CoroutineResult::Yield(next) = coroutine.resume(value) {
                value = next;
            }
        }
    }
    assert_eq!(value as usize, ROUNDS * coroutines);
    (ROUNDS * coroutines) as f64 / begin.elapsed().as_secs_f64()
}

/// Peak resident size of this process so far, where the host reports it.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.map_or("not available here".to_owned(), |line| line[6..].trim().to_owned())
}

fn main() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    println!(
        "the limit: {:.1} M switches/s of 96 coroutines that do nothing else",
        switches(96) / 1e6
    );
    for _ in 0..3 {
        simulate(&machine, 96, 10.0);
    }
    let larger = |sockets: f64, cores: f64| {
        let machine = machine.clone().with("topology.sockets", sockets);
        machine.and_then(|machine| machine.with("topology.cores", cores)).expect("it has them")
    };
    let twice = larger(2.0, 48.0);
    simulate(&twice, 192, 1.0);
    println!("largest resident size so far: {}", resident());
    simulate(&twice, 192, 10.0);
    println!("largest resident size so far: {}", resident());
    simulate(&larger(8.0, 64.0), 1024, 1.0);
    println!("largest resident size so far: {}", resident());
}
