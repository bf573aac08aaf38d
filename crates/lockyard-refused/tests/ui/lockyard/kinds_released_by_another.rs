//! The result of acquiring one type of lock, given back to another. Some have equal token types.

use lockyard::lock::{CmpxchgGrab, Queued, TicketAsmLoop};
use lockyard::platform::Portable;
use lockyard::{
    Native, QSpinLockGuard, RawQSpinLock, RawSpinLock, RawTestAndSetLock, RawTicketLock, TicketLock,
};

fn main() {
    let (ticket, queued) = (RawTicketLock::new(), RawQSpinLock::new());
    // SAFETY: none of this compiles.
    unsafe {
        queued.release(ticket.acquire());
        RawTestAndSetLock::new().release(queued.acquire());
        RawSpinLock::<Queued<CmpxchgGrab>>::new().release(queued.acquire());
        RawSpinLock::<TicketAsmLoop>::new().release(ticket.acquire());
        lockyard::on::RawQSpinLock::<Portable<Native>>::new().release(queued.acquire());
    }
    let number: TicketLock<i32> = TicketLock::new(0);
    let _guard: QSpinLockGuard<i32> = number.lock();
}
