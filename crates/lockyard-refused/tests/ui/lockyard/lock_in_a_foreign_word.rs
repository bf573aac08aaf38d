//! An algorithm applied, in safe code, to any word: its bits may name another thread's node.

use lockyard::Native;
use lockyard::lane::Whole;
use lockyard::lock::{Clh, LaneLock};
use lockyard::platform::NativeU32;

fn main() {
    let word = NativeU32::new(4 << 16);
    <Clh as LaneLock<Native>>::lock(Whole(&word));
    let _ = <Clh as LaneLock<Native>>::try_lock(Whole(&word));
}
