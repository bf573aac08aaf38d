//! Caches with any keys.

use lockyard_tables::BufferCache;
use lockyard_tables::buffers::{Configuration, GetError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Random operations beside a map. The cache may evict what is not referenced, so it may have less.
#[test]
fn a_cache_with_text_as_keys_never_returns_another_value() {
    let cache: BufferCache<String, u64> = BufferCache::new(Configuration::DEFAULT.with_limit(40));
    let mut filled: BTreeMap<String, u64> = BTreeMap::new();
    let mut kept = BTreeMap::new();
    let mut state = 1_u64;
    for step in 0..5_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let key = format!("page {}", state % 64);
        match state >> 8 & 7 {
            0 => {
                let removed = cache.remove(&key);
                assert_eq!(removed.is_some(), cache_had(&filled, &key, removed.as_deref()));
                filled.remove(&key);
                kept.remove(&key);
            }
            1 | 2 => {
                let found = cache.look_up(&key);
                assert!(found.is_none_or(|found| found.key() == &key && filled[&key] == *found));
            }
            3 => kept.clear(),
            _ => {
                let mut fresh = false;
                let got = cache.get_or_fill(key.as_str().to_owned(), || {
                    fresh = true;
                    Ok::<_, ()>(step)
                });
                match got {
                    Ok(got) => {
                        let value = if fresh { step } else { filled[&key] };
                        assert_eq!((got.key(), *got), (&key, value), "step {step}");
                        assert!(!fresh || !kept.contains_key(&key), "a kept buffer never leaves");
                        filled.insert(key.clone(), value);
                        if kept.len() < 30 {
                            kept.insert(key, got);
                        }
                    }
                    Err(error) => assert_eq!(error, GetError::Full),
                }
            }
        }
        assert!(cache.len() <= 40 && kept.values().all(|kept| kept.is_cached()));
    }
}

/// Returns true if the removal of `key` may have this result.
fn cache_had(filled: &BTreeMap<String, u64>, key: &str, removed: Option<&u64>) -> bool {
    removed.is_some_and(|removed| filled.get(key) == Some(removed))
}

#[test]
fn keys_are_dropped_with_their_buffers() {
    let text: Arc<str> = "a key".into();
    let cache: BufferCache<(u32, Arc<str>), u32> =
        BufferCache::new(Configuration::DEFAULT.with_limit(8));
    for number in 0..100 {
        let key = (number, Arc::clone(&text));
        assert!(cache.get_or_fill(key.clone(), || Err(number)).is_err(), "the filling fails");
        assert!(cache.get_or_fill(key, || Ok::<_, ()>(number)).is_ok_and(|got| *got == number));
    }
    // Each of the living and of the waiting buffers has one.
    let living = cache.living() + cache.waiting();
    assert_eq!((Arc::strong_count(&text) as u64, cache.len()), (1 + living, 8));
    drop(cache);
    assert_eq!(Arc::strong_count(&text), 1);
}
