//! Per-node statistics on real threads, bounded by operations: no variant loses a count while
//! others read and clear.

use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::statistics::{
    Counters, Kind, PerCpu, PerNode, PerThread, Record, Shared, Statistics, Variant,
};
use lockyard_tables::{AllocationFailed, Counts, ThreadStatistics, counters};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::failing::Failing;
use crate::support::{NoPreemption, OFF};
type Counted = crate::support::Counted<3>;

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
                let whole = sum.bytes == 7 * sum.packets;
                assert!(whole || !V::TOGETHER, "{name}: a record is torn: {sum:?}");
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
    loses_nothing::<PerThread>("per-thread").unwrap();
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
    // A record of 64 bytes for threads without one, and one for each of the first slots.
    Counted::counting(|| {
        let threads = Statistics::<PerThread, Queued, Counted>::new().unwrap();
        assert_eq!((threads.records(), threads.bytes()), (1, 256));
        let before = Counted::bytes();
        threads.update(&Counts::packet(1, 1, 0));
        let group = (Counted::bytes() - before) as usize;
        assert!(group.is_power_of_two() && group >= 512, "8, 16, ... records of 64 bytes");
        assert_eq!((threads.records(), threads.bytes()), (1 + group / 64, 256 + group));
    });
}

counters! {
    /// More counters than a line has words.
    struct Many {
        a, b,
        /// A maximum.
        c: max,
        d: union, e, f, g, h, i: max, j, k,
    }
}

#[test]
fn a_record_of_counters_has_them_in_their_order_with_their_kinds() {
    let mut one = Many::from_counters(|index| index as u64 + 1);
    assert_eq!((one.a, one.b, one.c, one.k), (1, 2, 3, 11));
    assert!((0..11).all(|index| one.counter(index) == index as u64 + 1));
    assert_eq!(Many::KINDS[..4], [Kind::Sum, Kind::Sum, Kind::Max, Kind::Union]);
    let other = Many { a: u64::MAX, c: 1, d: 3, i: 100, ..Many::default() };
    one.merge(&other);
    assert_eq!((one.a, one.b, one.c, one.d, one.i), (0, 2, 3, 7, 100));
}

/// Random updates by several threads, one after another, beside a simple sum.
fn agrees_with_a_sum<V: Variant<Many>>(name: &str) {
    let mut random = 1_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 20
    };
    let all = Statistics::<V, Queued, Native, lockyard::NoContext, Many>::new().unwrap();
    let mut sum = Many::default();
    for round in 0..20 {
        thread::scope(|scope| {
            let (all, sum, next) = (&all, &mut sum, &mut next);
            scope.spawn(move || {
                for step in 0..20 {
                    let more = Many::from_counters(|_| next());
                    if step % 3 == 0 {
                        all.update_at(step, &more);
                    } else {
                        all.update(&more);
                    }
                    sum.merge(&more);
                    assert_eq!(all.read(), *sum, "{name}");
                }
            });
        });
        if round % 4 == 0 {
            assert_eq!(all.take(), sum, "{name}");
            // Without locks, a maximum and a union stay.
            let cleared = |kind| kind == Kind::Sum || V::TOGETHER;
            let left = |index| if cleared(Many::KINDS[index]) { 0 } else { sum.counter(index) };
            sum = Many::from_counters(left);
            assert_eq!(all.read(), sum, "{name}");
        }
    }
}

#[test]
fn any_record_is_summed_by_every_variant() {
    agrees_with_a_sum::<Shared>("shared");
    agrees_with_a_sum::<PerCpu<3>>("per-cpu");
    agrees_with_a_sum::<PerNode<3>>("per-node");
    agrees_with_a_sum::<PerThread>("per-thread");
}

#[test]
fn a_thread_without_a_slot_or_without_memory_is_counted_too() {
    Counted::counting(|| {
        let all = Statistics::<PerThread, Queued, Counted>::new().unwrap();
        let packet = Counts::packet(3, 5, 1);
        Failing::without_slot(|| all.update(&packet));
        let (_, failed) = Failing::after(0, || all.update(&packet));
        assert!(failed && all.records() == 1);
        all.update(&packet);
        assert!(all.records() > 8, "the next update has memory");
        assert_eq!(all.read(), Counts { packets: 3, bytes: 9, last_used: 5, flags: 1 });
        let (none, failed) = Failing::after(0, Statistics::<PerThread, Queued, Counted>::new);
        assert!(failed && none.is_err());
    });
}

#[test]
fn threads_that_come_and_go_and_use_slots_again_lose_nothing() {
    let all: ThreadStatistics<Many> = Statistics::new().unwrap();
    for round in 1..=50 {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        all.update(&Many { a: 1, k: 2, ..Many::default() });
                    }
                });
            }
        });
        let sum = all.read();
        assert_eq!((sum.a, sum.k), (300 * round, 600 * round));
    }
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

/// A record whose sum must not exceed a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Limited(u64);

impl Limited {
    const MOST: u64 = 10;

    fn checked(self) -> u64 {
        assert!(self.0 <= Self::MOST, "more than the limit");
        self.0
    }
}

impl Record for Limited {
    fn merge(&mut self, other: &Self) {
        self.0 = Limited(self.0 + other.0).checked();
    }
}

impl Counters for Limited {
    const KINDS: &'static [Kind] = &[Kind::Sum];
    fn counter(&self, _: usize) -> u64 {
        self.checked()
    }
    fn from_counters(mut counter: impl FnMut(usize) -> u64) -> Self {
        Limited(Limited(counter(0)).checked())
    }
}

/// Lets a record's own code panic in each operation, and checks that no lock stays held and that
/// no context stays entered.
fn goes_on_after_a_panic<V: Variant<Limited>>(name: &str) {
    let fails = |operation: &mut dyn FnMut()| {
        assert!(catch_unwind(AssertUnwindSafe(operation)).is_err(), "{name}: no panic");
        // Before the next operation, which would wait for a lock that is held.
        assert_eq!(OFF.get(), 0, "{name}: a lock stays held, or a context entered");
    };
    let all = Statistics::<V, Queued, Native, NoPreemption, Limited>::new().unwrap();
    all.update_at(0, &Limited(7));
    all.update_at(1, &Limited(1));
    fails(&mut || all.update(&Limited(20)));
    fails(&mut || {
        // With a record for each place the sum is too large for a reader, not for an update.
        for place in 0..4 {
            all.update_at(place, &Limited(5));
        }
        all.read();
    });
    fails(&mut || {
        for _ in 0..2 {
            all.update(&Limited(Limited::MOST));
        }
        all.read();
    });
    fails(&mut || {
        all.update_at(0, &Limited(Limited::MOST));
        all.take();
    });
    while catch_unwind(AssertUnwindSafe(|| all.take())).is_err() {
        if V::TOGETHER {
            continue;
        }
        // Without locks nothing is cleared.
        return assert_eq!(OFF.get(), 0, "{name}");
    }
    all.update(&Limited(3));
    assert_eq!(all.read(), Limited(3), "{name}");
}

#[test]
fn a_record_that_panics_does_not_block_its_statistics() {
    goes_on_after_a_panic::<Shared>("shared");
    goes_on_after_a_panic::<PerCpu<3>>("per-cpu");
    goes_on_after_a_panic::<PerNode<3>>("per-node");
    goes_on_after_a_panic::<PerThread>("per-thread");
}
