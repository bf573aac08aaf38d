//! Locks and lockrefs: the library's type for each kind that scripts name.
//!
//! [`LockObject`] and [`LockRefObject`] hide the kind from the interpreter. Each step is one
//! indirect call, at the same place for every kind.

use crate::model::{
    GetOperation, LockKind, LockObject, LockRefObject, LockRefSettings, OnHost, PutOperation,
    for_each_kind,
};
use lockyard::lock::pv::Hooks;
use lockyard::lock::{LaneLock, PvTicket, Queued, Ticket};
use lockyard::lockref::policy::{NoTrywait, Pause, PauseNoTrywait, Policy, Standard};
use lockyard::lockref::{Count, LockRef};
use lockyard::platform::{HostWithSlots, Portable};
use lockyard::rwlock::ReadWrite;
use lockyard::{NoContext, RawSpinLock};
use lockyard_controls::{DoesNotExclude, ReadersBesideWriter, TicketAsQueued, Unfair, WakesNobody};
use std::alloc::Layout;
use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;

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

struct ReadWriteAt<L, H>(NonNull<L>, PhantomData<fn(H)>);

impl<L: ReadWrite<H>, H: HostWithSlots> LockObject for ReadWriteAt<L, H> {
    fn locked(&self, body: &mut dyn FnMut()) {
        // SAFETY: as for `LockAt`.
        let lock = unsafe { self.0.as_ref() };
        lock.lock_exclusive();
        body();
        // SAFETY: this thread has entered above.
        unsafe { lock.unlock_exclusive() };
    }
    fn locked_shared(&self, body: &mut dyn FnMut()) {
        // SAFETY: as for `LockAt`.
        let lock = unsafe { self.0.as_ref() };
        let entry = lock.lock_shared();
        body();
        // SAFETY: this thread has entered above.
        unsafe { lock.unlock_shared(entry) };
    }
    fn is_held(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.as_ref() }.is_inside()
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

impl OnHost {
    /// Returns the functions of algorithm `K` on host `H`.
    pub const fn of<K: LaneLock<H>, H: HostWithSlots>() -> OnHost {
        OnHost {
            host: TypeId::of::<H>(),
            layout: Layout::new::<RawSpinLock<K, H>>(),
            make_lock: lock::<K, H>,
            make_lockref: Some(lockref::<K, H>),
        }
    }

    /// Returns the functions of reader-writer lock `L` on host `H`. No lockref can have it.
    const fn of_read_write<L: ReadWrite<H>, H: HostWithSlots>() -> OnHost {
        OnHost {
            host: TypeId::of::<H>(),
            layout: Layout::new::<L>(),
            make_lock: read_write::<L, H>,
            make_lockref: None,
        }
    }
}

macro_rules! on_host {
    (
        locks { $($lock:ident {
            name: $name:literal, title: $title:literal, lock: $type:ty, $($lock_fact:tt)*
        })* }
        rwlocks $($rwlock:ident {
            name: $rwlock_name:literal, title: $rwlock_title:literal, lock: $rwlock_type:ident,
            $($rwlock_fact:tt)*
        })*
    ) => {
        impl LockKind {
            /// Returns the functions of this kind on host `H`.
            fn on<H: HostWithSlots>(self) -> OnHost {
                match self {
                    $(LockKind::$lock => OnHost::of::<$type, H>(),)*
                    $(LockKind::$rwlock => {
                        OnHost::of_read_write::<lockyard::rwlock::$rwlock_type<H>, H>()
                    })*
                    LockKind::QueuedPortable => OnHost::of::<Queued, Portable<H>>(),
                    LockKind::TicketPortable => OnHost::of::<Ticket, Portable<H>>(),
                    LockKind::PvTicketGuest => OnHost::of::<PvTicket<GuestKernel>, H>(),
                    LockKind::Broken => OnHost::of::<DoesNotExclude, H>(),
                    LockKind::BrokenReadWrite => {
                        OnHost::of_read_write::<ReadersBesideWriter<H>, H>()
                    }
                    LockKind::Unfair => OnHost::of::<Unfair, H>(),
                    LockKind::Stalls => OnHost::of::<WakesNobody, H>(),
                    LockKind::TicketAsQueued => OnHost::of::<TicketAsQueued, H>(),
                    LockKind::Own(own) => own.on::<H>(),
                }
            }
        }
    };
}
for_each_kind!(on_host);

impl LockKind {
    /// Returns the size and alignment of a lock of this kind on host `H`.
    pub(super) fn layout<H: HostWithSlots>(self) -> Layout {
        self.on::<H>().layout
    }

    /// Writes a free lock of this kind to `memory`.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for the kind's layout, and must outlive the returned object.
    pub(super) unsafe fn make_lock<H: HostWithSlots>(
        self,
        memory: NonNull<u8>,
    ) -> Box<dyn LockObject> {
        // SAFETY: the caller upholds the contract of `lock`.
        unsafe { (self.on::<H>().make_lock)(memory) }
    }

    /// Writes a lockref with a lock of this kind to `memory`.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for a lockref (8 bytes), and must outlive the returned object.
    pub(super) unsafe fn make_lockref<H: HostWithSlots>(
        self,
        settings: LockRefSettings,
        memory: NonNull<u8>,
    ) -> Box<dyn LockRefObject> {
        let make = self.on::<H>().make_lockref.expect("the parser refuses the others");
        // SAFETY: the caller upholds the contract of `lockref`.
        unsafe { make(settings, memory) }
    }
}

/// # Safety
///
/// `memory` must be valid for a lock, and must outlive the returned object.
unsafe fn lock<K: LaneLock<H>, H: HostWithSlots>(memory: NonNull<u8>) -> Box<dyn LockObject> {
    let lock = memory.cast::<RawSpinLock<K, H>>();
    // SAFETY: the caller provides memory for the lock.
    unsafe { lock.write(RawSpinLock::new()) };
    Box::new(LockAt(lock))
}

/// # Safety
///
/// `memory` must be valid for a lock, and must outlive the returned object.
unsafe fn read_write<L: ReadWrite<H>, H: HostWithSlots>(
    memory: NonNull<u8>,
) -> Box<dyn LockObject> {
    let lock = memory.cast::<L>();
    // SAFETY: the caller provides memory for the lock.
    unsafe { lock.write(L::free()) };
    Box::new(ReadWriteAt(lock, PhantomData))
}

/// # Safety
///
/// `memory` must be valid for a lockref, and must outlive the returned object.
unsafe fn lockref<K: LaneLock<H>, H: HostWithSlots>(
    settings: LockRefSettings,
    memory: NonNull<u8>,
) -> Box<dyn LockRefObject> {
    let LockRefSettings { pause, trywait, count } = settings;
    // SAFETY: the caller upholds the contract of `lockref_of`.
    unsafe {
        match (pause, trywait) {
            (false, true) => lockref_of::<K, Standard, H>(count, memory),
            (true, true) => lockref_of::<K, Pause, H>(count, memory),
            (false, false) => lockref_of::<K, NoTrywait, H>(count, memory),
            (true, false) => lockref_of::<K, PauseNoTrywait, H>(count, memory),
        }
    }
}

/// # Safety
///
/// `memory` must be valid for a lockref, and must outlive the returned object.
unsafe fn lockref_of<K: LaneLock<H>, P: Policy, H: HostWithSlots>(
    count: u32,
    memory: NonNull<u8>,
) -> Box<dyn LockRefObject> {
    let lockref = memory.cast::<LockRef<K, P, H>>();
    // SAFETY: the caller provides memory for the lockref.
    unsafe { lockref.write(LockRef::from_count(count)) };
    Box::new(LockRefAt(lockref))
}
