//! The wrapped functions. Each takes the arguments of the C library's function, and the return
//! address of the call (`entry_points`).

use crate::memory::base;
use crate::real::{self, Slot};
use crate::record::{self, How};
use crate::system::ticks;
use crate::{local, table, thread};
use core::ffi::c_int;
use lockyard_records::{Kind, event, key};

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

impl Functions {
    /// Returns the kind of event that an acquisition is.
    #[inline(always)]
    const fn event(&self) -> u64 {
        if self.shared { event::READ } else { event::ACQUIRED }
    }
}

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

/// Acquires a lock: at once, or by `wait`. All is recorded afterwards. Only the cache lines of the
/// records are asked for before, because they may be as far as the lock's.
#[inline(always)]
unsafe fn acquire(
    functions: &'static Functions,
    lock: usize,
    site: usize,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if base().is_null() {
        return wait();
    }
    // SAFETY: the C library's functions get the program's arguments.
    unsafe {
        let key = prepare(functions, lock, site, false);
        let mut code = real::one(functions.tries)(lock);
        let mut waits_since = 0;
        if code == BUSY {
            waits_since = ticks();
            code = wait();
        }
        finish(functions, lock, site, key, code, waits_since, false);
        code
    }
}

/// Tries to acquire a lock.
#[inline(always)]
unsafe fn try_to(functions: &'static Functions, lock: usize, site: usize) -> c_int {
    // SAFETY: as in `acquire`.
    unsafe {
        if base().is_null() {
            return real::one(functions.tries)(lock);
        }
        let key = prepare(functions, lock, site, true);
        let code = real::one(functions.tries)(lock);
        finish(functions, lock, site, key, code, 0, true);
        code
    }
}

/// Returns the key of the slot of an acquisition, and asks for the cache lines that it needs.
#[inline(always)]
unsafe fn prepare(functions: &Functions, lock: usize, site: usize, tried: bool) -> u64 {
    let key = key(lock as u64, site as u64 | functions.event());
    // SAFETY: the thread's own data.
    unsafe {
        let mine = (*local::local()).thread;
        if !mine.is_null() {
            table::prefetch(mine, key, lock as u64, tried);
        }
    }
    key
}

/// Records the result of a call.
#[inline(always)]
unsafe fn finish(
    functions: &Functions,
    lock: usize,
    site: usize,
    key: u64,
    code: c_int,
    waits_since: u64,
    tried: bool,
) {
    if !begin() {
        return;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        let (lock, site) = (lock as u64, site as u64);
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        } else if code == 0 || code == OWNER_DEAD {
            let recursive = (*mine).held_count > 0 && is_recursive(functions, lock as usize);
            let (kind, event) = (functions.kind, functions.event());
            let how = How { kind, event, waits_since, tried, recursive };
            record::acquired(mine, lock, site, key, how);
        } else {
            record::counted(mine, lock, site | event::FAILED, functions.kind);
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

/// Records that a wait for a condition is about to release a mutex. Returns the time, or 0 if the
/// wait is not recorded.
pub(crate) unsafe extern "C" fn wait_begins(mutex: usize) -> u64 {
    real::address(&real::CONDITION_WAIT);
    if !begin() {
        return 0;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        if !mine.is_null()
            && let Some(ended) = record::ending(mine, mutex as u64)
        {
            record::ended(ended);
        }
    }
    local::end();
    ticks()
}

/// Records that a wait for a condition is over, and the mutex acquired again. If the thread is the
/// child of a fork by a signal handler, all of this is the child's.
pub(crate) unsafe extern "C" fn wait_ends(mutex: usize, site: usize, since: u64) {
    if since == 0 || !begin() {
        return;
    }
    // SAFETY: as in `wait_begins`.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        } else {
            let (kind, event) = (Kind::Mutex, event::CONDITION);
            let how = How { kind, event, waits_since: since, tried: false, recursive: false };
            let key = key(mutex as u64, site as u64 | event);
            record::acquired(mine, mutex as u64, site as u64, key, how);
        }
    }
    local::end();
}
