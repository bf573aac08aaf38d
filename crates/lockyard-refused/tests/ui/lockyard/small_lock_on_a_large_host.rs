//! A lock with 8-bit counters on a host with more than 255 slots: a 257th contender would enter
//! while the lock is held.

use lockyard::Native;
use lockyard::on::RawTicketLock8;

fn main() {
    let lock = RawTicketLock8::<Native>::new();
    let _held = lock.acquire();
}
