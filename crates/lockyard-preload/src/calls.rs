//! The wrapped functions. Each takes the arguments of the C library's function, and the return
//! address of the call (`entry_points`).

use crate::memory::base;
use crate::real::{self, Slot};
use crate::record::{self, How};
use crate::system::ticks;
use crate::{local, table, thread};
use core::ffi::c_int;
use core::ptr::null_mut;
use lockyard_records::{Entry, Kind};

const BUSY: c_int = 16;
/// The owner died: the lock is acquired all the same.
const OWNER_DEAD: c_int = 130;

/// Lock functions of one kind of lock.
struct Functions {
    kind: Kind,
    shared: bool,
    tries: &'static Slot,
}

const MUTEX: Functions =
    Functions { kind: Kind::Mutex, shared: false, tries: &real::MUTEX_TRYLOCK };
const SPIN: Functions = Functions { kind: Kind::Spin, shared: false, tries: &real::SPIN_TRYLOCK };
const READ: Functions =
    Functions { kind: Kind::ReadWrite, shared: true, tries: &real::READ_TRYLOCK };
const WRITE: Functions =
    Functions { kind: Kind::ReadWrite, shared: false, tries: &real::WRITE_TRYLOCK };

/// Returns true if a mutex counts its owner's acquisitions.
#[inline(always)]
unsafe fn is_recursive(functions: &Functions, lock: usize) -> bool {
    // The type of a mutex is a part of glibc's ABI: its static initialisers contain it.
    const KIND: usize = 16;
    const TYPE: u32 = 3;
    const RECURSIVE: u32 = 1;
    if !matches!(functions.kind, Kind::Mutex) {
        return false;
    }
    let kind = core::ptr::with_exposed_provenance::<u32>(lock + KIND);
    // SAFETY: the running thread has acquired this mutex, so it is live.
    unsafe { kind.read_volatile() & TYPE == RECURSIVE }
}

/// Returns the entry of a lock and a call site. The thread is inside the recorder.
#[inline(always)]
unsafe fn entry(
    lock: usize,
    site: usize,
    kind: Kind,
) -> (*mut lockyard_records::Thread, *mut Entry) {
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            return (mine, null_mut());
        }
        (mine, table::entry(mine, lock as u64, site as u64, kind))
    }
}

/// Begins to record a call. Returns false if it is not recorded.
#[inline(always)]
fn begin() -> bool {
    if base().is_null() {
        return false;
    }
    local::begin() || is_inside()
}

#[cold]
fn is_inside() -> bool {
    // SAFETY: there is a mapping.
    unsafe { crate::memory::count(&raw mut (*crate::memory::header()).inside) };
    false
}

/// Acquires a lock: at once, or by `wait`.
#[inline(always)]
unsafe fn acquire(
    functions: &'static Functions,
    lock: usize,
    site: usize,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if !begin() {
        return wait();
    }
    // SAFETY: the C library's functions get the program's arguments. The records are changed only
    // between `begin` and `end`.
    unsafe {
        let (mine, entry) = entry(lock, site, functions.kind);
        local::end();
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
            return wait();
        }
        let mut code = real::one(functions.tries)(lock);
        let mut how = How { shared: functions.shared, ..How::AT_ONCE };
        if code == BUSY {
            how.waits_since = ticks();
            code = wait();
        }
        finish(functions, lock, code, mine, entry, how);
        code
    }
}

/// Tries to acquire a lock.
#[inline(always)]
unsafe fn try_to(functions: &'static Functions, lock: usize, site: usize) -> c_int {
    // SAFETY: as in `acquire`.
    unsafe {
        if !begin() {
            return real::one(functions.tries)(lock);
        }
        let (mine, entry) = entry(lock, site, functions.kind);
        local::end();
        let code = real::one(functions.tries)(lock);
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
            return code;
        }
        let how = How { shared: functions.shared, tried: true, ..How::AT_ONCE };
        finish(functions, lock, code, mine, entry, how);
        code
    }
}

/// Records the result of a call.
#[inline(always)]
unsafe fn finish(
    functions: &Functions,
    lock: usize,
    code: c_int,
    mine: *mut lockyard_records::Thread,
    entry: *mut Entry,
    mut how: How,
) {
    if base().is_null() || !local::begin() {
        return;
    }
    // SAFETY: the thread is inside the recorder, and the entry is its own.
    unsafe {
        // If a signal handler has forked during the call, the child has other records, or none yet.
        let is_mine = (*local::local()).thread == mine;
        if is_mine && (code == 0 || code == OWNER_DEAD) {
            if (*mine).held_count > 0 {
                how.recursive = is_recursive(functions, lock);
            }
            record::acquired(mine, entry, lock as u64, how);
        } else if is_mine && !entry.is_null() {
            (*entry).failed += 1;
        }
    }
    local::end();
}

/// Releases a lock by one of the C library's functions.
#[inline(always)]
unsafe fn release(slot: &'static Slot, lock: usize) -> c_int {
    // SAFETY: as in `acquire`. The lock is not touched after its release.
    unsafe {
        if !begin() {
            return real::one(slot)(lock);
        }
        let mine = thread::mine();
        let ended = if mine.is_null() { None } else { record::ending(mine, lock as u64) };
        local::end();
        let code = real::one(slot)(lock);
        if let Some(ended) = ended
            && begin()
        {
            // As in `finish`: not in the child of a fork.
            if (*local::local()).thread == mine {
                record::ended(ended);
            }
            local::end();
        }
        code
    }
}

/// Destroys a lock by one of the C library's functions.
unsafe fn destroy(slot: &'static Slot, lock: usize) -> c_int {
    // SAFETY: as in `acquire`.
    unsafe {
        let code = real::one(slot)(lock);
        // A lock that is held is not destroyed.
        if code == 0 && begin() {
            table::destroyed(lock as u64);
            local::end();
        }
        code
    }
}

/// Waiting functions: `name(lock, arguments.., site)` by the C library's function.
macro_rules! acquiring {
    ($($name:ident, $functions:ident, $slot:ident, $call:ident ($($argument:ident),*);)*) => { $(
        pub(crate) unsafe extern "C" fn $name(
            lock: usize,
            $($argument: usize,)*
            site: usize,
        ) -> c_int {
            // SAFETY: the arguments are the program's.
            unsafe {
                acquire(&$functions, lock, site, || real::$call(&real::$slot)(lock $(, $argument)*))
            }
        }
    )* };
}

acquiring! {
    mutex_lock, MUTEX, MUTEX_LOCK, one();
    mutex_timedlock, MUTEX, MUTEX_TIMEDLOCK, two(time);
    mutex_clocklock, MUTEX, MUTEX_CLOCKLOCK, three(clock, time);
    spin_lock, SPIN, SPIN_LOCK, one();
    read_lock, READ, READ_LOCK, one();
    read_timedlock, READ, READ_TIMEDLOCK, two(time);
    read_clocklock, READ, READ_CLOCKLOCK, three(clock, time);
    write_lock, WRITE, WRITE_LOCK, one();
    write_timedlock, WRITE, WRITE_TIMEDLOCK, two(time);
    write_clocklock, WRITE, WRITE_CLOCKLOCK, three(clock, time);
}

macro_rules! trying {
    ($($name:ident, $functions:ident;)*) => { $(
        pub(crate) unsafe extern "C" fn $name(lock: usize, site: usize) -> c_int {
            // SAFETY: the arguments are the program's.
            unsafe { try_to(&$functions, lock, site) }
        }
    )* };
}

trying! {
    mutex_trylock, MUTEX;
    spin_trylock, SPIN;
    read_trylock, READ;
    write_trylock, WRITE;
}

macro_rules! ending {
    ($($name:ident, $how:ident, $slot:ident;)*) => { $(
        pub(crate) unsafe extern "C" fn $name(lock: usize) -> c_int {
            // SAFETY: the argument is the program's.
            unsafe { $how(&real::$slot, lock) }
        }
    )* };
}

ending! {
    mutex_unlock, release, MUTEX_UNLOCK;
    spin_unlock, release, SPIN_UNLOCK;
    read_write_unlock, release, READ_WRITE_UNLOCK;
    mutex_destroy, destroy, MUTEX_DESTROY;
    spin_destroy, destroy, SPIN_DESTROY;
    read_write_destroy, destroy, READ_WRITE_DESTROY;
}

/// Result of [`wait_begins`] for [`wait_ends`], in two registers.
#[repr(C)]
pub(crate) struct Waiting {
    /// Entry of the mutex at this call site; null if the wait is not recorded.
    entry: *mut Entry,
    /// Time at which the wait began.
    since: u64,
}

/// Records that a wait for a condition is about to release a mutex.
pub(crate) unsafe extern "C" fn wait_begins(mutex: usize, site: usize) -> Waiting {
    real::address(&real::CONDITION_WAIT);
    let nothing = Waiting { entry: null_mut(), since: 0 };
    if !begin() {
        return nothing;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let (mine, entry) = entry(mutex, site, Kind::Mutex);
        if !mine.is_null()
            && let Some(ended) = record::ending(mine, mutex as u64)
        {
            record::ended(ended);
        }
        if entry.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        }
        local::end();
        Waiting { entry, since: ticks() }
    }
}

/// Records that a wait for a condition is over, and the mutex acquired again.
pub(crate) unsafe extern "C" fn wait_ends(mutex: usize, entry: *mut Entry, since: u64) {
    if entry.is_null() || !begin() {
        return;
    }
    // SAFETY: as in `wait_begins`. The entry is this thread's.
    unsafe {
        let mine = (*local::local()).thread;
        // In the child of a fork by a signal handler the thread has no records yet.
        if !mine.is_null() {
            let now = record::hold(mine, entry, mutex as u64, false);
            (*entry).condition_waits += 1;
            (*entry).condition_ticks =
                (*entry).condition_ticks.wrapping_add(now.saturating_sub(since));
        }
    }
    local::end();
}
