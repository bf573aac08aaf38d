//! Reclamation: see `lockyard::reclaim`.

use crate::hook;
use crate::in_c::{at, check_pointer, fill, handle, in_c, inside, off_heap, on_heap, take};
use core::ptr::NonNull;
use lockyard::platform::Native;
use lockyard::reclaim::Header;
use lockyard::{Domain, DomainGuard};

/// Domain of readers and retired objects: memory that readers access without a lock is freed after
/// those readers have left. Threads enter it, and retire objects to it.
#[derive(Debug)]
pub struct ly_reclaim_t {
    domain: Domain,
}

in_c!(ly_reclaim_t, ly_reclaim_t);

/// Returns the contents of the C object.
///
/// # Safety
///
/// The same as for [`at`].
unsafe fn of<'a>(pointer: *const ly_reclaim_t, function: &str) -> &'a Domain {
    // SAFETY: the caller's promise.
    let object: &ly_reclaim_t = unsafe { at(pointer, function) };
    &object.domain
}

/// Membership of a thread in a domain. Filled by `ly_reclaim_enter`, emptied by `ly_reclaim_leave`.
#[derive(Debug)]
#[repr(C)]
pub struct ly_reclaim_guard_t {
    /// Only for the functions of this type.
    pub words_: [u64; 6],
}

handle!(ly_reclaim_guard_t, DomainGuard<'static>);

/// A function that frees a retired object. Its argument is the object's head. It may run in any
/// thread that retires to the domain, collects, waits or destroys the domain. It may retire other
/// objects. It must not wait for a grace period, and must not throw.
pub type ly_reclaim_free_fn = Option<unsafe extern "C" fn(head: *mut ly_reclaim_head_t)>;

/// The part of an object that is used to retire it, of 32 bytes. It needs no initialisation, and
/// readers do not access it.
#[derive(Debug)]
#[repr(C)]
pub struct ly_reclaim_head_t {
    /// Only for the functions of this type.
    pub words_: [u64; 3],
    /// The function given when the object was retired.
    pub free_: ly_reclaim_free_fn,
}

const _: () = assert!(size_of::<Header>() == 24 && align_of::<Header>() == 8);

/// Makes a domain without readers. Returns NULL if there is no memory. Cost: one allocation.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn ly_reclaim_create() -> *mut ly_reclaim_t {
    on_heap(ly_reclaim_t { domain: Domain::new() })
}

/// Frees all objects that wait, and the domain. Does nothing with NULL. Never waits.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`. No thread may be inside the domain or use it any
/// more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_destroy(domain: *mut ly_reclaim_t) {
    if !domain.is_null() {
        // SAFETY: the caller's promise.
        let ending: &Domain = unsafe { of(domain, "ly_reclaim_destroy") };
        // A `free` function may retire further objects, any number of times.
        while ending.pending() > 0 && ending.try_synchronize(1).is_ok() && ending.collect() > 0 {}
    }
    // SAFETY: the caller's promise.
    unsafe { off_heap(domain) };
}

/// Enters a domain. Until the guard is left, no object that can be reached from now on is freed.
/// Never waits, never fails. Guards nest. Cost: one store to a line of the thread, and one fence.
/// The first call in a thread may allocate; without memory, guards cost two locked operations.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`. `guard` must point to memory for a guard that is
/// not in use. It must stay in this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_enter(
    domain: *mut ly_reclaim_t,
    guard: *mut ly_reclaim_guard_t,
) {
    const NAME: &str = "ly_reclaim_enter";
    // SAFETY: the caller's promise.
    unsafe { fill(guard, of(domain, NAME).enter(), NAME) };
}

/// Leaves the domain. Cost: one store to a line of the thread. Never fails. A debug build aborts if
/// the guard was left before.
///
/// # Safety
///
/// This thread must have filled `guard` by `ly_reclaim_enter`, and must no longer use anything that
/// it has reached since, unless another guard protects it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_leave(guard: *mut ly_reclaim_guard_t) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(guard, "ly_reclaim_leave") });
}

/// Leaves the domain and enters it again, without effect if the thread has another guard. Cost: one
/// load, and as `ly_reclaim_enter` if a grace period has ended in between.
///
/// # Safety
///
/// The same as for `ly_reclaim_leave`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_quiescent(guard: *mut ly_reclaim_guard_t) {
    const NAME: &str = "ly_reclaim_quiescent";
    // SAFETY: the caller's promise; the mark is checked.
    let _filled: &DomainGuard<'static> = unsafe { inside(guard, NAME) };
    // SAFETY: the caller's promise: only this thread uses the guard, and it is filled.
    unsafe { (*guard.cast::<DomainGuard<'static>>()).pass_quiescent_state() };
}

/// Retires an object: `free` is called with `head` once all guards that exist now are left. Needs
/// no memory, never waits, never fails. Cost: one fence and two locked operations on a line of the
/// thread; one call in 64 scans all threads, and frees.
///
/// # Safety
///
/// `head` must be part of an object that no reader can find any more. The object must be retired
/// only once, and all its readers must have reached it inside guards of `domain`. `free` must be
/// safe to call with `head` from now on, in any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_retire(
    domain: *mut ly_reclaim_t,
    head: *mut ly_reclaim_head_t,
    free: ly_reclaim_free_fn,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let domain: &Domain = of(domain, "ly_reclaim_retire");
        let header = prepare(head, free, "ly_reclaim_retire");
        domain.retire(header, free_one);
    }
}

/// As `ly_reclaim_retire`, but never calls a `free` function itself: for signal handlers. Objects
/// wait until another call of this thread frees, or until `ly_reclaim_collect` or
/// `ly_reclaim_barrier`.
///
/// # Safety
///
/// The same as for `ly_reclaim_retire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_retire_later(
    domain: *mut ly_reclaim_t,
    head: *mut ly_reclaim_head_t,
    free: ly_reclaim_free_fn,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let domain: &Domain = of(domain, "ly_reclaim_retire_later");
        let header = prepare(head, free, "ly_reclaim_retire_later");
        domain.retire_later(header, free_one);
    }
}

/// Makes the header of an object that is about to be retired.
///
/// # Safety
///
/// Only the caller may use the head.
unsafe fn prepare(
    head: *mut ly_reclaim_head_t,
    free: ly_reclaim_free_fn,
    function: &str,
) -> NonNull<Header> {
    check_pointer(head, function);
    let header = head.cast::<Header>();
    // SAFETY: the caller's promise; the words have the size and the alignment of a header.
    unsafe {
        header.write(Header::new());
        (&raw mut (*head).free_).write(free);
        NonNull::new_unchecked(header)
    }
}

/// Frees a retired object by the program's function.
///
/// # Safety
///
/// [`prepare`] must have prepared the head of this header, and no reader may have the object.
unsafe fn free_one(header: NonNull<Header<Native>>) {
    hook::call(false);
    let head = header.cast::<ly_reclaim_head_t>().as_ptr();
    // SAFETY: the header is the beginning of the head.
    if let Some(free) = unsafe { (&raw const (*head).free_).read() } {
        // SAFETY: the program's promise in `ly_reclaim_retire`.
        unsafe { free(head) };
    }
}

/// Waits until all guards that exist now are left. Cost: waits for the longest reader, twice; two
/// scans of all threads. Aborts if the calling thread has a guard of the domain.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`. The caller must not be a `free` function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_synchronize(domain: *mut ly_reclaim_t) {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_synchronize") }.synchronize();
}

/// As `ly_reclaim_synchronize`, but gives up after `looks` scans that found a reader inside, and
/// yields after each. Returns false if it gave up. The calling thread may have a guard.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_try_synchronize(domain: *mut ly_reclaim_t, looks: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_try_synchronize") }.try_synchronize(looks).is_ok()
}

/// Waits until all objects that were retired before the call are freed. Cost and aborts: as
/// `ly_reclaim_synchronize`.
///
/// # Safety
///
/// The same as for `ly_reclaim_synchronize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_barrier(domain: *mut ly_reclaim_t) {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_barrier") }.barrier();
}

/// Frees every object that can be freed now. Returns their number. Never waits. Cost: two scans of
/// all threads.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_collect(domain: *mut ly_reclaim_t) -> usize {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_collect") }.collect()
}

/// Returns the number of objects that wait to be freed. Exact while no thread retires or frees.
/// Cost: a scan of all threads.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_pending(domain: *const ly_reclaim_t) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_pending") }.pending()
}

/// Allocates now the memory that `slots` threads need to enter, so that entering does not allocate.
/// Returns false if there is no memory. Cost: some allocations.
///
/// # Safety
///
/// `domain` must come from `ly_reclaim_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_reclaim_reserve(domain: *mut ly_reclaim_t, slots: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { of(domain, "ly_reclaim_reserve") }.reserve(slots).is_ok()
}
