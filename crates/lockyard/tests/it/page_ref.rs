//! The page reference count: compared with a simple model, at its limits, and on real threads. The
//! tests are bounded by operations, not time.

use lockyard::page_ref::{
    Cmpxchg, Conditional, LockedBit, MAX_REFERENCES, OptimisticCmpxchg, PageRef, References,
    Variant, Xadd,
};
use lockyard::platform::{Host, Native, Portable};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

/// Marsaglia's xorshift. Any random numbers suffice if they are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// Compares a count with its model: a number of references, or frozen.
fn behaves<V: Conditional, H: Host>(seed: u64) {
    let mut random = Random(seed);
    let page = PageRef::<V, H>::from_references(1);
    let mut expected = 1u32;
    let mut frozen_at = None;
    for step in 0..20_000 {
        match random.below(7) {
            0 if expected > 0 => {
                page.get();
                expected += 1;
            }
            1 | 2 => {
                assert_eq!(page.get_not_zero(), expected > 0, "step {step}");
                expected += u32::from(expected > 0);
            }
            3 if expected > 1 => {
                assert!(!page.put(), "step {step}");
                expected -= 1;
            }
            4 if expected > 0 => {
                let guess = 1 + random.below(4) as u32;
                let froze = page.try_freeze(guess);
                assert_eq!(froze, guess == expected, "step {step}");
                if froze {
                    (frozen_at, expected) = (Some(guess), 0);
                }
            }
            5 if frozen_at.is_some() => {
                expected = 1 + random.below(5) as u32;
                page.unfreeze(expected);
                frozen_at = None;
            }
            6 if expected == 1 && random.below(20) == 0 => {
                assert!(page.put(), "the last one, step {step}");
                // The page is freed: its owner may make it a new one.
                assert!(!page.get_not_zero());
                (frozen_at, expected) = (Some(0), 0);
            }
            _ => {}
        }
        let found = page.references();
        let right = if expected == 0 { References::Frozen } else { References::Live(expected) };
        assert_eq!(found, right, "step {step}");
    }
}

#[test]
fn every_conditional_variant_behaves_as_a_number_that_can_be_frozen() {
    for seed in 1..=5 {
        behaves::<Cmpxchg, Native>(seed);
        behaves::<OptimisticCmpxchg, Native>(seed);
        behaves::<LockedBit, Native>(seed);
        behaves::<LockedBit, Portable<Native>>(seed);
    }
}

#[test]
fn the_unconditional_variant_counts_and_freezes() {
    let page = PageRef::<Xadd>::new(1);
    page.get();
    assert!(!page.try_freeze(1));
    assert!(page.try_freeze(2));
    assert_eq!(page.references(), References::Frozen);
    page.unfreeze(3);
    assert!(!page.put() && !page.put());
    assert!(page.put());
}

fn saturates<V: Variant>(get: fn(&PageRef<V>)) {
    let page = PageRef::<V>::new(MAX_REFERENCES);
    assert_eq!(page.references(), References::Live(MAX_REFERENCES));
    assert!(!page.put());
    get(&page);
    assert_eq!(page.references(), References::Live(MAX_REFERENCES), "counted to the last");
    get(&page);
    assert_eq!(page.references(), References::Saturated);
    for _ in 0..1000 {
        get(&page);
        assert!(!page.put() && !page.put(), "a saturated count is never the last");
        assert_eq!(page.references(), References::Saturated);
    }
    assert!(!page.try_freeze(MAX_REFERENCES));
}

#[test]
fn a_count_beyond_its_maximum_stays_there() {
    saturates::<Xadd>(PageRef::get);
    saturates::<Cmpxchg>(PageRef::get);
    saturates::<Cmpxchg>(|page| assert!(page.get_not_zero()));
    saturates::<OptimisticCmpxchg>(|page| assert!(page.get_not_zero()));
    saturates::<LockedBit>(PageRef::get);
    saturates::<LockedBit>(|page| assert!(page.get_not_zero()));
}

fn stays_frozen_after_one_put_too_many<V: Variant>() -> PageRef<V> {
    let page = PageRef::<V>::new(1);
    assert!(page.put());
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| page.put()));
    assert_eq!(dropped.is_err(), cfg!(debug_assertions), "it panics in debug builds");
    assert!(!dropped.unwrap_or(false), "there was none to drop");
    assert_eq!(page.references(), References::Frozen);
    page
}

#[test]
fn one_put_too_many_freezes_a_count_for_good() {
    stays_frozen_after_one_put_too_many::<Xadd>();
    assert!(!stays_frozen_after_one_put_too_many::<Cmpxchg>().get_not_zero());
    assert!(!stays_frozen_after_one_put_too_many::<OptimisticCmpxchg>().get_not_zero());
    assert!(!stays_frozen_after_one_put_too_many::<LockedBit>().get_not_zero());
}

#[test]
fn an_impossible_number_of_references_is_refused() {
    for wrong in [0, MAX_REFERENCES + 1, u32::MAX] {
        let made = std::panic::catch_unwind(|| PageRef::<LockedBit>::new(wrong));
        assert!(made.is_err(), "{wrong}");
        let page = PageRef::<LockedBit>::new(1);
        assert!(std::panic::catch_unwind(|| page.try_freeze(wrong)).is_err(), "{wrong}");
        assert!(page.try_freeze(1));
        assert!(std::panic::catch_unwind(|| page.unfreeze(wrong)).is_err(), "{wrong}");
        assert_eq!(page.references(), References::Frozen);
    }
}

/// Runs look-ups against an owner that freezes, changes the page, and unfreezes. Checks that a
/// look-up with a reference sees an unchanging page, and that no reference is lost.
fn conserves<V: Conditional, H: Host>() {
    const READERS: u64 = 3;
    const ROUNDS: u64 = 3_000;
    let page = PageRef::<V, H>::from_references(1);
    // Two halves of the page, which are equal unless the owner is changing it.
    let halves = [AtomicU64::new(0), AtomicU64::new(0)];
    let (taken, frozen) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    if page.get_not_zero() {
                        let seen = halves[0].load(Ordering::Relaxed);
                        std::hint::spin_loop();
                        assert_eq!(
                            seen,
                            halves[1].load(Ordering::Relaxed),
                            "changed under a reference"
                        );
                        assert!(!page.put(), "the owner has the last one");
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                if page.try_freeze(1) {
                    halves[0].store(round, Ordering::Relaxed);
                    std::hint::spin_loop();
                    halves[1].store(round, Ordering::Relaxed);
                    frozen.fetch_add(1, Ordering::Relaxed);
                    page.unfreeze(1);
                }
                if round % 16 == 0 {
                    thread::yield_now();
                }
            }
        });
    });
    assert_eq!(page.references(), References::Live(1));
    assert!(taken.into_inner() > 0 && frozen.into_inner() > 0);
    assert!(page.put());
}

#[test]
fn look_ups_and_freezes_lose_no_reference() {
    conserves::<Cmpxchg, Native>();
    conserves::<OptimisticCmpxchg, Native>();
    conserves::<LockedBit, Native>();
    conserves::<LockedBit, Portable<Native>>();
}

/// All threads look the page up and drop their references at the same time. Exactly one of them
/// learns that its reference was the last.
fn ends_once<V: Conditional>() {
    for _ in 0..300 {
        let page = PageRef::<V>::new(4);
        let last = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut ends = u32::from(page.put());
                    if page.get_not_zero() {
                        ends += u32::from(page.put());
                    }
                    last.fetch_add(ends, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(last.into_inner(), 1);
        assert_eq!(page.references(), References::Frozen);
    }
}

#[test]
fn exactly_one_put_is_the_last() {
    ends_once::<Cmpxchg>();
    ends_once::<OptimisticCmpxchg>();
    ends_once::<LockedBit>();
}
