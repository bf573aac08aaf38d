//! A kernel's host: the code that a kernel or hypervisor writes to use the library, for a simulated
//! machine of 16 CPUs.
//!
//! Everything is as in a kernel: a current-CPU register (a thread-local replaces it), an interrupt
//! flag for each CPU, a static table of queue nodes, per-CPU counters, and a fixed pool of memory.
//! The host cannot block, and has no operating system below it. `main` runs threads as CPUs. They
//! use a 2-byte ticket lock, a 4-byte ticket lock with interrupts off, a queued lock, and a
//! lockref. `main` checks that no update was lost.
//!
//! ```text
//! cargo run --release -p lockyard --example bare_host
//! ```

use lockyard::lockref::Count;
use lockyard::platform::{
    Event, Execution, Host, HostWithSlots, NEST_LEVELS, NativeAtomics, NativeU32, QueueNode, Slot,
};
use lockyard::{Context, on};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

const CPUS: usize = 16;

/// The data that a kernel keeps for each CPU, in a separate line.
#[repr(align(64))]
struct Cpu {
    interrupts_on: AtomicBool,
    events: [AtomicU64; Event::ALL.len()],
}

static CPU: [Cpu; CPUS] = [const {
    Cpu {
        interrupts_on: AtomicBool::new(true),
        events: [const { AtomicU64::new(0) }; Event::ALL.len()],
    }
}; CPUS];

thread_local! {
    /// The current-CPU register.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

fn cpu() -> &'static Cpu {
    &CPU[CURRENT.get()]
}

#[repr(align(64))]
struct Nodes([QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

static NODES: [Nodes; CPUS] =
    [const { Nodes([const { QueueNode::UNUSED }; NEST_LEVELS as usize]) }; CPUS];

const POOL_BYTES: usize = 4096;

/// A pool that never takes memory back: enough for data that is allocated once.
#[repr(align(64))]
struct Pool(std::cell::UnsafeCell<[u8; POOL_BYTES]>);
// SAFETY: an atomic counter gives each byte out once, and nothing accesses the memory here.
unsafe impl Sync for Pool {}
static POOL: Pool = Pool(std::cell::UnsafeCell::new([0; POOL_BYTES]));
static POOL_USED: AtomicUsize = AtomicUsize::new(0);

struct Kernel;

// SAFETY: a CPU runs one thread of execution, so slots are unique, and at most 16 contend. The
// nodes are distinct statics. The pool gives out each byte once. `fatal` stops everything.
unsafe impl Host for Kernel {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = CPUS as u32;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        Some(Slot(CURRENT.get() as u32))
    }
    fn numa_node() -> u32 {
        // Each node has eight CPUs.
        (CURRENT.get() / 8) as u32
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        &NODES[slot.0 as usize].0[level as usize]
    }
    fn relax() {
        std::hint::spin_loop();
    }
    fn now() -> Duration {
        Duration::ZERO // no clock this early
    }
    fn park(_word: &NativeU32, _expected: u32, _timeout: Option<Duration>) {
        // There is no other thread to run. A spurious return is allowed.
    }
    fn unpark(_word: *const NativeU32, _count: u32) {}
    fn allocate(layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        if layout.align() > 64 {
            return None;
        }
        let size = layout.size().next_multiple_of(64);
        // A request that does not fit takes no memory, because a smaller one may still fit.
        let fits = |used: usize| used.checked_add(size).filter(|&end| end <= POOL_BYTES);
        let begin = POOL_USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        // SAFETY: `begin` is within the pool, or at its end for a size of zero.
        NonNull::new(unsafe { POOL.0.get().cast::<u8>().add(begin) })
    }
    unsafe fn deallocate(_memory: NonNull<u8>, _layout: Layout) {}
    fn count(event: Event) {
        cpu().events[event as usize].fetch_add(1, Ordering::Relaxed);
    }
    fn execution() -> Execution {
        if cpu().interrupts_on.load(Ordering::Relaxed) {
            Execution::Thread
        } else {
            Execution::Interrupt
        }
    }
    fn fatal(message: &'static str) -> ! {
        // A kernel would print to its console and stop the machine.
        eprintln!("kernel: {message}");
        std::process::abort()
    }
}

impl HostWithSlots for Kernel {}

/// Switches interrupts off while a lock is held, and then restores their former state.
struct InterruptsOff;

impl Context for InterruptsOff {
    type State = bool;

    fn enter() -> bool {
        cpu().interrupts_on.swap(false, Ordering::Relaxed)
    }
    fn leave(were_on: bool) {
        cpu().interrupts_on.store(were_on, Ordering::Relaxed);
    }
}

/// The kernel's names for the library's types, one line each.
type QSpinLock<T> = on::QSpinLock<T, Kernel>;
type IrqTicketLock<T> = on::TicketLock<T, Kernel, InterruptsOff>;
type RawTicketLock8 = on::RawTicketLock8<Kernel>;
type LockRef = on::LockRef<Kernel>;

/// Two bytes suffice because the host has at most 255 slots.
static SMALL: RawTicketLock8 = <RawTicketLock8 as lock_api::RawMutex>::INIT;
/// Waiters queue on nodes of `NODES`.
static PAGES: QSpinLock<u64> = QSpinLock::new(0);
static RUN_QUEUE: IrqTicketLock<Vec<usize>> = IrqTicketLock::new(Vec::new());
static ENTRY: LockRef = LockRef::new(1);

fn main() {
    const ROUNDS: usize = 500;
    let cpus = 4;
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for me in 0..cpus {
            let total = &total;
            scope.spawn(move || {
                CURRENT.set(me);
                for round in 0..ROUNDS {
                    let held = SMALL.acquire();
                    let before = total.load(Ordering::Relaxed);
                    total.store(before + 1, Ordering::Relaxed);
                    // SAFETY: taken above.
                    unsafe { SMALL.release(held) };

                    let mut queue = RUN_QUEUE.lock();
                    assert_eq!(Kernel::execution(), Execution::Interrupt, "interrupts are off");
                    queue.push(me);
                    drop(queue);
                    assert_eq!(Kernel::execution(), Execution::Thread, "and on again");

                    *PAGES.lock() += 1;

                    assert!(ENTRY.get_not_dead());
                    while ENTRY.put_return().is_none() {
                        Kernel::relax();
                    }
                    if round % 32 == 0 {
                        std::thread::yield_now(); // the pretended CPUs share real ones
                    }
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), (cpus * ROUNDS) as u64);
    assert_eq!(RUN_QUEUE.lock().len(), cpus * ROUNDS);
    assert_eq!(*PAGES.lock(), (cpus * ROUNDS) as u64);
    assert_eq!(ENTRY.count(), Count::Live(1));
    assert!(Kernel::allocate(Layout::new::<[u8; 2 * POOL_BYTES]>(), None).is_none());
    let memory = Kernel::allocate(Layout::new::<[u64; 4]>(), Some(1));
    assert!(memory.is_some());
    println!(
        "{cpus} CPUs x {ROUNDS} rounds: nothing was lost; lock of {} bytes, lockref of {}",
        size_of::<RawTicketLock8>(),
        size_of_val(&ENTRY)
    );
    for event in Event::ALL {
        let count: u64 =
            CPU.iter().map(|cpu| cpu.events[event as usize].load(Ordering::Relaxed)).sum();
        if count > 0 {
            println!("{}: {count}", event.name());
        }
    }
}
