//! The program for a buffer cache. Threads look up buffers of one list, miss, fail to fill, remove
//! and reclaim them, while their chain is divided.

use super::connections::Canary;
use super::parts::{Outcome, Program, Seen, linger};
use crate::finding::{COUNT, FREED};
use crate::{hooks, ration};
use lockyard::platform::HostWithSlots;
use lockyard_tables::buffers::{Block, BlockCache, Configuration, Groups, Key, Switches};
use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering as Plain};

/// Operation of a thread on the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOp {
    /// Looks the buffer up and uses it.
    LookUp(usize),
    /// Gets the buffer, and fills it if it is not in the cache.
    Get(usize),
    /// Gets the buffer, but filling it fails.
    GetFailing(usize),
    /// Removes the buffer from the cache, if it is there.
    Remove(usize),
    /// Gets the buffer and removes it from the cache.
    GetRemove(usize),
    /// Reclaims one buffer.
    Reclaim,
    /// Visits all buffers.
    Visit,
}

use BufferOp::{Get, GetFailing, GetRemove, LookUp, Reclaim, Remove, Visit};

impl BufferOp {
    /// Returns true if the operation may remove buffer `k`.
    fn may_remove(self, k: usize) -> bool {
        [Remove(k), GetRemove(k), Reclaim].contains(&self)
    }
}

const KEYS: usize = 4;
/// With one chain the buffers are in the order 3, 2, 0, 1. When the chain is divided in two, the
/// second half begins before 2, and its own second half before 0. (A test of the library checks
/// that this is the order of the blocks' hashes.)
const BLOCKS: [u64; KEYS] = [4, 0, 2, 9];

fn key(k: usize) -> Key {
    Key::new(0, BLOCKS[k])
}

/// A cache in memory from the host. The program uses the cache before the program itself has its
/// final address, and a simulated machine knows only memory from its host.
struct Placed<S: Switches<H>, H: HostWithSlots>(NonNull<BlockCache<Canary<H>, S, H>>);

// SAFETY: it owns the cache, which is `Send` and `Sync`.
unsafe impl<S: Switches<H>, H: HostWithSlots> Send for Placed<S, H> {}
// SAFETY: as above.
unsafe impl<S: Switches<H>, H: HostWithSlots> Sync for Placed<S, H> {}

impl<S: Switches<H>, H: HostWithSlots> Placed<S, H> {
    fn new(cache: BlockCache<Canary<H>, S, H>) -> Self {
        let memory = H::allocate(Layout::for_value(&cache), None).expect("there is memory").cast();
        // SAFETY: the memory is for a cache.
        unsafe { memory.write(cache) };
        Placed(memory)
    }
}

impl<S: Switches<H>, H: HostWithSlots> Deref for Placed<S, H> {
    type Target = BlockCache<Canary<H>, S, H>;
    fn deref(&self) -> &Self::Target {
        // SAFETY: alive until `drop`.
        unsafe { self.0.as_ref() }
    }
}

impl<S: Switches<H>, H: HostWithSlots> Drop for Placed<S, H> {
    fn drop(&mut self) {
        let layout = Layout::for_value(&**self);
        // SAFETY: made by `new` with this layout, and no longer used.
        unsafe {
            self.0.drop_in_place();
            H::deallocate(self.0.cast(), layout);
        }
    }
}

/// Threads that use one cache with one list. Buffers 0 to `THERE` - 1 are in it at the beginning.
/// With a growing hash, the second buffer doubles the chains, the third doubles them again, and the
/// insertion after each doubling divides some chains.
pub struct BufferProgram<S: Switches<H>, H: HostWithSlots, const THERE: usize> {
    cache: Placed<S, H>,
    ops: Vec<BufferOp>,
    seen: Seen,
    /// Number of values that were made and not dropped.
    alive: Arc<AtomicI64>,
    /// Fillings minus removals of each buffer, counted by the threads that did them.
    there: [AtomicI64; KEYS],
    /// Number of buffers that were reclaimed.
    reclaimed: AtomicI64,
    /// Address of each buffer's value. If no thread removes the buffer, all threads must see the
    /// same address.
    places: [AtomicUsize; KEYS],
}

impl<S: Switches<H>, H: HostWithSlots, const THERE: usize> BufferProgram<S, H, THERE> {
    /// Checks a handle.
    fn look_at(&self, k: usize, buffer: &Block<'_, Canary<H>, S, H>) {
        buffer.must_be_alive();
        assert!(*buffer.key() == key(k), "{COUNT}another buffer was found");
        if !self.ops.iter().any(|op| op.may_remove(k)) {
            let place = std::ptr::from_ref(&**buffer).addr();
            let before = self.places[k].swap(place, Plain::Relaxed);
            assert!(before == 0 || before == place, "{COUNT}two buffers of one key");
        }
    }

    fn find(&self, k: usize) -> Option<Block<'_, Canary<H>, S, H>> {
        let found = self.cache.look_up(key(k));
        match &found {
            Some(found) => self.look_at(k, found),
            None => {
                let must = k < THERE && !self.ops.iter().any(|op| op.may_remove(k));
                assert!(!must, "{COUNT}buffer {k} is there and was not found");
            }
        }
        found
    }

    fn get(&self, thread: usize, k: usize, fails: bool) -> Option<Block<'_, Canary<H>, S, H>> {
        let mut fillings = 0;
        let got = self.cache.get_or_fill(key(k), || {
            fillings += 1;
            linger::<H>();
            if fails { Err(()) } else { Ok(Canary::new(&self.alive)) }
        });
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                assert!(fillings == 1 && fails, "{COUNT}{error:?} after {fillings} fillings");
                self.seen.note(thread, 2);
                return None;
            }
        };
        assert!(!fails || fillings == 0, "{COUNT}a buffer whose filling failed");
        self.there[k].fetch_add(fillings, Plain::Relaxed);
        self.seen.note(thread, fillings);
        self.look_at(k, &got);
        Some(got)
    }

    fn visit(&self, thread: usize) {
        let mut visits = [0_usize; KEYS];
        let visited = self.cache.for_each(|buffer| {
            let k = (0..KEYS).find(|&k| *buffer.key() == key(k)).expect("there are no other keys");
            self.look_at(k, buffer);
            visits[k] += 1;
        });
        visited.expect("there is memory");
        for (k, &visits) in visits.iter().enumerate() {
            let must = k < THERE && !self.ops.iter().any(|op| op.may_remove(k));
            let fills = |op: &BufferOp| matches!(op, Get(of) | GetRemove(of) if *of == k);
            let may = k < THERE || self.ops.iter().any(fills);
            let holds = usize::from(must) <= visits && visits <= usize::from(may);
            assert!(holds, "{COUNT}buffer {k} was visited {visits} times");
        }
        self.seen.note(thread, visits.iter().sum::<usize>() as i64);
    }
}

impl<S: Switches<H>, H: HostWithSlots, const THERE: usize> Program for BufferProgram<S, H, THERE> {
    type Op = BufferOp;

    fn new(ops: &[BufferOp], _rounds: u32) -> Self {
        hooks::free_nothing();
        ration::begin();
        let alive = Arc::new(AtomicI64::new(0));
        let one_list = Configuration::DEFAULT.with_groups(Groups::MIN);
        let cache = Placed::new(BlockCache::with_configuration(one_list));
        if THERE > 0 {
            cache.start().expect("there is memory");
        }
        for k in 0..THERE {
            let got = cache.get_or_fill(key(k), || Ok::<_, ()>(Canary::new(&alive)));
            assert!(got.is_ok(), "there is memory");
        }
        let there = std::array::from_fn(|k| AtomicI64::new(i64::from(k < THERE)));
        let places = std::array::from_fn(|_| AtomicUsize::new(0));
        let (ops, seen, reclaimed) = (ops.to_vec(), Seen::new(ops.len()), AtomicI64::new(0));
        BufferProgram { cache, ops, seen, alive, there, reclaimed, places }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            LookUp(k) => {
                let found = self.find(k);
                self.seen.note(thread, i64::from(found.is_some()));
                linger::<H>();
                if let Some(found) = found {
                    found.clone().must_be_alive();
                }
            }
            Get(k) => {
                let got = self.get(thread, k, false).expect("its filling does not fail");
                linger::<H>();
                got.must_be_alive();
            }
            GetFailing(k) => drop(self.get(thread, k, true)),
            Remove(k) => {
                let removed = self.cache.remove(key(k));
                self.seen.note(thread, i64::from(removed.is_some()));
                if let Some(removed) = removed {
                    self.there[k].fetch_sub(1, Plain::Relaxed);
                    self.look_at(k, &removed);
                    assert!(!removed.is_cached() && !removed.remove(), "{COUNT}removed twice");
                }
            }
            GetRemove(k) => {
                let got = self.get(thread, k, false).expect("its filling does not fail");
                if got.remove() {
                    self.there[k].fetch_sub(1, Plain::Relaxed);
                }
                assert!(!got.is_cached(), "{COUNT}it was taken out");
                got.must_be_alive();
            }
            Reclaim => {
                let reclaimed = self.cache.reclaim(1) as i64;
                self.seen.note(thread, reclaimed);
                self.reclaimed.fetch_add(reclaimed, Plain::Relaxed);
            }
            Visit => self.visit(thread),
        }
    }

    fn finish(&self) {
        let there = self.there.each_ref().map(|there| there.load(Plain::Relaxed));
        let sum = there.iter().sum::<i64>() - self.reclaimed.load(Plain::Relaxed);
        let mut all = 0;
        for (k, &there) in there.iter().enumerate() {
            let found = i64::from(self.find(k).is_some());
            all += found;
            let reclaims = self.ops.contains(&Reclaim);
            assert!(
                found == there || reclaims && found < there,
                "{COUNT}buffer {k}: {there} should be there, {found} is"
            );
        }
        let (len, living) = (self.cache.len() as i64, self.cache.living() as i64);
        let alive = self.alive.load(Plain::Relaxed);
        assert!(
            [all, len, living, alive] == [sum; 4],
            "{COUNT}{sum} buffers should be there: {all} are found, {len} in the list, {living} \
             living, {alive} values"
        );
        assert!(self.cache.referenced() == 0, "{FREED}a reference is left");
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        outcome.extend(self.there.iter().map(|there| there.load(Plain::Relaxed)));
        outcome
    }
}
