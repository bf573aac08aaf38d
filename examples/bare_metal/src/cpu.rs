//! Processors: the data that each has for itself, and how all but the first are started.

use crate::host::Nodes;
use crate::torture::Progress;
use crate::{acpi, apic, clock, interrupts};
use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use lockyard::platform::Event;
use x86_64::VirtAddr;
use x86_64::registers::model_specific::GsBase;

/// Maximum number of processors.
pub(crate) const MAX_CPUS: usize = 16;

const STACK_BYTES: usize = 32 * 1024;
/// The page that the others start in. It must be below 1 MiB, and `start.s` names it too.
const TRAMPOLINE: usize = 0x8000;

#[repr(C, align(64))]
struct Stacks(UnsafeCell<[[u8; STACK_BYTES]; MAX_CPUS]>);
// SAFETY: each stack belongs to one processor, which alone uses it.
unsafe impl Sync for Stacks {}

#[unsafe(no_mangle)]
static STACKS: Stacks = Stacks(UnsafeCell::new([[0; STACK_BYTES]; MAX_CPUS]));

global_asm!(include_str!("start.s"), stack_bytes = const STACK_BYTES, options(att_syntax));

unsafe extern "C" {
    static trampoline: u8;
    static trampoline_end: u8;
    static next_stack: AtomicU64;
}

/// The data of one processor, in lines of its own.
#[repr(C, align(128))]
pub(crate) struct Cpu {
    /// Its number, which is its slot. The first field: `current` reads it.
    index: u32,
    /// Address of its local interrupt controller.
    apic: AtomicU32,
    is_running: AtomicBool,
    /// True if another processor has woken this one since it began to park.
    pub(crate) is_woken: AtomicBool,
    /// The queue nodes of its slot, in one line.
    pub(crate) nodes: Nodes,
    /// Number of interrupt handlers that it is in.
    pub(crate) handlers: AtomicU32,
    /// Number of times that each event of the library happened here.
    pub(crate) events: [AtomicU64; Event::ALL.len()],
    /// Number of rounds of the torture that it has finished.
    pub(crate) rounds: AtomicU64,
    /// Interrupts that it has handled, and waits that they interrupted.
    pub(crate) interrupts: interrupts::Counts,
    /// The progress of all that it has seen.
    pub(crate) progress: Progress,
    /// State of its random numbers, for its threads and for its handlers.
    pub(crate) random: [AtomicU64; 2],
}

impl Cpu {
    const fn new(index: u32) -> Self {
        Cpu {
            index,
            apic: AtomicU32::new(0),
            is_running: AtomicBool::new(false),
            is_woken: AtomicBool::new(false),
            nodes: Nodes::UNUSED,
            handlers: AtomicU32::new(0),
            events: [const { AtomicU64::new(0) }; Event::ALL.len()],
            rounds: AtomicU64::new(0),
            interrupts: interrupts::Counts::ZERO,
            progress: Progress::NONE,
            random: [const { AtomicU64::new(0) }; 2],
        }
    }

    /// Index of the processor, from 0.
    pub(crate) fn index(&self) -> usize {
        self.index as usize
    }

    /// Address by which interrupts are sent to it.
    pub(crate) fn apic(&self) -> u32 {
        self.apic.load(Ordering::Relaxed)
    }

    /// Returns a random number. Handlers have a state of their own, so that they cannot come
    /// between another's load and store.
    pub(crate) fn random(&self) -> u64 {
        let in_handler = self.handlers.load(Ordering::Relaxed) > 0;
        let state = &self.random[usize::from(in_handler)];
        let next = state.load(Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.store(next, Ordering::Relaxed);
        lockyard::platform::mix(next)
    }
}

/// All processors that there may be.
pub(crate) static CPUS: [Cpu; MAX_CPUS] = {
    let mut cpus = [const { Cpu::new(0) }; MAX_CPUS];
    let mut index = 0;
    while index < MAX_CPUS {
        cpus[index].index = index as u32;
        index += 1;
    }
    cpus
};

/// Number of processors that run.
static RUNNING: AtomicU32 = AtomicU32::new(1);

/// Returns the processors that run.
pub(crate) fn all() -> &'static [Cpu] {
    // Acquire: pairs with the release in `start_others`.
    &CPUS[..RUNNING.load(Ordering::Acquire) as usize]
}

/// Returns the data of the running processor, to which its GS register points.
#[inline(always)]
pub(crate) fn current() -> &'static Cpu {
    let index: u32;
    // SAFETY: `become_cpu` has pointed GS at a `Cpu`, whose first field this is and never changes.
    unsafe { asm!("mov {0:e}, gs:[0]", out(reg) index, options(pure, readonly, nostack)) };
    &CPUS[index as usize]
}

/// Makes the running processor number `index`.
///
/// # Safety
///
/// No other processor has this number.
pub(crate) unsafe fn become_cpu(index: usize) {
    GsBase::write(VirtAddr::from_ptr(&CPUS[index]));
    interrupts::load();
    apic::switch_on();
    CPUS[index].apic.store(apic::own_address(), Ordering::Relaxed);
}

/// Starts all processors that the firmware lists, one after the other. Each calls `run`.
pub(crate) fn start_others(rsdp: usize, run: fn() -> !) {
    let code = (&raw const trampoline, &raw const trampoline_end);
    let bytes = code.1.addr() - code.0.addr();
    assert!(bytes <= 4096, "the trampoline has one page");
    // SAFETY: nothing else uses this page of ordinary memory, which is mapped.
    unsafe { core::ptr::copy_nonoverlapping(code.0, TRAMPOLINE as *mut u8, bytes) };
    // Release: pairs with the acquire in `entered_later`.
    OTHERS_RUN.store(run as usize as u64, Ordering::Release);

    let mut index = 1;
    for address in acpi::processors(rsdp).filter(|&address| address != current().apic()) {
        assert!(index < MAX_CPUS, "more processors than this kernel has data for");
        let stack = STACKS.0.get().cast::<u8>().addr() + (index + 1) * STACK_BYTES;
        // SAFETY: the word is the assembly's, and only the processor that comes next reads it.
        unsafe { &next_stack }.store(stack as u64, Ordering::Relaxed);
        NEXT.store(index as u32, Ordering::Relaxed);
        apic::start(address, (TRAMPOLINE / 4096) as u8);
        let until = clock::now() + Duration::from_secs(20);
        // Acquire: pairs with the release in `entered_later`.
        while !CPUS[index].is_running.load(Ordering::Acquire) {
            assert!(clock::now() < until, "a processor did not start within 20 s");
            spin_loop();
        }
        index += 1;
    }
    // Release: pairs with the acquire in `all`.
    RUNNING.store(index as u32, Ordering::Release);
}

/// Number that the processor gets that starts next.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Function that it then calls, a `fn() -> !`.
static OTHERS_RUN: AtomicU64 = AtomicU64::new(0);

/// The first line of Rust of each processor but the first.
pub(crate) fn entered_later() -> ! {
    // Acquire: pairs with the release in `start_others`.
    let run = OTHERS_RUN.load(Ordering::Acquire);
    let index = NEXT.load(Ordering::Relaxed) as usize;
    // SAFETY: `start_others` starts one processor at a time, and gives each a number of its own.
    unsafe { become_cpu(index) };
    // SAFETY: `start_others` has stored a `fn() -> !`.
    let run = unsafe { core::mem::transmute::<usize, fn() -> !>(run as usize) };
    // Release: pairs with the acquire in `start_others`.
    CPUS[index].is_running.store(true, Ordering::Release);
    // No thread begins before the number of processors is known.
    while all().len() <= index {
        spin_loop();
    }
    run()
}
