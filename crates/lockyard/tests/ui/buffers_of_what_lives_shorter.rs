//! A cache of what lives long, filled with something that does not: who looks it up would find what is gone.

use lockyard::BufferCache;
use lockyard::buffers::Key;

fn put<'a>(cache: &BufferCache<&'a str>, value: &'a str) {
    assert!(cache.get_or_fill(Key::new(0, 1), || Ok::<_, ()>(value)).is_ok());
}

fn check(cache: &BufferCache<&'static str>) {
    let short = String::from("short");
    put(cache, &short);
}

fn main() {}
