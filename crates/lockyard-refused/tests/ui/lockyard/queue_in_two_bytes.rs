//! A queued lock names a waiter's node in 16 bits of its word: two bytes are too few.

use lockyard::Native;
use lockyard::lane::Whole;
use lockyard::lock::{LaneLock, Queued};
use lockyard::platform::NativeU16;

fn main() {
    let word = NativeU16::new(0);
    // SAFETY: the word is new, and no other lock uses it.
    unsafe { <Queued as LaneLock<Native>>::lock(Whole(&word)) };
}
