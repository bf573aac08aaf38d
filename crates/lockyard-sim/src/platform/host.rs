//! A simulated machine as the primitives' host.

use super::atomics::SimulatedAtomics;
use super::bucket::Bucket;
use super::perform::perform;
use super::words::SimulatedU32;
use crate::op::{Op, Pause};
use crate::shared::{ANNOUNCEMENT_LINES, CHANGED, NOBODY, SLOTS, Shared};
use lockyard::platform::{
    Activity, Announcement, Event, Host, HostWithSlots, NEST_LEVELS, QueueNode, Slot, spread,
};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::time::Duration;

/// A simulated machine as host: hardware threads are slots, sockets are NUMA nodes.
#[derive(Debug)]
pub struct Simulated(());

/// Spends the time of a system call.
fn spend(cycles: u64) {
    if cycles > 0 {
        Shared::with(|s| s.count_call(cycles));
        perform(Op::Work { cycles, in_order: true });
    }
}

// SAFETY: slots are unique. A hardware thread runs one simulated thread (`Simulation::spawn`
// refuses a second one). Threads that share a hardware thread have slots beyond the hardware
// threads. Queue nodes are made once for each slot and level, in the arena, which outlives the
// threads. `allocate` hands out each byte of the arena once.
unsafe impl Host for Simulated {
    type Atomics = SimulatedAtomics;
    const SLOTS: u32 = SLOTS as u32;
    /// Slots belong to the threads of a run.
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        // Setup code has no slot.
        Shared::with(|s| s.in_thread().then(|| Slot(s.me().slot as u32)))
    }
    fn numa_node() -> u32 {
        Shared::with(|s| if s.in_thread() { s.me().socket as u32 } else { 0 })
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<SimulatedAtomics> {
        Shared::with(|s| queue_node_of(s, slot.0 as usize, level as usize))
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<SimulatedAtomics>] {
        Shared::with(|s| announcements_of(s, lock, turn))
    }
    #[inline]
    fn relax() {
        perform(Op::Pause(Pause::Instruction));
    }
    #[inline]
    fn yield_now() {
        perform(Op::Pause(Pause::Yield));
    }
    fn now() -> Duration {
        Shared::with(|s| Duration::from_nanos(s.machine().nanoseconds(s.now()) as u64))
    }
    fn park(word: &SimulatedU32, expected: u32, timeout: Option<Duration>) {
        let kernel = Shared::with(Shared::kernel);
        let bits = word.bits();
        let word = bits.address + (bits.shift / 8) as usize;
        let timeout = timeout.map(|t| Shared::with(|s| s.machine().cycles(t.as_nanos() as f64)));
        spend(kernel.enter);
        let bucket = Bucket::of(word);
        bucket.change();
        // Setup code is not in a bucket.
        let waited = perform(Op::EnterBucket { word, waits: true }) > 1;
        bucket.take(waited);
        // The kernel reads the word, so the word's line comes to this core.
        perform(Op::Load { address: bits.address, mask: bits.mask, poll: false });
        bucket.change();
        // A thread that has slept returns at the end of its wake-up.
        if perform(Op::Park { word, expected, timeout }) == CHANGED {
            bucket.change();
            spend(kernel.leave);
        }
    }
    fn unpark(word: *const SimulatedU32, count: u32) {
        if !Shared::with(Shared::in_thread) {
            return;
        }
        let (kernel, word) = (Shared::with(Shared::kernel), word as usize);
        let began = Shared::with(Shared::now);
        spend(kernel.enter);
        let bucket = Bucket::of(word);
        bucket.read();
        let found = perform(Op::EnterBucket { word, waits: false });
        if found == NOBODY {
            spend(kernel.rest_of_nobody());
            return;
        }
        let waited = found > 1;
        bucket.take(waited);
        bucket.change();
        let now = Shared::with(Shared::now);
        // The cost of a wake-up contains the transfers of the bucket's line, but no queueing.
        let since = if waited { now.saturating_sub(kernel.until_served) } else { began };
        let woken = perform(Op::Unpark { word, count, since });
        spend(kernel.rest_of_wake(woken, now - since));
    }
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        Shared::with(|s| if s.take_allocation_failure() { None } else { s.allocate(layout, node) })
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // Objects that are dropped outside a simulation are in an arena that is freed as a whole.
        let _ = Shared::try_with(|s| s.deallocate(memory, layout));
    }
    #[inline]
    fn count(event: Event) {
        Shared::with(|s| s.count(event));
    }
    #[inline]
    fn begin_activity(activity: Activity) -> Activity {
        Shared::with(|s| s.begin_activity(activity))
    }
    #[inline]
    fn resume_activity(before: Activity) {
        Shared::with(|s| s.resume_activity(before));
    }
    fn fatal(message: &'static str) -> ! {
        perform(Op::Fatal(message));
        unreachable!("the engine does not resume a thread that cannot go on")
    }
}

impl HostWithSlots for Simulated {}

/// Returns a queue node of a slot. All nodes of a slot share lines.
fn queue_node_of(
    shared: &Shared,
    slot: usize,
    level: usize,
) -> &'static QueueNode<SimulatedAtomics> {
    assert!(level < NEST_LEVELS as usize, "no such queue node");
    let nodes = Layout::new::<[QueueNode<SimulatedAtomics>; NEST_LEVELS as usize]>();
    let first = shared.queue_nodes(slot, nodes).cast::<QueueNode<SimulatedAtomics>>();
    // SAFETY: the memory is for `NEST_LEVELS` nodes and aligned for them, and `level` is below
    // that. The memory is zero at first, which is a valid unused node. It is in the arena, which
    // lives as long as the simulation. No thread of the simulation runs longer than that, and the
    // lifetime of a queue node means exactly this.
    unsafe { first.add(level).as_ref() }
}

/// Returns a line of the table of parking waiters, for the lock at address `lock`. The line depends
/// on the lock's offset in the arena, so a run does not depend on the arena's address.
fn announcements_of(
    shared: &Shared,
    lock: usize,
    turn: u32,
) -> &'static [Announcement<SimulatedAtomics>] {
    let table = shared.announcements().cast::<Announcement<SimulatedAtomics>>();
    let words = shared.machine().line_bytes() / size_of::<Announcement<SimulatedAtomics>>();
    let place = lock - shared.arena().base();
    let first = spread(place, turn) as usize % ANNOUNCEMENT_LINES * words;
    // SAFETY: the table has `ANNOUNCEMENT_LINES` lines, aligned to lines. It is zero at first,
    // which is a place where no waiter has announced itself. The table is in the arena, which lives
    // as long as simulated threads do (`Host`, *Safety*: as long as a thread runs).
    unsafe { std::slice::from_raw_parts(table.as_ptr().add(first), words) }
}
