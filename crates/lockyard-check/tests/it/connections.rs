//! Checks of the connection table: under weak memory, on a simulated machine, and with every
//! allocation failing in turn. Look-ups run with a lock and without.

use lockyard::lock::{Queued, TestAndSet};
use lockyard::platform::Native;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{model, native, simulated, verdict};
use lockyard_check::controls::DoesNotExclude;
use lockyard_check::explore::{Bounds, explore};
use lockyard_check::hooks::{NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::ConnOp::{self, Expire, Insert, InsertRemove, Remove, Renew};
use lockyard_check::program::ConnProgram;
use lockyard_check::ration::{self, Rationed};
use lockyard_sim::Simulated;
use lockyard_tables::connections::{
    Bits, ConnectionTable, Locked, LookUp, NEVER, Rcu, Refused, Seed, Tuple, Why,
};
use std::net::Ipv4Addr;
use std::sync::Arc;

type Model = Hooked<Checked, Scripted>;
type Threads = Hooked<Native, Watched<NoFault>>;

/// The checked operations. Connections 0 and 1 are in the table at first (1 in front of 0), and
/// connection 2 is not.
const OPS: [ConnOp; 9] = [
    ConnOp::LookUp(0),
    ConnOp::LookUp(1),
    Insert(2),
    InsertRemove(2),
    Remove(0),
    Remove(1),
    Renew(0),
    Renew(1),
    Expire,
];

fn reason(a: ConnOp, b: ConnOp) -> Option<&'static str> {
    let looks = |op| matches!(op, ConnOp::LookUp(_));
    (looks(a) && looks(b)).then_some("look-ups change nothing but counts of references")
}

fn all_pairs<P: LookUp<Model>>(title: &str, preemptions: usize) {
    check_pairs(title, &OPS, reason, |ops| {
        must_hold::<ConnProgram<P, Model, 2>>(title, ops, Bounds::preemptions(preemptions))
            .executions
    });
}

fn threes<P: LookUp<Model>>(title: &str, preemptions: usize) {
    for ops in [
        [ConnOp::LookUp(0), Remove(0), Remove(1)],
        [ConnOp::LookUp(0), Remove(1), Insert(2)],
        [ConnOp::LookUp(0), InsertRemove(2), Remove(1)],
        [ConnOp::LookUp(2), Insert(2), Remove(1)],
        [ConnOp::LookUp(1), Remove(1), Insert(1)],
        [Renew(0), Expire, ConnOp::LookUp(0)],
        [Renew(0), Expire, Remove(0)],
        [Expire, Expire, ConnOp::LookUp(1)],
        [Insert(2), Insert(2), Remove(2)],
    ] {
        must_hold::<ConnProgram<P, Model, 2>>(title, &ops, Bounds::preemptions(preemptions));
    }
}

#[test]
fn every_pair_of_operations_on_a_chain_behind_its_lock_holds() {
    all_pairs::<Locked<TestAndSet>>("connections, locked", 3);
}

#[test]
fn every_pair_of_operations_on_a_chain_that_is_walked_without_a_lock_holds() {
    all_pairs::<Rcu<TestAndSet>>("connections, rcu", 2);
}

#[test]
fn three_threads_on_a_chain_that_is_walked_without_a_lock_hold() {
    threes::<Rcu<TestAndSet>>("connections, rcu", 1);
}

#[test]
fn three_threads_on_a_chain_behind_its_lock_hold() {
    threes::<Locked<TestAndSet>>("connections, locked", 2);
    let four = [ConnOp::LookUp(0), Remove(1), Insert(2), Expire];
    must_hold::<ConnProgram<Locked<TestAndSet>, Model, 2>>(
        "connections, locked",
        &four,
        Bounds::preemptions(1),
    );
}

#[test]
fn a_chain_behind_the_queued_lock_holds() {
    for ops in [[ConnOp::LookUp(0), Remove(0)], [Insert(2), Insert(2)], [Renew(0), Expire]] {
        let title = "connections, queued";
        must_hold::<ConnProgram<Locked<Queued>, Model, 2>>(title, &ops, Bounds::preemptions(3));
    }
}

/// Shows that the checks can fail.
#[test]
fn a_chain_behind_a_lock_that_does_not_exclude_is_noticed() {
    type Wrong = ConnProgram<Locked<DoesNotExclude>, Model, 2>;
    for ops in [[Insert(2), Insert(2)], [Remove(0), Remove(1)], [ConnOp::LookUp(0), Remove(0)]] {
        let found = verdict(model::<Wrong>(&ops, Bounds::preemptions(3)));
        println!("{ops:?}: {:?}", found.caught);
        assert!(found.caught.is_some(), "{ops:?}");
    }
}

fn tuple(number: u32) -> Tuple {
    let end = |last, port| (Ipv4Addr::new(10, 0, (number >> 16) as u8, last).into(), port);
    Tuple { protocol: 17, source: end(1, number as u16), destination: end(2, 53) }
}

/// Two threads create the buckets and insert, in every order. Nothing leaks, and only one array is
/// allocated.
#[test]
fn two_first_insertions_make_the_buckets_once() {
    type H = Hooked<Checked, Rationed>;
    type Table = ConnectionTable<u32, Locked<TestAndSet>, H>;
    let explored = explore(2, Bounds::ALL, || {
        Checked::begin();
        ration::begin();
        let table = Arc::new(Table::with_bits(Bits::MIN, Some(Seed::new(1))));
        let other = Arc::clone(&table);
        let thread = loom::thread::spawn(move || {
            assert!(other.insert(&tuple(1), 1, NEVER).is_ok());
        });
        assert!(table.insert(&tuple(2), 2, NEVER).is_ok());
        let late = table.set_bits(Bits::DEFAULT).expect_err("it is too late");
        assert_eq!(late.bits, Bits::MIN);
        thread.join().unwrap();
        assert_eq!((table.len(), ration::asked()), (2, 3));
        drop(table);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
    });
    println!("{}", explored.unwrap());
}

/// The bits are chosen before the first insertion or not at all, even if both happen at the same
/// time.
#[test]
fn a_choice_that_races_with_the_first_insertion_counts_or_is_refused() {
    type Table = ConnectionTable<u32, Locked<TestAndSet>, Model>;
    let chosen = Bits::new(2).unwrap();
    let explored = explore(2, Bounds::ALL, move || {
        Checked::begin();
        ration::begin();
        let table = Arc::new(Table::with_bits(Bits::MIN, Some(Seed::new(1))));
        let other = Arc::clone(&table);
        let thread = loom::thread::spawn(move || other.set_bits(chosen).is_ok());
        assert!(table.insert(&tuple(2), 2, NEVER).is_ok());
        let counts = thread.join().unwrap();
        assert_eq!(table.bits(), if counts { chosen } else { Bits::MIN });
    });
    println!("{}", explored.unwrap());
}

/// Every allocation of a run fails in turn. The insertion is then refused, returns its value, and
/// changes nothing.
fn whichever_allocation_fails<P: LookUp<Hooked<Native, Rationed>>>() {
    type H = Hooked<Native, Rationed>;
    let run = |failing: u64| {
        ration::begin();
        ration::fail_after(failing);
        let table = ConnectionTable::<Vec<u32>, P, H>::with_bits(Bits::MIN, Some(Seed::new(3)));
        let mut refused = 0;
        for number in 0..20 {
            let before = table.len();
            match table.insert(&tuple(number), vec![number], u64::from(number)) {
                Ok(new) => assert_eq!(*new, [number]),
                Err(Refused { value, why }) => {
                    assert!(matches!(why, Why::NoMemory));
                    assert_eq!((value, table.len()), (vec![number], before));
                    assert!(table.look_up(&tuple(number)).is_none());
                    refused += 1;
                }
            }
            if number % 3 == 0 {
                let there = table.remove(&tuple(number / 2));
                assert!(there.is_none_or(|there| *there == [number / 2]));
            }
        }
        table.expire(10, usize::MAX, |gone| assert!(gone[0] <= 10));
        let made = table.get_or_insert_with(&tuple(1), NEVER, || vec![1]);
        refused += u64::from(made.is_err());
        drop(made);
        drop(table);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
        (ration::asked(), refused)
    };
    let (allocations, refused) = run(u64::MAX / 2);
    println!("{allocations} allocations");
    assert_eq!(refused, 0);
    for failing in 0..allocations {
        assert!(run(failing).1 <= 1, "one allocation fails, one insertion is refused");
    }
}

#[test]
fn whichever_allocation_fails_the_table_is_as_it_was() {
    whichever_allocation_fails::<Locked>();
    whichever_allocation_fails::<Rcu>();
}

fn in_any_order<P: LookUp<Simulated> + LookUp<Threads>>(title: &str) {
    for ops in [
        [ConnOp::LookUp(0), Remove(1), Insert(1), Insert(2)],
        [ConnOp::LookUp(2), InsertRemove(2), InsertRemove(2), Remove(0)],
        [Renew(0), Expire, Insert(0), ConnOp::LookUp(0)],
    ] {
        let found = simulated::<ConnProgram<P, Simulated, 2>>(&ops, 30, 10);
        assert!(found.caught.is_none(), "{title} {ops:?}: {found:?}");
        let found = native::<ConnProgram<P, Threads, 2>>(&ops, 500, 10);
        assert!(found.caught.is_none(), "{title} {ops:?}: {found:?}");
    }
}

#[test]
fn simulated_and_native_threads_hold_in_any_order() {
    in_any_order::<Locked>("connections, locked");
    in_any_order::<Rcu>("connections, rcu");
}
