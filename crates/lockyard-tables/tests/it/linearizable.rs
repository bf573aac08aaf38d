//! A thread sees the changes of others, and nothing else: look-ups and readings concurrent with
//! changes, on real threads.
//!
//! Every operation takes effect at one moment between its call and its return. The tests check this
//! in simple cases. A writer records the contents before and after each change. A reader that finds
//! the same record before and after a look-up knows the correct result of the look-up. Of a sum it
//! knows the bounds. The tests are bounded by operations, not by time.

use lockyard::Native;
use lockyard::lock::{Queued, TestAndSet};
use lockyard_tables::Counts;
use lockyard_tables::connections::{self, Bits, ConnectionTable, LookUp, NEVER, Tuple};
use lockyard_tables::handle_table::{Handle, HandleTable};
use lockyard_tables::id_table::{self, IdTable};
use lockyard_tables::statistics::{PerCpu, PerNode, PerThread, Shared, Statistics, Variant};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The history of an object that comes and goes, in four phases. The object does not change in even
/// phases.
struct History(AtomicU64);

impl History {
    /// Runs `change`, which inserts or removes the object.
    fn changes(&self, change: impl FnOnce()) {
        self.0.fetch_add(1, Ordering::SeqCst);
        change();
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Calls `look`, which returns the object found; returns true if no change overlapped the
    /// look-up.
    fn looks(&self, look: impl FnOnce() -> Option<u64>) -> bool {
        let before = self.0.load(Ordering::SeqCst);
        let found = look();
        let after = self.0.load(Ordering::SeqCst);
        // At first the object is absent. A present object holds the index of the phase where it
        // was inserted.
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
    // The lock is first come, first served. On a machine with fewer CPUs than threads, every
    // hand-over may cost a time slice.
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
            // The object is gone for good.
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
    // The lowest identifier is always free for the object that comes and goes: the noise uses
    // higher ones.
    let kept: Vec<u32> = (0..8).map(|_| table.insert(0).unwrap()).collect();
    assert_eq!(table.remove(kept[0]), Some(0));
    let phase = AtomicU64::new(0);
    beside_each_other(
        |history| {
            history.changes(|| {
                // While the noise has no object, the lowest identifier is 0; otherwise the noise
                // has it for a moment.
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
        // An object that belongs to the noise for a moment is not the wanted one.
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

#[test]
fn a_handle_is_found_from_its_insertion_to_its_removal() {
    let table: lockyard_tables::HandleTable<u64> = HandleTable::with_limit(4);
    let locked: lockyard_tables::LockedHandleTable<u64> = HandleTable::with_limit(4);
    // The handles of the object that comes and goes, known before the object is there.
    let (known, known_locked) = (AtomicU64::new(0), AtomicU64::new(0));
    let phase = AtomicU64::new(0);
    let handle = |known: &AtomicU64| Handle::from_bits(known.load(Ordering::SeqCst));
    beside_each_other(
        |history| {
            // A place may be kept by removed objects that wait for the reader.
            let place = loop {
                match table.vacant_entry() {
                    Ok(place) => break place,
                    Err(_) => thread::yield_now(),
                }
            };
            known.store(place.handle().to_bits(), Ordering::SeqCst);
            history.changes(|| {
                place.insert(phase.fetch_add(4, Ordering::Relaxed) + 1);
            });
            history.changes(|| assert!(table.remove(handle(&known).unwrap())));
        },
        || table.get(handle(&known)?).map(|number| *number),
        |step| {
            if let Ok(other) = table.insert(u64::MAX) {
                assert_eq!(table.get(other).as_deref(), Some(&u64::MAX), "{step}");
                assert!(table.remove(other));
            }
        },
    );
    phase.store(0, Ordering::Relaxed);
    beside_each_other(
        |history| {
            let place = locked.vacant_entry().expect("places are free at once");
            known_locked.store(place.handle().to_bits(), Ordering::SeqCst);
            history.changes(|| {
                place.insert(phase.fetch_add(4, Ordering::Relaxed) + 1);
            });
            history.changes(|| assert!(locked.remove(handle(&known_locked).unwrap()).is_some()));
        },
        || locked.lock(handle(&known_locked)?).map(|number| *number),
        |_| {
            let other = locked.insert(u64::MAX).expect("places are free at once");
            assert_eq!(locked.remove(other), Some(u64::MAX));
        },
    );
    assert_eq!((table.len(), locked.len()), (0, 0));
}

fn tuple(number: u64) -> Tuple {
    let end = |last, port| (Ipv4Addr::new(10, 0, 0, last).into(), port);
    Tuple { protocol: 6, source: end(1, number as u16), destination: end(2, 80) }
}

fn connections_in<P: LookUp<Native>>(bits: Bits) {
    let table = ConnectionTable::<u64, P>::with_bits(bits, None);
    // Other connections in the same chains, some in front and some behind.
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

/// A reading includes everything counted before it began, and nothing that began after its end.
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
                    let counts = Counts::packet(3, round, 0);
                    if round % 2 == 0 {
                        statistics.update_at(me + round as usize / 64, &counts);
                    } else {
                        statistics.update(&counts);
                    }
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
            let whole = sum.bytes == 3 * sum.packets || !V::TOGETHER;
            assert!(sum.packets >= before && whole, "{name}: {sum:?}");
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
    sums::<PerThread>("per-thread");
}
