//! Waits for a condition variable that processes share, with a mutex that this library replaces.
//!
//! Such a condition variable is left to the C library, whose waits release only the C library's
//! mutexes. So a wait releases a C library mutex, its *gate*, instead of the program's mutex:
//!
//! | a wait | a signal |
//! | --- | --- |
//! | locks the gate | locks the gate |
//! | releases the program's mutex | signals by the C library's function |
//! | waits by the C library's function, which enters the waiters and then releases the gate | |
//! | releases the gate, and acquires the program's mutex | releases the gate |
//!
//! A thread that changes the condition under the program's mutex and then signals finds the waiter,
//! because the waiter held the gate until it was among the waiters. Threads of other processes
//! cannot use a mutex that this library replaces, so each process has its own gates.

use crate::gate::{ARE_USED, Gate};
use crate::layout::{Condition, Mutex};
use crate::mutex::{self, How};
use crate::{cancel, leave, real};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering;
use libc::timespec;

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

/// A call of a waiting function of the C library.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    Wait,
    Timed(*const timespec),
    Clock(c_int, *const timespec),
}

impl Call {
    /// Calls the function, with a mutex of the C library at an address.
    ///
    /// # Safety
    ///
    /// The contract of the function. No frame above has anything to drop.
    pub(crate) unsafe fn call(self, condition: *mut Condition, mutex: usize) -> c_int {
        let condition = condition.expose_provenance();
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Call::Wait => real::two(&real::CONDITION_WAIT, condition, mutex),
                Call::Timed(time) => {
                    let time = time.expose_provenance();
                    real::three(&real::CONDITION_TIMEDWAIT, condition, mutex, time)
                }
                Call::Clock(clock, time) => {
                    let (clock, time) = (clock as usize, time.expose_provenance());
                    real::four(&real::CONDITION_CLOCKWAIT, condition, mutex, clock, time)
                }
            }
        }
    }
}

/// Waits with the C library's function.
///
/// # Safety
///
/// The contract of the function. No frame above has anything to drop.
pub(crate) unsafe fn wait(call: Call, condition: *mut Condition, held: &Mutex) -> c_int {
    let gate = Gate::of(condition.addr());
    // Relaxed: the program's mutex orders it, for threads that signal after they held that mutex.
    ARE_USED.store(true, Ordering::Relaxed);
    let is_asynchronous = cancel::defer();
    gate.lock();
    mutex::count_wait(held, 1);
    // SAFETY: the caller's promise.
    let failed = unsafe { mutex::unlock(held) };
    if failed != 0 {
        mutex::count_wait(held, 0u32.wrapping_sub(1));
        gate.unlock();
        if is_asynchronous {
            // SAFETY: the caller's promise.
            unsafe { cancel::undo_defer() };
        }
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
    if cancel::exits() {
        // SAFETY: the caller's promise.
        unsafe { leave::exit() };
    }
    if is_asynchronous {
        // SAFETY: the caller's promise.
        unsafe { cancel::undo_defer() };
    }
    code
}

/// Ends the wait of a thread that is cancelled.
unsafe extern "C" fn end(ends: *mut c_void) {
    // SAFETY: the pointer points to this record, in a frame that is not unwound yet.
    let (gate, held) = unsafe { ends.cast::<(&Gate, &Mutex)>().read() };
    gate.unlock();
    mutex::take(held, How::Notified);
    mutex::count_wait(held, 0u32.wrapping_sub(1));
    // The thread is already ending.
    cancel::exits();
}

/// Signals with the C library's function.
///
/// # Safety
///
/// The caller must keep the contract of the function: `signal` must be a function for condition
/// variables.
pub(crate) unsafe fn signal(signal: &real::Slot, condition: *mut Condition) -> c_int {
    let gate = ARE_USED.load(Ordering::Relaxed).then(|| Gate::of(condition.addr()));
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
