//! Threads that share CPUs: which thread runs and for how long, which thread is preempted, and
//! which thread answers.

use crate::support::finish;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    CyclePhase, Machine, Placed, RunEnd, Simulated, SimulatedU32, SimulatedU64, Simulation, now,
    operation_done, stop_requested, wait_for_others, work,
};
use std::cell::Cell;
use std::rc::Rc;

/// Scheduling period in these tests, in microseconds. Two threads of a CPU take turns of half a
/// period each.
const PERIOD: f64 = 200.0;

/// Returns the shipped machine with short slices, a clock of one cycle per nanosecond, and these
/// scheduler numbers.
fn machine(changes: &[(&str, f64)]) -> Machine {
    let quiet = [
        ("clock.ghz", 1.0),
        ("scheduler.period", PERIOD),
        ("scheduler.granularity", 10.0),
        ("scheduler.lead", 50.0),
        ("scheduler.switch", 1.0),
        ("scheduler.pause_window", 0.0),
        ("scheduler.directed_yield", 0.0),
        ("scheduler.interrupt", 2.0),
        ("scheduler.interrupt_work", 1.0),
        ("kernel.wakeup", 3000.0),
        ("kernel.deep_wakeup", 3000.0),
        ("protocol.smt_slowdown", 1.0),
    ];
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    quiet.iter().chain(changes).fold(machine, |machine, &(name, value)| {
        machine.with(name, value).unwrap_or_else(|| panic!("a machine has {name}"))
    })
}

fn shared(machine: &Machine, seed: u64) -> Simulation {
    let mut simulation = Simulation::new(machine, seed);
    simulation.share_cpus();
    simulation
}

/// Returns the result of a thread that has finished.
fn result_of<T: Copy>(result: &Rc<Cell<Option<T>>>) -> T {
    result.get().expect("the thread has finished")
}

fn spawn<T: Copy + 'static>(
    simulation: &mut Simulation,
    group: u32,
    place: usize,
    code: impl FnOnce() -> T + 'static,
) -> Rc<Cell<Option<T>>> {
    let result = Rc::new(Cell::new(None));
    let out = Rc::clone(&result);
    simulation.spawn_in(group, place, move || out.set(Some(code())));
    result
}

/// Works for this number of microseconds, in pieces of one. Returns the time at the end.
fn work_us(microseconds: u64) -> u64 {
    for _ in 0..microseconds {
        work(1000.0);
    }
    now()
}

#[test]
fn threads_of_one_cpu_share_it_equally() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 3);
    for _ in 0..4 {
        simulation.spawn(0, || {
            while !stop_requested() {
                work(700.0);
                operation_done();
            }
        });
    }
    simulation.run_until(10_000_000);
    simulation.request_stop();
    finish(&mut simulation);
    let done = simulation.operations();
    let total: u64 = done.iter().sum();
    // Switches of one microsecond every 50 us use up a part of the 10 ms of work.
    assert!((13_800..14_200).contains(&total), "{done:?}");
    assert!(done.iter().all(|&d| d * 4 > total * 97 / 100), "{done:?}");
}

#[test]
fn work_is_cut_at_the_end_of_a_slice_and_goes_on_later() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let ends: Vec<_> = (0..2)
        .map(|_| {
            spawn(&mut simulation, 0, 0, || {
                work(1_000_000.0);
                now()
            })
        })
        .collect();
    finish(&mut simulation);
    let (a, b) = (result_of(&ends[0]), result_of(&ends[1]));
    // Each thread works for a millisecond. They end within one slice of each other, after 2 ms plus
    // the switches.
    assert!(a.abs_diff(b) <= 102_000, "{a} {b}");
    let switches = simulation.statistics().switches;
    assert!((18..=24).contains(&switches), "{switches}");
    let last = a.max(b);
    assert!(
        (2_000_000 + (switches - 2) * 1000..2_000_300 + switches * 1000).contains(&last),
        "{last}"
    );
}

#[test]
fn a_thread_with_a_cpu_of_its_own_is_never_switched() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let end = spawn(&mut simulation, 0, 5, || work_us(5000));
    finish(&mut simulation);
    assert_eq!(simulation.statistics().switches, 1, "to it, at the beginning");
    assert!(result_of(&end) < 5_002_000);
}

#[test]
fn a_spinner_off_its_cpu_does_not_see_its_line_move_until_it_runs() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let (seen_by, set_by) = (word.clone(), word);
    let seen = spawn(&mut simulation, 0, 0, move || {
        Simulated::wait_until(&*seen_by, Ordering::Acquire, |v| v == 1);
        now()
    });
    let worker = spawn(&mut simulation, 0, 0, || work_us(1000));
    let set = spawn(&mut simulation, 0, 1, move || {
        // The change comes in the middle of either thread's slice. The spinner sees the change
        // immediately or in its next slice.
        work_us(330);
        set_by.store(1, Ordering::Release);
        now()
    });
    finish(&mut simulation);
    let late = result_of(&seen) - result_of(&set);
    assert!(late < 101_500, "{late}: within a slice");
    let off = simulation.attribution().cycles[CyclePhase::OffCpu as usize];
    assert!(off > 150_000, "{off}: they were off their CPU in turn");
    assert!(result_of(&worker) > 1_100_000, "the spinner had its slices: {}", result_of(&worker));
}

#[test]
fn a_spinning_thread_leaves_the_cpu_to_the_worker_after_the_window() {
    let spin = |window: f64, lead: f64| {
        let machine = machine(&[
            ("scheduler.pause_window", window),
            ("scheduler.pause_gap", 1000.0),
            ("scheduler.lead", lead),
        ]);
        let mut simulation = shared(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let spun = word.clone();
        simulation.spawn(0, move || {
            Simulated::wait_until(&*spun, Ordering::Acquire, |v| v == 1);
        });
        let end = spawn(&mut simulation, 0, 0, move || {
            let end = work_us(1000);
            word.store(1, Ordering::Release);
            end
        });
        finish(&mut simulation);
        (result_of(&end), simulation.statistics().pause_exits)
    };
    let (without, never) = spin(0.0, 1e6);
    assert_eq!(never, 0);
    assert!(without > 1_800_000, "{without}: it spins for half of the time");
    let (with, exits) = spin(4096.0, 1e6);
    assert!(exits > 0 && with < 1_100_000, "{with}");
    // The spinner cannot give away more than the lead. Beyond that it keeps its share, and the host
    // notices it again and again.
    let (fair, exits) = spin(4096.0, 50.0);
    assert!(exits > 100 && fair > 1_800_000, "{fair}");
}

#[test]
fn a_loop_slower_than_the_gap_is_not_noticed() {
    let machine = machine(&[("scheduler.pause_window", 4096.0), ("scheduler.pause_gap", 10.0)]);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let spun = word.clone();
    simulation.spawn(0, move || {
        Simulated::wait_until(&*spun, Ordering::Acquire, |v| v == 1);
    });
    simulation.spawn(1, move || {
        work_us(50);
        word.store(1, Ordering::Release);
    });
    finish(&mut simulation);
    assert_eq!(simulation.statistics().pause_exits, 0);
}

/// Begins a thread on place 0 that sleeps until the word changes. Its result is the time when it
/// runs again.
fn spawn_parked(simulation: &mut Simulation, word: &Placed<SimulatedU32>) -> Rc<Cell<Option<u64>>> {
    let word = word.clone();
    spawn(simulation, 0, 0, move || {
        while word.load(Ordering::Acquire) == 0 {
            Simulated::park(&word, 0, None);
        }
        now()
    })
}

/// Begins a thread on place 1 that wakes the sleeper of the word after 500 us, and then works for
/// `rest` microseconds. Its result is the time of the call.
fn spawn_waker(
    simulation: &mut Simulation,
    word: Placed<SimulatedU32>,
    rest: u64,
) -> Rc<Cell<Option<u64>>> {
    spawn(simulation, 0, 1, move || {
        work_us(500);
        word.store(1, Ordering::Release);
        let began = now();
        Simulated::unpark(std::ptr::from_ref(&*word), 1);
        work_us(rest);
        began
    })
}

#[test]
fn a_parked_thread_gives_its_cpu_up_and_has_it_again_when_it_is_woken() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let woken = spawn_parked(&mut simulation, &word);
    let worker = spawn(&mut simulation, 0, 0, || work_us(1000));
    // No CPU is idle: each of the others has a thread.
    for place in 2..machine.hardware_threads() {
        simulation.spawn(place, || {
            work_us(1200);
        });
    }
    let waker = spawn_waker(&mut simulation, word, 500);
    finish(&mut simulation);
    let late = result_of(&woken) - result_of(&waker);
    // The call, a switch, a load. The woken thread preempts the worker, which has run 500 us
    // longer. The CPU is not idle, so it needs no wake-up.
    assert!((1000..3000).contains(&late), "{late}");
    assert!(
        result_of(&worker) < 1_012_000,
        "no slice was lost to the parked one: {}",
        result_of(&worker)
    );
}

/// Returns the time from a waking call until the woken thread, which has slept for 500 us, runs. On
/// its CPU, another thread `works` for this many microseconds. No other CPU is ever idle, except
/// one if `has_idle_cpu`.
fn woken_on(works: u64, has_idle_cpu: bool) -> u64 {
    let numbers = [("kernel.deep_wakeup", 40_000.0), ("kernel.deep_after", 300_000.0)];
    let machine = machine(&numbers);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let woken = spawn_parked(&mut simulation, &word);
    spawn(&mut simulation, 0, 0, move || work_us(works));
    let busy = machine.hardware_threads() - usize::from(has_idle_cpu);
    for place in 2..busy {
        simulation.spawn(place, || {
            work_us(900);
        });
    }
    let waker = spawn_waker(&mut simulation, word, 300);
    finish(&mut simulation);
    result_of(&woken) - result_of(&waker)
}

#[test]
fn a_wake_up_is_as_long_as_the_cpu_was_idle_not_as_the_thread_slept() {
    // A switch takes 1 us. The wake-up of a CPU that is idle for a short time takes 3 us.
    let is_short = |late: u64| (3000..8000).contains(&late);
    let is_deep = |late: u64| (40_000..46_000).contains(&late);
    let idle_for_long = woken_on(20, false);
    assert!(is_deep(idle_for_long), "{idle_for_long}");
    // The other thread had the CPU until shortly before.
    let just_idle = woken_on(450, false);
    assert!(is_short(just_idle), "{just_idle}");
    // The thread goes to another CPU, which no thread has used.
    let elsewhere = woken_on(700, true);
    assert!(is_deep(elsewhere), "{elsewhere}");
}

#[test]
fn a_socket_that_a_thread_moved_to_is_not_idle() {
    let cost = |idle_answer| {
        let machine = machine(&[
            ("topology.cores", 1.0),
            ("topology.threads", 1.0),
            ("cycles.jitter", 0.0),
            ("cycles.idle_answer", idle_answer),
        ]);
        let mut simulation = shared(&machine, 1);
        let [word, count] = [0, 0].map(|home| simulation.place(SimulatedU32::new(0), 64, home));
        let (parked, counted) = (word.clone(), count.clone());
        // All threads begin on the only CPU of the first socket. The woken one moves to the other
        // socket's CPU, which is idle.
        let moved = spawn(&mut simulation, 0, 0, move || {
            while parked.load(Ordering::Acquire) == 0 {
                Simulated::park(&parked, 0, None);
            }
            let begin = now();
            counted.fetch_add(1, Ordering::Relaxed);
            now() - begin
        });
        spawn(&mut simulation, 0, 0, move || {
            work_us(200);
            count.fetch_add(1, Ordering::Relaxed);
            word.store(1, Ordering::Release);
            Simulated::unpark(std::ptr::from_ref(&*word), 1);
            work_us(200);
        });
        finish(&mut simulation);
        assert!(simulation.statistics().remote_grants >= 1, "the line went to the other socket");
        result_of(&moved)
    };
    assert_eq!(cost(3000.0), cost(0.0));
}

#[test]
fn an_idle_cpu_takes_over_who_waits_elsewhere() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let ends: Vec<_> = (0..3).map(|_| spawn(&mut simulation, 0, 0, || work_us(1000))).collect();
    // This thread finishes early. Then its CPU is free.
    let early = spawn(&mut simulation, 0, 1, || work_us(100));
    finish(&mut simulation);
    assert!(simulation.statistics().migrations >= 1);
    let last = ends.iter().map(result_of).max().expect("there are three");
    assert!(last < 2_100_000, "{last}: two CPUs did the work of three");
    assert!(result_of(&early) < 110_000);
}

/// Time for which a thread waits for two others. One of them works on a separate CPU, and the other
/// does what `other` says.
fn answered_after(
    changes: &[(&str, f64)],
    others: impl FnOnce(&mut Simulation),
) -> (u64, Simulation) {
    let machine = machine(changes);
    let mut simulation = shared(&machine, 1);
    let waited = spawn(&mut simulation, 0, 0, || {
        work_us(20);
        let begin = now();
        wait_for_others();
        now() - begin
    });
    others(&mut simulation);
    finish(&mut simulation);
    (result_of(&waited), simulation)
}

#[test]
fn running_threads_answer_after_an_interrupt_and_pay_for_it() {
    let mut end = None;
    let (waited, simulation) = answered_after(&[], |simulation| {
        end = Some(spawn(simulation, 0, 1, || work_us(100)));
        spawn(simulation, 0, 2, || work_us(100));
        // Threads of other guests, and finished threads, are not interrupted.
        spawn(simulation, 1, 3, || work_us(100));
        spawn(simulation, 0, 4, || work_us(1));
    });
    assert_eq!(waited, 2000);
    assert_eq!(simulation.statistics().interrupts, 2);
    let end = result_of(&end.expect("set above"));
    assert!((102_000..102_200).contains(&end), "{end}: a switch, the work, the answer");
}

#[test]
fn a_thread_off_its_cpu_answers_when_it_runs_next() {
    let (waited, _) = answered_after(&[], |simulation| {
        spawn(simulation, 0, 1, || work_us(1000));
        spawn(simulation, 0, 1, || work_us(1000));
    });
    // One of the two is not running, and will run within a slice.
    assert!((2_000..102_000).contains(&waited), "{waited}");
    let mut long = 0;
    for place in 1..4 {
        let (waited, _) = answered_after(&[], |simulation| {
            for other in 1..=place {
                spawn(simulation, 0, other, || work_us(1000));
                spawn(simulation, 1, other, || work_us(1000));
            }
        });
        assert!(waited < 102_000, "{waited}");
        long = long.max(waited);
    }
    assert!(long > 20_000, "{long}");
}

#[test]
fn a_parked_thread_is_woken_to_answer_and_parks_again() {
    let (waited, simulation) = answered_after(&[], |simulation| {
        let word = simulation.place(SimulatedU32::new(0), 64, 0);
        let parked = word.clone();
        spawn(simulation, 0, 1, move || {
            while parked.load(Ordering::Acquire) == 0 {
                Simulated::park(&parked, 0, None);
            }
        });
        spawn(simulation, 0, 2, move || {
            work_us(100);
            word.store(1, Ordering::Release);
            Simulated::unpark(std::ptr::from_ref(&*word), 1);
        });
    });
    // The interrupt, the wake-up, and the switch to the thread that last ran there.
    assert!((5_000..7_000).contains(&waited), "{waited}");
    assert_eq!(simulation.statistics().interrupts, 2);
}

#[test]
fn two_threads_that_wait_for_each_other_answer_each_other() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    for place in 0..8 {
        simulation.spawn(place, || {
            for _ in 0..100 {
                wait_for_others();
                operation_done();
            }
        });
    }
    finish(&mut simulation);
    assert_eq!(simulation.operations(), [100; 8]);
}

#[test]
fn without_shared_cpus_nobody_can_wait_for_others() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    simulation.spawn(0, wait_for_others);
    let outcome = simulation.run();
    assert!(matches!(&outcome, RunEnd::Fatal { message, .. } if message.contains("no scheduler")));
}

#[test]
fn a_directed_yield_brings_the_thread_that_is_waited_for() {
    // On CPU 1, a thread of the other guest is running. The thread that must answer waits behind
    // it.
    let waited = |directed: f64| {
        let changes = [
            ("scheduler.pause_window", 4096.0),
            ("scheduler.pause_gap", 1000.0),
            ("scheduler.directed_yield", directed),
            ("scheduler.period", 20_000.0),
            ("scheduler.lead", 5_000.0),
        ];
        let (waited, _) = answered_after(&changes, |simulation| {
            for place in 1..5 {
                spawn(simulation, 1, place, || work_us(10_000));
                spawn(simulation, 0, place, || work_us(10_000));
            }
        });
        waited
    };
    let (plain, directed) = (waited(0.0), waited(1.0));
    assert!(directed * 3 < plain, "{directed} {plain}");
}

#[test]
fn a_budget_of_polls_is_not_spent_off_the_cpu() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    // With a poll about every 50 cycles, the budget lasts for several slices.
    let spent = spawn(&mut simulation, 0, 0, move || {
        let begin = now();
        assert!(Simulated::wait_within(&*word, Ordering::Acquire, 10_000, |v| v == 1).is_err());
        now() - begin
    });
    spawn(&mut simulation, 0, 0, || work_us(3000));
    let alone = {
        let mut simulation = shared(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let spent = spawn(&mut simulation, 0, 0, move || {
            let begin = now();
            assert!(Simulated::wait_within(&*word, Ordering::Acquire, 10_000, |v| v == 1).is_err());
            now() - begin
        });
        finish(&mut simulation);
        result_of(&spent)
    };
    finish(&mut simulation);
    let beside = result_of(&spent);
    assert!(alone > 300_000, "{alone}");
    // With a worker on the same CPU, the wait takes about twice as long. The time off the CPU does
    // not use up the budget.
    assert!((alone * 3 / 2..alone * 5 / 2).contains(&beside), "{beside} {alone}");
}

#[test]
fn a_thread_that_yields_lets_the_next_one_run() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let seen = word.clone();
    let turns = spawn(&mut simulation, 0, 0, move || {
        let mut turns = 0;
        while seen.load(Ordering::Acquire) == 0 {
            turns += 1;
            Simulated::yield_now();
        }
        turns
    });
    let end = spawn(&mut simulation, 0, 0, move || {
        let end = work_us(60);
        word.store(1, Ordering::Release);
        end
    });
    finish(&mut simulation);
    assert!(result_of(&turns) <= 3, "{}", result_of(&turns));
    assert!(result_of(&end) < 66_000, "{}", result_of(&end));
}

#[test]
fn the_cycles_of_all_threads_are_accounted_for() {
    let machine = machine(&[]);
    let mut simulation = shared(&machine, 2);
    for _ in 0..3 {
        simulation.spawn(0, || {
            while !stop_requested() {
                work(500.0);
            }
        });
    }
    simulation.run_until(3_000_000);
    let cycles = simulation.attribution().cycles;
    let all: u64 = cycles.iter().sum();
    assert!((8_999_000..=9_000_000).contains(&all), "{cycles:?}");
    let off = cycles[CyclePhase::OffCpu as usize] as f64 / all as f64;
    assert!((0.66..0.69).contains(&off), "{off}: two of three, and the switches");
    assert_eq!(cycles[CyclePhase::Waiting as usize], 0);
}

#[test]
fn a_long_run_keeps_no_more_than_a_short_one() {
    let machine = machine(&[("scheduler.pause_window", 4096.0), ("scheduler.pause_gap", 1000.0)]);
    let mut simulation = shared(&machine, 1);
    let lock = simulation.place(lockyard::on::RawTicketLock::<Simulated>::new(), 64, 0);
    for thread in 0..12 {
        let lock = lock.clone();
        simulation.spawn(thread % 4, move || {
            while !stop_requested() {
                let held = lock.acquire();
                work(1500.0);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
                work(500.0);
                wait_for_others();
            }
        });
    }
    let mut most = Vec::new();
    for part in 1..=20u64 {
        simulation.run_until(part * 2_000_000);
        most.push(simulation.queued_events());
    }
    assert!(most.iter().all(|&queued| queued < 400), "{most:?}");
    simulation.request_stop();
    finish(&mut simulation);
}
