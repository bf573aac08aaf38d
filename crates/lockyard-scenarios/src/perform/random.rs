//! Random numbers: the generator, and one stream for each thread of the host. The streams decide
//! which operations perform a step with `one_in`.
//!
//! The generator is implemented here, so that results do not change with a library's version.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// SplitMix64 (public domain; Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    /// Returns the next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `n - 1`; `n` is not 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        // The high half of the product is below `n`. The bias is negligible.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Returns the initial state of a thread's stream. Each thread has a different stream.
fn begin() -> SplitMix {
    let mut hasher = DefaultHasher::new();
    std::thread::current().id().hash(&mut hasher);
    SplitMix(hasher.finish())
}

std::thread_local! {
    static STATE: Cell<SplitMix> = Cell::new(begin());
}

/// Returns a number from 0 to `n - 1` from the running thread's stream. The quality of these
/// numbers does not matter.
pub(super) fn below(n: u64) -> u64 {
    let mut state = STATE.get();
    let number = state.below(n);
    STATE.set(state);
    number
}
