//! Reclamation: freeing memory that readers access without a lock.
//!
//! A reader [enters](Domain::enter) a [`Domain`] and holds a [`Guard`] while it follows shared
//! pointers. A thread that takes an object out of reach [retires](Domain::retire) it. The object is
//! freed once every guard that existed at that moment has been dropped. That interval is a *grace
//! period*. Readers never wait, and a thread waits for readers only if it asks to.
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
//! // SAFETY: `NEWEST` names a string that `Owned` made, and that is retired to the guard's domain.
//! let newest = unsafe { guard.deref_bits::<String>(NEWEST.load(Ordering::Acquire)) };
//! assert_eq!(newest.map(String::as_str), Some("second"));
//! drop(guard);
//!
//! DOMAIN.barrier();
//! assert_eq!(DOMAIN.pending(), 0, "the first string is freed");
//! ```
//!
//! # Cost
//!
//! | operation | cost |
//! | --- | --- |
//! | [`enter`](Domain::enter) | one store to a line that only this slot writes, one fence |
//! | dropping the guard | one store to the same line |
//! | [`Guard::pass_quiescent_state`] | one load while no grace period ends, then as `enter` |
//! | [`Domain::assume_entered`] | nothing: relies on the caller's promise |
//! | [`retire`](Domain::retire) | one fence, two read-modify-writes of the slot's line |
//! | [`grace_period`](Domain::grace_period) | one fence; [`has_passed`](Domain::has_passed): one load |
//! | [`synchronize`](Domain::synchronize) | waits for readers, twice; two scans of all records |
//!
//! The fences are sequentially consistent. `enter` also loads lines that rarely change. One in 64
//! retirements scans all records and frees. Quiescent states are for a thread that keeps its guard.
//!
//! # Where the records are
//!
//! A domain has a record of one 64-byte line for each slot that has entered it. Records are in
//! segments of 8, 16, 32, ... records. A segment is allocated through [`Host::allocate`] when one
//! of its slots first enters, and kept until the domain is dropped. With *n* slots in use, the
//! records take less than 128 *n* + 512 bytes. [`reserve`](Domain::reserve) allocates in advance.
//!
//! A thread without a slot, or whose record cannot be allocated, enters through two counters that
//! all such threads share. That is correct, but costs a read-modify-write of a shared line instead
//! of a store to a line of the slot.
//!
//! # Limits on waiting memory
//!
//! Retired objects are linked through the [`Header`] that is part of them, so retiring needs no
//! memory and cannot fail. A slot's retirements by [`retire`](Domain::retire) and by
//! [`retire_later`](Domain::retire_later) count together. If a call of [`retire`](Domain::retire)
//! finds 64 or more retirements since the last scan of the slot's list, it scans the list. A scan
//! tries to end the epoch, and frees the objects that have waited for two epochs.
//!
//! Suppose that each scan finds no reader that entered in an earlier epoch, and that at most *k*
//! calls of [`retire_later`](Domain::retire_later) are between two calls of
//! [`retire`](Domain::retire). Then at most 3 (64 + *k*) objects of a slot wait: 192 if all are
//! calls of [`retire`](Domain::retire). Add the objects that are retired while such a reader stays,
//! or while another thread is collecting the slot's list. Retirements in interruptions count as
//! calls of [`retire_later`](Domain::retire_later).
//!
//! Some threads leave objects behind: they have ended, retire rarely, or retire only
//! [later](Domain::retire_later). Any other thread that retires frees these objects, four epochs
//! later. [`collect`](Domain::collect) and [`barrier`](Domain::barrier) also free them. Dropping
//! the domain frees everything.
//!
//! **A reader that never leaves** stops all freeing. Every object that is retired after that waits,
//! and memory grows with the number of retirements. ([`pending`](Domain::pending) counts these
//! objects; retiring stays equally cheap.) No object that the reader may have is freed.
//! [`try_synchronize`](Domain::try_synchronize) waits only for a bounded time, and names the slot.
//!
//! A forgotten guard (`mem::forget`) is such a reader. Its thread's slot is never given to another
//! thread, which could otherwise continue from the forgotten guard's state. In a child process
//! after `fork`, a guard of a thread that the child does not have is also such a reader.
//!
//! # Rules for readers
//!
//! - A guard stays on its thread (it is not `Send`), and must be dropped before the thread blocks
//!   for long.
//! - Guards nest, in the same thread and in signal handlers that interrupt it anywhere, even in the
//!   middle of `enter`. Allocation is not safe in handlers. So a handler may enter only in threads
//!   that have a slot, and only domains that the slot has entered or that were
//!   [reserved](Domain::reserve). For the same reason it must retire by
//!   [`retire_later`](Domain::retire_later).
//! - A thread that switches fibres while it holds a guard must return to that fibre on the same
//!   thread, before the guard is dropped.
//! - On a host whose slots are CPUs, a reader stays on its CPU, and no other thread runs there
//!   before it leaves. A [`Context`] that switches preemption off ensures that.
//! - A guard that is dropped late (in a thread-local variable's destructor) keeps its thread's slot
//!   until then. After that the slot stays leased, but no thread uses it. The slot of a thread that
//!   forgets a guard also stays leased. After as many such threads as there are slots, other
//!   threads have no slot, which costs them only time.
//!
//! # Sources
//!
//! - Epochs and their three generations: Fraser, *Practical lock-freedom*, 2004, section 5.2.3.
//! - Grace periods, and quiescent states instead of sections: McKenney and Slingwine, *Read-copy
//!   update*, 1998; Hart, McKenney, Demke Brown and Walpole, *Performance of memory reclamation for
//!   lockless synchronization*, 2007.
//!
//! The correctness argument is in `grace.rs`.
//!
//! [`Host::allocate`]: crate::platform::Host::allocate
//! [`Context`]: crate::Context

mod domain;
mod grace;
mod guard;
mod header;
mod owned;
mod record;
mod retired;

pub use domain::Domain;
pub use grace::{GracePeriod, StillRead};
pub use guard::Guard;
pub use header::{Free, Header};
pub use owned::Owned;
