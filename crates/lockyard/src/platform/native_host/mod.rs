//! The native host: threads of an operating system (feature `std`), or a host without slots or a
//! clock.
//!
//! | file | contents |
//! | --- | --- |
//! | `slots.rs` | the slots of threads |
//! | `nodes.rs` | the queue nodes of all slots, in static memory |
//! | `announced.rs` | the table of parked waiters, in static memory |
//! | `futex.rs` | parking on Linux |
//! | `buckets.rs` | parking elsewhere |
//! | `numa.rs` | the NUMA node where the caller runs, on Linux |
//! | `events.rs` | event counters, with the feature `events` |
//!
//! # After a `fork`
//!
//! The child has one thread, which keeps the slot of the thread that forked. The state of the
//! parent's other threads remains in memory, and no thread continues their work:
//!
//! - Locks that they held or queued for stay in that state for ever. The child must not wait for
//!   them.
//! - Their slots stay leased.
//! - Nodes that the forking thread had left to other threads ([`Clh`](crate::lock::Clh)) belong to
//!   the forking thread again: a handler registered with `pthread_atfork` takes them back. (A fork
//!   by a bare system call runs no handlers, so these nodes are lost. If four are lost, the
//!   thread's next `McsLock` or `ClhLock` waits for ever.)
//! - Their guards of a [`reclaim::Domain`](crate::reclaim::Domain) are readers that never leave.
//!   Objects retired to that domain are never freed, and `synchronize` waits for ever
//!   (`try_synchronize` does not).
//!
//! So a child that runs for long without `exec` should create new tables and domains.
//!
//! # Signal handlers
//!
//! A signal handler may use slots and nodes, the clock and the counters. On Linux it may also wake
//! threads. Three actions may need a mutex that the interrupted thread holds: allocation, waking on
//! other systems, and the thread's first request for its slot, for which the standard library may
//! allocate. So a thread whose handlers queue should have a slot before (`Native::slot()` leases
//! it).

mod announced;
#[cfg(all(feature = "std", any(not(target_os = "linux"), test)))]
mod buckets;
#[cfg(feature = "events")]
mod events;
#[cfg(all(feature = "std", target_os = "linux"))]
mod futex;
mod nodes;
#[cfg(all(feature = "std", target_os = "linux"))]
mod numa;
#[cfg(feature = "std")]
mod slots;

#[cfg(feature = "events")]
pub use events::native_events;

#[cfg(all(feature = "std", not(target_os = "linux")))]
use buckets as parking;
#[cfg(all(feature = "std", target_os = "linux"))]
use futex as parking;

#[cfg(feature = "std")]
use super::HostWithSlots;
use super::{Announcement, Event, Execution, Host, NativeAtomics, NativeU32, QueueNode, Slot};
use core::alloc::Layout;
use core::ptr::NonNull;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;

#[cfg(feature = "std")]
std::thread_local! {
    /// Number of nested [`Native::interruption`] calls of the thread. It is atomic because signal
    /// handlers read it.
    static INTERRUPTIONS: AtomicU32 = const { AtomicU32::new(0) };
}

#[cfg(feature = "std")]
impl Native {
    /// Runs `handler` as an interruption: [`execution`](Host::execution) says so inside it, and a
    /// lock whose waiters park spins and yields instead. For signal handlers on systems where
    /// parking is not a futex: there `handler` might wait for a mutex that the interrupted thread
    /// holds.
    pub fn interruption<R>(handler: impl FnOnce() -> R) -> R {
        struct Ended;
        impl Drop for Ended {
            fn drop(&mut self) {
                INTERRUPTIONS.with(|n| n.fetch_sub(1, Relaxed));
            }
        }
        INTERRUPTIONS.with(|n| n.fetch_add(1, Relaxed));
        let _ended = Ended;
        handler()
    }
}

/// The machine that runs this code.
///
/// With the feature `std`, a thread leases a slot when a lock first asks for one, and gives it back
/// when it ends. Parking is a futex on Linux, and a mutex and condition variable elsewhere. Without
/// `std` this is not a [host with slots](super::HostWithSlots), and [`park`](Host::park) returns
/// immediately.
///
/// A thread has no slot if 16,383 other threads have one, and in thread-local destructors that run
/// after it gave its slot back. [`HostWithSlots`](super::HostWithSlots) describes the consequences.
#[derive(Debug)]
pub struct Native(());

// SAFETY: a slot is leased to one thread at a time (`slots.rs`; without `std` there are none).
// Nodes are distinct statics. Memory comes from the global allocator.
unsafe impl Host for Native {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = nodes::SLOTS;

    #[inline]
    fn slot() -> Option<Slot> {
        #[cfg(feature = "std")]
        return slots::current();
        #[cfg(not(feature = "std"))]
        None
    }

    fn numa_node() -> u32 {
        #[cfg(all(feature = "std", target_os = "linux"))]
        return numa::current_node();
        #[cfg(not(all(feature = "std", target_os = "linux")))]
        0
    }

    #[inline]
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        nodes::node(slot, level)
    }

    #[inline]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        announced::line(lock, turn)
    }

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    fn yield_now() {
        #[cfg(feature = "std")]
        std::thread::yield_now();
        #[cfg(not(feature = "std"))]
        Self::relax();
    }

    fn now() -> Duration {
        // A static with lazy initialisation is not possible: the waiter may be a signal handler
        // that interrupted the initialisation.
        #[cfg(all(feature = "std", unix))]
        {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` is a live `timespec`. If the call fails it stays zero, which means no
            // clock.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        }
        #[cfg(all(feature = "std", not(unix)))]
        {
            static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
            START.get_or_init(std::time::Instant::now).elapsed()
        }
        #[cfg(not(feature = "std"))]
        Duration::ZERO
    }

    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        #[cfg(feature = "std")]
        parking::park(word, expected, timeout);
        #[cfg(not(feature = "std"))]
        let _ = (word, expected, timeout);
    }

    fn unpark(word: *const NativeU32, count: u32) {
        #[cfg(feature = "std")]
        parking::unpark(word, count);
        #[cfg(not(feature = "std"))]
        let _ = (word, count);
    }

    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        // The global allocator cannot place memory. The operating system places a page on the node
        // that touches it first.
        let _ = node;
        if layout.size() == 0 {
            return Some(layout.dangling_ptr());
        }
        #[cfg(feature = "alloc")]
        // SAFETY: the layout's size is not zero.
        return NonNull::new(unsafe { alloc::alloc::alloc(layout) });
        #[cfg(not(feature = "alloc"))]
        None
    }

    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        #[cfg(feature = "alloc")]
        if layout.size() != 0 {
            // SAFETY: the caller promises that `memory` came from `allocate` with this layout.
            unsafe { alloc::alloc::dealloc(memory.as_ptr(), layout) }
        }
        #[cfg(not(feature = "alloc"))]
        let _ = (memory, layout);
    }

    #[inline(always)]
    fn count(event: Event) {
        #[cfg(feature = "events")]
        events::count(event);
        #[cfg(not(feature = "events"))]
        let _ = event;
    }

    #[inline]
    fn execution() -> Execution {
        #[cfg(feature = "std")]
        if INTERRUPTIONS.with(|n| n.load(Relaxed)) > 0 {
            return Execution::Interrupt;
        }
        Execution::Thread
    }

    #[cold]
    fn fatal(message: &'static str) -> ! {
        #[cfg(feature = "std")]
        {
            use std::io::Write;
            // `eprintln` would panic, and so unwind, if nothing reads the stream.
            let _ = std::writeln!(std::io::stderr(), "lockyard: {message}");
            std::process::abort()
        }
        #[cfg(not(feature = "std"))]
        {
            // A panic during unwinding aborts. A panic that does not unwind does not return.
            struct Abort;
            impl Drop for Abort {
                fn drop(&mut self) {
                    panic!("a lock's invariant was lost");
                }
            }
            let _abort = Abort;
            panic!("{message}")
        }
    }
}

#[cfg(feature = "std")]
impl HostWithSlots for Native {}
