//! The local interrupt controller of each processor (Intel SDM volume 3, chapter "APIC"): a timer,
//! and interrupts to other processors.

use crate::clock;
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use core::time::Duration;
use x86_64::instructions::interrupts::without_interrupts;
use x86_64::instructions::port::Port;

/// Address of the registers after a reset.
const BASE: usize = 0xfee0_0000;

const OWN_ADDRESS: usize = 0x20;
const TASK_PRIORITY: usize = 0x80;
const END: usize = 0xb0;
const SPURIOUS: usize = 0xf0;
const COMMAND: usize = 0x300;
const DESTINATION: usize = 0x310;
const TIMER: usize = 0x320;
const LINE_0: usize = 0x350;
const LINE_1: usize = 0x360;
const INITIAL_COUNT: usize = 0x380;
const CURRENT_COUNT: usize = 0x390;
const DIVIDE: usize = 0x3e0;

const MASKED: u32 = 1 << 16;
const EXTERNAL: u32 = 7 << 8;
const SWITCHED_ON: u32 = 1 << 8;
const BY_16: u32 = 3;
const PENDING: u32 = 1 << 12;
const INIT: u32 = 0x4500;
const START_UP: u32 = 0x4600;
const FIXED: u32 = 0x4000;

/// The interrupts that this kernel uses. A number's upper four bits are its priority: a handler can
/// only be interrupted by a higher one.
pub(crate) mod vector {
    /// The processor's own timer.
    pub(crate) const TIMER: u8 = 0x30;
    /// Another processor calls.
    pub(crate) const CALL: u8 = 0x40;
    /// Another processor wakes this one.
    pub(crate) const WAKE: u8 = 0x50;
    /// No interrupt: one that was withdrawn.
    pub(crate) const SPURIOUS: u8 = 0xff;
}

/// Counts of the timer in a second.
static RATE: AtomicU64 = AtomicU64::new(0);

fn read(register: usize) -> u32 {
    // SAFETY: a register, in a page that is mapped without caching.
    unsafe { with_exposed_provenance_mut::<u32>(BASE + register).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as in `read`. No register changes memory.
    unsafe { with_exposed_provenance_mut::<u32>(BASE + register).write_volatile(value) };
}

/// Switches the running processor's controller on.
pub(crate) fn switch_on() {
    write(SPURIOUS, SWITCHED_ON | u32::from(vector::SPURIOUS));
    write(TASK_PRIORITY, 0);
    write(LINE_0, MASKED | EXTERNAL);
    write(LINE_1, MASKED);
    write(DIVIDE, BY_16);
    write(TIMER, u32::from(vector::TIMER));
}

/// Switches off the controller of old, whose interrupts would arrive as exceptions. Before
/// [`switch_on`], which cuts its line: what it has raised must be withdrawn first.
pub(crate) fn switch_old_one_off() {
    for port in [0x21, 0xa1] {
        // SAFETY: masks all lines of the controller, and nothing here uses them.
        unsafe { Port::<u8>::new(port).write(0xff) };
    }
}

/// Returns the address of the running processor.
pub(crate) fn own_address() -> u32 {
    read(OWN_ADDRESS) >> 24
}

/// Measures the rate of the timer.
pub(crate) fn calibrate() {
    const LONGEST: u32 = u32::MAX;
    write(TIMER, MASKED);
    let counts = [(); 3].map(|()| {
        write(INITIAL_COUNT, LONGEST);
        let begun = clock::now();
        while clock::now() - begun < Duration::from_millis(10) {}
        let counts = u64::from(LONGEST - read(CURRENT_COUNT));
        counts * 1_000_000 / (clock::now() - begun).as_micros() as u64
    });
    RATE.store(clock::median(counts).max(1), Ordering::Relaxed);
    write(INITIAL_COUNT, 0);
    write(TIMER, u32::from(vector::TIMER));
}

/// Sets the running processor's timer to interrupt once, after `time`.
pub(crate) fn set_timer(time: Duration) {
    let counts = time.as_micros().saturating_mul(RATE.load(Ordering::Relaxed).into()) / 1_000_000;
    write(INITIAL_COUNT, counts.clamp(1, u128::from(u32::MAX)) as u32);
}

/// Says that the running handler's interrupt is handled.
pub(crate) fn end_of_interrupt() {
    write(END, 0);
}

fn command(address: u32, command: u32) {
    // Whoever is interrupted sees what this processor has stored before: why it is woken, the lock
    // that it got, or its stack. The fence pairs with the interrupt, which comes after it.
    fence(Ordering::SeqCst);
    // Two stores, which another interrupt's handler must not come between.
    without_interrupts(|| {
        write(DESTINATION, address << 24);
        write(COMMAND, command);
        while read(COMMAND) & PENDING != 0 {
            core::hint::spin_loop();
        }
    });
}

/// Interrupts the processor with this address.
pub(crate) fn send(address: u32, vector: u8) {
    command(address, FIXED | u32::from(vector));
}

/// Starts the processor with this address in `page`, as Intel's specification for multiprocessors
/// says: one INIT, and two start-up interrupts.
pub(crate) fn start(address: u32, page: u8) {
    command(address, INIT);
    clock::wait(Duration::from_millis(10));
    for _ in 0..2 {
        command(address, START_UP | u32::from(page));
        clock::wait(Duration::from_micros(200));
    }
}
