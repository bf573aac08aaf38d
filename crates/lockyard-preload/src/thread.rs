//! Records of a thread: taken at its first lock, given to a later thread when it ends.

use crate::memory::{allocate, at, base, header, link, offset_of};
use crate::{local, process_file, reading, sample, system, table, usage};
use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::Thread;

unsafe extern "C" {
    fn pthread_key_create(
        key: *mut c_uint,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// Key whose destructor runs when a thread ends, plus one; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Asks for a call at the end of each thread.
pub(crate) fn install() {
    let mut key = 0;
    // SAFETY: the call writes the key, and keeps the function.
    if unsafe { pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

/// Returns the records of the running thread, or null if there is no room for them. The thread is
/// inside the recorder.
///
/// # Safety
///
/// There is a mapping.
#[inline(always)]
pub(crate) unsafe fn mine() -> *mut Thread {
    // SAFETY: the thread's own data; the caller's mapping.
    unsafe {
        let thread = (*local::local()).thread;
        if thread.is_null() { adopt() } else { thread }
    }
}

/// The lower bits of `Header::unused` are an offset. The upper bits count changes, so that a thread
/// that was delayed does not take an offset for unchanged.
const OFFSET: u64 = (1 << 48) - 1;

#[cold]
unsafe fn adopt() -> *mut Thread {
    // SAFETY: there is a mapping. The shared words are accessed by atomic operations only, and a
    // thread that was taken from the list of unused ones is this thread's alone.
    unsafe {
        if !process_file::may_begin() {
            return core::ptr::null_mut();
        }
        let header = header();
        let count = AtomicU64::from_ptr(&raw mut (*header).thread_count);
        let mut thread = take_unused();
        if thread.is_null() {
            thread = allocate(size_of::<Thread>(), 64).cast();
            if thread.is_null() || !table::first_slots(thread) {
                return core::ptr::null_mut();
            }
            sample::begin(thread, count.load(Ordering::Relaxed));
            link(&raw mut (*header).threads, &raw mut (*thread).next, offset_of(thread));
        }
        (*thread).number = count.fetch_add(1, Ordering::Relaxed) as u32 + 1;
        let tid = system::thread();
        // A thread that takes a lock at its end has records again, perhaps the same.
        (*thread).used.threads += u64::from((*thread).tid != tid);
        (*thread).tid = tid;
        (*thread).held_count = 0;
        (*thread).burst = 0;
        usage::begin(thread);
        reading::begin(thread);
        (*local::local()).thread = thread;
        let key = KEY.load(Ordering::Relaxed);
        if key != 0 {
            // The call may allocate, and so take a lock: it goes straight to the C library.
            pthread_setspecific(key - 1, thread.cast());
        }
        thread
    }
}

unsafe fn take_unused() -> *mut Thread {
    // SAFETY: as in `adopt`.
    unsafe {
        let unused = AtomicU64::from_ptr(&raw mut (*header()).unused);
        // Acquire: pairs with the release of the thread that has ended.
        let mut now = unused.load(Ordering::Acquire);
        while now & OFFSET != 0 {
            let thread: *mut Thread = at(now & OFFSET);
            // Another thread may take it meanwhile. Then this value is wrong, and the exchange
            // fails.
            let next = AtomicU64::from_ptr(&raw mut (*thread).next_unused).load(Ordering::Relaxed);
            let after = next | ((now & !OFFSET).wrapping_add(OFFSET + 1));
            match unused.compare_exchange(now, after, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return thread,
                Err(other) => now = other,
            }
        }
        core::ptr::null_mut()
    }
}

/// Gives the records of a thread that ends to a later one.
unsafe extern "C" fn thread_ends(value: *mut c_void) {
    if base().is_null() || !local::begin() {
        return;
    }
    // SAFETY: there is a mapping, and the thread's data are its own.
    unsafe {
        let thread: *mut Thread = value.cast();
        // After a fork, the value is that of the other process.
        if thread == (*local::local()).thread && !thread.is_null() {
            (*local::local()).thread = core::ptr::null_mut();
            reading::end(thread);
            let unused = AtomicU64::from_ptr(&raw mut (*header()).unused);
            let next_unused = AtomicU64::from_ptr(&raw mut (*thread).next_unused);
            let mut now = unused.load(Ordering::Relaxed);
            loop {
                next_unused.store(now & OFFSET, Ordering::Relaxed);
                let after = offset_of(thread) | ((now & !OFFSET).wrapping_add(OFFSET + 1));
                // Release: the next thread finds all that this one wrote.
                match unused.compare_exchange(now, after, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(other) => now = other,
                }
            }
        }
    }
    local::end();
}
