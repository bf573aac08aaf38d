//! The table of lock kinds, by the names that scripts use: a new lock is one line here.
//!
//! [`LockObject`] and [`LockRefObject`] hide the kind from the interpreter: one indirect call for each
//! step, in the same place for each kind.

use crate::script::{GetOperation, PutOperation};
use lockyard::lock::pv::Hooks;
use lockyard::lock::{
    Clh, CmpxchgGrab, LaneLock, Mcs, PvQueued, PvTicket, Queued, TestAndSet, Ticket, TicketAsmLoop,
};
use lockyard::lockref::policy::{NoTrywait, Pause, PauseNoTrywait, Policy, Standard};
use lockyard::lockref::{Count, LockRef};
use lockyard::platform::{HostWithSlots, Portable};
use lockyard::{NoContext, RawSpinLock};
use lockyard_controls::{DoesNotExclude, TicketAsQueued, Unfair, WakesNobody};
use std::alloc::Layout;
use std::ptr::NonNull;

/// A lock as the interpreter uses it.
pub(crate) trait LockObject {
    /// Runs `body` with the lock held.
    fn locked(&self, body: &mut dyn FnMut());
    /// Whether someone holds the lock.
    fn is_held(&self) -> bool;
    /// Where it lies.
    fn address(&self) -> usize;
}

/// A lockref as the interpreter uses it.
pub(crate) trait LockRefObject: LockObject {
    fn get(&self, operation: GetOperation);
    fn put(&self, operation: PutOperation);
    /// The number of references; `None` if it is dead or saturated.
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
            // Scripts hold a reference of their own, so neither refuses; `verify` would notice.
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

/// When waiters park in a guest kernel: after 2^15 polls, as in the patches behind the published table `pv-ticketlock-dbench`
/// (K. Raghavendra, *Paravirtualized ticket spinlocks*, linux-kernel, 2013, whose change log says that fewer were too few). A
/// hypervisor's wake-up is dearer than a futex', and spinning is noticed by the host meanwhile.
#[derive(Debug)]
pub(crate) struct GuestKernel;

impl Hooks for GuestKernel {
    const SPINS: u32 = 1 << 15;
}

macro_rules! lock_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $algorithm:ty, on $host:ty;)*) => {
        /// The kinds of lock, by the names that scripts use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LockKind {
            $($(#[$doc])* $kind,)*
        }

        impl LockKind {
            /// All kinds.
            pub const ALL: &[LockKind] = &[$(LockKind::$kind,)*];

            /// The name that scripts use.
            pub fn name(self) -> &'static str {
                match self {
                    $(LockKind::$kind => $name,)*
                }
            }

            /// Size and alignment of a lock of this kind on host `H`.
            pub(crate) fn layout<H: HostWithSlots>(self) -> Layout {
                match self {
                    $(LockKind::$kind => Layout::new::<RawSpinLock<$algorithm, $host>>(),)*
                }
            }

            /// Writes a free lock of this kind to `memory`, which has room for it.
            ///
            /// # Safety
            ///
            /// `memory` is valid for the kind's layout, and outlives the returned object.
            pub(crate) unsafe fn make_lock<H: HostWithSlots>(
                self,
                memory: NonNull<u8>,
            ) -> Box<dyn LockObject> {
                match self {
                    $(LockKind::$kind => {
                        let lock = memory.cast::<RawSpinLock<$algorithm, $host>>();
                        // SAFETY: the caller says that there is room.
                        unsafe { lock.write(RawSpinLock::new()) };
                        Box::new(LockAt(lock))
                    })*
                }
            }

            /// Writes a lockref with a lock of this kind to `memory`, which has room for it.
            ///
            /// # Safety
            ///
            /// `memory` is valid for a lockref (8 bytes), and outlives the returned object.
            pub(crate) unsafe fn make_lockref<H: HostWithSlots>(
                self,
                pause: bool,
                trywait: bool,
                count: u32,
                memory: NonNull<u8>,
            ) -> Box<dyn LockRefObject> {
                match self {
                    // SAFETY: the caller's promise.
                    $(LockKind::$kind => unsafe {
                        match (pause, trywait) {
                            (false, true) => lockref::<$algorithm, Standard, $host>(count, memory),
                            (true, true) => lockref::<$algorithm, Pause, $host>(count, memory),
                            (false, false) => lockref::<$algorithm, NoTrywait, $host>(count, memory),
                            (true, false) => lockref::<$algorithm, PauseNoTrywait, $host>(count, memory),
                        }
                    },)*
                }
            }
        }
    };
}

lock_kinds! {
    /// The queued lock.
    Queued = "queued": Queued, on H;
    /// The queued lock whose queue's head takes it by a compare-exchange.
    QueuedCmpxchgGrab = "queued-cmpxchg-grab": Queued<CmpxchgGrab>, on H;
    /// The queued lock without operations on parts of its word.
    QueuedPortable = "queued-portable": Queued, on Portable<H>;
    /// The MCS lock.
    Mcs = "mcs": Mcs, on H;
    /// The CLH lock.
    Clh = "clh": Clh, on H;
    /// The ticket lock.
    Ticket = "ticket": Ticket, on H;
    /// The ticket lock with its waiting loop in assembly.
    TicketAsmLoop = "ticket-asm-loop": TicketAsmLoop, on H;
    /// The ticket lock without operations on parts of its word.
    TicketPortable = "ticket-portable": Ticket, on Portable<H>;
    /// The queued lock whose waiters park, and which may be stolen within a bound.
    PvQueued = "pv-queued": PvQueued, on H;
    /// The ticket lock whose waiters park.
    PvTicket = "pv-ticket": PvTicket, on H;
    /// The same, with the patience of a guest kernel.
    PvTicketGuest = "pv-ticket-guest": PvTicket<GuestKernel>, on H;
    /// The test-and-set lock.
    TestAndSet = "test-and-set": TestAndSet, on H;
    /// A control: it does not exclude.
    Broken = "broken": DoesNotExclude, on H;
    /// A control: it has a favourite.
    Unfair = "unfair": Unfair, on H;
    /// A control: who must wait waits for ever.
    Stalls = "stalls": WakesNobody, on H;
    /// A control: a used ticket word, taken for a queued lock's.
    TicketAsQueued = "ticket-as-queued": TicketAsQueued, on H;
}

impl LockKind {
    /// Whether it is wrong on purpose.
    pub fn is_control(self) -> bool {
        matches!(
            self,
            LockKind::Broken | LockKind::Unfair | LockKind::Stalls | LockKind::TicketAsQueued
        )
    }

    /// Whether it serves in the order of arrival.
    pub fn is_fifo(self) -> bool {
        !self.is_control() && !matches!(self, LockKind::TestAndSet | LockKind::PvQueued)
    }

    /// Whether a holder keeps one of its thread's queue nodes.
    pub(crate) fn keeps_a_node(self) -> bool {
        matches!(self, LockKind::Mcs | LockKind::Clh)
    }
}

/// # Safety
///
/// `memory` is valid for a lockref, and outlives the returned object.
unsafe fn lockref<K: LaneLock<H>, P: Policy, H: HostWithSlots>(
    count: u32,
    memory: NonNull<u8>,
) -> Box<dyn LockRefObject> {
    let lockref = memory.cast::<LockRef<K, P, H>>();
    // SAFETY: the caller says that there is room.
    unsafe { lockref.write(LockRef::from_count(count)) };
    Box::new(LockRefAt(lockref))
}
