//! Locks for comparison. The benchmarks measure them with the other locks; do not use them in
//! programs.
//!
//! - [`McsLock`]: a queue in which the holder keeps its node until the release. A thread may hold
//!   or wait for at most four. A fifth [`lock`](lock_api::Mutex::lock), or any `lock` in a thread
//!   without a slot, **ends the program** ([`Host::fatal`](crate::platform::Host::fatal)).
//!   `try_lock` fails instead.
//! - [`ClhLock`]: a queue in which each waiter spins on its predecessor's node. It has the limits
//!   of `McsLock`, and signal handlers must not use it.
//! - [`QSpinLockCmpxchgGrab`]: a [`QSpinLock`](crate::QSpinLock) in which the head of the queue
//!   always takes the lock by a compare-exchange.
//! - [`TicketLockAsmLoop`]: a ticket lock whose waiting loop is in assembly on x86-64.
//!
//! These names use the [native host](crate::Native). For another host write `RawSpinLock<lock::Mcs,
//! MyHost>`.

use crate::lock::TicketAsmLoop;
#[cfg(feature = "std")]
use crate::lock::{Clh, CmpxchgGrab, Mcs, Queued};
use crate::{Native, RawSpinLock};
use lock_api::{Mutex, MutexGuard};

/// A value behind a queued spinlock in which the head of the queue takes the lock by a
/// compare-exchange.
#[cfg(feature = "std")]
pub type QSpinLockCmpxchgGrab<T> = Mutex<RawSpinLock<Queued<CmpxchgGrab>, Native>, T>;
/// The guard of a [`QSpinLockCmpxchgGrab`].
#[cfg(feature = "std")]
pub type QSpinLockCmpxchgGrabGuard<'a, T> =
    MutexGuard<'a, RawSpinLock<Queued<CmpxchgGrab>, Native>, T>;

/// A value behind an [MCS lock](crate::lock::mcs) in 4 bytes. A thread may hold at most four; a
/// fifth ends the program.
#[cfg(feature = "std")]
pub type McsLock<T> = Mutex<RawSpinLock<Mcs, Native>, T>;
/// The guard of an [`McsLock`].
#[cfg(feature = "std")]
pub type McsLockGuard<'a, T> = MutexGuard<'a, RawSpinLock<Mcs, Native>, T>;

/// A value behind a [CLH lock](crate::lock::clh) in 4 bytes. A thread may hold at most four; a
/// fifth ends the program.
#[cfg(feature = "std")]
pub type ClhLock<T> = Mutex<RawSpinLock<Clh, Native>, T>;
/// The guard of a [`ClhLock`].
#[cfg(feature = "std")]
pub type ClhLockGuard<'a, T> = MutexGuard<'a, RawSpinLock<Clh, Native>, T>;

/// A value behind a ticket lock whose waiting loop is in assembly on x86-64.
pub type TicketLockAsmLoop<T> = Mutex<RawSpinLock<TicketAsmLoop, Native>, T>;
/// The guard of a [`TicketLockAsmLoop`].
pub type TicketLockAsmLoopGuard<'a, T> = MutexGuard<'a, RawSpinLock<TicketAsmLoop, Native>, T>;
