//! A queued lock names a waiter's node in 16 bits of its word: two bytes are too few.

use lockyard::lock::Queued;
use lockyard::{Native, NoContext, RawSpinLock, TwoBytes};

fn main() {
    let lock = RawSpinLock::<Queued, Native, NoContext, TwoBytes>::new();
    let held = lock.acquire();
    // SAFETY: taken above.
    unsafe { lock.release(held) };
}
