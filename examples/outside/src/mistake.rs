//! Code that `cargo check` must refuse: locks that queue or park, lockrefs and domains on hosts
//! that do not say that they have slots. There they would be other locks, or none. A test reads
//! the comments that say which lines are refused.

use lockyard::lock::{Clh, Mcs};
use lockyard::platform::{Host, Native, Slot};
use lockyard::{RawSpinLock, on};

/// `Native` has no slots without `std`.
static NATIVE: on::QSpinLock<u32, Native> = on::QSpinLock::new(0); // refused: Native

/// A kernel before it knows its CPUs.
struct Early;

// SAFETY: everything is `Native`'s; slots are withheld, which a host may do.
unsafe impl Host for Early {
    type Atomics = <Native as Host>::Atomics;
    const SLOTS: u32 = 1;
    fn slot() -> Option<Slot> {
        None
    }
    lockyard::forward_to_host!(Native: memory, activity, rest);
}

static QUEUED: on::QSpinLock<u32, Early> = on::QSpinLock::new(0); // refused: Early
static ENTRY: on::LockRef<Early> = on::LockRef::new(1); // refused: Early
static DOMAIN: on::Domain<Early> = on::Domain::new(); // refused: Early
static PARKS: on::PvTicketLock<u32, Early> = on::PvTicketLock::new(0); // refused: Early
fn mcs(_: &RawSpinLock<Mcs, Early>) {} // refused: Early
fn clh(_: &RawSpinLock<Clh, Early>) {} // refused: Early

// These need no slots.
static TICKET: on::TicketLock<u32, Early> = on::TicketLock::new(0);
static PAGE: on::PageRef<Early> = on::PageRef::new(1);
