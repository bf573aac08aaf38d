//! Reclamation: when memory that readers find without a lock may be freed.
//!
//! A reader [enters](Domain::enter) a [`Domain`] and holds a [`Guard`] while it follows shared pointers. Who takes an
//! object out of reach [retires](Domain::retire) it: it is freed when every guard that was there at that moment is gone, which
//! is called a *grace period*. Readers wait for nobody; nobody waits for readers, unless it asks to.
//!
//! ```
//! use lockyard::Domain;
//! use lockyard::reclaim::Owned;
//! use lockyard::platform::{NativeU64, Ordering, Word};
//!
//! static DOMAIN: Domain = Domain::new();
//! static NEWEST: NativeU64 = NativeU64::new(0); // the bits of an `Owned<String>`, or 0
//!
//! let publish = |text: &str| {
//!     let new = Owned::new(text.to_string()).expect("there is memory").into_bits();
//!     let old = NEWEST.swap(new, Ordering::AcqRel);
//!     // SAFETY: the exchange has taken `old` out of reach, and only one thread gets it.
//!     unsafe { DOMAIN.retire_owned(Owned::<String>::from_bits(old)) };
//! };
//! publish("first");
//! publish("second");
//!
//! let guard = DOMAIN.enter();
//! // SAFETY: what `NEWEST` names was made by `Owned`, and is retired to the guard's domain.
//! let newest = unsafe { guard.deref_bits::<String>(NEWEST.load(Ordering::Acquire)) };
//! assert_eq!(newest.map(String::as_str), Some("second"));
//! drop(guard);
//!
//! DOMAIN.barrier();
//! assert_eq!(DOMAIN.pending(), 0, "the first string is freed");
//! ```
//!
//! # What it costs
//!
//! | operation | cost |
//! | --- | --- |
//! | [`enter`](Domain::enter) | one store to a line that only this slot writes, one sequentially consistent fence; loads of lines that rarely change |
//! | dropping the guard | one store to the same line |
//! | [`Guard::quiescent`] in a thread that keeps its guard | one load, while no grace period ends; then what `enter` costs |
//! | [`Domain::assume_entered`] | nothing: the caller's promise |
//! | [`retire`](Domain::retire) | one fence and two read-modify-writes of the slot's line; one in 64 retirements looks at all records and frees |
//! | [`synchronize`](Domain::synchronize) | waits for readers, twice; two looks at all records |
//!
//! # Where the records are
//!
//! A domain has a record of one 64-byte line for each slot that has entered it, in segments of 8, 16, 32, ... records,
//! allocated through [`Host::allocate`] when a slot of the segment first enters, and kept until the domain is dropped:
//! with *n* slots in use less than 128 *n* + 512 bytes. [`reserve`](Domain::reserve) allocates before. A thread without a slot, and one whose
//! record cannot be allocated, enters through two counters that all such threads share: correct, and a read-modify-write of a
//! shared line instead of a store to a line of its own.
//!
//! # How much waits to be freed
//!
//! Retired objects are linked through the [`Header`] that is part of them, so retiring needs no memory and cannot fail. A slot
//! looks after its list at the first [`retire`](Domain::retire) that finds 64 or more retirements since somebody last looked, by
//! [`retire`](Domain::retire) and by [`retire_later`](Domain::retire_later) together. It then tries to end the epoch, and
//! frees what has waited for two. If each look finds no reader that entered in an earlier epoch, at most 3 (64 + *k*) objects of a
//! slot wait, where at most *k* calls of [`retire_later`](Domain::retire_later) lie between two of
//! [`retire`](Domain::retire): 192 where all are the latter. Otherwise add what is retired while such a reader stays. Add, too,
//! what is retired while another thread tends the slot's list. Retirements in interruptions count as later ones.
//!
//! What threads leave behind that have ended, retire seldom, or only [later](Domain::retire_later), is freed by any other thread
//! that retires, four epochs later, and by [`collect`](Domain::collect) and [`barrier`](Domain::barrier). Dropping the domain
//! frees everything.
//!
//! **A reader that never leaves** stops all freeing: every object that is retired from then on waits, and memory grows with
//! the number of retirements ([`pending`](Domain::pending) counts them; retiring stays as cheap as it was). Nothing is freed under
//! the reader. [`try_synchronize`](Domain::try_synchronize) waits for a bounded time only, and names the slot. A forgotten
//! guard (`mem::forget`) is such a reader, and its thread's slot is given to no other thread, so that nobody goes on where that one
//! stopped; so is one in a process's child after `fork`, of a thread that the child does not have.
//!
//! # What it asks of a reader
//!
//! - A guard stays on its thread (it is not `Send`), and is dropped before the thread blocks for long.
//! - Guards nest, in the same thread and in signal handlers that interrupt it anywhere, also in the middle of `enter`. A handler enters only
//!   in threads that have a slot, in a domain that the slot has entered or that was [reserved](Domain::reserve), because
//!   allocation is not safe in handlers; it retires by [`retire_later`](Domain::retire_later), for the same reason.
//! - Whoever switches fibres while it holds a guard must come back on the same thread, before the guard is dropped.
//! - On a host whose slots are CPUs a reader stays on its CPU, with no other thread there: a [`Context`] that switches
//!   preemption off does that.
//! - A guard that is dropped late (in a thread-local variable's destructor) keeps its thread's slot until then; after that the slot stays
//!   leased, to nobody. So does that of a thread that forgets a guard: as many threads as there are slots can do that before
//!   others have none (which costs them time, and nothing else).
//!
//! # Source
//!
//! Epochs and their three generations: Fraser, *Practical lock-freedom*, 2004, section 5.2.3. Grace periods, and quiescent states instead of
//! sections: McKenney and Slingwine, *Read-copy update*, 1998; Hart, McKenney, Demke Brown and Walpole, *Performance of memory
//! reclamation for lockless synchronization*, 2007. The argument that it is right stands in `grace.rs`.

mod grace;
mod guard;
mod owned;
mod record;
mod retired;

pub use grace::StillRead;
pub use guard::Guard;
pub use owned::Owned;
pub use retired::{Free, Header};

use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::memory::AllocationFailed;
use crate::platform::{ConstAtomics, Host, HostWithSlots, U64, Word};
use core::fmt;
use core::marker::PhantomData;
use record::{List, Records};

/// Readers, and what waits until they have left. See the [module](self).
///
/// `C` is what a guard switches off while it lives. Invariant in both parameters.
#[repr(C, align(64))]
pub struct Domain<H: HostWithSlots, C: Context = NoContext> {
    /// The epoch; from 0. Changed only by the compare-exchange in `grace.rs`, by one.
    epoch: U64<H>,
    records: Records<H>,
    /// Of threads without a record.
    unrecorded: Unrecorded<H>,
    _context: Invariant<C>,
}

/// What threads without a record share.
#[repr(C, align(64))]
struct Unrecorded<H: Host> {
    /// How many of them are inside, by the parity of the epoch in which they entered.
    inside: [U64<H>; 2],
    retired: List<H>,
}

impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> Domain<H, C> {
    /// A domain without readers and records; for statics too. Where the platform has no constants: [`Domain::default`].
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
    /// Allocates the records of slots 0 to `slots` - 1 now, so that their first entering does not.
    ///
    /// # Errors
    ///
    /// When the host has no memory. What was allocated until then is kept, and used.
    pub fn reserve(&self, slots: u32) -> Result<(), AllocationFailed> {
        self.records.reserve(slots.min(H::SLOTS))
    }

    /// How many objects have been retired and not been freed yet. A snapshot; exact when nobody retires or frees. Reads every record.
    pub fn pending(&self) -> u64 {
        let recorded = self.records.iter().map(|(_, record)| record.retired.pending()).sum::<u64>();
        recorded + self.unrecorded.retired.pending()
    }

    /// Bytes that the domain has allocated for records. Without the objects that wait, which are the caller's.
    pub fn record_bytes(&self) -> usize {
        self.records.bytes()
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Frees all that waits. For a domain without guards.
    fn free_all(&mut self) {
        self.records.each_mut(|record| record.retired.free_all());
        self.unrecorded.retired.free_all();
    }
}

impl<H: HostWithSlots, C: Context> Drop for Domain<H, C> {
    /// Frees what waits: no guard of the domain exists any more. If a [`Free`] function panics the others are called all the same.
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
