//! The kernel's host: all that the library needs to know of this kernel. README.md explains each
//! function.

use crate::apic::{self, vector};
use crate::cpu::{self, CPUS, Cpu, MAX_CPUS};
use crate::{clock, console, memory};
use core::alloc::Layout;
use core::arch::asm;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use lockyard::Context;
use lockyard::platform::{
    Announcement, Event, Execution, Host, HostWithSlots, NEST_LEVELS, NativeAtomics, NativeU32,
    QueueNode, Slot, Word, spread,
};
use x86_64::instructions::interrupts as flag;

/// The queue nodes of one processor, in one line: one for its thread, and one for each depth of
/// interrupts.
#[repr(align(64))]
pub(crate) struct Nodes(pub [QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

impl Nodes {
    /// Nodes of a processor that has never waited.
    #[allow(clippy::declare_interior_mutable_const)] // the initial value of a static
    pub(crate) const UNUSED: Self = Nodes([const { QueueNode::UNUSED }; NEST_LEVELS as usize]);
}

/// Eight places for waiters that are about to park. Each processor parks in one wait at a time, so
/// a line for each is more than enough.
#[repr(align(64))]
struct Line([Announcement<NativeAtomics>; 8]);

static ANNOUNCEMENTS: [Line; MAX_CPUS] =
    [const { Line([const { Announcement::UNUSED }; 8]) }; MAX_CPUS];

/// True if no thread is woken: a fault that the torture must notice.
pub(crate) static WAKES_NOBODY: AtomicBool = AtomicBool::new(false);

/// This kernel, as the library sees it.
pub(crate) struct Kernel;

// SAFETY: a processor runs one thread of execution and the handlers that interrupt it, so slots are
// unique, and at most `MAX_CPUS` contend. The nodes and announcements are distinct statics, which
// only the library changes. The heap gives out each byte to one user. `fatal` stops everything.
unsafe impl Host for Kernel {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = MAX_CPUS as u32;
    const GIVES_SLOTS_BACK: bool = false;

    #[inline(always)]
    fn slot() -> Option<Slot> {
        Some(Slot(cpu::current().index() as u32))
    }

    fn numa_node() -> u32 {
        0 // this kernel does not read the firmware's table of nodes
    }

    #[inline(always)]
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        &CPUS[slot.0 as usize].nodes.0[level as usize]
    }

    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        &ANNOUNCEMENTS[spread(lock, turn) as usize % MAX_CPUS].0
    }

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    fn now() -> Duration {
        clock::now()
    }

    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        if Self::execution() == Execution::Interrupt {
            return; // a spurious return, because handlers must not sleep
        }
        // From here to the halt no interrupt is handled. One that was sent after the comparison
        // waits, and ends the halt at once. Relaxed: parking orders nothing.
        flag::disable();
        let cpu = cpu::current();
        cpu.is_woken.store(false, Ordering::Relaxed);
        if word.load(Ordering::Relaxed) == expected {
            let until = timeout.map(|timeout| clock::now() + timeout);
            // A return at the first interrupt would be allowed too. But then every tick would heal
            // a wake-up that was lost, and no check would ever see it.
            while !cpu.is_woken.load(Ordering::Relaxed) {
                if let Some(until) = until {
                    let left = until.saturating_sub(clock::now());
                    if left.is_zero() {
                        break;
                    }
                    apic::set_timer(left); // its handler sets it to the next tick again
                }
                // SAFETY: only handlers run meanwhile. `sti` takes effect after the next
                // instruction, so no interrupt comes before the halt.
                unsafe { asm!("sti", "hlt", "cli", options(nostack)) };
            }
        }
        flag::enable();
    }

    fn unpark(word: *const NativeU32, _count: u32) {
        if WAKES_NOBODY.load(Ordering::Relaxed) {
            return;
        }
        // A waiter for a lock waits on a word of its queue node, and so the word names the
        // processor. Elsewhere (in a domain, a buffer) any processor may wait.
        let offset = word.addr().wrapping_sub(CPUS.as_ptr().addr());
        match CPUS.get(offset / size_of::<Cpu>()) {
            Some(cpu) => apic::send(cpu.apic(), vector::WAKE),
            None => cpu::all().iter().for_each(|cpu| apic::send(cpu.apic(), vector::WAKE)),
        }
    }

    fn allocate(layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        memory::allocate(layout)
    }

    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { memory::free(memory, layout) };
    }

    fn count(event: Event) {
        // An addition in one instruction, because a handler may come in between and count as well.
        cpu::current().events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn execution() -> Execution {
        let in_handler = cpu::current().handlers.load(Ordering::Relaxed) > 0;
        if in_handler || !flag::are_enabled() { Execution::Interrupt } else { Execution::Thread }
    }

    fn fatal(message: &'static str) -> ! {
        console::fail(format_args!("{message}"))
    }
}

/// Each processor has a slot from its first lock on: `become_cpu` runs before it.
impl HostWithSlots for Kernel {}

/// Interrupts are off while a lock is held, and then as they were. For locks that handlers take
/// too: a handler that interrupted the holder would wait for it, and the holder for the handler.
pub(crate) struct InterruptsOff;

impl Context for InterruptsOff {
    /// True if interrupts were on.
    type State = bool;

    #[inline(always)]
    fn enter() -> bool {
        let were_on = flag::are_enabled();
        flag::disable();
        were_on
    }

    #[inline(always)]
    fn leave(were_on: bool) {
        if were_on {
            flag::enable();
        }
    }
}
