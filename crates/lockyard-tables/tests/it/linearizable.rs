//! A thread sees what others have done, and nothing else: look-ups and readings beside changes, on
//! real threads.
//!
//! Every operation happens at one moment between its call and its return. That is checked in simple
//! cases. A writer notes before and after each change what is there. A reader that finds the same
//! note before and after a look-up knows what the look-up must find. Of a sum it knows the bounds.
//! The tests are bounded by operations, not by time.

use lockyard::Native;
use lockyard::lock::{Queued, TestAndSet};
use lockyard_tables::Counts;
use lockyard_tables::connections::{self, Bits, ConnectionTable, LookUp, NEVER, Tuple};
use lockyard_tables::id_table::{self, IdTable};
use lockyard_tables::statistics::{PerCpu, PerNode, Shared, Statistics, Variant};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The history of a thing that comes and goes, in four phases, of which the even ones are quiet.
struct History(AtomicU64);

impl History {
    /// Runs `change`, which brings the thing or takes it away.
    fn changes(&self, change: impl FnOnce()) {
        self.0.fetch_add(1, Ordering::SeqCst);
        change();
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Looks by `look`, which returns what is there; returns true if it was a look between two
    /// changes.
    fn looks(&self, look: impl FnOnce() -> Option<u64>) -> bool {
        let before = self.0.load(Ordering::SeqCst);
        let found = look();
        let after = self.0.load(Ordering::SeqCst);
        // At first it is not there. A thing that is there has the number of the phase in which it
        // came.
        if before != after || !before.is_multiple_of(2) {
            if let Some(number) = found {
                assert!(number <= after && number + 3 >= before, "{number} in {before}..{after}");
            }
            return false;
        }
        let expected = (before % 4 == 2).then(|| before - 1);
        assert_eq!(found, expected, "in phase {before}");
        true
    }
}

/// One thread changes, one looks, and one makes noise, until the changes are done.
fn beside_each_other(
    change: impl Fn(&History) + Sync,
    look: impl Fn() -> Option<u64> + Sync,
    noise: impl Fn(u64) + Sync,
) {
    // First come, first served, on a machine with fewer CPUs than threads: every hand-over may cost
    // a turn of the scheduler.
    const CHANGES: u64 = 10_000;
    let history = History(AtomicU64::new(0));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (history, over, change, look, noise) = (&history, &over, &change, &look, &noise);
        scope.spawn(move || {
            for round in 0..CHANGES {
                change(history);
                if round % 4 == 0 {
                    thread::yield_now();
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        let looker = scope.spawn(move || {
            let mut quiet = 0;
            while !over.load(Ordering::Relaxed) {
                quiet += u64::from(history.looks(look));
                thread::yield_now();
            }
            // It is gone for good.
            assert!(history.looks(look));
            quiet
        });
        scope.spawn(move || {
            let mut step = 0;
            while !over.load(Ordering::Relaxed) {
                noise(step);
                step += 1;
                thread::yield_now();
            }
        });
        println!("{} looks between two changes", looker.join().unwrap());
    });
    assert_eq!(history.0.into_inner(), 4 * CHANGES);
}

fn identifiers<V: id_table::Variant>() {
    let table: IdTable<u64, V, Native> = IdTable::new();
    // The lowest identifier is always free for the one that comes and goes: the noise is above it.
    let kept: Vec<u32> = (0..8).map(|_| table.insert(0).unwrap()).collect();
    assert_eq!(table.remove(kept[0]), Some(0));
    let phase = AtomicU64::new(0);
    beside_each_other(
        |history| {
            history.changes(|| {
                // While the noise has none, the lowest is 0; otherwise somebody else has it for a
                // moment.
                let number = phase.fetch_add(4, Ordering::Relaxed) + 1;
                while let Ok(id) = table.insert(number) {
                    if id == 0 {
                        break;
                    }
                    assert_eq!(table.remove(id), Some(number));
                }
            });
            history.changes(|| assert!(table.remove(0).is_some()));
        },
        // An object that the noise has for a moment is not the wanted one.
        || table.lock(0).map(|entry| *entry).filter(|&number| number != u64::MAX),
        |step| {
            if let Ok(id) = table.insert(u64::MAX) {
                assert_eq!(table.remove(id), Some(u64::MAX), "nobody else has it");
            }
            assert_eq!(table.lock(kept[1 + step as usize % 7]).as_deref(), Some(&0));
        },
    );
    assert_eq!(table.len(), 7);
}

#[test]
fn an_identifier_is_found_from_its_insertion_to_its_removal() {
    identifiers::<id_table::Rcu>();
    identifiers::<id_table::Locked>();
}

fn tuple(number: u64) -> Tuple {
    let end = |last, port| (Ipv4Addr::new(10, 0, 0, last).into(), port);
    Tuple { protocol: 6, source: end(1, number as u16), destination: end(2, 80) }
}

fn connections_in<P: LookUp<Native>>(bits: Bits) {
    let table = ConnectionTable::<u64, P>::with_bits(bits, None);
    // Others in the same chains, some in front of it and some behind.
    for number in 1..4 {
        assert!(table.insert(&tuple(number), 0, NEVER).is_ok());
    }
    let phase = AtomicU64::new(0);
    beside_each_other(
        |history| {
            history.changes(|| {
                let number = phase.fetch_add(4, Ordering::Relaxed) + 1;
                assert!(table.insert(&tuple(0), number, NEVER).is_ok());
            });
            history.changes(|| assert!(table.remove(&tuple(0)).is_some()));
        },
        || table.look_up(&tuple(0).reversed()).map(|(found, _)| *found),
        |step| {
            let mine = tuple(4 + step % 2);
            if let Ok(new) = table.insert(&mine, u64::MAX, NEVER) {
                new.remove();
            }
            let (found, _) = table.look_up(&tuple(1 + step % 3)).expect("it is always there");
            assert_eq!(*found, 0);
        },
    );
}

#[test]
fn a_connection_is_found_from_its_insertion_to_its_removal() {
    for bits in [1, 6] {
        let bits = Bits::new(bits).unwrap();
        connections_in::<connections::Rcu<TestAndSet>>(bits);
        connections_in::<connections::Locked<TestAndSet>>(bits);
    }
}

/// A reading has all that was counted before it began, and nothing that began after its end.
fn sums<V: Variant>(name: &str) {
    const ROUNDS: u64 = 4_000;
    const THREADS: usize = 3;
    let statistics = Statistics::<V, Queued, Native>::new().unwrap();
    let (begun, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let running = AtomicU64::new(THREADS as u64);
    thread::scope(|scope| {
        for me in 0..THREADS {
            let (statistics, begun, ended, running) = (&statistics, &begun, &ended, &running);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    begun.fetch_add(1, Ordering::SeqCst);
                    statistics.update_at(me + round as usize / 64, &Counts::packet(3, round, 0));
                    ended.fetch_add(1, Ordering::SeqCst);
                    if round % 64 == 0 {
                        thread::yield_now();
                    }
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut before = 0;
        while running.load(Ordering::SeqCst) > 0 {
            let least = ended.load(Ordering::SeqCst);
            let sum = statistics.read();
            let most = begun.load(Ordering::SeqCst);
            assert!((least..=most).contains(&sum.packets), "{name}: {least}..{most}: {sum:?}");
            assert!(sum.packets >= before && sum.bytes == 3 * sum.packets, "{name}: {sum:?}");
            before = sum.packets;
            thread::yield_now();
        }
    });
    assert_eq!(statistics.read().packets, THREADS as u64 * ROUNDS, "{name}");
}

#[test]
fn a_reading_has_what_was_counted_before_it_and_nothing_from_after() {
    sums::<Shared>("shared");
    sums::<PerCpu<4>>("per-cpu");
    sums::<PerNode<4>>("per-node");
}
