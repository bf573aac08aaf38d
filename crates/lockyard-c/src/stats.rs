//! Counters of one object: see `lockyard_tables::statistics`.

use crate::in_c::{at, check_pointer, in_c, off_heap, on_heap};
use lockyard_tables::{Counts, Statistics};

/// Counters of one object that many threads update and few read. Each NUMA node that updates has a
/// record of one line.
#[derive(Debug)]
pub struct ly_stats_t {
    counts: Statistics,
}

in_c!(ly_stats_t, ly_stats_t);

/// Returns the contents of the C object.
///
/// # Safety
///
/// The same as for [`at`].
unsafe fn of<'a>(pointer: *const ly_stats_t, function: &str) -> &'a Statistics {
    // SAFETY: the caller's promise.
    let object: &ly_stats_t = unsafe { at(pointer, function) };
    &object.counts
}

/// Counted event: an update, or a sum.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ly_counts_t {
    /// Packets, or any other event. Wraps at 2^64.
    pub packets: u64,
    /// Bytes of the packets. Wraps at 2^64.
    pub bytes: u64,
    /// Time of the last packet, in the caller's unit. A sum has the latest.
    pub last_used: u64,
    /// Flags of the packets. A sum has their union.
    pub flags: u32,
    /// Unused.
    pub unused_: u32,
}

fn in_c_of(counts: Counts) -> ly_counts_t {
    let Counts { packets, bytes, last_used, flags } = counts;
    ly_counts_t { packets, bytes, last_used, flags, unused_: 0 }
}

/// Makes counters that are zero. Returns NULL if there is no memory. Cost: two allocations.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn ly_stats_create() -> *mut ly_stats_t {
    Statistics::new().map_or(core::ptr::null_mut(), |stats| on_heap(ly_stats_t { counts: stats }))
}

/// Frees counters. Does nothing with NULL.
///
/// # Safety
///
/// `stats` must come from `ly_stats_create`, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_stats_destroy(stats: *mut ly_stats_t) {
    // SAFETY: the caller's promise.
    unsafe { off_heap(stats) };
}

/// Adds `counts`. Cost: a lock of the record of this thread's node. The first update of a further
/// node allocates; without memory it is added to the first node's record. Never fails.
///
/// # Safety
///
/// `stats` must come from `ly_stats_create`. The caller must not be a signal handler that
/// interrupted an update of the same counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_stats_update(stats: *mut ly_stats_t, counts: *const ly_counts_t) {
    const NAME: &str = "ly_stats_update";
    check_pointer(counts, NAME);
    // SAFETY: the caller's promise. C need not set `unused_`, so nothing reads it.
    let &ly_counts_t { packets, bytes, last_used, flags, unused_: _ } = unsafe { &*counts };
    // SAFETY: the caller's promise.
    unsafe { of(stats, NAME) }.update(&Counts { packets, bytes, last_used, flags });
}

/// Returns the sum. Every update that ended before the call is in it. Cost: a transfer of each
/// node's line. Never fails.
///
/// # Safety
///
/// The same as for `ly_stats_update`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_stats_read(stats: *mut ly_stats_t) -> ly_counts_t {
    // SAFETY: the caller's promise.
    in_c_of(unsafe { of(stats, "ly_stats_read") }.read())
}

/// Returns the sum and sets the counters to zero. Each update is in one result. Cost: as
/// `ly_stats_read`. Never fails.
///
/// # Safety
///
/// The same as for `ly_stats_update`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_stats_take(stats: *mut ly_stats_t) -> ly_counts_t {
    // SAFETY: the caller's promise.
    in_c_of(unsafe { of(stats, "ly_stats_take") }.take())
}
