//! Waits for a condition variable that processes share, with a mutex that is replaced.
//!
//! Such a condition variable is the C library's, whose waits release the C library's mutexes only.
//! So a wait releases one of those, its *gate*, instead of the program's:
//!
//! | a wait | a signal |
//! | --- | --- |
//! | locks the gate | locks the gate |
//! | releases the program's mutex | signals by the C library's function |
//! | waits by the C library's function, which enters the waiters and then releases the gate | |
//! | releases the gate, and acquires the program's mutex | releases the gate |
//!
//! A thread that changes the condition under the program's mutex and then signals finds the waiter
//! among the waiters, because the waiter had the gate until it was there. Threads of other processes
//! cannot use such a mutex. So gates belong to a process.

use crate::condition::Call;
use crate::layout::{Condition, Mutex};
use crate::mutex::{self, How};
use crate::{cancel, guard, real};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};

/// The C library's record of a cleanup handler, by its ABI.
#[repr(C)]
struct Cleanup {
    routine: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    kind: c_int,
    previous: *mut c_void,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        cleanup: *mut Cleanup,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(cleanup: *mut Cleanup, execute: c_int);
}

/// A mutex of the C library. Zeros are a free one.
#[repr(C, align(64))]
struct Gate(UnsafeCell<[u32; guard::WORDS]>);

// SAFETY: only the C library accesses it, except in the child of a fork.
unsafe impl Sync for Gate {}

/// Number of gates: condition variables share them.
const GATES: usize = 16;

static ALL: [Gate; GATES] = [const { Gate(UnsafeCell::new([0; guard::WORDS])) }; GATES];

/// True once this process has such a wait.
static ARE_USED: AtomicBool = AtomicBool::new(false);

impl Gate {
    fn of(condition: *const Condition) -> &'static Gate {
        &ALL[condition.addr() / size_of::<Condition>() % GATES]
    }

    fn address(&self) -> usize {
        from_ref(self).expose_provenance()
    }

    fn lock(&self) {
        // SAFETY: a mutex of the C library.
        unsafe { real::one(&real::MUTEX_LOCK, self.address()) };
    }

    fn unlock(&self) {
        // SAFETY: the running thread has locked it.
        unsafe { real::one(&real::MUTEX_UNLOCK, self.address()) };
    }
}

/// Waits by the C library's function.
///
/// # Safety
///
/// The contract of the function. No frame above has anything to drop.
pub(crate) unsafe fn wait(call: Call, condition: *mut Condition, held: &Mutex) -> c_int {
    let gate = Gate::of(condition);
    // Relaxed: the program's mutex orders it, for those that signal after they had it.
    ARE_USED.store(true, Ordering::Relaxed);
    let is_asynchronous = cancel::defer();
    gate.lock();
    mutex::count_wait(held, 1);
    // SAFETY: the caller's promise.
    let failed = unsafe { mutex::unlock(held) };
    if failed != 0 {
        mutex::count_wait(held, 0u32.wrapping_sub(1));
        gate.unlock();
        return failed;
    }
    let mut ends = (gate, held);
    let mut cleanup =
        Cleanup { routine: None, argument: null_mut(), kind: 0, previous: null_mut() };
    // SAFETY: the record stays until it is removed, or until the thread is unwound. The C library's
    // condition variable, its mutex, and the program's time.
    let mut code = unsafe {
        _pthread_cleanup_push(&raw mut cleanup, end, (&raw mut ends).cast());
        let code = call.call(condition, gate.address());
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        code
    };
    gate.unlock();
    let taken = mutex::take(held, How::Notified);
    mutex::count_wait(held, 0u32.wrapping_sub(1));
    if taken != 0 {
        code = taken;
    }
    if is_asynchronous {
        // SAFETY: the caller's promise.
        unsafe { cancel::undo_defer() };
    }
    code
}

/// Ends the wait of a thread that is cancelled.
unsafe extern "C" fn end(ends: *mut c_void) {
    // SAFETY: the pointer is to this, in a frame that is not unwound yet.
    let (gate, held) = unsafe { ends.cast::<(&Gate, &Mutex)>().read() };
    gate.unlock();
    mutex::take(held, How::Notified);
    mutex::count_wait(held, 0u32.wrapping_sub(1));
}

/// Signals by the C library's function.
///
/// # Safety
///
/// The contract of the function: `signal` is one for condition variables.
pub(crate) unsafe fn signal(signal: &real::Slot, condition: *mut Condition) -> c_int {
    let gate = ARE_USED.load(Ordering::Relaxed).then(|| Gate::of(condition));
    if let Some(gate) = gate {
        gate.lock();
    }
    // SAFETY: the caller's promise.
    let code = unsafe { real::one(signal, condition.expose_provenance()) };
    if let Some(gate) = gate {
        gate.unlock();
    }
    code
}

/// Frees all gates.
///
/// # Safety
///
/// The process has one thread, which has no gate: it is the child of a fork.
pub(crate) unsafe fn free_all() {
    if ARE_USED.load(Ordering::Relaxed) {
        for gate in &ALL {
            // SAFETY: the caller's promise.
            unsafe { gate.0.get().write([0; guard::WORDS]) };
        }
    }
}
