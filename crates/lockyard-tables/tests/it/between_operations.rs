//! Actions of other threads while a look-up is stopped between two of its operations.

#![cfg(feature = "hooks")]

use crate::support::between::{Host, after_next};
use lockyard::platform::hooked::OperationKind;
use lockyard_tables::connections::{Bits, ConnectionTable, Rcu, Tuple};
use lockyard_tables::id_table::{self, IdTable};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

fn connection(number: u32) -> Tuple {
    let end = |address: u32, port| (Ipv4Addr::from_bits(address).into(), port);
    Tuple {
        protocol: 6,
        source: end(0x0a00_0000 | number, 1024),
        destination: end(0xc000_0207, 80),
    }
}

/// A value that counts its live instances.
struct Alive(&'static AtomicU32);

impl Alive {
    fn new(counter: &'static AtomicU32) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Alive(counter)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `beside` while a thread is stopped in the middle of `look_up`, inside the table's domain.
fn beside_a_stopped_look_up(look_up: impl FnOnce() + Send, beside: impl FnOnce()) {
    let (stopped, go_on): (&'static AtomicBool, &'static AtomicBool) =
        (Box::leak(Box::default()), Box::leak(Box::default()));
    let until = |flag: &AtomicBool| {
        while !flag.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            // The first fence of a look-up is the one for entering.
            after_next(OperationKind::Fence, move || {
                stopped.store(true, Ordering::Relaxed);
                until(go_on);
            });
            look_up();
        });
        until(stopped);
        beside();
        go_on.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_look_up_that_never_ends_holds_memory_of_connections_back_and_nothing_else() {
    const GONE: u32 = 1_000;
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    let table = ConnectionTable::<Alive, Rcu, Host>::with_bits(Bits::MIN, None);
    let insert = |number| drop(table.insert(&connection(number), Alive::new(&ALIVE), 5).unwrap());
    insert(0);
    beside_a_stopped_look_up(
        || assert!(table.look_up(&connection(0)).is_some()),
        || {
            for number in 1..=GONE {
                insert(number);
                assert!(table.look_up(&connection(number)).is_some(), "others look up");
                if number % 2 == 0 {
                    assert!(table.remove(&connection(number)).is_some());
                }
            }
            assert_eq!(table.waiting(), u64::from(GONE / 2), "the table reports the waiting ones");
            let renewed = table.look_up(&connection(0)).is_some_and(|(found, _)| found.renew(6));
            assert!(renewed);
            assert_eq!(table.expire(5, usize::MAX, |_| ()), GONE as usize / 2);
            assert_eq!(table.waiting(), u64::from(GONE), "nothing is freed under it");
            assert_eq!(ALIVE.load(Ordering::Relaxed), 1, "values are still dropped");
        },
    );
    // The look-up has continued, and after a few more retirements everything is freed.
    for _ in 0..4 {
        insert(1);
        assert_eq!(table.expire(5, usize::MAX, |_| ()), 1);
    }
    assert!(table.waiting() <= 3, "{} wait", table.waiting());
    drop(table);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn a_look_up_that_never_ends_holds_memory_of_identifiers_back_and_nothing_else() {
    const GONE: u32 = 1_000;
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    let table: IdTable<Alive, id_table::Rcu, Host> = IdTable::new();
    assert_eq!(table.insert(Alive::new(&ALIVE)).ok(), Some(0));
    beside_a_stopped_look_up(
        || assert!(table.lock(0).is_some()),
        || {
            for _ in 0..GONE {
                assert_eq!(
                    table.insert(Alive::new(&ALIVE)).ok(),
                    Some(1),
                    "identifiers are free at once"
                );
                assert!(table.lock(0).is_some() && table.remove(1).is_some());
            }
            assert_eq!(
                table.domain().pending(),
                u64::from(GONE),
                "the table reports the waiting ones"
            );
            assert!(table.domain().try_synchronize(3).is_err());
            assert_eq!(ALIVE.load(Ordering::Relaxed), 1, "objects are the remover's");
        },
    );
    table.domain().barrier();
    assert_eq!(table.domain().pending(), 0);
}
