//! Interrupts and exceptions: their table, and what each does.

use crate::apic::{self, vector};
use crate::cpu::{self, Cpu};
use crate::{console, torture};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use x86_64::VirtAddr;
use x86_64::instructions::interrupts;
use x86_64::structures::idt::{Entry, HandlerFunc, InterruptDescriptorTable};

/// Numbers of a processor's interrupts.
pub(crate) struct Counts {
    /// Interrupts of the timer.
    pub(crate) timer: AtomicU64,
    /// Calls of other processors.
    pub(crate) calls: AtomicU64,
    /// Times that another processor woke this one.
    pub(crate) wakes: AtomicU64,
    /// Interrupts that take locks and came while the interrupted code waited in a queue.
    pub(crate) waits_interrupted: AtomicU64,
    /// Largest number of waits that one interrupt found below it.
    pub(crate) deepest: AtomicU32,
}

impl Counts {
    /// Nothing yet.
    #[allow(clippy::declare_interior_mutable_const)] // the initial value of a static
    pub(crate) const ZERO: Self = Counts {
        timer: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        wakes: AtomicU64::new(0),
        waits_interrupted: AtomicU64::new(0),
        deepest: AtomicU32::new(0),
    };
}

struct Table(UnsafeCell<InterruptDescriptorTable>);
// SAFETY: `fill` writes it while one processor runs, and it is only read after that.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(InterruptDescriptorTable::new()));

unsafe extern "C" {
    static interrupt_entries: [[u8; 16]; 256];
}

/// Fills the table of interrupts.
///
/// # Safety
///
/// Only one processor runs, and it has interrupts off.
pub(crate) unsafe fn fill() {
    // The crate's table has a type for each exception. All have 16 bytes, and entries in assembly
    // need no types.
    let table = TABLE.0.get().cast::<[Entry<HandlerFunc>; 256]>();
    // SAFETY: the caller says that nothing else uses the table, and the assembly never changes.
    let (table, entries) = unsafe { (&mut *table, &interrupt_entries) };
    for (entry, code) in table.iter_mut().zip(entries) {
        // SAFETY: each entry of `start.s` makes the frame that its exception has, and returns as an
        // interrupt does.
        unsafe { entry.set_handler_addr(VirtAddr::from_ptr(code)) };
    }
}

/// Makes the running processor use the table.
pub(crate) fn load() {
    // SAFETY: the table is a static, and filled.
    unsafe { (*TABLE.0.get()).load_unsafe() };
}

/// Sets the running processor's timer to its next interrupt.
pub(crate) fn arm_timer() {
    let micros = 500 + cpu::current().random() % 1500;
    apic::set_timer(Duration::from_micros(micros));
}

/// Called by the assembly of every interrupt, with interrupts off.
#[unsafe(no_mangle)]
extern "C" fn interrupted(number: u64, error: u64, instruction: u64) {
    let cpu = cpu::current();
    // Relaxed, all: these words are the processor's own.
    let depth = cpu.handlers.fetch_add(1, Ordering::Relaxed);
    match u8::try_from(number) {
        Ok(vector::TIMER) => {
            count(&cpu.interrupts.timer, cpu);
            // Higher interrupts may come from here on, and take locks in their turn. The timer's
            // own cannot, before the end of this one.
            interrupts::enable();
            torture::timer(cpu);
            interrupts::disable();
            arm_timer();
            apic::end_of_interrupt();
        }
        Ok(vector::CALL) => {
            count(&cpu.interrupts.calls, cpu);
            torture::call(cpu);
            apic::end_of_interrupt();
        }
        Ok(vector::WAKE) => {
            // It takes no lock, so it is no matter what it interrupts.
            cpu.interrupts.wakes.fetch_add(1, Ordering::Relaxed);
            cpu.is_woken.store(true, Ordering::Relaxed);
            apic::end_of_interrupt();
        }
        Ok(vector::SPURIOUS) => {}
        _ => console::fail(format_args!(
            "exception {number} (error {error:#x}) at {instruction:#x}, depth {depth}"
        )),
    }
    cpu.handlers.fetch_sub(1, Ordering::Relaxed);
}

/// Counts an interrupt, and the waits that it has interrupted.
fn count(kind: &AtomicU64, cpu: &Cpu) {
    kind.fetch_add(1, Ordering::Relaxed);
    let waits = cpu.nodes.0[0].nodes_in_use();
    if waits > 0 {
        cpu.interrupts.waits_interrupted.fetch_add(1, Ordering::Relaxed);
        cpu.interrupts.deepest.fetch_max(waits, Ordering::Relaxed);
    }
}
