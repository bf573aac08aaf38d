//! `buffer-cache`: buffers found by group and block, with all switches of the library's table.
//!
//! A look-up gets a cached buffer. If the buffer were missing, the same call would fill it, while
//! only other look-ups could use it. Filling takes no time here, so there is no setting for the
//! place where it happens. Other steps of the script represent its cost.

use super::table_object::{Held, MakeTable, Of, TableObject};
use super::tally::Tally;
use crate::model::{Table, TableOperation};
use lockyard::platform::HostWithSlots;
use lockyard_tables::buffers::{
    BlockCache, Configuration, EveryCall, Groups, Hash256, Key, MoveToFront, OnMiss, Outside,
    ReferencedBit, Switches, TreePerGroup, WideHash, With,
};
use std::alloc::Layout;
use std::ptr::NonNull;

pub(super) struct Buffers;

/// A generic function over the switches that a script sets.
trait Chosen<H: HostWithSlots> {
    type Result;
    fn with<S: Switches<H>>(self) -> Self::Result;
}

fn choose<H: HostWithSlots, C: Chosen<H>>(table: &Table, then: C) -> C::Result {
    fn index<
        A: lockyard_tables::buffers::Allocate,
        P: lockyard_tables::buffers::Promote,
        H: HostWithSlots,
        C: Chosen<H>,
    >(
        table: &Table,
        then: C,
    ) -> C::Result {
        match table.name("index") {
            "hash-256" => then.with::<With<A, Outside, P, Hash256>>(),
            "tree-per-group" => then.with::<With<A, Outside, P, TreePerGroup>>(),
            _ => then.with::<With<A, Outside, P, WideHash>>(),
        }
    }
    match (table.name("allocate"), table.name("promote")) {
        ("every-call", "move-to-front") => index::<EveryCall, MoveToFront, H, C>(table, then),
        ("every-call", _) => index::<EveryCall, ReferencedBit, H, C>(table, then),
        (_, "move-to-front") => index::<OnMiss, MoveToFront, H, C>(table, then),
        _ => index::<OnMiss, ReferencedBit, H, C>(table, then),
    }
}

impl MakeTable for Buffers {
    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        struct Of<H>(std::marker::PhantomData<H>);
        impl<H: HostWithSlots> Chosen<H> for Of<H> {
            type Result = Layout;
            fn with<S: Switches<H>>(self) -> Layout {
                Layout::new::<BlockCache<u64, S, H>>()
            }
        }
        choose(table, Of::<H>(std::marker::PhantomData))
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        struct Make<'t, H> {
            table: &'t Table,
            memory: NonNull<u8>,
            drops: bool,
            host: std::marker::PhantomData<H>,
        }
        impl<H: HostWithSlots> Chosen<H> for Make<'_, H> {
            type Result = Option<Box<dyn TableObject>>;
            fn with<S: Switches<H>>(self) -> Self::Result {
                // SAFETY: the caller of `make` promises memory for a cache with these switches.
                unsafe { made::<S, H>(self.table, self.memory, self.drops) }
            }
        }
        choose(table, Make::<H> { table, memory, drops, host: std::marker::PhantomData })
    }
}

/// # Safety
///
/// Does the same as [`MakeTable::make`], with the switches `S`.
unsafe fn made<S: Switches<H>, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    let groups = Groups::new(table.number("groups") as u32).ok()?;
    let empty =
        BlockCache::<u64, S, H>::with_configuration(Configuration::DEFAULT.with_groups(groups));
    // SAFETY: the caller upholds the contract of this function.
    let cache = unsafe { Held::write(memory, empty, drops) };
    let cached = Cached {
        cache,
        groups: u64::from(groups.get()),
        buffers: table.entries(),
        missed: Tally::default(),
        refused: Tally::default(),
    };
    for number in 0..cached.buffers {
        cached.cache.get_or_fill(cached.key(number), || Ok::<_, ()>(number)).ok()?;
    }
    Some(Box::new(cached))
}

struct Cached<S: Switches<H>, H: HostWithSlots> {
    cache: Held<BlockCache<u64, S, H>>,
    groups: u64,
    buffers: u64,
    /// Number of look-ups and removals that found no buffer, or the wrong one. Written only on such
    /// a fault.
    missed: Tally,
    /// Number of refused insertions.
    refused: Tally,
}

impl<S: Switches<H>, H: HostWithSlots> Cached<S, H> {
    /// Returns the key of a buffer. Successive numbers go to the groups in turn. The blocks of each
    /// group are numbered from 0.
    fn key(&self, number: u64) -> Key {
        Key::new((number % self.groups) as u32, number / self.groups)
    }
}

impl<S: Switches<H>, H: HostWithSlots> TableObject for Cached<S, H> {
    #[inline]
    fn perform(&self, _look_up: TableOperation, of: Of) {
        let (Of::Entry(number) | Of::Inserted(number)) = of;
        let found = self.cache.get_or_fill(self.key(number), || Err(()));
        if found.as_deref() != Ok(&number) {
            self.missed.note();
        }
    }

    fn insert(&self, number: u64) -> Option<u64> {
        let made = self.cache.get_or_fill(self.key(number), || Ok::<_, ()>(number));
        if made.as_deref() != Ok(&number) {
            self.refused.note();
            return None;
        }
        Some(number)
    }

    fn remove(&self, number: u64) {
        if self.cache.remove(self.key(number)).as_deref() != Some(&number) {
            self.missed.note();
        }
    }

    fn verify(&self, _performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String> {
        self.missed.never(|missed| format!("found nothing, or another buffer, {missed} times"))?;
        self.refused.no_refusal()?;
        let (len, living) = (self.cache.len() as u64, self.cache.living());
        if [len, living] != [self.buffers; 2] {
            return Err(format!(
                "has {len} buffers at the end ({living} including those already removed), not {}",
                self.buffers
            ));
        }
        Ok(())
    }

    fn address(&self) -> usize {
        self.cache.address()
    }
}
