//! This process as the host of the locks: no allocation, no lock and no cancellation point of the C
//! library, so that locks work inside an allocator, before constructors, and while a thread ends.

use crate::local::{local, read};
use crate::slots::{self, SLOTS};
use crate::{sleep, system};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use core::time::Duration;
use lockyard::platform::{
    Announcement, BudgetSpent, Host, HostWithSlots, NativeAtomics, NativeU32, Ordering as Order,
    QueueNode, Slot, Word, slot_is_idle, spread,
};

unsafe extern "C" {
    fn pthread_self() -> usize;
}

/// Threads of this process.
pub(crate) struct Process;

/// Number of polls of a spinning thread between two yields.
const POLLS: u32 = 64;

#[cold]
fn first_slot() -> Option<Slot> {
    let slot = slots::take(slot_is_idle::<Process>)?;
    // SAFETY: the thread's own data. No signal handler has given the thread a slot meanwhile.
    unsafe {
        if let Some(mine) = slots::mine() {
            slots::give_back(slot);
            return Some(mine);
        }
        (*local()).slot = slot.0 + 1;
        slots::record(slot).thread.store(pthread_self(), Ordering::Relaxed);
    }
    Some(slot)
}

// SAFETY: a slot is leased to one thread at a time, and stays with it while it is not idle. Nodes
// and announcements are distinct statics; in the child of a fork, nodes of threads that do not
// exist there are reset. No memory is allocated. `fatal` ends the process.
unsafe impl Host for Process {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = SLOTS;

    #[inline]
    fn slot() -> Option<Slot> {
        slots::mine().or_else(first_slot)
    }

    fn numa_node() -> u32 {
        0
    }

    #[inline]
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        slots::node(slot, level)
    }

    #[inline]
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        slots::announcements(spread(lock, turn))
    }

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    fn yield_now() {
        system::yield_now();
    }

    fn now() -> Duration {
        let me = local();
        // SAFETY: the thread's own data, here and below.
        if unsafe { (*me).wait.looks } {
            sleep::look();
        }
        // SAFETY: as above.
        let (stop, clock) = unsafe { ((*me).wait.stop, (*me).clock) };
        if stop { Duration::MAX } else { read(clock) }
    }

    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        let word = core::ptr::from_ref(word).cast();
        if !slots::is_in_node(word) {
            return sleep::sleep(word, expected, None);
        }
        sleep::for_lock(word, expected, timeout);
    }

    fn unpark(word: *const NativeU32, count: u32) {
        let _woken = system::wake(word.cast(), count);
    }

    /// Yields from time to time: a program may have more threads than CPUs, and the thread that a
    /// queued or ticket lock serves next may be preempted.
    #[inline]
    fn wait_until<W: Word>(
        word: &W,
        order: Order,
        mut predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        loop {
            match Self::wait_within(word, order, POLLS, &mut predicate) {
                Ok(value) => return value,
                Err(BudgetSpent(_)) => Self::yield_now(),
            }
        }
    }

    fn allocate(_: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn deallocate(_: NonNull<u8>, _: Layout) {}

    #[cold]
    fn fatal(message: &'static str) -> ! {
        system::complain(&[message.as_bytes()]);
        system::exit(134)
    }
}

impl HostWithSlots for Process {}
