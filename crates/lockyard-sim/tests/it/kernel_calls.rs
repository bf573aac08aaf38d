//! System calls with which threads sleep and wake each other: their costs, and which call waits for
//! which.
//!
//! The clock has one cycle per nanosecond, so the expected times are the numbers of the machine's
//! `[kernel]`.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, Placed, RunEnd, Simulated, SimulatedU32, Simulation, now, work};
use std::cell::RefCell;
use std::rc::Rc;

const LOAD: u64 = 5;

const WAIT_CHANGED: u64 = 200;
const WAKE_NOBODY: u64 = 150;
const WAKE: u64 = 1500;
const WAKE_NEXT: u64 = 800;
const WAKEUP: u64 = 6000;
const DEEP_WAKEUP: u64 = 30_000;
const DEEP_AFTER: u64 = 200_000;
const BLOCK: u64 = 1000;
const BUCKET: u64 = 500;
const YIELD: u64 = 250;

fn machine() -> Machine {
    let shipped = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let numbers = [
        ("clock.ghz", 1.0),
        ("cycles.jitter", 0.0),
        ("kernel.wait_changed", WAIT_CHANGED as f64),
        ("kernel.wake_nobody", WAKE_NOBODY as f64),
        ("kernel.wake", WAKE as f64),
        ("kernel.wake_next", WAKE_NEXT as f64),
        ("kernel.wakeup", WAKEUP as f64),
        ("kernel.deep_wakeup", DEEP_WAKEUP as f64),
        ("kernel.deep_after", DEEP_AFTER as f64),
        ("kernel.block", BLOCK as f64),
        ("kernel.bucket", BUCKET as f64),
        ("kernel.yield", YIELD as f64),
    ];
    numbers.into_iter().fold(shipped, |machine, (name, value)| {
        machine.with(name, value).unwrap_or_else(|| panic!("a machine has {name}"))
    })
}

/// Times that threads record, in the order in which they record them.
type Times = Rc<RefCell<Vec<u64>>>;

fn finish(simulation: &mut Simulation) {
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

/// Runs threads that each make one call, with starts `gap` ns apart. Returns the calls' times.
fn calls(words: &[usize], gap: u64, call: fn(&SimulatedU32)) -> Vec<u64> {
    let mut simulation = Simulation::new(&machine(), 1);
    let all: Vec<Placed<SimulatedU32>> =
        (0..4).map(|_| simulation.place(SimulatedU32::new(0), 64, 0)).collect();
    let times = Times::default();
    for (thread, &word) in words.iter().enumerate() {
        let (word, times) = (all[word].clone(), Rc::clone(&times));
        simulation.spawn_at(thread, 10_000 + thread as u64 * gap, move || {
            // The word's line is at this core, and the word is 0.
            word.load(Ordering::Relaxed);
            // The bucket's line is at this core too, unless another thread changes it.
            wait_for_1(&word);
            work((20_000 - now()) as f64);
            wake_one(&word);
            work((30_000 + thread as u64 * gap - now()) as f64);
            let began = now();
            call(&word);
            times.borrow_mut().push(now() - began);
        });
    }
    finish(&mut simulation);
    times.take()
}

fn wait_for_1(word: &SimulatedU32) {
    Simulated::park(word, 1, None);
}

fn wake_one(word: &SimulatedU32) {
    Simulated::unpark(word, 1);
}

#[test]
fn calls_without_effect_cost_what_the_machine_says() {
    assert_eq!(calls(&[0], 0, wait_for_1), [WAIT_CHANGED + LOAD]);
    assert_eq!(calls(&[0], 0, wake_one), [WAKE_NOBODY]);
    assert_eq!(calls(&[0], 0, |_| Simulated::yield_now()), [YIELD]);
}

#[test]
fn calls_on_one_word_are_served_one_after_the_other() {
    // Calls that wake no thread only read the bucket's line, and calls on other words use other
    // buckets.
    assert_eq!(calls(&[0; 4], 1, wake_one), [WAKE_NOBODY; 4]);
    assert_eq!(calls(&[0, 1, 2, 3], 1, wait_for_1), [WAIT_CHANGED + LOAD; 4]);
    // Waiting calls pass the line on, so each takes longer than the previous one.
    let times = calls(&[0; 4], 1, wait_for_1);
    assert!(times[0] > WAIT_CHANGED + LOAD, "{times:?}");
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
}

/// Returns the time of the slower of two calls on one word, which begin at the same time.
fn slower_of_two(machine: &Machine, places: [usize; 2]) -> u64 {
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let times = Times::default();
    for place in places {
        let (word, times) = (word.clone(), Rc::clone(&times));
        simulation.spawn_at(place, 10_000, move || {
            wait_for_1(&word);
            work((30_000 - now()) as f64);
            wait_for_1(&word);
            times.borrow_mut().push(now() - 30_000);
        });
    }
    finish(&mut simulation);
    let times = times.take();
    times.into_iter().max().expect("there are two")
}

#[test]
fn calls_on_one_word_cost_each_other_the_transfers_of_a_line() {
    let machine = machine();
    let (first, near, far) = (0, 1, 25);
    assert_eq!(machine.place(near).socket, machine.place(first).socket);
    assert_ne!(machine.place(near).core, machine.place(first).core);
    assert_ne!(machine.place(far).socket, machine.place(first).socket);
    let one_socket = slower_of_two(&machine, [first, near]);
    let two_sockets = slower_of_two(&machine, [first, far]);
    assert!(WAIT_CHANGED + LOAD < one_socket, "{one_socket}");
    assert!(one_socket < two_sockets, "{one_socket}, {two_sockets}");
    // A kernel without buckets has no such line.
    let without = machine.with("kernel.bucket", 0.0).expect("it has the number");
    assert_eq!(slower_of_two(&without, [first, far]), WAIT_CHANGED + 2 * LOAD);
}

/// Lets a thread sleep for `idle` ns after it has left its CPU, then wakes it. Returns the time of
/// the waking call, the time from that call's start until the sleeper runs, and the number of
/// sleeps.
fn woken_after(idle: u64) -> (u64, u64, u64) {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let (called, ran) = (Times::default(), Times::default());
    let (sleeper, runs) = (word.clone(), Rc::clone(&ran));
    simulation.spawn_at(0, 1000, move || {
        Simulated::park(&sleeper, 0, None);
        runs.borrow_mut().push(now());
    });
    let calls = Rc::clone(&called);
    simulation.spawn_at(1, 2000, move || {
        work(idle as f64);
        calls.borrow_mut().push(now());
        Simulated::unpark(&*word, 1);
        calls.borrow_mut().push(now());
    });
    finish(&mut simulation);
    let (called, ran) = (called.take(), ran.take());
    (called[1] - called[0], ran[0] - called[0], simulation.statistics().sleeps)
}

#[test]
fn a_wake_up_takes_longer_when_the_cpu_has_been_idle_for_long() {
    assert_eq!(woken_after(20_000), (WAKE, WAKEUP, 1));
    assert_eq!(woken_after(DEEP_AFTER + 2000), (WAKE, DEEP_WAKEUP, 1));
}

#[test]
fn a_thread_that_is_woken_before_it_has_left_its_cpu_goes_on() {
    // The sleeper's call began 1,000 ns before.
    let (call, until, sleeps) = woken_after(0);
    // Meanwhile it loses the bucket's line, and fetches it again to decrement the number of calls.
    assert!((WAIT_CHANGED..WAKE).contains(&call), "{call}");
    assert!((call..WAKEUP).contains(&until) && sleeps == 0, "{until}, {sleeps}");
}

#[test]
fn a_call_that_wakes_several_threads_takes_longer_for_each() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let ran = Times::default();
    for thread in 0..3 {
        let (word, ran) = (word.clone(), Rc::clone(&ran));
        simulation.spawn_at(thread, 1000, move || {
            Simulated::park(&word, 0, None);
            ran.borrow_mut().push(now());
        });
    }
    let waker = Rc::clone(&ran);
    simulation.spawn_at(4, 30_000, move || {
        let began = now();
        Simulated::unpark(&*word, u32::MAX);
        waker.borrow_mut().push(began);
        assert_eq!(now() - began, WAKE + 2 * WAKE_NEXT);
    });
    finish(&mut simulation);
    let ran = ran.take();
    let [began, runs @ ..] = &ran[..] else { panic!("{ran:?}") };
    let after: Vec<u64> = runs.iter().map(|run| run - began).collect();
    assert_eq!(after, [WAKEUP, WAKEUP + WAKE_NEXT, WAKEUP + 2 * WAKE_NEXT]);
    assert_eq!(simulation.statistics().sleeps, 3);
}

#[test]
fn a_call_that_wakes_waits_for_a_call_that_is_about_to_sleep() {
    // The sleeper enters the bucket at 1,050, and is served until 1,150 and a load. The waker comes
    // meanwhile, so it waits, and finds the thread.
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let sleeper = word.clone();
    simulation.spawn_at(0, 1000, move || Simulated::park(&sleeper, 0, None));
    let times = Times::default();
    let calls = Rc::clone(&times);
    simulation.spawn_at(1, 1020, move || {
        Simulated::unpark(&*word, 1);
        calls.borrow_mut().push(now());
    });
    finish(&mut simulation);
    assert!(times.take()[0] > 1020 + WAKE_NOBODY, "it did not return at once");
}
