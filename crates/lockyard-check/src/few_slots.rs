//! A host with few slots. The ticket lock with 8-bit counters does not compile for more than 255.
//! With fewer slots than threads, a waiter may have no slot.

use core::marker::PhantomData;
use lockyard::platform::{Host, HostWithSlots, Slot};

/// The host `H` with at most `N` slots. Further threads have none.
#[derive(Debug)]
pub struct FewSlots<H, const N: u32 = 255>(PhantomData<fn() -> H>);

// SAFETY: every call goes to `H`. A host may withhold slots, and this host withholds the slots
// beyond `N`. The programs of this crate have far fewer than 255 threads.
unsafe impl<H: Host, const N: u32> Host for FewSlots<H, N> {
    type Atomics = H::Atomics;
    const SLOTS: u32 = if H::SLOTS < N { H::SLOTS } else { N };
    const GIVES_SLOTS_BACK: bool = H::GIVES_SLOTS_BACK;

    fn slot() -> Option<Slot> {
        H::slot().filter(|slot| slot.0 < Self::SLOTS)
    }
    lockyard::forward_to_host!(H: memory, activity, rest);
}

/// Threads beyond `N` behave like threads that find all slots taken.
impl<H: HostWithSlots, const N: u32> HostWithSlots for FewSlots<H, N> {}
