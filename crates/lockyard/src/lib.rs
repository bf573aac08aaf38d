#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "lockyard needs a processor with 64-bit atomic operations: a lockref is one 64-bit word"
);

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod comparators;
pub mod condvar;
mod context;
mod invariance;
pub mod kind;
pub mod lane;
pub mod lock;
pub mod lockref;
pub mod memory;
pub mod on;
pub mod page_ref;
pub mod platform;
mod raw;
pub mod reclaim;
pub mod rwlock;
pub mod seqlock;
#[cfg(feature = "std")]
mod with_slots;

pub use context::{Context, NoContext};
pub use lane::{ConstWidth, FourBytes, TwoBytes, Width};
pub use memory::AllocationFailed;
pub use platform::Native;
pub use raw::{Acquired, Held, RawSpinLock};
#[cfg(feature = "std")]
pub use with_slots::*;

/// A value behind a ticket lock of 4 bytes: first come, first served.
///
/// **For threads that keep their CPUs.** With more threads than CPUs it nearly stops, because the
/// next waiter in line is often preempted. In that case use a lock whose waiters park
/// (`PvTicketLock`, `PvQSpinLock`) or a mutex.
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
/// ([`Host::fatal`](platform::Host::fatal)). See [`lock::Ticket`] for the algorithm and its source.
///
/// For your own host, or with a context: [`on::TicketLock`].
pub type TicketLock<T> = on::TicketLock<T, Native>;
/// The guard of a [`TicketLock`].
pub type TicketLockGuard<'a, T> = on::TicketLockGuard<'a, T, Native>;
/// The lock of a [`TicketLock`].
pub type RawTicketLock = on::RawTicketLock<Native>;

/// A value behind a test-and-set lock of 4 bytes: unfair, a baseline for comparison.
///
/// ```
/// use lockyard::TestAndSetLock;
///
/// let total = TestAndSetLock::new(0);
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         s.spawn(|| for _ in 0..1000 { *total.lock() += 1 });
///     }
/// });
/// assert_eq!(*total.lock(), 2000);
/// ```
///
/// For your own host, or with a context: [`on::TestAndSetLock`].
pub type TestAndSetLock<T> = on::TestAndSetLock<T, Native>;
/// The guard of a [`TestAndSetLock`].
pub type TestAndSetLockGuard<'a, T> = on::TestAndSetLockGuard<'a, T, Native>;
/// The lock of a [`TestAndSetLock`].
pub type RawTestAndSetLock = on::RawTestAndSetLock<Native>;

/// A reference count of 4 bytes that is never revived: [`page_ref::PageRef`] in its standard
/// variant.
///
/// ```
/// use lockyard::PageRef;
///
/// static PAGE: PageRef = PageRef::new(1);
/// assert!(PAGE.get_not_zero());
/// assert!(!PAGE.put(), "one reference is left");
/// ```
///
/// For your own host: [`on::PageRef`].
pub type PageRef = on::PageRef<Native>;

const _: () = {
    const fn is_of<T>(bytes: usize) -> bool {
        size_of::<T>() == bytes && align_of::<T>() == bytes
    }
    assert!(is_of::<RawTicketLock>(4) && is_of::<RawTestAndSetLock>(4));
    assert!(is_of::<on::RawTicketLock8<Native>>(2));
    assert!(is_of::<PageRef>(4));
};
