//! A cache of long-lived values, filled with a short-lived one: a look-up would find a dangling
//! value.

use lockyard_tables::BlockCache;
use lockyard_tables::buffers::Key;

fn put<'a>(cache: &BlockCache<&'a str>, value: &'a str) {
    assert!(cache.get_or_fill(Key::new(0, 1), || Ok::<_, ()>(value)).is_ok());
}

fn check(cache: &BlockCache<&'static str>) {
    let short = String::from("short");
    put(cache, &short);
}

fn main() {}
