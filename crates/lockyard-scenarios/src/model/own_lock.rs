//! Locks of a user's crate.
//!
//! An own lock is written over the platform, like the library's locks. So it runs on every host for
//! which its crate has made an [`OnHost`], even on a simulated machine. (A [foreign
//! lock](super::foreign) waits by its own means, and runs only on a real host.)

use super::lock_object::LockObject;
use super::step::{GetOperation, PutOperation};
use lockyard::platform::HostWithSlots;
use std::alloc::Layout;
use std::any::TypeId;
use std::fmt;
use std::ptr::NonNull;

/// A lockref, as the interpreter of scripts uses it.
pub(crate) trait LockRefObject: LockObject {
    /// Takes a reference.
    fn get(&self, operation: GetOperation);
    /// Drops a reference.
    fn put(&self, operation: PutOperation);
    /// Returns the number of references, or `None` if the lockref is dead or saturated.
    fn count(&self) -> Option<u32>;
}

/// Settings of a new lockref.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockRefSettings {
    /// `true` to pause after each failed compare-exchange.
    pub(crate) pause: bool,
    /// `true` to wait once for the lock's release before taking it.
    pub(crate) trywait: bool,
    /// Initial number of references.
    pub(crate) count: u32,
}

/// Writes a lockref to memory.
pub(crate) type MakeLockRef = unsafe fn(LockRefSettings, NonNull<u8>) -> Box<dyn LockRefObject>;

/// A lock algorithm on one host, as functions that hide the algorithm's type.
/// [`OnHost::of`](Self::of) makes it.
#[derive(Clone, Copy)]
pub struct OnHost {
    pub(crate) host: TypeId,
    pub(crate) layout: Layout,
    pub(crate) make_lock: unsafe fn(NonNull<u8>) -> Box<dyn LockObject>,
    /// `None` for a lock that cannot be part of a larger word.
    pub(crate) make_lockref: Option<MakeLockRef>,
}

impl fmt::Debug for OnHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnHost").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// A lock of a user's crate, with the name that scripts use.
#[derive(Clone, Copy)]
pub struct OwnLock {
    name: &'static str,
    is_fifo: bool,
    keeps_a_node: bool,
    hosts: &'static [OnHost],
}

impl OwnLock {
    /// Returns a lock that runs on `hosts`. It serves in no particular order, and its holder keeps
    /// no queue node. [`LockKinds::with_own`](crate::LockKinds::with_own) checks the
    /// name.
    pub const fn new(name: &'static str, hosts: &'static [OnHost]) -> OwnLock {
        OwnLock { name, is_fifo: false, keeps_a_node: false, hosts }
    }

    /// Declares that the lock serves in order of arrival.
    #[must_use]
    pub const fn fifo(self) -> OwnLock {
        OwnLock { is_fifo: true, ..self }
    }

    /// Declares that a holder keeps one of its thread's queue nodes until it releases the lock. A
    /// script then holds at most four of such locks at once.
    #[must_use]
    pub const fn keeping_a_node(self) -> OwnLock {
        OwnLock { keeps_a_node: true, ..self }
    }

    /// Name that scripts use.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn is_fifo(&self) -> bool {
        self.is_fifo
    }

    pub(super) fn keeps_a_node(&self) -> bool {
        self.keeps_a_node
    }

    /// Returns the lock's functions on host `H`.
    ///
    /// # Panics
    ///
    /// If the lock was made without that host.
    pub(crate) fn on<H: HostWithSlots>(&self) -> OnHost {
        let found = self.hosts.iter().find(|on| on.host == TypeId::of::<H>());
        *found.unwrap_or_else(|| {
            panic!("the lock `{}` was made without {}", self.name, std::any::type_name::<H>())
        })
    }
}

impl PartialEq for OwnLock {
    fn eq(&self, other: &OwnLock) -> bool {
        self.name == other.name
    }
}

impl Eq for OwnLock {}

impl fmt::Debug for OwnLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnLock").field("name", &self.name).finish_non_exhaustive()
    }
}
