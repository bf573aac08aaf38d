//! Counters of many processors, which handlers update too.

use super::{Part, check};
use crate::console::fail;
use crate::cpu::Cpu;
use crate::host::{InterruptsOff, Kernel};
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard::reclaim::Owned;
use lockyard_tables::on;
use lockyard_tables::statistics::Counts;

const NAME: &str = "counters";
/// Bytes of each packet that is counted.
const BYTES: u64 = 64;

type Statistics = on::Statistics<Kernel, InterruptsOff>;

/// The statistics, as the bits of an `Owned<Statistics>`, or 0 before the part begins.
static STATISTICS: AtomicU64 = AtomicU64::new(0);
static UPDATES: AtomicU64 = AtomicU64::new(0);

fn statistics() -> Option<&'static Statistics> {
    // SAFETY: `begin` stores the bits, and nothing ever frees the object. Acquire: pairs with the
    // release there.
    unsafe { Owned::<Statistics, Kernel>::deref_bits(STATISTICS.load(Ordering::Acquire)) }
}

/// Counts a packet, once there is somewhere to count.
pub(super) fn update(cpu: &Cpu) {
    if let Some(statistics) = statistics() {
        statistics.update(&Counts::packet(BYTES, 1, 1 << cpu.index()));
        UPDATES.fetch_add(1, Ordering::Relaxed);
    }
}

fn begin() {
    let made = Statistics::new().ok();
    let Some(new) = made.and_then(|new| Owned::<_, Kernel>::allocate(new, None).ok()) else {
        fail(format_args!("{NAME}: there is no memory for them"));
    };
    // Release: pairs with the acquire in `statistics`.
    STATISTICS.store(new.into_bits(), Ordering::Release);
}

/// Checks the sums, when no handler runs any more.
pub(super) fn check_at_rest() {
    let Some(statistics) = statistics() else { return };
    let (sum, updates) = (statistics.read(), UPDATES.load(Ordering::Relaxed));
    check!(
        sum.packets == updates && sum.bytes == updates * BYTES,
        "{NAME}: {} packets and {} bytes after {updates} updates",
        sum.packets,
        sum.bytes
    );
}

pub(super) const PART: Part =
    Part { name: NAME, begin, round: |cpu| (0..8).for_each(|_| update(cpu)), end: || {} };
