//! Time, from the processor's time-stamp counter. Its rate is measured against the timer chip of
//! the PC, whose rate is fixed.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use x86_64::instructions::port::Port;

/// Counts of the chip in a second.
const CHIP: u64 = 1_193_182;
/// Counts for which one measurement lasts: 20 ms.
const COUNTS: u16 = 23_864;

static RATE: AtomicU64 = AtomicU64::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);

fn counter() -> u64 {
    // SAFETY: every processor with long mode has the counter.
    unsafe { _rdtsc() }
}

/// Measures the counter's rate. Until then the time is 0.
pub(crate) fn calibrate() {
    let counts = median([(); 3].map(|()| one_measurement()));
    BEGUN.store(counter(), Ordering::Relaxed);
    RATE.store((counts * CHIP / u64::from(COUNTS)).max(1), Ordering::Relaxed);
}

/// Returns the middle one of three measurements: a host may stop this machine during one.
pub(crate) fn median(mut three: [u64; 3]) -> u64 {
    three.sort_unstable();
    three[1]
}

/// Returns how far the counter gets while the chip counts to `COUNTS`.
fn one_measurement() -> u64 {
    let (mut gate, mut command, mut count) =
        (Port::<u8>::new(0x61), Port::<u8>::new(0x43), Port::<u8>::new(0x42));
    // SAFETY: these ports are the second channel of the chip and its gate, which nothing else uses.
    unsafe {
        let others = gate.read() & 0xfc;
        gate.write(others | 1); // counting, without the loudspeaker
        command.write(0xb0); // channel 2, two bytes, one count
        count.write(COUNTS as u8);
        count.write((COUNTS >> 8) as u8);
        let begun = counter();
        while gate.read() & 0x20 == 0 {}
        counter() - begun
    }
}

/// Returns the time since [`calibrate`].
pub(crate) fn now() -> Duration {
    let rate = u128::from(RATE.load(Ordering::Relaxed));
    if rate == 0 {
        return Duration::ZERO;
    }
    let counts = counter().saturating_sub(BEGUN.load(Ordering::Relaxed));
    Duration::from_nanos((u128::from(counts) * 1_000_000_000 / rate) as u64)
}

/// Waits for at least `time`.
pub(crate) fn wait(time: Duration) {
    let until = now() + time;
    while now() < until {
        core::hint::spin_loop();
    }
}
