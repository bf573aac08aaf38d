//! The wrapped functions. Each takes the arguments of the C library's function, and the return
//! address of the call (`entry_points`).

use crate::late::Wait;
use crate::memory::{at, base};
use crate::real::{self, Slot};
use crate::record::{self, Call, End};
use crate::system::ticks;
use crate::{late, local, table, thread, waits};
use core::ffi::c_int;
use lockyard_records::{Held, Kind, Thread, event, key};

/// The owner died: the lock is acquired all the same.
const OWNER_DEAD: c_int = 130;
/// The lock is not free.
const BUSY: c_int = 16;

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
pub(crate) fn begin() -> bool {
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

/// Returns true in the child of a fork without handlers, by a signal handler that came during a
/// call of the C library. The kernel has cleared the base, and what was begun is the parent's: its
/// records are mapped still, and must not be written.
#[inline(always)]
fn is_child_without_records() -> bool {
    base().is_null()
}

/// What is left to do for a call that has not acquired its lock, in place of its result: numbers
/// that no function gives.
mod left {
    use core::ffi::c_int;
    /// All: the call is not recorded.
    pub(super) const NOT_RECORDED: c_int = c_int::MIN;
    /// All: its hold is timed, or it has more to be recorded. The thread is inside the recorder.
    pub(super) const IN_DETAIL: c_int = c_int::MIN + 1;
}

/// Acquires a lock, if it is free and there is nothing to do but to count it. Returns 0 then, and
/// otherwise the result of the try, after which the thread is inside the recorder, or what is left.
#[inline(always)]
unsafe fn at_once(functions: &'static Functions, lock: usize, site: usize, tried: bool) -> c_int {
    if !begin() {
        return left::NOT_RECORDED;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder. The C library's functions
    // get the program's arguments.
    unsafe {
        let mine = (*local::local()).thread;
        let key = key(lock as u64, site as u64 | functions.event());
        if mine.is_null() || !record::begin(mine, lock as u64, key, tried) {
            return left::IN_DETAIL;
        }
        // The thread stays inside the recorder: the call does not wait. So a signal handler that
        // comes now finds the place of this lock as it is.
        let code = real::one(functions.tries)(lock);
        if code == 0 {
            if !is_child_without_records() {
                record::hold(mine);
            }
            local::end();
        }
        code
    }
}

/// Does what [`at_once`] has left of a call that waits by `wait`, or of one that does not wait.
#[inline(always)]
unsafe fn rest(
    functions: &'static Functions,
    lock: usize,
    site: usize,
    code: c_int,
    wait: Option<&dyn Fn() -> c_int>,
) -> c_int {
    // SAFETY: as in `at_once`.
    unsafe {
        if code == left::NOT_RECORDED {
            return wait.map_or_else(|| real::one(functions.tries)(lock), |wait| wait());
        }
        let call = Call::new(lock, site, functions.kind, functions.event(), wait.is_none());
        if code == left::IN_DETAIL {
            return in_detail(functions, &call, wait);
        }
        let mine = (*local::local()).thread;
        if mine.is_null() || is_child_without_records() {
            // This is the child of a fork by a signal handler. What was counted is the parent's.
            local::end();
            return match wait {
                Some(wait) if code == BUSY => wait(),
                _ => code,
            };
        }
        end_in_detail(functions, &call, mine, code, wait)
    }
}

/// Records what a try has given, or waits if the lock was not free. The thread is inside the
/// recorder.
#[cold]
unsafe fn end_in_detail(
    functions: &Functions,
    call: &Call,
    mine: *mut Thread,
    code: c_int,
    wait: Option<&dyn Fn() -> c_int>,
) -> c_int {
    // SAFETY: as in `at_once`.
    unsafe {
        let prepared = record::prepared(mine);
        if let Some(wait) = wait
            && code == BUSY
        {
            return wait_for(functions, call, mine, prepared, wait);
        }
        finish(mine, call, prepared, code, 0, 0);
        local::end();
        code
    }
}

/// Acquires a lock whose hold is timed, or has more to be recorded. The thread is inside the
/// recorder. Without `wait` the call does not wait.
#[inline(never)]
unsafe fn in_detail(
    functions: &'static Functions,
    call: &Call,
    wait: Option<&dyn Fn() -> c_int>,
) -> c_int {
    // SAFETY: the C library's function gets the program's argument.
    let try_once = || unsafe { real::one(functions.tries)(call.lock as usize) };
    // SAFETY: as in `at_once`.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        } else if record::held(mine, call.lock).is_some() {
            return once_more(functions, call, wait);
        } else if record::prepare(mine, call, None) {
            let code = try_once();
            if is_child_without_records() {
                local::end();
                return match wait {
                    Some(wait) if code == BUSY => wait(),
                    _ => code,
                };
            }
            if code == 0 {
                record::hold(mine);
                local::end();
                return code;
            }
            return end_in_detail(functions, call, mine, code, wait);
        }
        local::end();
        wait.map_or_else(try_once, |wait| wait())
    }
}

/// Waits for a lock that was not free. The thread is inside the recorder, but not while it waits.
#[inline(never)]
unsafe fn wait_for(
    functions: &Functions,
    call: &Call,
    mine: *mut Thread,
    prepared: Held,
    wait: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as in `at_once`. The call was prepared, so it has an entry of this thread's.
    let timed = unsafe {
        waits::begins(mine, at(prepared.entry));
        waits::choose(mine, at(prepared.entry), prepared.marks)
    };
    let since = if timed != 0 { ticks() } else { 0 };
    local::end();
    let code = wait();
    let now = if timed != 0 { ticks() } else { 0 };
    if !begin() {
        return code;
    }
    // SAFETY: as in `at_once`.
    unsafe {
        if (*local::local()).thread == mine {
            let mut prepared = record::after_wait(mine, call, prepared);
            prepared.marks |= timed;
            let waited = if timed != 0 { now.saturating_sub(since).max(1) } else { 0 };
            if code != 0 && code != OWNER_DEAD {
                waits::was_in_vain(mine, at(prepared.entry));
            }
            finish(mine, call, prepared, code, now, waited);
        } else {
            // This is the child of a fork by a signal handler. What was counted is the parent's.
            afterwards(functions, call, code, Wait::None);
        }
    }
    local::end();
    code
}

/// Records the result of a call that was prepared.
#[inline(always)]
unsafe fn finish(
    mine: *mut Thread,
    call: &Call,
    prepared: Held,
    code: c_int,
    now: u64,
    waited: u64,
) {
    // SAFETY: the thread is the running one, and inside the recorder.
    unsafe {
        if code == 0 || code == OWNER_DEAD {
            let is_wanted = now == 0 && record::is_clocked(prepared.marks);
            let now = if is_wanted { ticks() } else { now };
            record::hold_after_wait(mine, prepared, now, waited);
        } else {
            record::failed(mine, call, prepared);
        }
    }
}

/// Acquires a lock that the thread holds, as far as is known. All is recorded afterwards: only then
/// it is known if this is one more acquisition by its owner. The thread is inside the recorder.
#[cold]
unsafe fn once_more(functions: &Functions, call: &Call, wait: Option<&dyn Fn() -> c_int>) -> c_int {
    local::end();
    // SAFETY: as in `at_once`.
    unsafe {
        let mut code = real::one(functions.tries)(call.lock as usize);
        let mut waits = Wait::None;
        if code == BUSY
            && let Some(wait) = wait
        {
            waits = Wait::Since(ticks());
            code = wait();
        }
        if begin() {
            afterwards(functions, call, code, waits);
            local::end();
        }
        code
    }
}

/// Records a call when it is over. The thread is inside the recorder.
unsafe fn afterwards(functions: &Functions, call: &Call, code: c_int, wait: Wait) {
    // SAFETY: as in `at_once`.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        } else if code == 0 || code == OWNER_DEAD {
            let recursive = is_recursive(functions, call.lock as usize);
            late::acquired(mine, call, wait, recursive);
        } else {
            record::counted(mine, call.lock, call.site | event::FAILED, call.kind);
        }
    }
}

/// Releases a lock by one of the C library's functions.
#[inline(always)]
unsafe fn release(slot: &'static Slot, lock: usize) -> c_int {
    // SAFETY: as in `at_once`. The lock is not touched after its release.
    unsafe {
        if !begin() {
            return real::one(slot)(lock);
        }
        let mine = (*local::local()).thread;
        let end = if mine.is_null() { End::NotLast } else { record::end(mine, lock as u64) };
        match end {
            End::Plain => {
                local::end();
                real::one(slot)(lock)
            }
            End::Marked { now } => release_marked(slot, lock, mine, now),
            End::NotLast => release_any(slot, lock),
        }
    }
}

/// Releases a lock, and records its hold. The thread is inside the recorder, and stays there: a
/// signal handler that comes now finds the place of this lock as it is, and writes no event before
/// this one.
#[inline(always)]
unsafe fn release_marked(slot: &'static Slot, lock: usize, mine: *mut Thread, now: u64) -> c_int {
    // SAFETY: as in `release`.
    unsafe {
        let code = real::one(slot)(lock);
        if !is_child_without_records() {
            record::ended(mine, now);
        }
        local::end();
        code
    }
}

/// Releases a lock that is not the one that was acquired last. The thread is inside the recorder.
#[cold]
#[inline(never)]
unsafe fn release_any(slot: &'static Slot, lock: usize) -> c_int {
    // SAFETY: as in `release`.
    unsafe {
        let mine = thread::mine();
        let end = if mine.is_null() { End::Plain } else { record::end_any(mine, lock as u64) };
        if let End::Marked { now } = end {
            return release_marked(slot, lock, mine, now);
        }
        local::end();
        real::one(slot)(lock)
    }
}

/// Destroys a lock by one of the C library's functions.
unsafe fn destroy(slot: &'static Slot, lock: usize) -> c_int {
    // SAFETY: as in `at_once`.
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
            /// Does the rest.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn after(
                lock: usize,
                $($argument: usize,)*
                site: usize,
                code: c_int,
            ) -> c_int {
                // SAFETY: the arguments are the program's.
                unsafe {
                    rest(&$functions, lock, site, code, Some(&|| {
                        real::$call(&real::$slot)(lock $(, $argument)*)
                    }))
                }
            }
            // SAFETY: as above.
            unsafe {
                match at_once(&$functions, lock, site, false) {
                    0 => 0,
                    code => after(lock, $($argument,)* site, code),
                }
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
            /// Does the rest.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn after(lock: usize, site: usize, code: c_int) -> c_int {
                // SAFETY: the arguments are the program's.
                unsafe { rest(&$functions, lock, site, code, None) }
            }
            // SAFETY: as above.
            unsafe {
                match at_once(&$functions, lock, site, true) {
                    0 => 0,
                    code => after(lock, site, code),
                }
            }
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
