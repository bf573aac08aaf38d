//! The table of peers. To measure a lock of your own, add its crate to this crate's dependencies,
//! and a row here. Nothing else names a peer.
//!
//! A row has these fields:
//! - `name`: the variant's name in results and in `--peers=NAME`.
//! - `from`, `licence`: as stated by its package.
//! - `what`: a description in one line.
//! - `fifo`: true if threads get the lock in the order of arrival; `false` if in doubt.
//! - `control`: true for yardsticks.
//! - `lock`: its type. `make` makes a free lock in its place. `locked` takes and releases the lock
//!   around `body`. `is_held` returns true if the lock is held. A reader-writer lock also has
//!   `shared`, which is like `locked`, for a reader.
//!
//! The tests of this crate run every row.

use crate::bare::BareLock;
use crate::peer::Peer;
#[cfg(target_os = "linux")]
use crate::pthread::{PthreadMutex, PthreadSpin};
#[cfg(target_os = "linux")]
use crate::pthread_rwlock::PthreadRwLock;
use lockyard_scenarios::{Foreign, ForeignLock};
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _, RawRwLock as _};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError, RwLock, TryLockError};

/// Makes a row.
macro_rules! peer {
    (
        name: $name:literal, from: $from:literal, licence: $licence:literal, what: $what:literal,
        fifo: $fifo:literal, control: $control:literal,
        lock: $lock:ty, make: |$place:ident| $make:expr,
        locked: |$it:ident, $body:ident| $locked:expr,
        $(shared: |$shared:ident, $inside:ident| $locked_shared:expr,)?
        is_held: |$held:ident| $is_held:expr $(,)?
    ) => {{
        struct Row;
        // SAFETY: `make` returns its argument, initialised by `MaybeUninit::write` or by the C
        // library. The lock is meant to exclude. It is taken before `body`, and released after it.
        // The tests of this crate check all this.
        unsafe impl Foreign for Row {
            type Lock = $lock;
            #[inline]
            fn make($place: &mut MaybeUninit<$lock>) -> Option<&mut $lock> {
                $make
            }
            #[inline]
            fn locked($it: &$lock, $body: &mut dyn FnMut()) {
                $locked
            }
            $(
                const HAS_SHARED: bool = true;
                #[inline]
                fn locked_shared($shared: &$lock, $inside: &mut dyn FnMut()) {
                    $locked_shared
                }
            )?
            #[inline]
            fn is_held($held: &$lock) -> bool {
                $is_held
            }
        }
        Peer {
            name: $name,
            from: $from,
            licence: $licence,
            what: $what,
            fifo: $fifo,
            control: $control,
            lock: ForeignLock::of::<Row>($name),
        }
    }};
}

/// The yardstick, followed by the peers.
pub const PEERS: &[Peer] = &[
    peer! {
        name: "bare",
        from: "lockyard",
        licence: "MIT OR Apache-2.0",
        what: "a yardstick: one compare-exchange and one store; waiters spin, without order",
        fifo: false,
        control: true,
        lock: BareLock,
        make: |place| Some(place.write(BareLock::new())),
        locked: |lock, body| {
            lock.acquire();
            body();
            lock.release();
        },
        is_held: |lock| lock.is_held(),
    },
    peer! {
        name: "spin",
        from: "spin 0.12.3",
        licence: "MIT",
        what: "test-and-set with a read-only inner loop, spinning",
        fifo: false,
        control: false,
        lock: spin::mutex::SpinMutex<()>,
        make: |place| Some(place.write(spin::mutex::SpinMutex::new(()))),
        locked: |lock, body| {
            let _guard = lock.lock();
            body();
        },
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "spin-ticket",
        from: "spin 0.12.3",
        licence: "MIT",
        what: "a ticket lock of two words, spinning",
        fifo: true,
        control: false,
        lock: spin::mutex::TicketMutex<()>,
        make: |place| Some(place.write(spin::mutex::TicketMutex::new(()))),
        locked: |lock, body| {
            let _guard = lock.lock();
            body();
        },
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "parking-lot",
        from: "parking_lot 0.13.0",
        licence: "MIT OR Apache-2.0",
        what: "a byte that spins, then parks the thread; \
               every half millisecond or so it hands over to the longest waiter",
        fifo: false,
        control: false,
        lock: parking_lot::RawMutex,
        make: |place| Some(place.write(parking_lot::RawMutex::INIT)),
        locked: |lock, body| {
            let guard = lock.lock();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.unlock(guard) };
        },
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "parking-lot-fair",
        from: "parking_lot 0.13.0",
        licence: "MIT OR Apache-2.0",
        what: "the same, but each unlock hands over to the thread that is parked longest",
        fifo: false,
        control: false,
        lock: parking_lot::RawMutex,
        make: |place| Some(place.write(parking_lot::RawMutex::INIT)),
        locked: |lock, body| {
            let guard = lock.lock();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.unlock_fair(guard) };
        },
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "std-mutex",
        from: "std of Rust 1.95",
        licence: "MIT OR Apache-2.0",
        what: "a futex that spins, then sleeps; it watches for panics",
        fifo: false,
        control: false,
        lock: Mutex<()>,
        make: |place| Some(place.write(Mutex::new(()))),
        locked: |lock, body| {
            let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
            body();
        },
        is_held: |lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
    },
    #[cfg(target_os = "linux")]
    peer! {
        name: "pthread-spin",
        from: "the C library",
        licence: "the system's",
        what: "pthread_spinlock_t",
        fifo: false,
        control: false,
        lock: PthreadSpin,
        make: |place| PthreadSpin::make(place),
        locked: |lock, body| {
            lock.acquire();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.release() };
        },
        is_held: |lock| lock.is_held(),
    },
    #[cfg(target_os = "linux")]
    peer! {
        name: "pthread-mutex",
        from: "the C library",
        licence: "the system's",
        what: "pthread_mutex_t with the default attributes",
        fifo: false,
        control: false,
        lock: PthreadMutex,
        make: |place| PthreadMutex::make(place),
        locked: |lock, body| {
            lock.acquire();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.release() };
        },
        is_held: |lock| lock.is_held(),
    },
    peer! {
        name: "mcslock",
        from: "mcslock 0.4.2",
        licence: "MIT OR Apache-2.0",
        what: "an MCS lock with its node on the stack, spinning",
        fifo: true,
        control: false,
        lock: mcslock::raw::spins::Mutex<()>,
        make: |place| Some(place.write(mcslock::raw::spins::Mutex::new(()))),
        locked: |lock, body| lock.lock_then(|_| body()),
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "mcslock-yield",
        from: "mcslock 0.4.2",
        licence: "MIT OR Apache-2.0",
        what: "the same, yielding to the scheduler while it waits",
        fifo: true,
        control: false,
        lock: mcslock::raw::yields::Mutex<()>,
        make: |place| Some(place.write(mcslock::raw::yields::Mutex::new(()))),
        locked: |lock, body| lock.lock_then(|_| body()),
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "mcslock-barging",
        from: "mcslock 0.4.2",
        licence: "MIT OR Apache-2.0",
        what: "test-and-set before a queue: arrivals compete only with the queue's head; \
               backs off",
        fifo: false,
        control: false,
        lock: mcslock::barging::spins::backoff::Mutex<()>,
        make: |place| Some(place.write(mcslock::barging::spins::backoff::Mutex::new(()))),
        locked: |lock, body| lock.lock_then(|_| body()),
        is_held: |lock| lock.is_locked(),
    },
    peer! {
        name: "std-sync-rwlock",
        from: "std of Rust 1.95",
        licence: "MIT OR Apache-2.0",
        what: "RwLock: a futex that spins, then sleeps; writers first; it watches for panics",
        fifo: false,
        control: false,
        lock: RwLock<()>,
        make: |place| Some(place.write(RwLock::new(()))),
        locked: |lock, body| {
            let _guard = lock.write().unwrap_or_else(PoisonError::into_inner);
            body();
        },
        shared: |lock, body| {
            let _guard = lock.read().unwrap_or_else(PoisonError::into_inner);
            body();
        },
        is_held: |lock| matches!(lock.try_write(), Err(TryLockError::WouldBlock)),
    },
    peer! {
        name: "parking-lot-rwlock",
        from: "parking_lot 0.13.0",
        licence: "MIT OR Apache-2.0",
        what: "RawRwLock: spins, yields, then parks the thread in one queue",
        fifo: false,
        control: false,
        lock: parking_lot::RawRwLock,
        make: |place| Some(place.write(parking_lot::RawRwLock::INIT)),
        locked: |lock, body| {
            let guard = lock.lock_exclusive();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.unlock_exclusive(guard) };
        },
        shared: |lock, body| {
            let guard = lock.lock_shared();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.unlock_shared(guard) };
        },
        is_held: |lock| lock.is_locked(),
    },
    #[cfg(target_os = "linux")]
    peer! {
        name: "c-library-rwlock",
        from: "the C library",
        licence: "the system's",
        what: "pthread_rwlock_t with the default attributes, which prefers readers in glibc",
        fifo: false,
        control: false,
        lock: PthreadRwLock,
        make: |place| PthreadRwLock::make(place),
        locked: |lock, body| {
            lock.acquire();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.release() };
        },
        shared: |lock, body| {
            lock.acquire_shared();
            body();
            // SAFETY: taken above, by this thread.
            unsafe { lock.release() };
        },
        is_held: |lock| lock.is_held(),
    },
];
