//! The library in a kernel, without `std`: a host of its own, and its locks by a line each.

#![no_std]

use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use lockyard::on;
use lockyard::platform::{
    Host, HostWithSlots, NEST_LEVELS, NativeAtomics, NativeU32, QueueNode, Slot,
};

const CPUS: usize = 4;

/// Index of the running CPU, as the kernel keeps it. A real kernel has a register on each CPU.
static CURRENT: AtomicU32 = AtomicU32::new(0);

#[repr(align(64))]
struct Nodes([QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

static NODES: [Nodes; CPUS] =
    [const { Nodes([const { QueueNode::UNUSED }; NEST_LEVELS as usize]) }; CPUS];

/// The kernel, as the library sees it.
pub struct Kernel;

// SAFETY: a CPU runs one thread of execution, so slots are unique. The nodes are distinct statics,
// which only locks change. Nothing is allocated. `fatal` stops.
unsafe impl Host for Kernel {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = CPUS as u32;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        Some(Slot(CURRENT.load(Ordering::Relaxed)))
    }
    fn numa_node() -> u32 {
        0
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        &NODES[slot.0 as usize].0[level as usize]
    }
    fn relax() {
        core::hint::spin_loop();
    }
    fn now() -> Duration {
        Duration::ZERO
    }
    fn park(_word: &NativeU32, _expected: u32, _timeout: Option<Duration>) {}
    fn unpark(_word: *const NativeU32, _count: u32) {}
    fn allocate(_layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn deallocate(_memory: NonNull<u8>, _layout: Layout) {}
    fn fatal(_message: &'static str) -> ! {
        loop {
            Self::relax();
        }
    }
}

impl HostWithSlots for Kernel {}

/// The kernel's queued lock.
pub type QSpinLock<T> = on::QSpinLock<T, Kernel>;
/// The kernel's reference count with a lock.
pub type LockRef = on::LockRef<Kernel>;

static PAGES: QSpinLock<u64> = QSpinLock::new(0);
static ENTRY: LockRef = LockRef::new(1);

/// Takes a page, and a reference.
pub fn take() -> Option<u64> {
    let mut pages = PAGES.lock();
    *pages += 1;
    ENTRY.get_not_dead().then_some(*pages)
}

/// Names that need slots are not at the libraries' roots without `std`. Each would be ambiguous
/// here, where all modules have all their names imported.
#[cfg(not(feature = "std"))]
pub mod absent {
    mod names {
        pub struct QSpinLock;
        pub struct PvQSpinLock;
        pub struct PvTicketLock;
        pub struct ChosenLock;
        pub struct LockRef;
        pub struct Domain;
        pub struct IdTable;
        pub struct Connections;
        pub struct ConnectionTable;
        pub struct BufferCache;
        pub struct BlockCache;
        pub struct Statistics;
    }
    #[allow(unused_imports)]
    use lockyard::*;
    #[allow(unused_imports)]
    use lockyard_tables::*;
    use names::*;

    /// All of them, and those that are there.
    pub type All = (
        (QSpinLock, PvQSpinLock, PvTicketLock, ChosenLock, LockRef),
        (Domain, IdTable, Connections, ConnectionTable),
        (BufferCache, BlockCache, Statistics),
        (TicketLock<u32>, TestAndSetLock<u32>, PageRef),
    );
}

#[cfg(all(feature = "mistake", not(feature = "std")))]
mod mistake;
