//! The kind of lock that replaces the C library's, named by an environment variable, and the state
//! of this library in one word, for the fast paths.

use crate::system;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// A page that the kernel clears in each child of a fork: see `fork.rs`.
#[repr(C, align(4096))]
pub(crate) struct Page {
    /// State of this library: a [`Lock`]'s number, [`REAL`] or 0, and perhaps [`FORKED`] and
    /// [`REAL_TIME`].
    pub(crate) state: AtomicU32,
    /// Index of the thread that has noticed the fork; 0 before.
    pub(crate) notices: AtomicUsize,
}

/// The page.
pub(crate) static PAGE: Page = Page { state: AtomicU32::new(0), notices: AtomicUsize::new(0) };

/// The state, in memory that children keep; 0 before the start.
static KEPT: AtomicU32 = AtomicU32::new(0);

/// Adds bits to the state, before or after the start.
pub(crate) fn add(bits: u32) {
    // Sequentially consistent, all here and in `publish`: this thread sees that the library has
    // started, or the other thread sees the bits.
    KEPT.fetch_or(bits, Ordering::SeqCst);
    if PAGE.state.load(Ordering::SeqCst) != 0 {
        PAGE.state.fetch_or(bits, Ordering::SeqCst);
    }
}

/// Publishes everything that the caller has found, and the state with the bits that were added
/// before.
pub(crate) fn publish(bits: u32) {
    let state = KEPT.fetch_or(bits, Ordering::SeqCst) | bits;
    PAGE.state.store(state, Ordering::SeqCst);
    PAGE.state.fetch_or(KEPT.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// Returns the state that the process kept when its page was cleared.
pub(crate) fn kept() -> u32 {
    KEPT.load(Ordering::Relaxed)
}

/// Bit of the state: this process is the child of a fork. Objects may have waiters that do not
/// exist here.
pub(crate) const FORKED: u32 = 1 << 8;
/// Bit of the state: this process uses real-time priorities.
pub(crate) const REAL_TIME: u32 = 1 << 9;
/// Value of the state: the C library's functions are used for everything.
pub(crate) const REAL: u32 = 7;

/// Kind of lock.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Lock {
    Mutex = 1,
    Queued = 2,
    Ticket = 3,
    PvQueued = 4,
}

/// Value of the state for fast paths: mutexes, without these bits.
pub(crate) const PLAIN_MUTEX: u32 = Lock::Mutex as u32;

impl Lock {
    /// Returns the lock of a state; `None` if the C library's functions are used.
    #[inline(always)]
    pub(crate) fn of(state: u32) -> Option<Lock> {
        match state & !(FORKED | REAL_TIME) {
            1 => Some(Lock::Mutex),
            2 => Some(Lock::Queued),
            3 => Some(Lock::Ticket),
            4 => Some(Lock::PvQueued),
            _ => None,
        }
    }
}

const NAMES: [(&[u8], Lock); 4] = [
    (b"mutex", Lock::Mutex),
    (b"queued", Lock::Queued),
    (b"ticket", Lock::Ticket),
    (b"pv-queued", Lock::PvQueued),
];

/// Returns the lock that the environment variable names. Ends the process if there is no such lock.
pub(crate) fn named() -> Lock {
    // SAFETY: the name and the value end with a zero. The value stays until the program changes it.
    let value = unsafe {
        let value = getenv(c"LOCKYARD_LOCK".as_ptr());
        if value.is_null() {
            return Lock::Mutex;
        }
        CStr::from_ptr(value).to_bytes()
    };
    if value.is_empty() {
        return Lock::Mutex;
    }
    if let Some((_, lock)) = NAMES.iter().find(|(name, _)| *name == value) {
        return *lock;
    }
    let shown = value.get(..100).unwrap_or(value);
    system::complain(&[
        b"LOCKYARD_LOCK=",
        shown,
        b": there is no such lock (mutex, queued, ticket, pv-queued)",
    ]);
    system::exit(2)
}

/// Returns the state, which may be 0.
#[inline(always)]
pub(crate) fn state() -> u32 {
    // Acquire: pairs with the release of `start.rs`, which found the C library's functions and
    // layout before.
    PAGE.state.load(Ordering::Acquire)
}
