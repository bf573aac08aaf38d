//! The rules of the coherence protocol, one by one, for cores that share and cores that compete.
//!
//! Tests that count cycles switch off the machine's jitter. They expect the sum of the machine
//! file's own numbers.

use crate::support::{OTHER_SOCKET, SIBLING_OF_0, finish, machine, number, on, thread};
use lockyard::lock::Ticket;
use lockyard::lockref::LockRef;
use lockyard::lockref::policy::Standard;
use lockyard::on::RawTestAndSetLock;
use lockyard::on::TicketLock;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, RunStatistics, Simulated, SimulatedU64, Simulation, now,
    operation_done, stop_requested, work,
};
use std::rc::Rc;

/// Cycles of `code`.
fn timed<T>(code: impl FnOnce() -> T) -> u64 {
    let begin = now();
    std::hint::black_box(code());
    now() - begin
}

fn word(simulation: &mut Simulation, home: usize) -> Placed<SimulatedU64> {
    simulation.place(SimulatedU64::new(0), 64, home)
}

fn add(word: &SimulatedU64) -> u64 {
    word.fetch_add(1, Ordering::Relaxed)
}

fn read(word: &SimulatedU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Returns a machine without jitter, and its numbers by name.
fn exact() -> (Machine, impl Fn(&str) -> u64) {
    let machine = machine(&[("jitter", 0)]);
    let numbers = machine.clone();
    (machine, move |name: &str| number(&numbers, &format!("cycles.{name}")))
}

/// Adds until the run is stopped.
fn add_until_stopped(word: &SimulatedU64) {
    while !stop_requested() {
        add(word);
        operation_done();
    }
}

/// Runs for `nanoseconds`. Returns each thread's operations and the statistics at the end of that
/// time, and then lets the threads finish.
fn run_for(simulation: &mut Simulation, nanoseconds: f64) -> (Vec<u64>, RunStatistics) {
    let until = simulation.now() + simulation.machine().cycles(nanoseconds);
    let outcome = simulation.run_until(until);
    assert!(matches!(outcome, RunEnd::TimeOver), "{outcome}");
    let result = (simulation.operations(), simulation.statistics());
    simulation.request_stop();
    finish(simulation);
    result
}

#[test]
fn a_miss_costs_the_sum_of_its_legs() {
    let (machine, n) = exact();
    let lock = n("rmw_before_lock") + n("rmw_lock");
    let transfer = n("miss") + n("leg") + n("leg") + n("owner_snoop") + n("transfer");

    // A line that another core of the socket has modified.
    let mut simulation = Simulation::new(&machine, 1);
    let line = word(&mut simulation, 0);
    let place = line.clone();
    on(&mut simulation, 0, move || add(&place));
    let place = line.clone();
    assert_eq!(on(&mut simulation, 1, move || timed(|| add(&place))), transfer + lock);
    let place = line.clone();
    assert_eq!(on(&mut simulation, 2, move || timed(|| read(&place))), transfer + n("load"));

    // Now the line is shared: the agent's cache serves a read, without another core.
    let place = line.clone();
    let shared = n("miss") + n("leg") + n("last_level") + n("leg") + n("load");
    assert_eq!(on(&mut simulation, 3, move || timed(|| read(&place))), shared);

    // An upgrade waits for the invalidations, not for data.
    let place = line.clone();
    let upgrade = n("miss") + n("leg") + (2 * n("leg") + n("invalidate")) + n("leg");
    let sibling_of_3 = SIBLING_OF_0 + 3;
    assert_eq!(on(&mut simulation, sibling_of_3, move || timed(|| add(&place))), upgrade + lock);
}

#[test]
fn a_remote_miss_costs_the_legs_between_the_sockets_too() {
    let (machine, n) = exact();
    let lock = n("rmw_before_lock") + n("rmw_lock");
    for home in [0, 1] {
        let mut simulation = Simulation::new(&machine, 1);
        let line = word(&mut simulation, home);
        let place = line.clone();
        on(&mut simulation, OTHER_SOCKET, move || add(&place));
        // The path: to the home, to the owner's agent, to the owner and back, and from socket to
        // socket.
        let directory = if home == 0 { n("directory") } else { 0 };
        let expected = n("miss")
            + n("leg")
            + n("socket_leg")
            + directory
            + (n("leg") + n("owner_snoop") + n("leg"))
            + n("socket_leg")
            + n("last_level")
            + n("leg");
        let cost = on(&mut simulation, 0, move || timed(|| add(&line)));
        assert_eq!(cost, expected + lock, "home {home}");
    }
}

#[test]
fn an_idle_socket_that_is_snooped_answers_late() {
    // A line that the other socket has modified. Its home is in a third socket or in this one.
    let cost = |home, idle_answer, third_runs| {
        let changes = [("sockets", 3), ("jitter", 0), ("idle_answer", idle_answer)];
        let machine = machine(&changes);
        let mut simulation = Simulation::new(&machine, 1);
        let line = word(&mut simulation, home);
        if third_runs {
            on(&mut simulation, 2 * OTHER_SOCKET, || ());
        }
        let place = line.clone();
        on(&mut simulation, OTHER_SOCKET, move || add(&place));
        on(&mut simulation, 0, move || timed(|| add(&line)))
    };
    // A line that no core has had. It is in its home's cache.
    let first = |home, idle_answer| {
        let machine = machine(&[("jitter", 0), ("idle_answer", idle_answer)]);
        let mut simulation = Simulation::new(&machine, 1);
        let line = word(&mut simulation, home);
        on(&mut simulation, 0, move || timed(|| read(&line)))
    };
    assert_eq!(first(0, 3000), first(0, 0), "the own socket's cache has it: none is waited for");
    let n = |name: &str| number(&machine(&[]), &format!("cycles.{name}"));
    let socket_leg = n("socket_leg");
    let to_the_home_and_back = n("miss") + n("leg") + socket_leg + 3000 + socket_leg;
    assert_eq!(first(1, 3000), to_the_home_and_back + n("last_level") + n("leg") + n("load"));
    for home in [0, 2] {
        let at_once = cost(home, 0, false);
        assert_eq!(
            cost(home, 0, true),
            at_once,
            "home {home}: without idle answers nothing differs"
        );
        assert_eq!(cost(home, 3000, true), at_once, "home {home}: no socket is idle");
        // The idle socket answers before the owner does, so no thread waits for it.
        assert_eq!(cost(home, 1, false), at_once, "home {home}");
        // The path: the request to the home agent, its snoop, the idle socket's answer, and the
        // grant to the requesting socket.
        let way = if home == 0 { 0 } else { socket_leg };
        let expected = n("miss") + n("leg") + way + 3000 + way + n("last_level") + n("leg");
        let lock = n("rmw_before_lock") + n("rmw_lock");
        assert_eq!(cost(home, 3000, false), expected + lock, "home {home}");
    }
}

#[test]
fn a_homes_own_socket_does_not_wait_for_others_that_never_had_the_line() {
    let machine = machine(&[("sockets", 3), ("jitter", 0), ("idle_answer", 3000)]);
    let n = |name: &str| number(&machine, name);
    let arrives = n("cycles.last_level") + n("cycles.leg") + n("cycles.load");
    let from_memory = n("cycles.memory") + n("caches.dram");
    let asks = n("cycles.miss") + n("cycles.leg");
    type Access = fn(&SimulatedU64) -> u64;
    let cost = |history: &[(usize, Access)]| {
        let mut simulation = Simulation::new(&machine, 1);
        let line = word(&mut simulation, 0);
        let cost = history.iter().map(|&(place, access)| {
            let word = line.clone();
            let cost = on(&mut simulation, place, move || timed(|| access(&word)));
            simulation.empty_caches();
            cost
        });
        cost.last()
    };
    // The third socket is idle. Each step uses another core, because a hardware thread runs only
    // one thread.
    let (at_once, late) = (asks + from_memory + arrives, asks + 3000 + arrives);
    assert_eq!(cost(&[(0, read), (1, read)]), Some(at_once));
    assert_eq!(cost(&[(0, read), (OTHER_SOCKET, read), (1, read)]), Some(late));
    assert_eq!(cost(&[(OTHER_SOCKET, read), (0, read), (1, read)]), Some(late));
    assert_eq!(cost(&[(OTHER_SOCKET, read), (0, add), (1, read)]), Some(at_once));
    let there = 2 * n("cycles.socket_leg") + late;
    assert_eq!(cost(&[(0, read), (OTHER_SOCKET, read)]), Some(there));
}

#[test]
fn a_saturated_hop_costs_what_the_machine_file_says() {
    // The agent's round: dispatch, the way to the owner and back, and the time that it holds
    // the entry.
    let (machine, n) = exact();
    let round = 2 * n("leg") + n("owner_snoop") + n("dispatch") + n("hold_exclusive");
    // The snoop arrives this long after the data. Then it waits for the end of a locked operation,
    // the owner's second one.
    let window = 2 * n("leg") + n("dispatch") + n("hold_exclusive") - n("transfer");
    let second_ends = n("rmw_lock") + n("rmw_before_lock") + n("rmw_lock");
    assert!(n("rmw_lock") + n("rmw_before_lock") < window && window < second_ends);
    let hop = round + second_ends - window;

    let mut simulation = Simulation::new(&machine, 1);
    let line = word(&mut simulation, 0);
    for place in 0..16 {
        let line = line.clone();
        simulation.spawn(place, move || add_until_stopped(&line));
    }
    simulation.run_until(machine.cycles(10_000.0));
    let (start, before) = (simulation.now(), simulation.statistics());
    simulation.run_until(start + 1000 * hop);
    let after = simulation.statistics();
    let ownerships = after.exclusive_fills - before.exclusive_fills;
    assert!((999..=1001).contains(&ownerships), "{ownerships} ownerships in 1000 hops of {hop}");
    let adds = after.rmws - before.rmws;
    assert!((1998..=2002).contains(&adds), "two additions to an ownership: {adds}");
    simulation.request_stop();
    finish(&mut simulation);
}

#[test]
fn an_ownership_is_never_without_an_operation() {
    // The agent is free immediately, so snoops reach the new owner long before its data.
    let eager = machine(&[("hold_exclusive", 0), ("hold_shared", 0), ("transfer", 500)]);
    let mut simulation = Simulation::new(&eager, 1);
    let line = word(&mut simulation, 0);
    for place in 0..8 {
        let line = line.clone();
        simulation.spawn(place, move || add_until_stopped(&line));
    }
    let (_, statistics) = run_for(&mut simulation, 100_000.0);
    assert!(statistics.exclusive_fills > 100);
    assert!(
        statistics.rmws + 1 >= statistics.exclusive_fills,
        "the operation that missed completes before the line is given away: {statistics:?}"
    );
}

#[test]
fn a_waiting_snoop_goes_before_the_sibling() {
    // Without snoops, two siblings that keep adding would keep the line for ever.
    let machine = machine(&[]);
    let mut simulation = Simulation::new(&machine, 1);
    let line = word(&mut simulation, 0);
    for place in [0, SIBLING_OF_0, 1] {
        let line = line.clone();
        simulation.spawn(place, move || add_until_stopped(&line));
    }
    let (operations, statistics) = run_for(&mut simulation, 100_000.0);
    let all: u64 = operations.iter().sum();
    assert!(operations[2] * 4 > all, "the other core has its turns: {operations:?}");
    // Three additions of one core do not fit into a window: each takes 21 cycles, and the window is
    // 35.
    assert!(statistics.rmws < 3 * statistics.exclusive_fills, "{statistics:?}");
}

#[test]
fn a_load_waits_while_a_siblings_locked_operation_holds_the_line() {
    // Three threads per core: the first brings the line to the core, the second locks it, the third
    // reads.
    let machine = machine(&[("jitter", 0), ("threads", 3)]);
    let n = |name: &str| number(&machine, &format!("cycles.{name}"));
    let mut simulation = Simulation::new(&machine, 1);
    let line = word(&mut simulation, 0);
    let place = line.clone();
    on(&mut simulation, 0, move || add(&place));
    let begin = simulation.now() + 100;
    let place = line.clone();
    thread(&mut simulation, SIBLING_OF_0, begin, move || add(&place));
    let into_the_lock = 4;
    let during = begin + n("rmw_before_lock") + into_the_lock;
    let seen = thread(&mut simulation, 2 * SIBLING_OF_0, during, move || {
        let begin = now();
        let value = read(&line);
        (now() - begin, value)
    });
    finish(&mut simulation);
    let rest = n("rmw_lock") - into_the_lock;
    assert_eq!(seen.get(), Some((rest + n("load"), 2)), "it sees the new value, afterwards");
}

#[test]
fn misses_of_siblings_merge() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let line = word(&mut simulation, 0);
    for (place, start) in [(0, 0), (SIBLING_OF_0, 10)] {
        let line = line.clone();
        thread(&mut simulation, place, start, move || read(&line));
    }
    finish(&mut simulation);
    let statistics = simulation.statistics();
    assert_eq!((statistics.load_misses, statistics.shared_fills), (2, 1));
    assert_eq!(statistics.requests, 1);
}

#[test]
fn a_shared_fill_with_a_waiting_addition_becomes_an_upgrade() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let line = word(&mut simulation, 0);
    let place = line.clone();
    thread(&mut simulation, 0, 0, move || read(&place));
    let place = line.clone();
    thread(&mut simulation, SIBLING_OF_0, 5, move || add(&place));
    finish(&mut simulation);
    let statistics = simulation.statistics();
    assert_eq!(
        (statistics.shared_fills, statistics.upgrades, statistics.exclusive_fills),
        (1, 1, 1)
    );
    assert_eq!(simulation.setup(|| read(&line)), 1);
}

#[test]
fn stores_of_a_core_go_before_its_waiting_read_modify_writes() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let line = word(&mut simulation, 0);
    let place = line.clone();
    on(&mut simulation, OTHER_SOCKET, move || add(&place));
    let begin = simulation.now() + 1000;
    let place = line.clone();
    let before = thread(&mut simulation, 0, begin, move || place.swap(9, Ordering::Relaxed));
    let place = line.clone();
    thread(&mut simulation, SIBLING_OF_0, begin + 50, move || place.store(5, Ordering::Relaxed));
    finish(&mut simulation);
    assert_eq!(before.get(), Some(5), "the exchange came first, and waits for the same miss");
    assert_eq!(simulation.setup(|| read(&line)), 9);
}

#[test]
fn a_compare_exchange_after_a_load_takes_two_transactions_and_one_with_a_known_value_takes_one() {
    let transactions = |known: bool| {
        let mut simulation = Simulation::new(&machine(&[]), 1);
        let line = word(&mut simulation, 0);
        let place = line.clone();
        on(&mut simulation, 0, move || add(&place));
        let before = simulation.statistics();
        let cost = on(&mut simulation, 1, move || {
            timed(|| {
                let current = if known { 1 } else { read(&line) };
                line.compare_exchange(current, 2, Ordering::Relaxed, Ordering::Relaxed)
                    .expect("no other thread changes it");
            })
        });
        let after = simulation.statistics();
        (after.requests - before.requests, after.upgrades - before.upgrades, cost)
    };
    let (one, two) = (transactions(true), transactions(false));
    assert_eq!((one.0, one.1), (1, 0));
    assert_eq!((two.0, two.1), (2, 1));
    assert!(two.2 > one.2 + 80, "{one:?} and {two:?}");
}

#[test]
fn ownership_is_sticky_to_a_socket() {
    // At most one of the requests that wait at an agent is from the other socket. With weight 1 it
    // counts like any other.
    let remote = |threads_per_socket: usize| {
        let mut simulation = Simulation::new(&machine(&[("snoop_weight", 1)]), 1);
        let line = word(&mut simulation, 0);
        for socket in [0, OTHER_SOCKET] {
            for core in 0..threads_per_socket {
                let line = line.clone();
                simulation.spawn(socket + core, move || add_until_stopped(&line));
            }
        }
        let (_, statistics) = run_for(&mut simulation, 500_000.0);
        statistics.remote_grants as f64 / statistics.exclusive_fills as f64
    };
    let (one, four, sixteen) = (remote(1), remote(4), remote(16));
    assert!(one > 0.4, "one each: {one}");
    assert!((0.15..0.35).contains(&four), "four each: {four}");
    assert!((0.03..0.12).contains(&sixteen), "sixteen each: {sixteen}");
}

#[test]
fn what_waits_behind_a_sockets_request_adds_nothing_to_its_weight() {
    // The other socket's share of the additions.
    let share = |weight: u64, theirs: usize| {
        let mut simulation = Simulation::new(&machine(&[("snoop_weight", weight)]), 1);
        let line = word(&mut simulation, 0);
        for place in (0..16).chain(OTHER_SOCKET..OTHER_SOCKET + theirs) {
            let line = line.clone();
            simulation.spawn(place, move || add_until_stopped(&line));
        }
        let (operations, _) = run_for(&mut simulation, 500_000.0);
        let of = |operations: &[u64]| operations.iter().sum::<u64>() as f64;
        of(&operations[16..]) / of(&operations)
    };
    let (alone, with_others) = (share(1000, 1), share(1000, 16));
    assert!((0.4..0.9).contains(&alone), "one against sixteen: {alone}");
    assert!((0.4..0.9).contains(&with_others), "sixteen against sixteen: {with_others}");
    assert!(share(1, 1) < 0.3, "one of seventeen, a transfer at a time: {}", share(1, 1));
}

#[test]
fn a_retry_at_once_succeeds_in_the_window_and_one_after_a_pause_does_not() {
    // Mispredictions are free here, because the test is about the window itself.
    let failed_per_success = |threads: usize, pause: bool| {
        let mut simulation = Simulation::new(&machine(&[("redirect", 0)]), 1);
        let line = word(&mut simulation, 0);
        for place in 0..threads {
            let line = line.clone();
            simulation.spawn(place, move || {
                while !stop_requested() {
                    let mut current = read(&line);
                    while let Err(actual) = line.compare_exchange(
                        current,
                        current + 1,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    ) {
                        current = actual;
                        if pause {
                            Simulated::relax();
                        }
                    }
                    operation_done();
                }
            });
        }
        let (_, statistics) = run_for(&mut simulation, 500_000.0);
        statistics.failed_compare_exchanges as f64 / statistics.compare_exchanges as f64
    };
    for threads in [8, 24] {
        let at_once = failed_per_success(threads, false);
        assert!(at_once < 1.3, "{threads} threads: {at_once} failures for each success");
    }
    // This is a birthday problem: the count grows with the square root of the number of contenders.
    let (few, many) = (failed_per_success(6, true), failed_per_success(24, true));
    assert!(few > 1.3, "6 threads: {few} failures for each success");
    assert!((1.4..2.6).contains(&(many / few)), "{few} and {many}: fourfold threads");
}

#[test]
fn spinning_siblings_see_what_their_core_changes() {
    // Nothing leaves the core, so no transfer wakes the waiter.
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let line = word(&mut simulation, 0);
    let place = line.clone();
    thread(&mut simulation, SIBLING_OF_0, 0, move || {
        for turn in 0..50 {
            Simulated::wait_until(&*place, Ordering::Acquire, |value| value == 2 * turn + 1);
            place.store(2 * turn + 2, Ordering::Release);
        }
    });
    thread(&mut simulation, 0, 0, move || {
        for turn in 0..50 {
            line.store(2 * turn + 1, Ordering::Release);
            Simulated::wait_until(&*line, Ordering::Acquire, |value| value == 2 * turn + 2);
        }
    });
    finish(&mut simulation);
    assert_eq!(simulation.statistics().local_transfers, 0);
}

#[test]
fn a_panic_under_a_lock_unlocks_it_in_simulated_time() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let lock = simulation.place(TicketLock::<u64, Simulated>::new(0), 64, 0);
    let held = lock.clone();
    simulation.spawn_at(0, 0, move || {
        let _guard = held.lock();
        work(100.0);
        panic!("on purpose");
    });
    let outcome = simulation.run();
    assert!(matches!(&outcome, RunEnd::Panicked { message, .. } if message == "on purpose"));
    assert!(!simulation.setup(|| lock.is_locked()), "the guard was dropped on the way");
}

#[test]
fn every_thread_of_the_machine_makes_progress() {
    let machine = machine(&[]);
    let mut simulation = Simulation::new(&machine, 1);
    let count = LockRef::<Ticket, Standard, Simulated>::from_count(1);
    let count = simulation.place(count, 64, 0);
    for place in 0..machine.hardware_threads() {
        let count = count.clone();
        simulation.spawn(place, move || {
            while !stop_requested() {
                count.get();
                work(50.0);
                assert!(count.put_or_lock().is_none(), "one reference stays");
                operation_done();
            }
        });
    }
    let (operations, _) = run_for(&mut simulation, 1_000_000.0);
    assert!(operations.iter().all(|&done| done > 0), "{operations:?}");
}

#[test]
fn runs_that_are_stuck_do_not_disturb_later_ones() {
    let machine = machine(&[]);
    let clean = |seed: u64| {
        let mut simulation = Simulation::new(&machine, seed);
        let line = Rc::new(word(&mut simulation, 0));
        for place in 0..8 {
            let line = Rc::clone(&line);
            simulation.spawn(place, move || (0..50).for_each(|_| assert!(add(&line) < 400)));
        }
        finish(&mut simulation);
        simulation.hash()
    };
    let first = clean(5);
    for seed in 0..20 {
        let mut simulation = Simulation::new(&machine, seed);
        let lock = simulation.place(RawTestAndSetLock::<Simulated>::new(), 64, 0);
        for place in 0..8 {
            let lock = lock.clone();
            simulation.spawn(place, move || drop(lock.acquire()));
        }
        assert!(matches!(simulation.run(), RunEnd::Stuck(reports) if reports.len() == 7));
        drop(simulation);
        assert_eq!(clean(5), first);
    }
}
