//! The names of this crate for your own host.
//!
//! The names at the crate's root use the host [`Native`](crate::Native), and take only the type of
//! the value. The names here also take a [host](crate::platform::Host), and a
//! [`Context`](crate::Context) if the type has a guard. A kernel defines its own lock names, one
//! line each:
//!
//! ```
//! use lockyard::on;
//! # use lockyard::Native as Kernel;
//! # use lockyard::NoContext as InterruptsOff;
//!
//! type QSpinLock<T> = on::QSpinLock<T, Kernel>;
//! type IrqTicketLock<T> = on::TicketLock<T, Kernel, InterruptsOff>;
//! type LockRef = on::LockRef<Kernel>;
//!
//! static PAGES: QSpinLock<u64> = QSpinLock::new(0);
//! static RUN_QUEUE: IrqTicketLock<Vec<u32>> = IrqTicketLock::new(Vec::new());
//! static ENTRY: LockRef = LockRef::new(1);
//!
//! *PAGES.lock() += 1;
//! RUN_QUEUE.lock().push(7);
//! assert!(ENTRY.get_not_dead());
//! ```
//!
//! Locks that queue or park, and everything built on them, require a [host with
//! slots](crate::platform::HostWithSlots). On a host without slots they do not compile, and the
//! compiler says why. A lockref with a ticket lock works on any host. All other choices are
//! parameters of the types behind these names: [`RawSpinLock`], [`lockref::LockRef`], and so on.

use crate::lock::{Adaptive, PvQueued, PvTicket, Queued, TestAndSet, Ticket, Ticket8};
use crate::{NoContext, RawSpinLock, rwlock};
use crate::{kind, lockref, page_ref};

/// A [`Mutex`](crate::lock::adaptive) on host `H`.
pub type Mutex<T, H, C = NoContext> = lock_api::Mutex<RawMutex<H, C>, T>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T, H, C = NoContext> = lock_api::MutexGuard<'a, RawMutex<H, C>, T>;
/// The lock of a [`Mutex`].
pub type RawMutex<H, C = NoContext> = RawSpinLock<Adaptive, H, C>;

/// A [`RwLock`](crate::rwlock) on host `H`.
pub type RwLock<T, H> = lock_api::RwLock<RawRwLock<H>, T>;
/// The guard of a reader of a [`RwLock`].
pub type RwLockReadGuard<'a, T, H> = lock_api::RwLockReadGuard<'a, RawRwLock<H>, T>;
/// The guard of the writer of a [`RwLock`].
pub type RwLockWriteGuard<'a, T, H> = lock_api::RwLockWriteGuard<'a, RawRwLock<H>, T>;
/// The guard of the upgradable reader of a [`RwLock`].
pub type RwLockUpgradableReadGuard<'a, T, H> =
    lock_api::RwLockUpgradableReadGuard<'a, RawRwLock<H>, T>;
/// The lock of a [`RwLock`].
pub type RawRwLock<H> = rwlock::RawRwLock<H>;

/// A [`ShardedRwLock`](crate::rwlock::sharded) on host `H`.
pub type ShardedRwLock<T, H> = lock_api::RwLock<RawShardedRwLock<H>, T>;
/// The guard of a reader of a [`ShardedRwLock`].
pub type ShardedRwLockReadGuard<'a, T, H> = lock_api::RwLockReadGuard<'a, RawShardedRwLock<H>, T>;
/// The guard of the writer of a [`ShardedRwLock`].
pub type ShardedRwLockWriteGuard<'a, T, H> = lock_api::RwLockWriteGuard<'a, RawShardedRwLock<H>, T>;
/// The lock of a [`ShardedRwLock`].
pub type RawShardedRwLock<H> = rwlock::RawShardedRwLock<H>;

/// A [`QRwLock`](crate::rwlock::queued) on host `H`.
pub type QRwLock<T, H, C = NoContext> = lock_api::RwLock<RawQRwLock<H, C>, T>;
/// The guard of a reader of a [`QRwLock`].
pub type QRwLockReadGuard<'a, T, H, C = NoContext> =
    lock_api::RwLockReadGuard<'a, RawQRwLock<H, C>, T>;
/// The guard of the writer of a [`QRwLock`].
pub type QRwLockWriteGuard<'a, T, H, C = NoContext> =
    lock_api::RwLockWriteGuard<'a, RawQRwLock<H, C>, T>;
/// The lock of a [`QRwLock`].
pub type RawQRwLock<H, C = NoContext> = rwlock::RawQRwLock<H, C>;

/// A [`SeqLock`](crate::seqlock) on host `H`, whose writers park.
pub type SeqLock<T, H> = crate::seqlock::SeqLock<T, H>;
/// The guard of a writer of a [`SeqLock`].
pub type SeqLockGuard<'a, T, H> = crate::seqlock::SeqLockGuard<'a, T, H>;

/// A [`QSpinLock`](crate::lock::queued) on host `H`.
pub type QSpinLock<T, H, C = NoContext> = lock_api::Mutex<RawQSpinLock<H, C>, T>;
/// The guard of a [`QSpinLock`].
pub type QSpinLockGuard<'a, T, H, C = NoContext> = lock_api::MutexGuard<'a, RawQSpinLock<H, C>, T>;
/// The lock of a [`QSpinLock`].
pub type RawQSpinLock<H, C = NoContext> = RawSpinLock<Queued, H, C>;

/// A [`TicketLock`](crate::TicketLock) on host `H`.
pub type TicketLock<T, H, C = NoContext> = lock_api::Mutex<RawTicketLock<H, C>, T>;
/// The guard of a [`TicketLock`].
pub type TicketLockGuard<'a, T, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawTicketLock<H, C>, T>;
/// The lock of a [`TicketLock`].
pub type RawTicketLock<H, C = NoContext> = RawSpinLock<Ticket, H, C>;

/// A value behind a ticket lock of 2 bytes, for hosts with at most 255 slots (checked at compile
/// time). [`Native`](crate::Native) has more slots than that.
pub type TicketLock8<T, H, C = NoContext> = lock_api::Mutex<RawTicketLock8<H, C>, T>;
/// The guard of a [`TicketLock8`].
pub type TicketLock8Guard<'a, T, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawTicketLock8<H, C>, T>;
/// The lock of a [`TicketLock8`].
pub type RawTicketLock8<H, C = NoContext> = RawSpinLock<Ticket8, H, C>;

/// A [`PvQSpinLock`](crate::lock::pv_queued) on host `H`.
pub type PvQSpinLock<T, H, C = NoContext> = lock_api::Mutex<RawPvQSpinLock<H, C>, T>;
/// The guard of a [`PvQSpinLock`].
pub type PvQSpinLockGuard<'a, T, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawPvQSpinLock<H, C>, T>;
/// The lock of a [`PvQSpinLock`].
pub type RawPvQSpinLock<H, C = NoContext> = RawSpinLock<PvQueued, H, C>;

/// A [`PvTicketLock`](crate::lock::pv_ticket) on host `H`.
pub type PvTicketLock<T, H, C = NoContext> = lock_api::Mutex<RawPvTicketLock<H, C>, T>;
/// The guard of a [`PvTicketLock`].
pub type PvTicketLockGuard<'a, T, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawPvTicketLock<H, C>, T>;
/// The lock of a [`PvTicketLock`].
pub type RawPvTicketLock<H, C = NoContext> = RawSpinLock<PvTicket, H, C>;

/// A [`TestAndSetLock`](crate::TestAndSetLock) on host `H`.
pub type TestAndSetLock<T, H, C = NoContext> = lock_api::Mutex<RawTestAndSetLock<H, C>, T>;
/// The guard of a [`TestAndSetLock`].
pub type TestAndSetLockGuard<'a, T, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawTestAndSetLock<H, C>, T>;
/// The lock of a [`TestAndSetLock`].
pub type RawTestAndSetLock<H, C = NoContext> = RawSpinLock<TestAndSet, H, C>;

/// A value behind a lock of 4 bytes on host `H` whose kind is chosen at run time: see [`kind`].
pub type ChosenLock<T, S, H, C = NoContext> = lock_api::Mutex<RawChosenLock<S, H, C>, T>;
/// The guard of a [`ChosenLock`].
pub type ChosenLockGuard<'a, T, S, H, C = NoContext> =
    lock_api::MutexGuard<'a, RawChosenLock<S, H, C>, T>;
/// The lock of a [`ChosenLock`].
pub type RawChosenLock<S, H, C = NoContext> = kind::RawChosenLock<S, H, C>;

/// A [lockref](lockref::LockRef) with a queued lock, on host `H`.
pub type LockRef<H, C = NoContext> = lockref::LockRef<Queued, lockref::policy::Standard, H, C>;
/// The guard of a [`LockRef`].
pub type LockRefGuard<'a, H, C = NoContext> =
    lockref::LockRefGuard<'a, Queued, lockref::policy::Standard, H, C>;

/// A [page reference count](page_ref::PageRef) on host `H`.
pub type PageRef<H> = page_ref::PageRef<page_ref::Cmpxchg, H>;

pub use crate::condvar::Condvar;
pub use crate::reclaim::{Domain, Guard as DomainGuard};
