//! Locks that queue or park, lockrefs and domains on a host that does not say that it has slots:
//! another lock, or none.

use lockyard::lock::{Clh, Mcs};
use lockyard::platform::{Host, Native, Slot};
use lockyard::{RawSpinLock, on};

/// A kernel before it knows its CPUs. `Native` without the feature `std` is another such host.
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

static QUEUED: on::QSpinLock<u32, Early> = on::QSpinLock::new(0);
static ENTRY: on::LockRef<Early> = on::LockRef::new(1);
static DOMAIN: on::Domain<Early> = on::Domain::new();

fn comparators(_: &RawSpinLock<Mcs, Early>, _: &RawSpinLock<Clh, Early>) {}

fn parks(lock: &on::PvTicketLock<u32, Early>) {
    *lock.lock() += 1;
}

// These need none.
static TICKET: on::TicketLock<u32, Early> = on::TicketLock::new(0);
static PAGE: on::PageRef<Early> = on::PageRef::new(1);

fn main() {}
