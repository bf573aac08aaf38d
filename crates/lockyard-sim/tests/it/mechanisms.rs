//! Each mechanism of the simulated machine in isolation, on raw words: its cost, and the lines that
//! move.
//!
//! Runs are deterministic. So results are compared exactly where the machine file gives the
//! numbers. Where messages are involved, they are compared within the messages' jitter (9 cycles
//! each).

use lockyard::platform::{Atomics, DataCell, Host, Ordering, Part, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, RunStatistics, ServiceOrder, Simulated, SimulatedAtomics,
    SimulatedCell, SimulatedU32, SimulatedU64, Simulation, now, operation_done, stop_requested,
    work,
};
use std::cell::Cell;
use std::rc::Rc;

/// Hardware threads of the machine: 0 to 23 on socket 0, 24 to 47 on socket 1, then the siblings.
const OTHER_SOCKET: usize = 24;
const SIBLING_OF_0: usize = 48;

const LOAD: u64 = 5;
const LOAD_BEHIND_LOCK: u64 = 13;
const BEFORE_LOCK: u64 = 3;
const LOCK: u64 = 18;
const PAUSE: u64 = 40;
const POLL: u64 = 7;

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Uses the result of an operation that is done only for its cost.
fn touch(value: u64) {
    std::hint::black_box(value);
}

/// Runs one thread on hardware thread 0. Returns its result.
fn alone<T: 'static>(simulation: &mut Simulation, code: impl FnOnce() -> T + 'static) -> T {
    on(simulation, 0, code)
}

/// Runs one thread on hardware thread `place`, after all threads that ran before. Returns its
/// result.
fn on<T: 'static>(
    simulation: &mut Simulation,
    place: usize,
    code: impl FnOnce() -> T + 'static,
) -> T {
    let result = Rc::new(Cell::new(None));
    let out = Rc::clone(&result);
    simulation.spawn(place, move || out.set(Some(code())));
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
    result.take().expect("the thread has finished")
}

/// Cycles of `code`.
fn timed(code: impl FnOnce()) -> u64 {
    let begin = now();
    code();
    now() - begin
}

fn difference(after: RunStatistics, before: RunStatistics) -> RunStatistics {
    RunStatistics {
        loads: after.loads - before.loads,
        load_misses: after.load_misses - before.load_misses,
        exclusive_fills: after.exclusive_fills - before.exclusive_fills,
        shared_fills: after.shared_fills - before.shared_fills,
        invalidations: after.invalidations - before.invalidations,
        local_transfers: after.local_transfers - before.local_transfers,
        remote_grants: after.remote_grants - before.remote_grants,
        rmws: after.rmws - before.rmws,
        rmw_hits: after.rmw_hits - before.rmw_hits,
        events: after.events - before.events,
        ..RunStatistics::default()
    }
}

fn ping_pong(places: [usize; 2], home: usize) -> f64 {
    crate::support::ping_pong(&machine(), places, home)
}

#[test]
fn a_ping_pong_costs_what_the_machine_file_says() {
    let figure = |name: &str| {
        let machine = machine();
        let check = machine.checks().iter().find(|c| c.name == format!("checks.{name}"));
        match check.expect("the file has it").value {
            lockyard_sim::machine::Value::Real(ns) => ns,
            _ => panic!("a figure is a number"),
        }
    };
    let near = |simulated: f64, published: f64, tolerance: f64| {
        assert!((simulated / published - 1.0).abs() < tolerance, "{simulated} ns, not {published}");
    };
    for home in [0, 1] {
        near(ping_pong([0, 1], home), figure("ping_pong_same_socket"), 0.01);
        near(ping_pong([0, OTHER_SOCKET], home), figure("ping_pong_remote"), 0.01);
    }
    // Not an input: two threads of one core. The published figure includes the loop around the
    // operation.
    near(ping_pong([0, SIBLING_OF_0], 0), figure("ping_pong_same_core"), 0.25);
}

#[test]
fn two_threads_of_one_core_pay_no_transfer() {
    let machine = machine();
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in [0, SIBLING_OF_0] {
        let word = word.clone();
        simulation.spawn(place, move || {
            for _ in 0..100 {
                word.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    assert!(matches!(simulation.run(), RunEnd::Finished));
    let statistics = simulation.statistics();
    assert_eq!(statistics.rmws, 200);
    assert_eq!(statistics.exclusive_fills, 1, "only the first touch");
    assert_eq!(statistics.local_transfers, 0);
}

#[test]
fn operations_that_hit_cost_what_the_machine_file_says() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    alone(&mut simulation, move || {
        word.fetch_add(1, Ordering::Relaxed);
        assert_eq!(timed(|| touch(word.load(Ordering::Relaxed))), LOAD_BEHIND_LOCK);
        assert_eq!(timed(|| touch(word.load(Ordering::Relaxed))), LOAD);
        assert_eq!(timed(|| touch(word.fetch_add(1, Ordering::Relaxed))), BEFORE_LOCK + LOCK);
        assert_eq!(timed(Simulated::relax), PAUSE);
        assert_eq!(timed(|| work(100.0)), 300, "100 ns at 3 GHz");
    });
}

#[test]
fn a_store_does_not_stall_and_a_read_modify_write_waits_for_it() {
    let mut simulation = Simulation::new(&machine(), 1);
    let far = simulation.place(SimulatedU64::new(0), 64, 1);
    let near = simulation.place(SimulatedU64::new(0), 64, 0);
    let place = far.clone();
    on(&mut simulation, OTHER_SOCKET, move || touch(place.fetch_add(1, Ordering::Relaxed)));
    alone(&mut simulation, move || {
        near.fetch_add(1, Ordering::Relaxed);
        // The line of `far` is modified in the other socket. The store does not wait for it.
        assert_eq!(timed(|| far.store(7, Ordering::Release)), 1);
        assert_eq!(timed(|| assert_eq!(far.load(Ordering::Relaxed), 7)), LOAD, "forwarded");
        assert_eq!(timed(|| touch(near.load(Ordering::Relaxed))), LOAD, "loads do not wait");
        let waited = timed(|| touch(near.fetch_add(1, Ordering::Relaxed)));
        assert!(waited > 200, "the buffered store needs a remote transfer: {waited} cycles");
        assert_eq!(timed(|| touch(near.fetch_add(1, Ordering::Relaxed))), BEFORE_LOCK + LOCK);
    });
}

#[test]
fn a_fence_waits_for_the_store_buffer_only_if_it_is_sequentially_consistent() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 1);
    let place = word.clone();
    on(&mut simulation, OTHER_SOCKET, move || touch(place.fetch_add(1, Ordering::Relaxed)));
    alone(&mut simulation, move || {
        word.store(1, Ordering::Relaxed);
        assert_eq!(timed(|| SimulatedAtomics::fence(Ordering::AcqRel)), 0);
        assert!(timed(|| SimulatedAtomics::fence(Ordering::SeqCst)) > 200);
        let empty = timed(|| SimulatedAtomics::fence(Ordering::SeqCst));
        assert_eq!(empty, BEFORE_LOCK + LOCK, "as a locked operation that has its line");
    });
}

#[test]
fn a_full_store_buffer_stalls() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 1);
    let place = word.clone();
    on(&mut simulation, OTHER_SOCKET, move || touch(place.fetch_add(1, Ordering::Relaxed)));
    alone(&mut simulation, move || {
        let first = timed(|| (0..56).for_each(|i| word.store(i, Ordering::Relaxed)));
        assert_eq!(first, 56, "56 entries");
        assert!(timed(|| word.store(0, Ordering::Relaxed)) > 100, "the 57th waits");
    });
}

#[test]
fn a_failed_compare_exchange_moves_the_line() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(5), 64, 0);
    let place = word.clone();
    alone(&mut simulation, move || touch(place.fetch_add(1, Ordering::Relaxed)));
    let before = simulation.statistics();
    let place = word.clone();
    on(&mut simulation, 1, move || {
        assert_eq!(place.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed), Err(6));
        assert_eq!(
            timed(|| touch(place.fetch_add(1, Ordering::Relaxed))),
            BEFORE_LOCK + LOCK,
            "the line is here now, exclusively"
        );
    });
    let moved = difference(simulation.statistics(), before);
    assert_eq!((moved.exclusive_fills, moved.local_transfers), (1, 1));
}

#[test]
fn an_upgrade_invalidates_the_sharers_and_needs_no_transfer() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in 0..4 {
        let word = word.clone();
        on(&mut simulation, place, move || touch(word.load(Ordering::Relaxed)));
    }
    let before = simulation.statistics();
    let place = word.clone();
    on(&mut simulation, SIBLING_OF_0, move || {
        assert_eq!(timed(|| touch(place.load(Ordering::Relaxed))), LOAD, "shared by the sibling");
        place.fetch_add(1, Ordering::Relaxed);
    });
    let upgrade = difference(simulation.statistics(), before);
    assert_eq!(upgrade.invalidations, 3, "cores 1, 2 and 3");
    assert_eq!((upgrade.exclusive_fills, upgrade.local_transfers), (1, 0));
    let before = simulation.statistics();
    on(&mut simulation, SIBLING_OF_0 + 1, move || assert_eq!(word.load(Ordering::Relaxed), 1));
    assert_eq!(difference(simulation.statistics(), before).load_misses, 1, "core 1 lost its copy");
}

#[test]
fn an_upgrade_leaves_no_ownership_window() {
    // Core 0 upgrades a line that core 2 also shares, and keeps adding to it. Core 1 wants the line
    // at the same time. After an exclusive *transfer*, the agent stays busy until the owner has had
    // time for a second addition. After an upgrade it does not, so the next core's request is on
    // its way immediately.
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in [0, 2] {
        let word = word.clone();
        on(&mut simulation, place, move || touch(word.load(Ordering::Relaxed)));
    }
    let before = simulation.now();
    let adds_before_loss = Rc::new(Cell::new(0));
    let (owner, out) = (word.clone(), Rc::clone(&adds_before_loss));
    simulation.spawn_at(SIBLING_OF_0, before, move || {
        let mut adds = 0;
        touch(owner.fetch_add(1, Ordering::Relaxed));
        while timed(|| touch(owner.fetch_add(1, Ordering::Relaxed))) == BEFORE_LOCK + LOCK {
            adds += 1;
        }
        out.set(adds);
    });
    simulation.spawn_at(1, before + 20, move || touch(word.fetch_add(1, Ordering::Relaxed)));
    assert!(matches!(simulation.run(), RunEnd::Finished));
    assert_eq!(adds_before_loss.get(), 0, "the snoop comes with the end of the first addition");
}

#[test]
fn a_remote_modified_line_costs_more_where_it_is_homed_with_the_reader() {
    let read_cost = |home: usize| {
        let mut simulation = Simulation::new(&machine(), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, home);
        let place = word.clone();
        on(&mut simulation, OTHER_SOCKET, move || touch(place.fetch_add(1, Ordering::Relaxed)));
        alone(&mut simulation, move || timed(|| touch(word.load(Ordering::Relaxed))))
    };
    let (at_reader, at_writer) = (read_cost(0), read_cost(1));
    // The directory look-up costs 188 cycles. The tolerance is the jitter of a few messages.
    let more = at_reader as i64 - at_writer as i64;
    assert!((188 - 40..=188 + 40).contains(&more), "{at_reader} and {at_writer} cycles");
}

#[test]
fn waiting_takes_no_events() {
    let events = |delay: f64| {
        let mut simulation = Simulation::new(&machine(), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let waiter = word.clone();
        simulation.spawn_at(1, 0, move || {
            Simulated::wait_until(&*waiter, Ordering::Acquire, |value| value == 1);
        });
        simulation.spawn_at(0, 2000, move || {
            work(delay);
            word.fetch_add(1, Ordering::Release);
        });
        assert!(matches!(simulation.run(), RunEnd::Finished));
        simulation.statistics().events
    };
    assert_eq!(events(1_000.0), events(10_000_000.0));
}

#[test]
fn a_waiter_looks_again_when_its_running_pause_ends() {
    // The sibling changes the word in their common cache. After the change, the waiter needs only
    // the rest of its pause and one load to see it.
    let delay = |seed: u64| {
        let mut simulation = Simulation::new(&machine(), seed);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let seen = Rc::new(Cell::new(0));
        let (waiter, out) = (word.clone(), Rc::clone(&seen));
        simulation.spawn_at(SIBLING_OF_0, 1000, move || {
            Simulated::wait_until(&*waiter, Ordering::Acquire, |value| value == 1);
            out.set(now());
        });
        let changed = Rc::new(Cell::new(0));
        let out = Rc::clone(&changed);
        simulation.spawn_at(0, 0, move || {
            touch(word.swap(0, Ordering::Relaxed));
            work(2000.0);
            out.set(now());
            word.store(1, Ordering::Release);
        });
        assert!(matches!(simulation.run(), RunEnd::Finished));
        seen.get() - changed.get()
    };
    let delays: Vec<u64> = (1..=400).map(delay).collect();
    let (least, most) = (delays.iter().min().copied(), delays.iter().max().copied());
    assert_eq!(least, Some(LOAD), "nothing was left of the pause");
    assert_eq!(most, Some(LOAD + PAUSE + POLL), "all of it was left");
    let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
    let expected = LOAD as f64 + (PAUSE + POLL) as f64 / 2.0;
    assert!((mean - expected).abs() < 2.5, "uniform: {mean}, not {expected}");
}

/// Returns read-modify-writes per ownership, and nanoseconds per read-modify-write, for `threads`
/// cores that add to one word.
fn fetch_add(threads: usize, machine: &Machine) -> (f64, f64) {
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in 0..threads {
        let word = word.clone();
        simulation.spawn(place, move || {
            while !stop_requested() {
                word.fetch_add(1, Ordering::Relaxed);
                operation_done();
            }
        });
    }
    assert!(matches!(simulation.run_until(machine.cycles(1e6)), RunEnd::TimeOver));
    let statistics = simulation.statistics();
    let total: u64 = simulation.operations().iter().sum();
    simulation.request_stop();
    assert!(matches!(simulation.run(), RunEnd::Finished), "threads drain");
    (statistics.rmws as f64 / statistics.exclusive_fills as f64, 1e6 / total as f64)
}

#[test]
fn an_owner_has_time_for_about_two_read_modify_writes() {
    for threads in [2, 8, 24] {
        let (per_ownership, ns) = fetch_add(threads, &machine());
        assert!((1.9..2.2).contains(&per_ownership), "{threads} threads: {per_ownership}");
        // Half of a hop of 140 cycles.
        assert!((22.0..25.0).contains(&ns), "{threads} threads: {ns} ns");
    }
}

#[test]
fn the_service_order_is_the_machines() {
    let progress = |order: ServiceOrder| {
        let machine = machine().with_order(order);
        let mut simulation = Simulation::new(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        for place in 0..8 {
            let word = word.clone();
            simulation.spawn(place, move || {
                while !stop_requested() {
                    word.fetch_add(1, Ordering::Relaxed);
                    operation_done();
                }
            });
        }
        simulation.run_until(machine.cycles(1e5));
        let counts = simulation.operations();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        most.expect("some") - least.expect("some")
    };
    let (fifo, random) = (progress(ServiceOrder::Fifo), progress(ServiceOrder::Random));
    assert!(fifo * 5 < random, "first come, first served is fair: {fifo} against {random}");
}

#[test]
fn a_release_costs_a_read_for_each_waiter_one_after_another() {
    // Nanoseconds until the last of `waiters` cores that wait for a word has seen its change.
    let storm = |waiters: usize| {
        let mut simulation = Simulation::new(&machine(), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let last = Rc::new(Cell::new(0));
        for place in 1..=waiters {
            let (word, last) = (word.clone(), Rc::clone(&last));
            simulation.spawn_at(place, 0, move || {
                Simulated::wait_until(&*word, Ordering::Acquire, |value| value == 1);
                last.set(now().max(last.get()));
            });
        }
        let released = Rc::new(Cell::new(0));
        let out = Rc::clone(&released);
        simulation.spawn_at(0, 10_000, move || {
            word.fetch_add(1, Ordering::Release);
            out.set(now());
        });
        assert!(matches!(simulation.run(), RunEnd::Finished));
        last.get() - released.get()
    };
    // Each read of a shared line takes 79 cycles.
    let (few, many) = (storm(4), storm(20));
    let each = (many - few) as f64 / 16.0;
    assert!((each - 79.0).abs() < 5.0, "{each} cycles for each waiter");
}

#[test]
fn siblings_slow_each_others_work_down_unless_one_waits() {
    let time_beside = |sibling: fn(&Placed<SimulatedU64>)| {
        let mut simulation = Simulation::new(&machine(), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let other = word.clone();
        simulation.spawn_at(SIBLING_OF_0, 0, move || sibling(&other));
        let time = Rc::new(Cell::new(0));
        let out = Rc::clone(&time);
        simulation.spawn_at(0, 1000, move || {
            out.set(timed(|| work(1000.0)));
            word.store(1, Ordering::Relaxed);
        });
        assert!(matches!(simulation.run(), RunEnd::Finished));
        time.get()
    };
    assert_eq!(time_beside(|_| work(2000.0)), 4650, "1000 ns at 3 GHz, by 1.55");
    let waiting = |word: &Placed<SimulatedU64>| {
        Simulated::wait_until(&**word, Ordering::Acquire, |value| value == 1);
    };
    assert_eq!(time_beside(waiting), 3000);
    assert_eq!(time_beside(|_| ()), 3000, "the sibling has finished");
}

#[test]
fn a_store_of_a_part_goes_through_the_store_buffer_and_changes_nothing_else() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0xAABB_CCDD), 64, 0);
    alone(&mut simulation, move || {
        word.load(Ordering::Relaxed);
        assert_eq!(timed(|| Part::<u8>::store_part(&*word, 1, 0xCC, 0x11, Ordering::Release)), 1);
        assert_eq!(word.load(Ordering::Relaxed), 0xAABB_11DD);
        assert_eq!(Part::<u16>::swap_part(&*word, 1, 0x2222, Ordering::AcqRel), 0xAABB);
        assert_eq!(word.load(Ordering::Relaxed), 0x2222_11DD);
    });
}

#[test]
fn objects_of_one_line_share_its_transfers() {
    let fills = |align: usize| {
        let mut simulation = Simulation::new(&machine(), 1);
        let words = [0, 1].map(|_| simulation.place(SimulatedU64::new(0), align, 0));
        for (place, word) in words.into_iter().enumerate() {
            simulation.spawn(place, move || {
                for _ in 0..100 {
                    word.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        assert!(matches!(simulation.run(), RunEnd::Finished));
        simulation.statistics().exclusive_fills
    };
    assert_eq!(fills(64), 2, "a line each: the first touches");
    assert!(fills(8) > 50, "one line: false sharing");
}

#[test]
fn a_cell_costs_an_access_of_each_line_that_it_covers() {
    let mut simulation = Simulation::new(&machine(), 1);
    let cell = simulation.place(SimulatedCell::new([0u8; 130]), 64, 0);
    let before = simulation.statistics();
    alone(&mut simulation, move || cell.with(|_| ()));
    assert_eq!(difference(simulation.statistics(), before).loads, 3);
}
