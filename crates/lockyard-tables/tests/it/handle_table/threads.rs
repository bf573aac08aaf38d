//! The handle table on real threads: places go from shard to shard, nothing is lost, and no thread
//! sees a dropped object.

use super::{Sleeping, Works};
use crate::support::Random;
use lockyard::lock::TestAndSet;
use lockyard::platform::Native;
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, Shared};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Two threads insert, and a third removes what they send it. Free slots go from its shard to the
/// depot, and to the others' shards. At any moment at most `LIMIT` objects are in the table: those
/// in the channel, one of each inserting thread, and the one being removed. So an insertion always
/// finds a place.
#[test]
fn a_place_is_found_wherever_it_is() {
    const CHANNEL: usize = 189;
    const LIMIT: u32 = CHANNEL as u32 + 3;
    const ROUNDS: u32 = 30_000;
    let table: lockyard_tables::LockedHandleTable<u32> = HandleTable::with_limit(LIMIT);
    thread::scope(|scope| {
        let (sender, handles) = mpsc::sync_channel(CHANNEL);
        for _ in 0..2 {
            let (table, sender) = (&table, sender.clone());
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let handle = table.insert(round).expect("there are free places");
                    sender.send(handle).expect("the other thread receives");
                }
            });
        }
        drop(sender);
        for handle in handles {
            assert!(table.remove(handle).is_some());
        }
    });
    assert!(table.is_empty());
}

/// While one thread inserts and another removes, through different shards, a third reads the
/// length.
#[test]
fn a_length_is_never_below_zero_or_above_the_limit() {
    const LIMIT: u32 = 4;
    const ROUNDS: u32 = 100_000;
    let table: lockyard_tables::LockedHandleTable<u32> = HandleTable::with_limit(LIMIT);
    let known = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                if let Ok(handle) = table.insert(round) {
                    known.store(handle.to_bits(), Ordering::Release);
                }
            }
            over.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                Handle::from_bits(known.load(Ordering::Acquire)).map(|known| table.remove(known));
            }
        });
        while !over.load(Ordering::Acquire) {
            assert!(table.len() <= LIMIT as usize, "{}", table.len());
        }
    });
    assert_eq!(table.len(), table.handles().count());
}

/// An object that counts its live instances and its visits, and is poisoned when it is dropped.
struct Tracked {
    alive: Arc<AtomicUsize>,
    number: AtomicUsize,
    visits: AtomicUsize,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
        self.number.store(usize::MAX, Ordering::Relaxed);
    }
}

/// Threads insert, look up and remove, also the objects of other threads, at random.
fn torture<A: Access<Native>>(limit: u32, kept: usize)
where
    HandleTable<Tracked, A, Native>: Works<Tracked>,
{
    const THREADS: usize = 3;
    const ROUNDS: usize = 3_000;
    let alive = Arc::new(AtomicUsize::new(0));
    let table = HandleTable::<Tracked, A, Native>::with_limit(limit);
    // Handles that all threads know, with the numbers of their objects.
    let known: Vec<[AtomicU64; 2]> = (0..kept).map(|_| Default::default()).collect();
    let (inserted, removed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, alive, known) = (&table, &alive, &known);
            let (inserted, removed) = (&inserted, &removed);
            scope.spawn(move || {
                let mut random = Random(thread as u64 + 1);
                for round in 0..ROUNDS {
                    let at = &known[random.below(kept as u64) as usize];
                    let handle = Handle::from_bits(at[0].load(Ordering::Acquire));
                    match random.below(4) {
                        0 => {
                            let number = thread * ROUNDS + round;
                            alive.fetch_add(1, Ordering::Relaxed);
                            let new = Tracked {
                                alive: Arc::clone(alive),
                                number: AtomicUsize::new(number),
                                visits: AtomicUsize::new(0),
                            };
                            if let Ok(handle) = table.insert(new) {
                                inserted.fetch_add(1, Ordering::Relaxed);
                                at[0].store(handle.to_bits(), Ordering::Release);
                            }
                        }
                        1 => {
                            if handle.is_some_and(|handle| table.discard(handle)) {
                                removed.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        _ => {
                            let Some(handle) = handle else { continue };
                            table.look(handle, |object| {
                                let number = object.number.load(Ordering::Relaxed);
                                object.visits.fetch_add(1, Ordering::Relaxed);
                                if round % 16 == 0 {
                                    thread::yield_now();
                                }
                                assert!(number < THREADS * ROUNDS, "it was dropped");
                                assert_eq!(object.number.load(Ordering::Relaxed), number);
                            });
                        }
                    }
                }
            });
        }
    });
    let left = inserted.load(Ordering::Relaxed) - removed.load(Ordering::Relaxed);
    assert_eq!((table.len(), table.collect()), (left, 0));
    assert_eq!(alive.load(Ordering::Relaxed), left, "nothing is lost");
    let handles: Vec<Handle> = table.handles().collect();
    let numbers: HashSet<usize> = handles
        .iter()
        .filter_map(|&handle| table.look(handle, |object| object.number.load(Ordering::Relaxed)))
        .collect();
    assert_eq!((handles.len(), numbers.len()), (left, left));
    assert!(handles.into_iter().all(|handle| table.discard(handle)));
    assert_eq!((table.len(), table.collect(), alive.load(Ordering::Relaxed)), (0, 0, 0));
}

#[test]
fn threads_lose_nothing_and_nobody_sees_a_dropped_object() {
    for (limit, kept) in [(1, 1), (4, 8), (100, 64), (1_000, 64)] {
        torture::<Shared>(limit, kept);
        torture::<Sleeping>(limit, kept);
        torture::<Exclusive<TestAndSet>>(limit, kept);
    }
}

#[test]
fn exclusive_objects_are_changed_by_one_thread_at_a_time() {
    const ROUNDS: u64 = 5_000;
    let table: lockyard_tables::LockedHandleTable<[u64; 2]> = HandleTable::new();
    let handles: Vec<Handle> = (0..4).map(|_| table.insert([0; 2]).unwrap()).collect();
    thread::scope(|scope| {
        for thread in 0..3 {
            let (table, handles) = (&table, &handles);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut entry = table.lock(handles[(thread + round) as usize % 4]).unwrap();
                    entry[0] += 1;
                    std::hint::spin_loop();
                    entry[1] += 1;
                    assert_eq!(entry[0], entry[1]);
                }
            });
        }
    });
    let mut sum = 0;
    table.for_each(|handle, counts| {
        assert!(handles.contains(&handle));
        counts[1] = 0;
        sum += counts[0];
    });
    assert_eq!(sum, 3 * ROUNDS);
    assert!(handles.iter().all(|&handle| table.lock(handle).unwrap().remove()[1] == 0));
}
