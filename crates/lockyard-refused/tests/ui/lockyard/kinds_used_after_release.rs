//! A lock released twice, data or a guard used too late, and a lock freed while it is held.

use lockyard::{QSpinLock, RawQSpinLock, TicketLock, TicketLockGuard};

fn outlives<'a>() -> TicketLockGuard<'a, u32> {
    let lock = TicketLock::new(0);
    lock.lock()
}

fn main() {
    let raw = RawQSpinLock::new();
    let held = raw.acquire();
    // SAFETY: acquired above. The second release does not compile.
    unsafe {
        raw.release(held);
        raw.release(held);
    }

    let number: QSpinLock<i32> = QSpinLock::new(0);
    let mut guard = number.lock();
    drop(guard);
    *guard += 1;

    let guard = number.lock();
    drop(number);
    drop(guard);

    outlives();
}
