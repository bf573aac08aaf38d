//! The buffer cache on the native host: random operations compared with a list, for every
//! combination of switches, faults, and real threads. The tests are bounded by operations, not by
//! time.

mod churn;
pub(crate) mod faults;
mod keys;
mod model;
mod races;
mod threads;
mod visit;

use lockyard::Native;
use lockyard_tables::buffers::{
    BlockCache, Configuration, EveryCall, FixedHash, Key, MoveToFront, OnMiss, Outside,
    ReferencedBit, Switches, TreePerGroup, UnderLock, WideHash, With,
};

/// Marsaglia's xorshift. Any random numbers will do, if they are the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// An action for every combination of switches.
pub(crate) trait ForEach {
    fn with<S: Switches<Native>>(&mut self);
}

fn with_index<X: lockyard_tables::buffers::Index<Native>>(each: &mut impl ForEach) {
    each.with::<With<OnMiss, Outside, ReferencedBit, X>>();
    each.with::<With<OnMiss, Outside, MoveToFront, X>>();
    each.with::<With<OnMiss, UnderLock, ReferencedBit, X>>();
    each.with::<With<OnMiss, UnderLock, MoveToFront, X>>();
    each.with::<With<EveryCall, Outside, ReferencedBit, X>>();
    each.with::<With<EveryCall, Outside, MoveToFront, X>>();
    each.with::<With<EveryCall, UnderLock, ReferencedBit, X>>();
    each.with::<With<EveryCall, UnderLock, MoveToFront, X>>();
}

/// Calls `each` with all combinations, beginning with 2^`BITS` chains.
pub(crate) fn every_combination<const BITS: u32>(mut each: impl ForEach) {
    with_index::<WideHash<BITS>>(&mut each);
    with_index::<FixedHash<BITS>>(&mut each);
    with_index::<TreePerGroup>(&mut each);
}

/// Returns the key of a block, in one of three groups.
pub(crate) fn key(block: u64) -> Key {
    Key::new(block as u32 % 3, block)
}

pub(crate) fn cache<T: Send + Sync, S: Switches<Native>>(
    configuration: Configuration,
) -> BlockCache<T, S, Native> {
    BlockCache::new(configuration)
}
