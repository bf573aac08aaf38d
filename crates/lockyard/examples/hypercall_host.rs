//! A guest's host: the code of a guest kernel under a hypervisor whose waiters park by hypercalls.
//!
//! A waiting virtual CPU gives its processor back by a hypercall that halts the virtual CPU.
//! Another CPU wakes it by a hypercall that names it. The waiter's word is in its CPU's queue node,
//! so the word's address identifies the CPU to kick. The host needs no list of waiters.
//!
//! Here one thread for each virtual CPU simulates the hypervisor, with a flag "you were kicked". As
//! on real hypervisors, a kick before the halt makes the halt return immediately. So a kick between
//! the guest's last read of the word and the halt is not lost. A halt may also return spuriously.
//!
//! ```text
//! cargo run --release -p lockyard --example hypercall_host
//! ```

use lockyard::on;
use lockyard::platform::{
    Announcement, Event, Execution, Host, HostWithSlots, NEST_LEVELS, NativeAtomics, NativeU32,
    Ordering, QueueNode, Slot, Word, spread,
};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const CPUS: usize = 16;

/// The hypervisor, in which a halted virtual CPU waits.
mod hypervisor {
    use super::{CPUS, Condvar, Duration, Mutex};

    struct VirtualCpu {
        kicked: Mutex<bool>,
        runs: Condvar,
    }

    static CPU: [VirtualCpu; CPUS] =
        [const { VirtualCpu { kicked: Mutex::new(false), runs: Condvar::new() } }; CPUS];

    /// The hypercall "halt me until I am kicked, or until the timeout".
    pub(super) fn halt(cpu: usize, timeout: Option<Duration>) {
        let kicked = CPU[cpu].kicked.lock().unwrap();
        let timeout = timeout.unwrap_or(Duration::from_secs(3600));
        let (mut kicked, _) =
            CPU[cpu].runs.wait_timeout_while(kicked, timeout, |kicked| !*kicked).unwrap();
        *kicked = false;
    }

    /// The hypercall "kick that CPU".
    pub(super) fn kick(cpu: usize) {
        *CPU[cpu].kicked.lock().unwrap() = true;
        CPU[cpu].runs.notify_one();
    }
}

thread_local! {
    /// The current-CPU register.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

#[repr(align(64))]
struct Nodes([QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

static NODES: [Nodes; CPUS] =
    [const { Nodes([const { QueueNode::UNUSED }; NEST_LEVELS as usize]) }; CPUS];

/// Four announcements for each CPU, which is more than enough: each CPU parks in one wait at a
/// time.
#[repr(align(64))]
struct Line([Announcement<NativeAtomics>; 8]);
static ANNOUNCEMENTS: [Line; 8] = [const { Line([const { Announcement::UNUSED }; 8]) }; 8];

static EVENTS: [AtomicU64; Event::ALL.len()] = [const { AtomicU64::new(0) }; Event::ALL.len()];

struct Guest;

// SAFETY: a CPU runs one thread of execution, so slots are unique, and at most 16 contend. Nodes
// and announcements are statics that only the library changes. Nothing is allocated. `fatal` stops
// everything.
unsafe impl Host for Guest {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = CPUS as u32;
    const GIVES_SLOTS_BACK: bool = false;

    fn slot() -> Option<Slot> {
        Some(Slot(CURRENT.get() as u32))
    }
    fn numa_node() -> u32 {
        0
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        &NODES[slot.0 as usize].0[level as usize]
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        &ANNOUNCEMENTS[spread(lock, turn) as usize % ANNOUNCEMENTS.len()].0
    }
    fn relax() {
        std::hint::spin_loop();
    }
    fn yield_now() {
        std::thread::yield_now(); // the hypercall that yields
    }
    fn now() -> Duration {
        Duration::ZERO // no clock: a waiter is passed a thousand times at most
    }
    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        // A kick at this point is remembered. Relaxed: parking orders nothing.
        if word.load(Ordering::Relaxed) == expected {
            hypervisor::halt(CURRENT.get(), timeout);
        }
    }
    fn unpark(word: *const NativeU32, _count: u32) {
        // Kicks the CPU whose node contains the word. Any CPU may wait on a word elsewhere (in a
        // domain or a buffer), so for such a word all CPUs are kicked. A halt may return
        // spuriously.
        let offset = word.addr().wrapping_sub(NODES.as_ptr().addr());
        match offset / size_of::<Nodes>() {
            cpu if cpu < NODES.len() => hypervisor::kick(cpu),
            _ => (0..NODES.len()).for_each(hypervisor::kick),
        }
    }
    fn allocate(_layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn deallocate(_memory: NonNull<u8>, _layout: Layout) {}
    fn count(event: Event) {
        EVENTS[event as usize].fetch_add(1, Relaxed);
    }
    fn execution() -> Execution {
        Execution::Thread // in an interrupt it would say so, and would not halt
    }
    fn fatal(message: &'static str) -> ! {
        eprintln!("guest: {message}");
        std::process::abort()
    }
}

impl HostWithSlots for Guest {}

/// The locks of this guest: the library's locks, on the guest's host.
type PvTicketLock<T> = on::PvTicketLock<T, Guest>;
type PvQSpinLock<T> = on::PvQSpinLock<T, Guest>;

static IN_ORDER: PvTicketLock<u64> = PvTicketLock::new(0);
static QUICKLY: PvQSpinLock<u64> = PvQSpinLock::new(0);

fn main() {
    const ROUNDS: u64 = 500;
    std::thread::scope(|scope| {
        for cpu in 0..CPUS {
            scope.spawn(move || {
                CURRENT.set(cpu);
                for round in 0..ROUNDS {
                    *IN_ORDER.lock() += 1;
                    let mut quickly = QUICKLY.lock();
                    *quickly += 1;
                    if round % 100 == cpu as u64 {
                        // The hypervisor preempts this CPU while the lock is held.
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
            });
        }
    });
    let expected = CPUS as u64 * ROUNDS;
    assert_eq!((*IN_ORDER.lock(), *QUICKLY.lock()), (expected, expected));
    println!("{CPUS} virtual CPUs x {ROUNDS} rounds: nothing was lost, nobody was left halted");
    for event in Event::ALL {
        let count = EVENTS[event as usize].load(Relaxed);
        if count > 0 {
            println!("{}: {count}", event.name());
        }
    }
}
