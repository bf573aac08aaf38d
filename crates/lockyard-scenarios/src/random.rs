//! Random numbers of a thread of the host: which operations have a step that only some have. Nothing depends on how good they are.

use crate::draws::split_mix;
use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a thread's numbers begin: each has a stream of its own.
fn begin() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::thread::current().id().hash(&mut hasher);
    hasher.finish()
}

std::thread_local! {
    static STATE: Cell<u64> = Cell::new(begin());
}

/// A random number from 0 to `n - 1`.
pub(crate) fn below(n: u64) -> u64 {
    let mut state = STATE.get();
    let number = split_mix(&mut state);
    STATE.set(state);
    // The high half of the product is below `n`; the bias is beyond counting.
    ((u128::from(number) * u128::from(n)) >> 64) as u64
}
