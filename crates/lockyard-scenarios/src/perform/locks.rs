//! Locks and lockrefs: the library's type for each kind that scripts name.
//!
//! [`LockObject`] and [`LockRefObject`] hide the kind from the interpreter. Each step is one
//! indirect call, at the same place for every kind.

use crate::model::{GetOperation, LockKind, LockObject, PutOperation};
use lockyard::lock::pv::Hooks;
use lockyard::lock::three_states::{PthreadLike, StdLike};
use lockyard::lock::{
    Adaptive, Clh, CmpxchgGrab, LaneLock, Mcs, PvQueued, PvTicket, Queued, TestAndSet, ThreeStates,
    Ticket, TicketAsmLoop,
};
use lockyard::lockref::policy::{NoTrywait, Pause, PauseNoTrywait, Policy, Standard};
use lockyard::lockref::{Count, LockRef};
use lockyard::platform::{HostWithSlots, Portable};
use lockyard::{NoContext, RawSpinLock};
use lockyard_controls::{DoesNotExclude, TicketAsQueued, Unfair, WakesNobody};
use std::alloc::Layout;
use std::ptr::NonNull;

/// A lockref as the interpreter sees it.
pub(super) trait LockRefObject: LockObject {
    /// Takes a reference.
    fn get(&self, operation: GetOperation);
    /// Drops a reference.
    fn put(&self, operation: PutOperation);
    /// Returns the number of references, or `None` if the lockref is dead or saturated.
    fn count(&self) -> Option<u32>;
}

struct LockAt<K: LaneLock<H>, H: HostWithSlots>(NonNull<RawSpinLock<K, H>>);

impl<K: LaneLock<H>, H: HostWithSlots> LockObject for LockAt<K, H> {
    fn locked(&self, body: &mut dyn FnMut()) {
        // SAFETY: the object was written where the pointer points, and lives as long as `self`
        // (`Prepared` frees the memory after its objects).
        let lock = unsafe { self.0.as_ref() };
        let held = lock.acquire();
        body();
        // SAFETY: acquired above.
        unsafe { lock.release(held) };
    }
    fn is_held(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.as_ref() }.is_held()
    }
    fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

struct LockRefAt<K: LaneLock<H>, P: Policy, H: HostWithSlots>(NonNull<LockRef<K, P, H>>);

impl<K: LaneLock<H>, P: Policy, H: HostWithSlots> LockRefAt<K, P, H> {
    fn lockref(&self) -> &LockRef<K, P, H, NoContext> {
        // SAFETY: as for `LockAt`.
        unsafe { self.0.as_ref() }
    }

    /// Drops a reference under the lock.
    fn put_locked(&self) {
        let mut guard = self.lockref().lock();
        if let Count::Live(count @ 1..) = guard.count() {
            guard.set_count(count - 1);
        }
    }
}

impl<K: LaneLock<H>, P: Policy, H: HostWithSlots> LockObject for LockRefAt<K, P, H> {
    fn locked(&self, body: &mut dyn FnMut()) {
        let _guard = self.lockref().lock();
        body();
    }
    fn is_held(&self) -> bool {
        self.lockref().is_locked()
    }
    fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

impl<K: LaneLock<H>, P: Policy, H: HostWithSlots> LockRefObject for LockRefAt<K, P, H> {
    fn get(&self, operation: GetOperation) {
        let lockref = self.lockref();
        match operation {
            GetOperation::Get => lockref.get(),
            // Neither operation fails, because the script keeps one reference. `verify` would
            // report a failure.
            GetOperation::GetNotZero => drop(lockref.get_not_zero()),
            GetOperation::GetNotDead => drop(lockref.get_not_dead()),
        }
    }
    fn put(&self, operation: PutOperation) {
        let lockref = self.lockref();
        match operation {
            PutOperation::PutReturn => {
                if lockref.put_return().is_none() {
                    self.put_locked();
                }
            }
            PutOperation::PutNotZero => {
                if !lockref.put_not_zero() {
                    self.put_locked();
                }
            }
            PutOperation::PutOrLock => {
                if let Some(mut guard) = lockref.put_or_lock()
                    && let Count::Live(count @ 1..) = guard.count()
                {
                    guard.set_count(count - 1);
                }
            }
        }
    }
    fn count(&self) -> Option<u32> {
        match self.lockref().count() {
            Count::Live(count) => Some(count),
            Count::Saturated | Count::Dead => None,
        }
    }
}

/// Spin limit of waiters in a guest kernel: they park after 2^15 polls.
///
/// The patches behind the published table `pv-ticketlock-dbench` use this number (K. Raghavendra,
/// *Paravirtualized ticket spinlocks*, linux-kernel, 2013). Their change log says that smaller
/// numbers were too small. A hypervisor's wake-up costs more than a futex's, and the host notices
/// the spinning in the meantime.
#[derive(Debug)]
pub(super) struct GuestKernel;

impl Hooks for GuestKernel {
    const SPINS: u32 = 1 << 15;
}

macro_rules! lock_kinds {
    ($($kind:ident: $algorithm:ty, on $host:ty;)*) => {
        impl LockKind {
            /// Returns the size and alignment of a lock of this kind on host `H`.
            pub(super) fn layout<H: HostWithSlots>(self) -> Layout {
                match self {
                    $(LockKind::$kind => Layout::new::<RawSpinLock<$algorithm, $host>>(),)*
                }
            }

            /// Writes a free lock of this kind to `memory`.
            ///
            /// # Safety
            ///
            /// `memory` is valid for the kind's layout, and outlives the returned object.
            pub(super) unsafe fn make_lock<H: HostWithSlots>(
                self,
                memory: NonNull<u8>,
            ) -> Box<dyn LockObject> {
                match self {
                    $(LockKind::$kind => {
                        let lock = memory.cast::<RawSpinLock<$algorithm, $host>>();
                        // SAFETY: the caller provides memory for the lock.
                        unsafe { lock.write(RawSpinLock::new()) };
                        Box::new(LockAt(lock))
                    })*
                }
            }

            /// Writes a lockref with a lock of this kind to `memory`.
            ///
            /// # Safety
            ///
            /// `memory` is valid for a lockref (8 bytes), and outlives the returned object.
            pub(super) unsafe fn make_lockref<H: HostWithSlots>(
                self,
                pause: bool,
                trywait: bool,
                count: u32,
                memory: NonNull<u8>,
            ) -> Box<dyn LockRefObject> {
                match self {
                    // SAFETY: the caller upholds the contract of `lockref`.
                    $(LockKind::$kind => unsafe {
                        match (pause, trywait) {
                            (false, true) => lockref::<$algorithm, Standard, $host>(count, memory),
                            (true, true) => lockref::<$algorithm, Pause, $host>(count, memory),
                            (false, false) => {
                                lockref::<$algorithm, NoTrywait, $host>(count, memory)
                            }
                            (true, false) => {
                                lockref::<$algorithm, PauseNoTrywait, $host>(count, memory)
                            }
                        }
                    },)*
                }
            }
        }
    };
}

lock_kinds! {
    Queued: Queued, on H;
    QueuedCmpxchgGrab: Queued<CmpxchgGrab>, on H;
    QueuedPortable: Queued, on Portable<H>;
    Mcs: Mcs, on H;
    Clh: Clh, on H;
    Ticket: Ticket, on H;
    TicketAsmLoop: TicketAsmLoop, on H;
    TicketPortable: Ticket, on Portable<H>;
    PvQueued: PvQueued, on H;
    PvTicket: PvTicket, on H;
    PvTicketGuest: PvTicket<GuestKernel>, on H;
    Adaptive: Adaptive, on H;
    StdLike: ThreeStates<StdLike>, on H;
    PthreadLike: ThreeStates<PthreadLike>, on H;
    TestAndSet: TestAndSet, on H;
    Broken: DoesNotExclude, on H;
    Unfair: Unfair, on H;
    Stalls: WakesNobody, on H;
    TicketAsQueued: TicketAsQueued, on H;
}

/// # Safety
///
/// `memory` is valid for a lockref, and outlives the returned object.
unsafe fn lockref<K: LaneLock<H>, P: Policy, H: HostWithSlots>(
    count: u32,
    memory: NonNull<u8>,
) -> Box<dyn LockRefObject> {
    let lockref = memory.cast::<LockRef<K, P, H>>();
    // SAFETY: the caller provides memory for the lockref.
    unsafe { lockref.write(LockRef::from_count(count)) };
    Box::new(LockRefAt(lockref))
}
