#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("lockyard needs a processor with 64-bit atomic operations: a lockref is one");

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod buffers;
pub mod connections;
mod context;
pub mod id_table;
mod invariance;
pub mod kind;
pub mod lane;
pub mod lock;
pub mod lockref;
mod memory;
pub mod page_ref;
pub mod platform;
mod raw;
pub mod reclaim;
pub mod statistics;

pub use buffers::BufferCache;
pub use connections::ConnectionTable;
pub use context::{Context, NoContext};
pub use kind::RawChosenLock;
pub use lockref::{LockRef, LockRefGuard};
pub use memory::AllocationFailed;
pub use page_ref::PageRef;
pub use platform::Native;
pub use raw::{Acquired, ConstWidth, FourBytes, Held, RawSpinLock, TwoBytes, Width};
pub use statistics::{Counts, Statistics};

use lock::{Clh, CmpxchgGrab, Mcs, PvQueued, PvTicket, Queued, TestAndSet, Ticket, TicketAsmLoop};

/// A value behind a queued spinlock of 4 bytes: waiters spin each on a line of its own, first in, first
/// out.
///
/// ```
/// use lockyard::QSpinLock;
///
/// static NAMES: QSpinLock<Vec<&str>> = QSpinLock::new(Vec::new());
/// NAMES.lock().push("queued");
/// assert_eq!(*NAMES.lock(), ["queued"]);
/// assert_eq!(size_of::<QSpinLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked compare-exchange, one plain store. A hand-over costs a fixed number of line
/// transfers, however many wait. The algorithm, what it needs of a thread that waits, and its source:
/// [`lock::queued`].
pub type QSpinLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawQSpinLock<H, C>, T>;
/// The guard of a [`QSpinLock`].
pub type QSpinLockGuard<'a, T, H = Native, C = NoContext> =
    lock_api::MutexGuard<'a, RawQSpinLock<H, C>, T>;
/// The lock of a [`QSpinLock`].
pub type RawQSpinLock<H = Native, C = NoContext> = RawSpinLock<Queued, H, C>;

/// A value behind a queued spinlock whose queue's head takes the lock by a compare-exchange; to compare
/// with.
pub type QSpinLockCmpxchgGrab<T, H = Native, C = NoContext> =
    lock_api::Mutex<RawSpinLock<Queued<CmpxchgGrab>, H, C>, T>;

/// A value behind an MCS lock in 4 bytes; a comparator, with limits: see [`lock::Mcs`].
pub type McsLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawSpinLock<Mcs, H, C>, T>;

/// A value behind a CLH lock in 4 bytes; a comparator, with limits: see [`lock::Clh`].
pub type ClhLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawSpinLock<Clh, H, C>, T>;

/// A value behind a ticket lock of 4 bytes: first come, first served.
///
/// ```
/// use lockyard::TicketLock;
///
/// static NAMES: TicketLock<Vec<&str>> = TicketLock::new(Vec::new());
/// NAMES.lock().push("ticket");
/// assert_eq!(*NAMES.lock(), ["ticket"]);
/// assert_eq!(size_of::<TicketLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked add, one plain store. A hand-over among *n* waiters costs *n* line
/// transfers. At most 2^15 threads may hold or wait at once; one more ends the program
/// ([`Host::fatal`](platform::Host::fatal)). The algorithm and its source: [`lock::Ticket`].
pub type TicketLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawTicketLock<H, C>, T>;
/// The guard of a [`TicketLock`].
pub type TicketLockGuard<'a, T, H = Native, C = NoContext> =
    lock_api::MutexGuard<'a, RawTicketLock<H, C>, T>;
/// The lock of a [`TicketLock`].
pub type RawTicketLock<H = Native, C = NoContext> = RawSpinLock<Ticket, H, C>;

/// A value behind a ticket lock of 2 bytes, for hosts with at most 255 slots (checked when it is
/// compiled; user space has more).
pub type TicketLock8<T, H, C = NoContext> = lock_api::Mutex<RawTicketLock8<H, C>, T>;
/// The lock of a [`TicketLock8`].
pub type RawTicketLock8<H, C = NoContext> = RawSpinLock<Ticket, H, C, TwoBytes>;

/// A value behind a ticket lock whose waiting loop is in assembly on x86-64; to compare with.
pub type TicketLockAsmLoop<T, H = Native, C = NoContext> =
    lock_api::Mutex<RawSpinLock<TicketAsmLoop, H, C>, T>;

/// A value behind a queued lock of 4 bytes whose waiters park: for more threads than CPUs, and for guests of a hypervisor.
///
/// ```
/// use lockyard::PvQSpinLock;
///
/// static NAMES: PvQSpinLock<Vec<&str>> = PvQSpinLock::new(Vec::new());
/// NAMES.lock().push("parks");
/// assert_eq!(*NAMES.lock(), ["parks"]);
/// assert_eq!(size_of::<PvQSpinLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked compare-exchange, one locked add. Who comes may take the lock before those who wait, within a
/// bound. The algorithm, the bound and the sources: [`lock::pv_queued`].
pub type PvQSpinLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawPvQSpinLock<H, C>, T>;
/// The lock of a [`PvQSpinLock`].
pub type RawPvQSpinLock<H = Native, C = NoContext> = RawSpinLock<PvQueued, H, C>;

/// A value behind a ticket lock of 4 bytes whose waiters park: first come, first served, whoever runs.
///
/// ```
/// use lockyard::PvTicketLock;
///
/// let total = PvTicketLock::<u64>::new(0);
/// std::thread::scope(|s| {
///     for _ in 0..8 {
///         s.spawn(|| for _ in 0..100 { *total.lock() += 1 });
///     }
/// });
/// assert_eq!(*total.lock(), 800);
/// assert_eq!(size_of::<PvTicketLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked add, one locked add. A hand-over to a waiter that is parked costs a wake-up. At most 2^14 threads may
/// hold or wait at once; one more ends the program. The algorithm and its sources: [`lock::pv_ticket`].
pub type PvTicketLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawPvTicketLock<H, C>, T>;
/// The lock of a [`PvTicketLock`].
pub type RawPvTicketLock<H = Native, C = NoContext> = RawSpinLock<PvTicket, H, C>;

/// A value behind a test-and-set lock of 4 bytes: not fair; the baseline.
///
/// ```
/// use lockyard::TestAndSetLock;
///
/// let total = TestAndSetLock::<u64>::new(0);
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         s.spawn(|| for _ in 0..1000 { *total.lock() += 1 });
///     }
/// });
/// assert_eq!(*total.lock(), 2000);
/// ```
pub type TestAndSetLock<T, H = Native, C = NoContext> = lock_api::Mutex<RawTestAndSetLock<H, C>, T>;
/// The lock of a [`TestAndSetLock`].
pub type RawTestAndSetLock<H = Native, C = NoContext> = RawSpinLock<TestAndSet, H, C>;

/// A value behind a lock of 4 bytes whose kind is chosen when the program runs, once and before the first use: see
/// [`kind`].
pub type ChosenLock<T, S, H = Native, C = NoContext> = lock_api::Mutex<RawChosenLock<S, H, C>, T>;
/// The guard of a [`ChosenLock`].
pub type ChosenLockGuard<'a, T, S, H = Native, C = NoContext> =
    lock_api::MutexGuard<'a, RawChosenLock<S, H, C>, T>;

const _: () = {
    assert!(size_of::<RawTicketLock>() == 4 && align_of::<RawTicketLock>() == 4);
    assert!(size_of::<RawTicketLock8<Native>>() == 2 && align_of::<RawTicketLock8<Native>>() == 2);
    assert!(size_of::<RawQSpinLock>() == 4 && align_of::<RawQSpinLock>() == 4);
    assert!(size_of::<RawPvQSpinLock>() == 4 && align_of::<RawPvQSpinLock>() == 4);
    assert!(size_of::<RawPvTicketLock>() == 4 && align_of::<RawPvTicketLock>() == 4);
    assert!(size_of::<RawTestAndSetLock>() == 4 && align_of::<RawTestAndSetLock>() == 4);
    assert!(size_of::<LockRef>() == 8 && align_of::<LockRef>() == 8);
};
