//! Caches, with a maximum number of buffers. A buffer is found by its key, or created. Some buffers
//! are referenced all the time.
//!
//! A hit is a reference that stays valid when the buffer leaves the cache: a handle of our cache,
//! or a clone of an `Arc` in the others. The buffers that threads ask for repeatedly fit into the
//! cache. A buffer that is asked for only once also needs room. The cache's policy decides if it
//! evicts one of the repeated buffers. If so, the next thread that asks for the evicted buffer
//! creates it again, which counts as a miss.

use super::look_up::{IdHash, Object, value};
use super::subject::{Subject, SubjectRole, SubjectRow, rows};
use super::work::{Done, Load, Worker, draws};
use lockyard::Native;
use lockyard_tables::buffers::{Configuration, Key};
use lockyard_tables::{Block, BlockCache, on};
use quick_cache::{Lifecycle, UnitWeighter};
use std::sync::Arc;

/// One buffer in this many is referenced all the time.
const PINNED: u64 = 8;

/// Returns the capacity of a cache, given the load's number of repeatedly used buffers.
fn capacity(load: &Load) -> u64 {
    u64::from(load.objects) + u64::from(load.objects).div_ceil(4) + 8 * load.threads as u64
}

/// A cache in which a buffer is found or created.
pub trait CacheHit: Send + Sync + Sized + 'static {
    /// True if a referenced buffer stays in the cache.
    const PINS: bool;

    /// Returns an empty cache with room for `capacity` buffers.
    fn new(capacity: u64) -> Self;

    /// Takes a reference to the buffer of `key`, reads its value, and drops the reference. Creates
    /// the buffer if it is absent. Returns the value, and true if the buffer was present.
    fn get(&self, key: u64) -> (u64, bool);

    /// Takes a reference to the buffer of `key`, and keeps it for the life of the cache. Returns
    /// the buffer's address.
    fn pin(&self, key: u64) -> usize;

    /// Returns the address of the buffer of `key`, if it is in the cache.
    fn address(&self, key: u64) -> Option<usize>;
}

struct Cache<C>(C, Vec<(u64, usize)>);

fn cache<C: CacheHit>(load: &Load) -> Result<Box<dyn Subject>, String> {
    let cache = C::new(capacity(load));
    let mut pinned = Vec::new();
    // Two rounds, so that each buffer is asked for a second time.
    for round in 0..2 {
        for key in 0..u64::from(load.objects) {
            cache.get(key);
            if round == 1 && key.is_multiple_of(PINNED) {
                pinned.push((key, cache.pin(key)));
            }
        }
    }
    Ok(Box::new(Cache(cache, pinned)))
}

impl<C: CacheHit> Subject for Cache<C> {
    fn work(&self, worker: &Worker) -> Done {
        let draws = draws(worker, worker.load.objects as usize, |n| (n as u64, value(n as u64)));
        // Keys that this thread asks for only once, and no other thread asks for.
        let mut once = (worker.thread as u64 + 1) << 40;
        let mut made_again = 0;
        let mut done = worker.run(
            &draws,
            &mut once,
            |_, &key| {
                let (value, hit) = self.0.get(key);
                made_again += u64::from(!hit);
                Some(value)
            },
            |once, _| {
                *once += 1;
                self.0.get(*once);
            },
        );
        done.missed = made_again;
        done
    }

    fn verify(&self, done: &[Done]) -> Result<(), String> {
        let wrong = Done::sum(done).wrong;
        if wrong > 0 {
            return Err(format!("{wrong} hits returned another buffer"));
        }
        let lost = self.1.iter().filter(|&&(key, address)| self.0.address(key) != Some(address));
        match lost.count() {
            lost if C::PINS && lost > 0 => {
                Err(format!("of {} referenced buffers, {lost} were evicted", self.1.len()))
            }
            _ => Ok(()),
        }
    }

    fn may_miss(&self) -> bool {
        true
    }
}

fn object(key: u64) -> Arc<Object> {
    Arc::new(Object::numbered(key))
}

fn address(object: &Arc<Object>) -> usize {
    Arc::as_ptr(object).addr()
}

/// `moka`.
struct Moka(moka::sync::Cache<u64, Arc<Object>, IdHash>);

impl CacheHit for Moka {
    const PINS: bool = false;

    fn new(capacity: u64) -> Moka {
        let builder = moka::sync::Cache::builder().max_capacity(capacity);
        Moka(builder.build_with_hasher(IdHash::default()))
    }
    #[inline(always)]
    fn get(&self, key: u64) -> (u64, bool) {
        match self.0.get(&key) {
            Some(found) => (found.value, true),
            None => (self.0.get_with(key, || object(key)).value, false),
        }
    }
    fn pin(&self, key: u64) -> usize {
        let found = self.0.get_with(key, || object(key));
        let address = address(&found);
        // The reference is leaked on purpose: it is kept until the process ends.
        std::mem::forget(found);
        address
    }
    fn address(&self, key: u64) -> Option<usize> {
        self.0.get(&key).as_ref().map(address)
    }
}

/// The rule that keeps referenced buffers in the cache.
#[derive(Clone)]
struct Referenced;

impl Lifecycle<u64, Arc<Object>> for Referenced {
    type RequestState = ();

    fn is_pinned(&self, _: &u64, object: &Arc<Object>) -> bool {
        Arc::strong_count(object) > 1
    }
}

/// `quick_cache`, with a rule for pinned buffers.
struct Quick(quick_cache::sync::Cache<u64, Arc<Object>, UnitWeighter, IdHash, Referenced>);

impl Quick {
    fn get_or_make(&self, key: u64) -> Arc<Object> {
        let found =
            self.0.get_or_insert_with(&key, || Ok::<_, std::convert::Infallible>(object(key)));
        let Ok(found) = found;
        found
    }
}

impl CacheHit for Quick {
    const PINS: bool = true;

    fn new(capacity: u64) -> Quick {
        let (hash, all) = (IdHash::default(), capacity as usize);
        Quick(quick_cache::sync::Cache::with(all, capacity, UnitWeighter, hash, Referenced))
    }
    #[inline(always)]
    fn get(&self, key: u64) -> (u64, bool) {
        match self.0.get(&key) {
            Some(found) => (found.value, true),
            None => (self.get_or_make(key).value, false),
        }
    }
    fn pin(&self, key: u64) -> usize {
        let found = self.get_or_make(key);
        let address = address(&found);
        std::mem::forget(found);
        address
    }
    fn address(&self, key: u64) -> Option<usize> {
        self.0.get(&key).as_ref().map(address)
    }
}

/// Ours, with a limit and the default switches.
struct Ours(BlockCache<Object>);

impl Ours {
    #[inline(always)]
    fn get_or_make(&self, key: u64) -> Block<'_, Object> {
        let object = || Ok::<_, std::convert::Infallible>(Object::numbered(key));
        let found = self.0.get_or_fill(Key::new(0, key), object);
        found.unwrap_or_else(|_| panic!("there is memory, and a buffer without references"))
    }
}

fn place(object: &Object) -> usize {
    core::ptr::from_ref(object).addr()
}

impl CacheHit for Ours {
    const PINS: bool = true;

    fn new(capacity: u64) -> Ours {
        Ours(BlockCache::with_configuration(Configuration::DEFAULT.with_limit(capacity)))
    }
    #[inline(always)]
    fn get(&self, key: u64) -> (u64, bool) {
        match self.0.look_up(Key::new(0, key)) {
            Some(found) => (found.value, true),
            None => (self.get_or_make(key).value, false),
        }
    }
    fn pin(&self, key: u64) -> usize {
        let found = self.get_or_make(key);
        let address = place(&found);
        // A forgotten handle is a permanent reference. The buffer is freed with the cache.
        std::mem::forget(found);
        address
    }
    fn address(&self, key: u64) -> Option<usize> {
        self.0.look_up(Key::new(0, key)).as_deref().map(place)
    }
}

/// Ours with any keys, and the hash of the others.
struct OursKeyed(on::BufferCache<u64, Object, Native, IdHash>);

impl OursKeyed {
    #[inline(always)]
    fn get_or_make(&self, key: u64) -> on::Buffer<'_, u64, Object, Native, IdHash> {
        let object = || Ok::<_, std::convert::Infallible>(Object::numbered(key));
        let found = self.0.get_or_fill(key, object);
        found.unwrap_or_else(|_| panic!("there is memory, and a buffer without references"))
    }
}

impl CacheHit for OursKeyed {
    const PINS: bool = true;

    fn new(capacity: u64) -> OursKeyed {
        let limit = Configuration::DEFAULT.with_limit(capacity);
        OursKeyed(on::BufferCache::with_configuration(limit))
    }
    #[inline(always)]
    fn get(&self, key: u64) -> (u64, bool) {
        match self.0.look_up(key) {
            Some(found) => (found.value, true),
            None => (self.get_or_make(key).value, false),
        }
    }
    fn pin(&self, key: u64) -> usize {
        let found = self.get_or_make(key);
        let address = place(&found);
        std::mem::forget(found);
        address
    }
    fn address(&self, key: u64) -> Option<usize> {
        self.0.look_up(key).as_deref().map(place)
    }
}

macro_rules! caches {
    ($($tokens:tt)*) => {{
        use cache as table;
        rows! { $($tokens)* }
    }};
}

/// The rows of `cache-hit`.
pub(super) const ROWS: &[SubjectRow] = caches! {
    "buffers", Ours, "lockyard", "MIT OR Apache-2.0", Ours,
        "chains walked inside an epoch, a lockref in each buffer; \
         second chance decides what is evicted; a referenced buffer never is";
    "buffers-keyed", Ours, "lockyard", "MIT OR Apache-2.0", OursKeyed,
        "the same with any keys and the hash of the others";
    "moka", Peer, "moka 0.12.16", "(MIT OR Apache-2.0) AND Apache-2.0", Moka,
        "frequency decides what is admitted and recency what is evicted (W-TinyLFU); \
         hits are noted in a queue that is drained now and then; bounded in time and by weights; \
         a referenced buffer may leave the cache";
    "quick-cache", Peer, "quick_cache 0.7.0", "MIT", Quick,
        "shards behind reader-writer locks; S3-FIFO with a memory of what was evicted; \
         is told that a referenced buffer is pinned";
};
