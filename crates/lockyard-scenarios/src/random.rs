//! Random numbers of a thread of the host: which operations have a step that only some have. SplitMix64 (public domain), because
//! nothing depends on how good they are.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Threads so far: each has a stream of its own.
static THREADS: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    // Relaxed: the numbers only have to differ.
    static STATE: Cell<u64> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) << 40);
}

/// A random number from 0 to `n - 1`.
pub(crate) fn below(n: u64) -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // The high half of the product is below `n`; the bias is beyond counting.
    ((u128::from(z ^ (z >> 31)) * u128::from(n)) >> 64) as u64
}
