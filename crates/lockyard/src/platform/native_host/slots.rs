//! Slots: small numbers for running threads.
//!
//! When a thread first asks, it leases the lowest free slot. The destructor of its thread-local
//! gives the slot back, unless the slot is still in use. The guard of an `McsLock` or a `ClhLock`,
//! which uses a node, may be dropped later (in another thread-local's destructor) or never. A
//! reclamation guard may be, too. Such a slot stays leased for good.
//!
//! A signal handler that interrupts the lease sees a thread without a slot and gets `None`. Nothing
//! here waits for another thread. But a thread's first lease registers the destructor. The standard
//! library may allocate to do so, and the allocator may use a mutex. So threads whose handlers take
//! queued locks should have a slot before.

#[cfg(unix)]
use super::super::queue_node::forget_successors;
use super::super::queue_node::is_idle;
use super::super::{Slot, SlotLeases};
use super::nodes::{self, SLOTS};
#[cfg(unix)]
use core::sync::atomic::AtomicBool;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

static LEASES: SlotLeases<{ SLOTS.div_ceil(64) as usize }> = SlotLeases::new(SLOTS);

/// The thread has no slot yet.
const NONE: u32 = u32::MAX;
/// The thread is asking for a slot (and a signal handler interrupted it), or its destructors run.
const CLOSED: u32 = u32::MAX - 1;

std::thread_local! {
    /// A copy of the lease's slot, for fast reads.
    ///
    /// On systems with thread-local variables, this copy has no destructor and can be read at any
    /// time in a thread's life. If the standard library implements thread-locals with keys, it is
    /// destroyed before or after the lease, and made anew when it is read again. Only one thread
    /// uses it, together with the signal handlers that interrupt that thread. It is atomic because
    /// of these handlers.
    static SLOT: AtomicU32 = const { AtomicU32::new(NONE) };
    /// The lease itself, whose destructor gives the slot back.
    static LEASE: Lease = const { Lease(AtomicU32::new(NONE)) };
}

/// The slot, or [`NONE`].
struct Lease(AtomicU32);

impl Drop for Lease {
    fn drop(&mut self) {
        let slot = *self.0.get_mut();
        // A slot with a node or guard in use stays with its thread. Otherwise its next thread could
        // change the in-use bits at the same time as the node's holder, or change the state of a
        // domain's record.
        if slot < SLOTS && is_idle(|level| nodes::node(Slot(slot), level)) {
            // If this fails, later destructors cannot read the copy either.
            let _ = SLOT.try_with(|copy| copy.store(CLOSED, Ordering::Relaxed));
            LEASES.give_back(Slot(slot));
        }
    }
}

/// Returns the running thread's slot, and leases one if it has none.
#[inline]
pub(super) fn current() -> Option<Slot> {
    let slot = SLOT.with(|slot| slot.load(Ordering::Relaxed));
    if slot < SLOTS { Some(Slot(slot)) } else { lease() }
}

#[cold]
fn lease() -> Option<Slot> {
    // This is one atomic step. A signal handler that asked before this exchange has already leased
    // a slot for this thread. A handler that asks after it is refused.
    let closed =
        SLOT.with(|slot| slot.compare_exchange(NONE, CLOSED, Ordering::Relaxed, Ordering::Relaxed));
    if let Err(slot) = closed {
        return (slot < SLOTS).then_some(Slot(slot));
    }
    // The code below must not move before the exchange above: a handler could still lease there.
    compiler_fence(Ordering::SeqCst);
    #[cfg(unix)]
    watch_forks();
    // Registers the destructor. It fails while the thread's destructors run. Then nothing would
    // give the slot back, so the thread gets none.
    let leased = LEASE.try_with(|lease| {
        // The lease already has a slot if only the copy was destroyed.
        if lease.0.load(Ordering::Relaxed) == NONE {
            lease.0.store(LEASES.take().map_or(NONE, |slot| slot.0), Ordering::Relaxed);
        }
        lease.0.load(Ordering::Relaxed)
    });
    let slot = leased.ok()?;
    SLOT.with(|copy| copy.store(slot, Ordering::Relaxed));
    (slot < SLOTS).then_some(Slot(slot))
}

/// Registers [`forked`] to run in the children of this process.
#[cfg(unix)]
fn watch_forks() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Relaxed, both: if two threads register it, it runs twice, which is harmless.
    if !WATCHED.load(Ordering::Relaxed) {
        // SAFETY: the handler is a function that may be called at any time in a child. If
        // registration fails (out of memory), the child behaves as it would without the handler.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        WATCHED.store(true, Ordering::Relaxed);
    }
}

/// Runs in the child of a `fork`, in its one thread. The threads to which this thread left nodes
/// are gone.
#[cfg(unix)]
unsafe extern "C" fn forked() {
    let slot = SLOT.try_with(|slot| slot.load(Ordering::Relaxed)).unwrap_or(NONE);
    if slot < SLOTS {
        forget_successors(|level| nodes::node(Slot(slot), level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::vec::Vec;

    #[test]
    fn threads_that_live_together_have_different_slots() {
        const THREADS: usize = 100;
        let together = Barrier::new(THREADS);
        let slots: Vec<Slot> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        let slot = current();
                        together.wait();
                        assert_eq!(slot, current(), "a thread keeps its slot");
                        slot
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap().expect("slots are left")).collect()
        });
        assert_eq!(slots.iter().collect::<HashSet<_>>().len(), THREADS);
    }

    #[test]
    fn more_threads_than_slots_come_and_go() {
        for _ in 0..SLOTS + 100 {
            let slot = std::thread::spawn(current).join().unwrap();
            assert!(slot.is_some(), "slots are given back");
        }
    }

    #[test]
    fn a_thread_keeps_its_slot_though_the_copy_of_its_number_is_destroyed() {
        let slot = current();
        assert!(slot.is_some());
        // Simulates a copy that was re-created, as on systems that implement thread-locals with
        // keys.
        SLOT.with(|copy| copy.store(NONE, Ordering::Relaxed));
        assert_eq!(current(), slot);
    }

    #[test]
    fn a_destructor_that_runs_after_the_lease_gets_no_slot_or_a_valid_one() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                if let Some(Slot(slot)) = current() {
                    assert!(slot < SLOTS);
                }
            }
        }
        std::thread_local!(static LATE: Late = const { Late });
        std::thread::spawn(|| {
            LATE.with(|_| ());
            current();
        })
        .join()
        .unwrap();
        std::thread::spawn(|| {
            current();
            LATE.with(|_| ());
        })
        .join()
        .unwrap();
    }
}
