//! Faults have the documented consequences: panics, errors, forgotten handles, limits.

use super::{ForEach, cache, every_combination, key};
use lockyard::Native;
use lockyard_tables::buffers::{Configuration, GetError, Switches};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// A value that counts its live instances, and may panic when it is dropped.
pub(crate) struct Value {
    pub(crate) living: Arc<AtomicUsize>,
    panics: bool,
}

impl Value {
    pub(crate) fn new(living: &Arc<AtomicUsize>) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Value { living: Arc::clone(living), panics: false }
    }

    fn that_panics(living: &Arc<AtomicUsize>) -> Self {
        let mut value = Value::new(living);
        value.panics = true;
        value
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Ordering::Relaxed);
        if self.panics {
            panic!("the destructor");
        }
    }
}

struct Panics;

impl ForEach for Panics {
    fn with<S: Switches<Native>>(&mut self) {
        let living = Arc::new(AtomicUsize::new(0));
        let count = || living.load(Ordering::Relaxed);
        let cache = cache::<Value, S>(Configuration::DEFAULT);
        let value = || Ok::<_, Infallible>(Value::new(&living));

        // A panic in the function that fills: nothing is left, and the key is free.
        let filled = catch_unwind(AssertUnwindSafe(|| {
            cache
                .get_or_fill(key(0), || -> Result<_, Infallible> { panic!("the caller's") })
                .is_ok()
        }));
        assert!(filled.is_err() && cache.is_empty() && cache.living() == 0);
        assert!(cache.look_up(key(0)).is_none());
        assert!(cache.get_or_fill(key(0), value).is_ok());
        assert_eq!((cache.len(), count()), (1, 1));

        // A panic in a destructor, during reclaim: buffers taken in the same batch are still freed.
        for block in 1..100 {
            let made = || {
                Ok::<_, Infallible>(match block {
                    50 => Value::that_panics(&living),
                    _ => Value::new(&living),
                })
            };
            assert!(cache.get_or_fill(key(block), made).is_ok());
        }
        let reclaimed = catch_unwind(AssertUnwindSafe(|| cache.reclaim(usize::MAX)));
        assert!(reclaimed.is_err());
        assert_eq!((cache.living() as usize, count()), (cache.len(), cache.len()), "nothing leaks");
        let left = count();
        assert_eq!(cache.reclaim(usize::MAX), left);
        assert_eq!((cache.len(), count()), (0, 0), "the cache goes on");

        // A panic in a destructor, at the drop of the last reference.
        let made = cache.get_or_fill(key(1), || Ok::<_, Infallible>(Value::that_panics(&living)));
        let buffer = made.ok().unwrap();
        assert!(buffer.remove());
        let other = buffer.clone();
        drop(buffer);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(other))).is_err());
        assert_eq!((cache.living(), count()), (0, 0));

        // A panic in a destructor while the cache is dropped.
        for block in 0..10 {
            let made = || {
                Ok::<_, Infallible>(match block {
                    5 => Value::that_panics(&living),
                    _ => Value::new(&living),
                })
            };
            assert!(cache.get_or_fill(key(block), made).is_ok());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(cache))).is_err());
        assert_eq!(count(), 0);
    }
}

#[test]
fn a_panic_in_the_callers_code_loses_what_is_documented_and_leaks_nothing() {
    every_combination::<1>(Panics);
}

struct Limits;

impl ForEach for Limits {
    fn with<S: Switches<Native>>(&mut self) {
        let cache = cache::<u64, S>(Configuration::DEFAULT.with_limit(3));
        let get = |block: u64| cache.get_or_fill(key(block), || Ok::<_, Infallible>(block));
        let held: Vec<_> = (0..3).map(|block| get(block).unwrap()).collect();
        assert!(matches!(get(3), Err(GetError::Full)), "all are referenced");
        assert_eq!(cache.reclaim(usize::MAX), 0, "what is referenced is not taken");
        assert_eq!((cache.len(), cache.referenced()), (3, 3));
        // A removed buffer that is still referenced counts towards the limit.
        assert!(held[0].remove());
        assert!(matches!(get(3), Err(GetError::Full)));
        assert_eq!((cache.len(), cache.living()), (2, 3));
        drop(held);
        for block in 3..100 {
            assert_eq!(*get(block).unwrap(), block);
            assert!(cache.living() <= 3);
        }
        cache.set_limit(1);
        assert_eq!(*get(200).unwrap(), 200, "it makes room");
        assert_eq!(cache.living(), 1);
        cache.set_limit(0);
        assert!(matches!(get(201), Err(GetError::Full)));
        assert_eq!(cache.len(), 0);
        assert_eq!(get(202).unwrap_err().to_string(), {
            "the cache is full, and all its buffers are referenced"
        });
    }
}

#[test]
fn the_limit_holds_and_referenced_buffers_count() {
    every_combination::<1>(Limits);
}

struct Forgotten;

impl ForEach for Forgotten {
    fn with<S: Switches<Native>>(&mut self) {
        let living = Arc::new(AtomicUsize::new(0));
        let cache = cache::<Value, S>(Configuration::DEFAULT);
        for block in 0..3 {
            let made = cache.get_or_fill(key(block), || Ok::<_, Infallible>(Value::new(&living)));
            std::mem::forget(made.ok().unwrap());
        }
        assert_eq!((cache.reclaim(usize::MAX), cache.referenced()), (0, 3));
        assert!(cache.remove(key(0)).is_some());
        assert_eq!((cache.len(), living.load(Ordering::Relaxed)), (2, 3));
        drop(cache);
        assert_eq!(living.load(Ordering::Relaxed), 1, "what was removed is leaked, as it says");
    }
}

#[test]
fn a_forgotten_handle_leaves_the_cache_usable() {
    every_combination::<1>(Forgotten);
}

/// Lets threads ask for a buffer whose first filling fails, by an error or a panic. One of them
/// then fills it, and all get that buffer.
fn those_who_wait_start_over<S: Switches<Native>>(panics: bool) {
    const THREADS: usize = 3;
    let cache = cache::<usize, S>(Configuration::DEFAULT);
    let (begun, asked) = (Barrier::new(THREADS), AtomicUsize::new(0));
    let fillings = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (cache, begun, asked, fillings) = (&cache, &begun, &asked, &fillings);
        scope.spawn(move || {
            let failed = catch_unwind(AssertUnwindSafe(|| {
                let got = cache.get_or_fill(key(7), || {
                    begun.wait();
                    // The other threads get time to arrive and park. The number of yields, ten, is
                    // arbitrary.
                    while asked.load(Ordering::Relaxed) < THREADS - 1 {
                        thread::yield_now();
                    }
                    (0..10).for_each(|_| thread::yield_now());
                    assert!(!panics, "the caller's");
                    Err::<usize, _>("no such block")
                });
                assert_eq!(got.unwrap_err(), GetError::Fill("no such block"));
            }));
            assert_eq!(failed.is_err(), panics);
        });
        for me in 1..THREADS {
            scope.spawn(move || {
                begun.wait();
                asked.fetch_add(1, Ordering::Relaxed);
                let got = cache.get_or_fill(key(7), || {
                    fillings.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Infallible>(me)
                });
                assert!((1..THREADS).contains(&*got.unwrap()));
            });
        }
    });
    assert_eq!(fillings.load(Ordering::Relaxed), 1, "one of those who waited filled it");
    assert_eq!((cache.len(), cache.living()), (1, 1));
}

struct Waiting;

impl ForEach for Waiting {
    fn with<S: Switches<Native>>(&mut self) {
        those_who_wait_start_over::<S>(false);
        those_who_wait_start_over::<S>(true);
    }
}

#[test]
fn those_who_wait_for_a_filling_that_fails_start_over() {
    every_combination::<1>(Waiting);
}

#[test]
fn removing_a_buffer_that_is_being_filled_waits_and_takes_it_out() {
    for fails in [false, true] {
        let cache = lockyard_tables::BlockCache::<u64>::new(Configuration::DEFAULT);
        let begun = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let got = cache.get_or_fill(key(1), || {
                    begun.wait();
                    while !cache.is_empty() {
                        thread::yield_now();
                    }
                    if fails { Err(()) } else { Ok(5) }
                });
                assert_eq!(got.is_err(), fails);
                assert!(got.is_err() || !got.unwrap().is_cached());
            });
            begun.wait();
            let removed = cache.remove(key(1));
            assert_eq!(removed.as_deref().copied(), (!fails).then_some(5));
        });
        assert_eq!((cache.len(), cache.living()), (0, 0));
    }
}
