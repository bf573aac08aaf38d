//! The experiment `timer-gettime` on both back-ends: the same code in threads of the host and on a simulated machine, and what the variants
//! differ in there.

use lockyard::Native;
use lockyard::id_table::{Locked, Rcu, Variant};
use lockyard_scenarios::{Stage, Timers};
use lockyard_sim::{Machine, Outcome, Simulated, Simulation};
use std::cell::Cell;

const TASKS: u32 = 16;

struct Threads;

std::thread_local!(static LEFT: Cell<u32> = const { Cell::new(500) });

impl Stage for Threads {
    type Host = Native;

    fn work(_: f64) {}
    fn stopping() -> bool {
        LEFT.get() == 0
    }
    fn operation_done() {
        LEFT.set(LEFT.get() - 1);
    }
}

fn in_threads<V: Variant>() {
    const TASKS: u32 = 3;
    let timers = Timers::<V, Threads>::new(0.0);
    timers.begin(TASKS).expect("there is memory");
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let timers = &timers;
            scope.spawn(move || timers.run(task));
        }
    });
    assert!(timers.operation(TASKS).is_none(), "a task without a timer finds none");
}

#[test]
fn each_task_finds_its_own_timer_in_threads() {
    in_threads::<Rcu>();
    in_threads::<Locked>();
}

struct OnMachine;

impl Stage for OnMachine {
    type Host = Simulated;

    fn work(nanoseconds: f64) {
        lockyard_sim::work(nanoseconds);
    }
    fn stopping() -> bool {
        lockyard_sim::stop_requested()
    }
    fn operation_done() {
        lockyard_sim::operation_done();
    }
}

/// Operations of all tasks in a simulated tenth of a millisecond, and the hash of the run. Tasks fill two sockets of a relative of
/// the published machine, which has eight cores.
fn simulated<V: Variant>(tasks: u32) -> (u64, u64) {
    let machine = Machine::shipped("westmere-ex-4s10c").expect("it is shipped");
    let mut simulation = Simulation::new(&machine, 1);
    let timers = simulation.place(Timers::<V, OnMachine>::new(150.0), 64, 0);
    simulation.setup(|| timers.begin(tasks)).expect("there is memory");
    for task in 0..tasks {
        let timers = timers.clone();
        let place = if task < tasks / 2 { task } else { 10 + task - tasks / 2 };
        simulation.spawn(place as usize, move || timers.run(task));
    }
    let outcome = simulation.run_until(machine.cycles(100_000.0));
    assert!(matches!(outcome, Outcome::TimeOver), "{outcome}");
    (simulation.operations().iter().sum(), simulation.hash())
}

#[test]
fn on_a_simulated_machine_look_ups_without_the_tables_lock_do_not_wait_for_each_other() {
    let (alone_locked, _) = simulated::<Locked>(1);
    let (alone_rcu, _) = simulated::<Rcu>(1);
    let (locked, hash) = simulated::<Locked>(TASKS);
    let (rcu, _) = simulated::<Rcu>(TASKS);
    println!("1 task: {alone_locked} locked, {alone_rcu} rcu");
    println!("{TASKS} tasks: {locked} locked, {rcu} rcu, ratio {:.1}", rcu as f64 / locked as f64);
    assert_eq!(simulated::<Locked>(TASKS), (locked, hash), "the same run twice");
    assert!(
        locked < 2 * alone_locked,
        "one lock for all: {locked} of {TASKS}, {alone_locked} of one"
    );
    assert!(rcu > 12 * alone_rcu, "no lock for all: {rcu} of {TASKS}, {alone_rcu} of one");
    assert!(rcu > 8 * locked, "{rcu} without the lock, {locked} with it");
}
