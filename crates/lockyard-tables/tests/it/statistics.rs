//! Per-node statistics on real threads, bounded by operations: no variant loses a count while
//! others read and clear.

use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::statistics::{PerCpu, PerNode, Shared, Statistics, Variant};
use lockyard_tables::{AllocationFailed, Counts};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: usize = 4;
const ROUNDS: u64 = 3_000;

/// Lets threads update at changing places while one thread reads, and one clears.
fn loses_nothing<V: Variant>(name: &str) -> Result<(), AllocationFailed> {
    let statistics = Statistics::<V, Queued, Native>::new()?;
    let taken = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 0..THREADS {
            let statistics = &statistics;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    let counts = Counts::packet(7, round, 1 << me);
                    match round % 3 {
                        0 => statistics.update(&counts),
                        1 => statistics.update_at(me, &counts),
                        _ => statistics.update_at(round as usize, &counts),
                    }
                    if round % 64 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..ROUNDS / 10 {
                let sum = statistics.read();
                assert_eq!(sum.bytes, 7 * sum.packets, "{name}: a record is not torn");
                assert!(sum.last_used <= ROUNDS && sum.flags < 1 << THREADS);
                thread::yield_now();
            }
        });
        scope.spawn(|| {
            for _ in 0..ROUNDS / 20 {
                taken.fetch_add(statistics.take().packets, Ordering::Relaxed);
                thread::yield_now();
            }
        });
    });
    let sum = statistics.read();
    assert_eq!(sum.packets + taken.into_inner(), THREADS as u64 * ROUNDS, "{name}");
    Ok(())
}

#[test]
fn every_variant_counts_what_was_counted() {
    loses_nothing::<Shared>("shared").unwrap();
    loses_nothing::<PerCpu<2>>("per-cpu, shared by slots").unwrap();
    loses_nothing::<PerCpu>("per-cpu").unwrap();
    loses_nothing::<PerNode<1>>("per-node, one record").unwrap();
    loses_nothing::<PerNode>("per-node").unwrap();
}

#[test]
fn bytes_are_what_the_table_in_the_documentation_says() {
    let cpus = Statistics::<PerCpu, Queued, Native>::new().unwrap();
    assert_eq!((cpus.records(), cpus.bytes()), (64, 8 + 64 * 64));
    let shared = Statistics::<Shared, Queued, Native>::new().unwrap();
    assert_eq!((shared.records(), shared.bytes()), (1, 64));
    let nodes = Statistics::<PerNode, Queued, Native>::new().unwrap();
    for (node, records) in [(3, 1), (3, 1), (0, 1), (3, 2), (5, 3), (5, 3), (11, 3), (4, 4)] {
        nodes.update_at(node, &Counts::packet(1, 1, 0));
        assert_eq!((nodes.records(), nodes.bytes()), (records, 8 + 64 + 64 * records), "{node}");
    }
    assert_eq!(nodes.read().packets, 8);
}

#[test]
fn counts_wrap_and_clearing_keeps_the_records() {
    let statistics: lockyard_tables::Statistics = Statistics::new().unwrap();
    statistics.update_at(0, &Counts { packets: u64::MAX, bytes: u64::MAX, last_used: 9, flags: 1 });
    statistics.update_at(1, &Counts { packets: 2, bytes: 3, last_used: 4, flags: 2 });
    assert_eq!(statistics.take(), Counts { packets: 1, bytes: 2, last_used: 9, flags: 3 });
    assert_eq!(statistics.read(), Counts::default());
    assert_eq!(statistics.records(), 2);
}
