//! Domains: the state that readers and retiring threads share, from a domain's creation to its end.

use super::record::{List, Records};
use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::memory::AllocationFailed;
use crate::platform::{ConstAtomics, Host, HostWithSlots, U64, Word};
use core::fmt;
use core::marker::PhantomData;

/// The shared state of readers and of retired objects. A retired object is freed after the readers
/// that may have it have left. See the [module](super).
///
/// A guard switches off `C` while it lives. The type is invariant in both parameters.
#[repr(C, align(64))]
pub struct Domain<H: HostWithSlots, C: Context = NoContext> {
    /// The epoch, which starts at 0. Only the compare-exchange in `grace.rs` changes it, by one.
    pub(super) epoch: U64<H>,
    pub(super) records: Records<H>,
    /// The state of threads without a record.
    pub(super) unrecorded: Unrecorded<H>,
    _context: Invariant<C>,
}

/// The state that threads without a record share.
#[repr(C, align(64))]
pub(super) struct Unrecorded<H: Host> {
    /// Number of threads without a record that are inside, by the parity of the epoch in which they
    /// entered.
    pub(super) inside: [U64<H>; 2],
    pub(super) retired: List<H>,
}

impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> Domain<H, C> {
    /// Makes a domain without readers or records, also for statics. On a platform without constants
    /// use [`Domain::default`].
    pub const fn new() -> Self {
        Domain {
            epoch: <H::Atomics as ConstAtomics>::U64_ZERO,
            records: Records::NONE,
            unrecorded: Unrecorded {
                inside: [<H::Atomics as ConstAtomics>::U64_ZERO; 2],
                retired: List::EMPTY,
            },
            _context: PhantomData,
        }
    }
}

impl<H: HostWithSlots, C: Context> Default for Domain<H, C> {
    fn default() -> Self {
        Domain {
            epoch: Word::new(0),
            records: Records::new(),
            unrecorded: Unrecorded { inside: [Word::new(0), Word::new(0)], retired: List::new() },
            _context: PhantomData,
        }
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Allocates the records of slots 0 to `slots` - 1 now, so that entering does not allocate.
    ///
    /// # Errors
    ///
    /// If the host has no memory. Records allocated before the failure are kept, and used.
    pub fn reserve(&self, slots: u32) -> Result<(), AllocationFailed> {
        self.records.reserve(slots.min(H::SLOTS))
    }

    /// Number of objects that are retired and not freed yet. A snapshot, exact while no thread
    /// retires or frees. Cost: reads every record.
    pub fn pending(&self) -> u64 {
        let recorded = self.records.iter().map(|(_, record)| record.retired.pending()).sum::<u64>();
        recorded + self.unrecorded.retired.pending()
    }

    /// Number of bytes that the domain has allocated for records. It excludes the waiting objects,
    /// which belong to the caller.
    pub fn record_bytes(&self) -> usize {
        self.records.bytes()
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Frees all waiting objects. For a domain without guards.
    fn free_all(&mut self) {
        self.records.each_mut(|record| record.retired.free_all());
        self.unrecorded.retired.free_all();
    }
}

impl<H: HostWithSlots, C: Context> Drop for Domain<H, C> {
    /// Frees all waiting objects: no guard of the domain exists any more. If a [`Free`] function
    /// panics, the others are still called.
    ///
    /// [`Free`]: super::Free
    fn drop(&mut self) {
        struct Finish<'d, H: HostWithSlots, C: Context>(&'d mut Domain<H, C>);
        impl<H: HostWithSlots, C: Context> Drop for Finish<'_, H, C> {
            fn drop(&mut self) {
                self.0.free_all();
                self.0.records.free();
            }
        }
        let finish = Finish(self);
        finish.0.free_all();
    }
}

impl<H: HostWithSlots, C: Context> fmt::Debug for Domain<H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
