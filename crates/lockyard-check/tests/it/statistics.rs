//! Checks of per-node statistics: under weak memory, on a simulated machine with nodes, and with
//! every allocation failing in turn. Random operations are compared with a simple model.

use lockyard::lock::{Queued, TestAndSet};
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard::platform::{HostWithSlots, Native};
use lockyard_check::backends::{model, native, simulated, verdict};
use lockyard_check::controls::DoesNotExclude;
use lockyard_check::depth::depth;
use lockyard_check::explore::{Bounds, explore};
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::StatOp::{
    self, Read, Take, TakeAndUpdate, TakeAndUpdateHere, Update, UpdateHere,
};
use lockyard_check::program::StatProgram;
use lockyard_check::ration::{self, Rationed};
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
use lockyard_tables::Counts;
use lockyard_tables::statistics::Statistics;
use lockyard_tables::statistics::{PerCpu, PerNode, PerThread, Shared, Variant};
use std::sync::Arc;

type Model = Hooked<Checked, Scripted>;
type Of<V, const PRIMED: bool, K = TestAndSet> = StatProgram<V, K, Model, PRIMED>;

const OPS: [StatOp; 5] = [Update(0), Update(1), Update(2), Read, Take];

fn reason(a: StatOp, b: StatOp) -> Option<&'static str> {
    (a == Read && b == Read).then_some("readers change nothing")
}

#[test]
fn every_pair_of_operations_on_records_of_nodes_loses_nothing() {
    for (title, holds) in [
        ("statistics, new", pair::<false> as fn(&str, &[StatOp; 2]) -> u64),
        ("statistics, node 0 was there", pair::<true>),
    ] {
        check_pairs(title, &OPS, reason, |ops| holds(title, ops));
    }
}

fn pair<const PRIMED: bool>(title: &str, ops: &[StatOp; 2]) -> u64 {
    must_hold::<Of<PerNode<3>, PRIMED>>(title, ops, Bounds::ALL).executions
}

#[test]
fn two_that_make_the_record_of_one_node_leave_one_and_lose_nothing() {
    let title = "two allocators";
    let ops = [Update(1), Update(1)];
    let (explored, outcomes) = model::<Of<PerNode<3>, true>>(&ops, Bounds::ALL).unwrap();
    println!("{title}: {explored}, {outcomes:?}");
    // Three packets in two records, whichever thread was first.
    assert!(outcomes.iter().all(|outcome| outcome[2..] == [3, 2]), "{outcomes:?}");
    for ops in [
        [Update(1), Update(1), Read],
        [Update(1), Update(1), Take],
        [Update(1), Update(1), Update(1)],
        [Update(1), Update(2), Read],
        [Update(0), Update(1), Read],
        [Update(0), Update(1), Take],
    ] {
        must_hold::<Of<PerNode<3>, true>>(title, &ops, Bounds::preemptions(2));
        must_hold::<Of<PerNode<3>, false>>(title, &ops, Bounds::preemptions(2));
    }
    for ops in [[Update(1), Update(1), Update(0), Read], [Update(1), Update(2), Take, Read]] {
        must_hold::<Of<PerNode<3>, true>>(title, &ops, Bounds::preemptions(2));
    }
}

#[test]
fn records_behind_the_queued_lock_hold_too() {
    for ops in [[Update(1), Update(1), Read], [Update(0), Update(1), Take]] {
        let title = "statistics over the queued lock";
        must_hold::<Of<PerNode<2>, true, Queued>>(title, &ops, Bounds::preemptions(2));
    }
}

#[test]
fn the_other_variants_lose_nothing() {
    for ops in [[Update(0), Update(1), Read], [Update(0), Update(1), Take]] {
        must_hold::<Of<Shared, false>>("statistics, shared", &ops, Bounds::preemptions(3));
        must_hold::<Of<PerCpu<2>, false>>("statistics, per CPU", &ops, Bounds::preemptions(3));
    }
}

#[test]
fn words_of_threads_lose_nothing() {
    // (An update of one's own words and one of the shared words have nothing in common.)
    for ops in [[UpdateHere, UpdateHere], [UpdateHere, Take], [UpdateHere, Read]] {
        must_hold::<Of<PerThread, false>>("statistics, per thread", &ops, Bounds::preemptions(3));
    }
    // A reading has many loads, so the bound of three threads is lower.
    for ops in [[UpdateHere, UpdateHere, Read], [UpdateHere, Take, Take]] {
        must_hold::<Of<PerThread, false>>("statistics, per thread", &ops, Bounds::preemptions(1));
    }
}

#[test]
fn a_reading_of_words_of_threads_knows_what_was_taken_before_an_update() {
    let title = "statistics, per thread, taken";
    for ops in [[TakeAndUpdateHere, Read], [TakeAndUpdate(0), Read]] {
        must_hold::<Of<PerThread, true>>(title, &ops, Bounds::preemptions(depth(1, 2)));
    }
}

/// Shows that the checks of torn records can fail.
#[test]
fn a_record_behind_a_lock_that_does_not_exclude_is_noticed() {
    type Wrong<V> = StatProgram<V, DoesNotExclude, Model, true>;
    for ops in [[Update(1), Update(1)], [Update(1), Read], [Update(0), Take]] {
        let caught = verdict(model::<Wrong<Shared>>(&ops, Bounds::ALL)).finding();
        assert_eq!(caught, Some(Finding::Race), "{ops:?}");
    }
    let found = verdict(model::<Wrong<PerNode<2>>>(&[Update(0), Update(0)], Bounds::ALL));
    assert_eq!(found.finding(), Some(Finding::Race));
}

/// Runs every execution of two threads that create the same record. The surplus record is freed at
/// once, and all memory at the end.
#[test]
fn a_record_that_was_made_too_much_is_given_back() {
    type H = Hooked<Checked, Rationed>;
    let explored = explore(2, Bounds::ALL, || {
        Checked::begin();
        ration::begin();
        let statistics = Arc::new(Statistics::<PerNode<2>, TestAndSet, H>::new().unwrap());
        statistics.update_at(0, &Counts::packet(1, 1, 0));
        let before = ration::bytes();
        let other = Arc::clone(&statistics);
        let thread = loom::thread::spawn(move || other.update_at(1, &Counts::packet(1, 1, 0)));
        statistics.update_at(1, &Counts::packet(1, 1, 0));
        thread.join().unwrap();
        assert_eq!(ration::bytes(), 2 * before, "two records");
        assert_eq!(statistics.read().packets, 3);
        drop(statistics);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
    });
    println!("{}", explored.unwrap());
}

/// Two threads race to create one record, and the allocation of either fails. Its update then goes
/// to the first record.
#[test]
fn an_allocation_that_fails_in_a_race_loses_nothing() {
    type H = Hooked<Checked, Rationed>;
    for failing in 0..3 {
        let explored = explore(2, Bounds::ALL, move || {
            Checked::begin();
            ration::begin();
            let statistics = Arc::new(Statistics::<PerNode<2>, TestAndSet, H>::new().unwrap());
            statistics.update_at(0, &Counts::packet(1, 1, 0));
            ration::fail_after(failing);
            let other = Arc::clone(&statistics);
            let thread = loom::thread::spawn(move || other.update_at(1, &Counts::packet(1, 1, 0)));
            statistics.update_at(1, &Counts::packet(1, 1, 0));
            thread.join().unwrap();
            assert_eq!(statistics.read().packets, 3);
            drop(statistics);
            assert_eq!(ration::bytes(), 0, "nothing leaks");
        });
        println!("allocation {failing} fails: {}", explored.unwrap());
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// The expected records: the nodes that have one, and the last node that wrote to the first.
struct Expected {
    has: [bool; 4],
    last: Option<usize>,
    sum: Counts,
}

impl Expected {
    /// Applies an update of `node`; `memory` is true if an allocation succeeds.
    fn update(&mut self, node: usize, counts: &Counts, memory: bool) {
        self.sum.merge(counts);
        if self.has[node] {
            if node == 0 {
                self.last = Some(0);
            }
        } else if self.last.is_none_or(|last| last == node) {
            self.last = Some(node);
        } else {
            self.has[node] = memory;
        }
    }
}

#[test]
fn random_operations_leave_what_a_simple_model_says() {
    type H = Hooked<Native, Rationed>;
    for seed in 1..=200 {
        ration::begin();
        let mut random = Random(seed * 7919);
        let statistics = Statistics::<PerNode<4>, Queued, H>::new().unwrap();
        let mut expected =
            Expected { has: [true, false, false, false], last: None, sum: Counts::default() };
        for step in 0..400 {
            let fails = random.below(3) == 0;
            if fails {
                ration::fail_after(0);
            }
            let counts = Counts {
                packets: random.below(1 << 62),
                bytes: random.below(1 << 62),
                last_used: random.below(1000),
                flags: 1 << random.below(32),
            };
            match random.below(20) {
                0 => {
                    assert_eq!(statistics.take(), expected.sum, "seed {seed} step {step}");
                    expected.sum = Counts::default();
                }
                1..5 => assert_eq!(statistics.read(), expected.sum, "seed {seed} step {step}"),
                at => {
                    let node = if at < 12 { 0 } else { random.below(4) as usize };
                    // Nodes beyond the number of records share them.
                    let place = node + 4 * random.below(3) as usize;
                    let asked = ration::asked();
                    statistics.update_at(place, &counts);
                    expected.update(node, &counts, !(fails && ration::asked() > asked));
                }
            }
            ration::fail_after(u64::MAX / 2);
            let records = expected.has.iter().filter(|&&has| has).count();
            assert_eq!(statistics.records(), records, "seed {seed} step {step}");
            assert_eq!(statistics.bytes() - size_of_val(&statistics), 64 * records);
        }
        drop(statistics);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
    }
}

/// Every allocation of a run fails in turn. Creation reports the failure; updates never fail.
#[test]
fn whichever_allocation_fails_nothing_is_lost() {
    fn with_failure<V: Variant>(failing: u64) -> u64 {
        type H = Hooked<Native, Rationed>;
        ration::begin();
        ration::fail_after(failing);
        if let Ok(statistics) = Statistics::<V, Queued, H>::new() {
            for step in 0..100 {
                let counts = Counts::packet(2, step as u64, 1);
                if step % 2 == 0 {
                    statistics.update_at(step % 5, &counts);
                } else {
                    statistics.update(&counts);
                }
                assert_eq!(statistics.read().packets, step as u64 + 1);
            }
            assert_eq!(statistics.take().bytes, 200);
        } else {
            assert_eq!((failing, ration::bytes()), (0, 0), "only the creation can fail");
        }
        assert_eq!(ration::bytes(), 0, "nothing leaks");
        ration::asked()
    }
    let never = u64::MAX / 2;
    for (name, run) in [
        ("shared", with_failure::<Shared> as fn(u64) -> u64),
        ("per-cpu", with_failure::<PerCpu<8>>),
        ("per-node", with_failure::<PerNode>),
        ("per-thread", with_failure::<PerThread>),
    ] {
        let allocations = run(never);
        println!("{name}: {allocations} allocations");
        for failing in 0..allocations + 2 {
            run(failing);
        }
    }
}

#[test]
fn while_memory_stays_short_everything_goes_to_the_first_record() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").unwrap();
    for fail in [0, u64::MAX] {
        let mut simulation = Simulation::new(&machine, 3);
        let statistics =
            simulation.setup(|| Statistics::<PerNode, Queued, Simulated>::new().unwrap());
        let statistics = simulation.place(statistics, 64, 0);
        simulation.fail_allocations(fail);
        for place in [0, 1, 24, 25] {
            let statistics = statistics.clone();
            simulation.spawn(place, move || {
                for now in 1..=100 {
                    statistics.update(&Counts::packet(10, now, 1));
                }
            });
        }
        assert!(matches!(simulation.run(), RunEnd::Finished));
        simulation.setup(|| {
            assert_eq!(
                statistics.read(),
                Counts { packets: 400, bytes: 4000, last_used: 100, flags: 1 }
            );
            assert_eq!(statistics.records(), if fail == 0 { 2 } else { 1 });
        });
    }
}

/// Returns the number of records after threads at `places` have updated, on two sockets of 24
/// cores.
fn records_after(places: &[usize]) -> usize {
    let machine = Machine::shipped("cascade-lake-2s24c2t").unwrap();
    let mut simulation = Simulation::new(&machine, 1);
    let statistics = simulation.setup(|| Statistics::<PerNode, Queued, Simulated>::new().unwrap());
    let statistics = simulation.place(statistics, 64, 0);
    for &place in places {
        let statistics = statistics.clone();
        simulation.spawn(place, move || {
            for now in 1..=50 {
                statistics.update(&Counts::packet(1, now, 0));
            }
        });
    }
    assert!(matches!(simulation.run(), RunEnd::Finished));
    simulation.setup(|| statistics.records())
}

#[test]
fn a_record_is_made_when_a_second_node_updates_and_not_before() {
    assert_eq!(records_after(&[0, 1, 2]), 1, "node 0 alone");
    assert_eq!(records_after(&[24, 25, 26]), 1, "node 1 alone uses the first record");
    assert_eq!(records_after(&[0, 24]), 2);
    assert_eq!(records_after(&[0, 1, 24, 25, 30]), 2);
}

#[test]
fn simulated_threads_lose_nothing_in_any_order() {
    fn run<V: Variant>(name: &str) {
        type Of<V, const PRIMED: bool> = StatProgram<V, Queued, Simulated, PRIMED>;
        for ops in [
            [UpdateHere, UpdateHere, UpdateHere, Read],
            [UpdateHere, UpdateHere, Take, UpdateHere],
            [Update(1), Update(1), Read, Take],
        ] {
            let fresh = simulated::<Of<V, false>>(&ops, 50, 10);
            assert!(fresh.caught.is_none(), "{name} {ops:?}: {fresh:?}");
        }
    }
    run::<Shared>("shared");
    run::<PerCpu>("per-cpu");
    run::<PerNode>("per-node");
    run::<PerThread>("per-thread");
}

#[test]
fn threads_of_the_host_lose_nothing() {
    fn run<V: Variant, H: HostWithSlots>(name: &str) {
        for ops in [
            [Update(0), Update(1), Read, Take],
            [Update(1), Update(1), Update(2), Read],
            [UpdateHere, UpdateHere, Take, Read],
        ] {
            let found = native::<StatProgram<V, Queued, H, true>>(&ops, 500, 10);
            assert!(found.caught.is_none(), "{name} {ops:?}: {found:?}");
        }
    }
    type H = Hooked<Native, Watched<NoFault>>;
    run::<Shared, H>("shared");
    run::<PerCpu, H>("per-cpu");
    run::<PerNode, H>("per-node");
    run::<PerThread, H>("per-thread");
}

/// Shows why there are variants. On two nodes, one record per node keeps the lines from crossing
/// the link between the nodes.
#[test]
fn a_record_for_each_node_is_faster_than_a_shared_one_and_slower_than_one_for_each_cpu() {
    fn updates<V: Variant>() -> u64 {
        let machine = Machine::shipped("cascade-lake-2s24c2t").unwrap();
        let mut simulation = Simulation::new(&machine, 1);
        let statistics = simulation.setup(|| Statistics::<V, Queued, Simulated>::new().unwrap());
        let statistics = simulation.place(statistics, 64, 0);
        for place in [0, 1, 2, 3, 24, 25, 26, 27] {
            let statistics = statistics.clone();
            simulation.spawn(place, move || {
                while !lockyard_sim::stop_requested() {
                    statistics.update(&Counts::packet(1, 1, 0));
                    lockyard_sim::operation_done();
                }
            });
        }
        simulation.run_until(machine.cycles(20_000.0));
        let updates = simulation.operations().iter().sum();
        simulation.request_stop();
        assert!(matches!(simulation.run(), RunEnd::Finished));
        updates
    }
    let (shared, node, cpu) = (updates::<Shared>(), updates::<PerNode>(), updates::<PerCpu<96>>());
    println!("updates in 20 us by 8 threads on 2 nodes: {shared}, {node}, {cpu}");
    assert!(2 * shared < node && 2 * node < cpu, "{shared} {node} {cpu}");
}
