//! Safe code that writes to a queue node, which could end another thread's wait for a lock.

use lockyard::Native;
use lockyard::platform::{Host, Ordering, Slot, Word};

fn main() {
    Native::queue_node(Slot(0), 0).ready.store(1, Ordering::Release);
}
