//! The serial line, and the end of the machine.

use crate::host::{InterruptsOff, Kernel};
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};
use lockyard::on;
use x86_64::instructions::{hlt, interrupts, port::Port};

const DATA: u16 = 0x3f8;
const LINE_STATUS: u16 = DATA + 5;
const ROOM: u8 = 0x20;
/// QEMU's `isa-debug-exit` has this port in the script `boot`.
const EXIT: u16 = 0xf4;

/// The verdict, as the exit device takes it: QEMU ends with 2 * number + 1.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Verdict {
    /// All checks passed.
    Passed = 16,
    /// A check failed.
    Failed = 1,
    /// The command line is wrong.
    WrongUsage = 2,
}

/// The serial line.
struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the ports of the serial line, which change no memory.
            unsafe {
                while Port::<u8>::new(LINE_STATUS).read() & ROOM == 0 {}
                Port::new(DATA).write(byte);
            }
        }
        Ok(())
    }
}

/// Handlers print too, so interrupts are off while a processor has it.
static SERIAL: on::TicketLock<Serial, Kernel, InterruptsOff> = on::TicketLock::new(Serial);

/// Prints a line.
pub(crate) fn line(text: fmt::Arguments) {
    let mut serial = SERIAL.lock();
    // The serial line returns no error.
    let _ = serial.write_fmt(format_args!("{text}\n"));
}

/// Ends the machine, because a check failed. It takes no lock: a lock may be what failed.
pub(crate) fn fail(text: fmt::Arguments) -> ! {
    static FAILED: AtomicBool = AtomicBool::new(false);
    interrupts::disable();
    // Relaxed: nothing depends on it but the order of two messages.
    if !FAILED.swap(true, Ordering::Relaxed) {
        let _ = Serial.write_fmt(format_args!("failed: {text}\n"));
        end(Verdict::Failed);
    }
    loop {
        hlt();
    }
}

/// Ends the machine.
pub(crate) fn end(verdict: Verdict) -> ! {
    interrupts::disable();
    // SAFETY: the port of the exit device.
    unsafe { Port::new(EXIT).write(verdict as u32) };
    // On a machine without the device.
    loop {
        hlt();
    }
}
