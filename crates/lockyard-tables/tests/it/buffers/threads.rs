//! Real threads that perform all operations at the same time.

use super::faults::Value;
use super::{ForEach, Random, cache, every_combination};
use lockyard::Native;
use lockyard_tables::buffers::{BlockCache, Configuration, Key, Switches, WideHash, With};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Torture {
    limit: u64,
}

impl ForEach for Torture {
    fn with<S: Switches<Native>>(&mut self) {
        const THREADS: u64 = 3;
        const ROUNDS: u64 = 200;
        const KEYS: u64 = 48;
        let living = Arc::new(AtomicUsize::new(0));
        let cache = cache::<(Key, Value), S>(Configuration::DEFAULT.with_limit(self.limit));
        // Number of threads that are filling each key.
        let filling: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
        thread::scope(|scope| {
            for me in 1..=THREADS {
                let (cache, living, filling) = (&cache, &living, &filling);
                scope.spawn(move || {
                    let mut random = Random(me * 7919);
                    let mut kept = Vec::new();
                    for round in 0..ROUNDS {
                        let block = random.below(KEYS);
                        let key = Key::new(block as u32 % 5, block);
                        match random.below(8) {
                            0..4 => {
                                let fails = random.below(8) == 0;
                                let got = cache.get_or_fill(key, || {
                                    let others =
                                        filling[block as usize].fetch_add(1, Ordering::Relaxed);
                                    assert_eq!(others, 0, "one fills a buffer that is not there");
                                    if round % 32 == 1 {
                                        thread::yield_now();
                                    }
                                    filling[block as usize].fetch_sub(1, Ordering::Relaxed);
                                    if fails { Err(()) } else { Ok((key, Value::new(living))) }
                                });
                                if let Ok(got) = got {
                                    assert!(got.0 == key && *got.key() == key);
                                    assert!(got.1.living.load(Ordering::Relaxed) > 0);
                                    if got.is_cached() {
                                        let again = cache.look_up(key);
                                        // The buffer may have been removed in between, and replaced
                                        // by another.
                                        assert!(again.is_none_or(|again| again.0 == key
                                            && (std::ptr::eq(&*again, &*got) || !got.is_cached())));
                                    }
                                    kept.push(got);
                                }
                            }
                            4..6 => {
                                if let Some(found) = cache.look_up(key) {
                                    assert_eq!(found.0, key);
                                    kept.push(found.clone());
                                }
                            }
                            6 if random.below(3) == 0 => {
                                let removed = kept.pop();
                                assert!(removed.is_none_or(
                                    |b: lockyard_tables::buffers::Block<'_, _, S, Native>| {
                                        b.remove();
                                        !b.is_cached()
                                    }
                                ));
                            }
                            _ => {
                                cache.reclaim(random.below(4) as usize);
                            }
                        }
                        kept.truncate(6);
                        if round % 32 == 0 {
                            thread::yield_now();
                        }
                    }
                });
            }
        });
        assert_eq!(cache.living() as usize, cache.len(), "{cache:?}");
        assert_eq!(living.load(Ordering::Relaxed), cache.len(), "what is not there was dropped");
        assert!(cache.living() <= self.limit);
        assert_eq!(cache.referenced(), 0);
        let there = cache.len();
        assert_eq!(cache.reclaim(usize::MAX), there);
        assert_eq!((cache.len(), living.load(Ordering::Relaxed)), (0, 0));
    }
}

#[test]
fn threads_that_do_everything_at_once_lose_nothing() {
    every_combination::<0>(Torture { limit: u64::MAX });
    every_combination::<4>(Torture { limit: u64::MAX });
}

#[test]
fn threads_that_do_everything_at_the_limit_lose_nothing() {
    every_combination::<1>(Torture { limit: 30 });
}

#[test]
fn chains_divide_under_those_who_look_up() {
    type Growing = BlockCache<
        u64,
        With<
            lockyard_tables::buffers::OnMiss,
            lockyard_tables::buffers::Outside,
            lockyard_tables::buffers::ReferencedBit,
            WideHash<0>,
        >,
        Native,
    >;
    const BUFFERS: u64 = 20_000;
    let cache = Growing::new(Configuration::DEFAULT);
    let there = AtomicUsize::new(0);
    thread::scope(|scope| {
        for me in 1..=3 {
            let (cache, there) = (&cache, &there);
            scope.spawn(move || {
                let mut random = Random(me);
                loop {
                    let known = there.load(Ordering::Acquire) as u64;
                    for _ in 0..64 {
                        let block = random.below(known.max(1));
                        let found = cache.look_up(Key::new(0, block));
                        assert!(known == 0 || found.as_deref() == Some(&block), "{block}");
                    }
                    if known == BUFFERS {
                        break;
                    }
                }
            });
        }
        for block in 0..BUFFERS {
            let new = cache.get_or_fill(Key::new(0, block), || Ok::<_, Infallible>(block));
            assert_eq!(*new.unwrap(), block);
            there.store(block as usize + 1, Ordering::Release);
        }
    });
    assert_eq!(cache.len() as u64, BUFFERS);
}
