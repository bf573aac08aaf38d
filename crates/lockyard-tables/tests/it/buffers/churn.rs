//! Memory: the bytes of a buffer. Buffers that are gone leave no memory behind.

use lockyard::Native;
use lockyard_tables::buffers::{Before, BlockCache, Configuration, Key, Standard, Switches};
use std::convert::Infallible;

fn get<S: Switches<Native>>(cache: &BlockCache<u64, S, Native>, block: u64) {
    let key = Key::new(block as u32 % 7, block);
    assert_eq!(*cache.get_or_fill(key, || Ok::<_, Infallible>(block)).unwrap(), block);
}

#[test]
fn bytes_are_what_the_documentation_says() {
    assert_eq!(lockyard_tables::BlockCache::<()>::bytes_of_a_buffer(), 64);
    assert_eq!(lockyard_tables::BlockCache::<u64>::bytes_of_a_buffer(), 72);
    assert_eq!(BlockCache::<[u64; 8], Before, Native>::bytes_of_a_buffer(), 128);
    let cache = lockyard_tables::BlockCache::<u64>::new(Configuration::DEFAULT);
    assert_eq!(cache.bytes(), size_of_val(&cache), "nothing before the first miss");
    let shards = 192 + 256 * 64;
    for block in 0..256 {
        get(&cache, block);
    }
    assert_eq!(cache.bytes(), size_of_val(&cache) + shards + 256 * 72);
    // A buffer for each chain: the next one doubles the chains.
    get(&cache, 256);
    assert_eq!(cache.bytes(), size_of_val(&cache) + shards + 257 * 72 + 256 * 16);
    for block in 257..100_000 {
        get(&cache, block);
    }
    let chains = cache.bytes() - size_of_val(&cache) - shards - 100_000 * 72;
    assert!((16 * 100_000 - 4096..=32 * 100_000).contains(&(chains + 4096)), "{chains}");
}

fn churns<S: Switches<Native>>() {
    let cache = BlockCache::<u64, S, Native>::new(Configuration::DEFAULT.with_limit(1_000));
    (0..1_000).for_each(|block| get(&cache, block));
    let bytes = cache.bytes();
    let mut most = 0;
    for block in 1_000..60_000 {
        get(&cache, block);
        most = most.max(cache.waiting());
    }
    assert_eq!((cache.len(), cache.bytes()), (1_000, bytes));
    assert!(most <= 192, "{most} buffers waited");
    assert_eq!(cache.reclaim(usize::MAX), 1_000);
}

#[test]
fn memory_is_steady_under_churn() {
    churns::<Standard>();
    churns::<Before>();
}
