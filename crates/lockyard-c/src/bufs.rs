//! The buffer cache: see `lockyard_tables::buffers`.

use crate::hook;
use crate::in_c::{at, check_pointer, fill, handle, in_c, inside, off_heap, on_heap, take};
use crate::value::{Value, ly_drop_fn};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use lockyard_tables::buffers::{Configuration, GetError, Key};
use lockyard_tables::{Block, BlockCache};

/// Cache of buffers. A hit takes no lock. Unused buffers stay until their memory is needed.
#[derive(Debug)]
pub struct ly_bufs_t {
    cache: BlockCache<Value>,
    drop: ly_drop_fn,
}

in_c!(ly_bufs_t, ly_bufs_t);

/// A reference to a buffer, which keeps it alive even after it has left the cache. Filled by
/// `ly_bufs_get`, `ly_bufs_find` or `ly_buf_clone`, emptied by `ly_buf_release`.
#[derive(Debug)]
#[repr(C)]
pub struct ly_buf_t {
    /// Only for the functions of this type.
    pub words_: [u64; 3],
}

handle!(ly_buf_t, Block<'static, Value>);

/// A function that makes the contents of a buffer, and stores their pointer in `value`. Returns 0,
/// or a number that `ly_bufs_get` returns. It runs outside all locks, and may use the cache for
/// other keys. It must not throw.
pub type ly_fill_fn = Option<
    unsafe extern "C" fn(
        group: u32,
        block: u64,
        argument: *mut c_void,
        value: *mut *mut c_void,
    ) -> c_int,
>;

/// Makes an empty cache for `limit` buffers; 0 means no limit. `drop` is called with the pointer of
/// each buffer whose last reference is gone, the cache's included; it may be NULL. Returns NULL if
/// there is no memory. Cost: one allocation.
///
/// # Safety
///
/// `drop` must be safe to call with each pointer that a `fill` function stores.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_create(limit: u64, drop: ly_drop_fn) -> *mut ly_bufs_t {
    let limit = if limit == 0 { u64::MAX } else { limit };
    let cache = BlockCache::new(Configuration::DEFAULT.with_limit(limit));
    on_heap(ly_bufs_t { cache, drop })
}

/// Frees a cache with its buffers. Does nothing with NULL.
///
/// # Safety
///
/// `bufs` must come from `ly_bufs_create`. No thread may use it or a reference to a buffer any
/// more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_destroy(bufs: *mut ly_bufs_t) {
    // SAFETY: the caller's promise.
    unsafe { off_heap(bufs) };
}

/// Finds the buffer of a key, or makes it by `fill`. If several threads want it at the same time,
/// one fills it and the others wait. Returns 0 (then `buf` gets a reference), ENOMEM, ENOSPC if the
/// limit is reached and all buffers are referenced, EINVAL if `fill` is NULL and there is no
/// buffer, or the result of `fill`. Cost of a hit: one fence, one or two lines for each buffer on
/// the way, and a compare-exchange. Cost of a miss: one allocation and a lock.
///
/// # Safety
///
/// `bufs` must come from `ly_bufs_create`. `buf` must point to memory for a reference that is not
/// in use. `fill` must be safe to call with `argument`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_get(
    bufs: *mut ly_bufs_t,
    group: u32,
    block: u64,
    fill: ly_fill_fn,
    argument: *mut c_void,
    buf: *mut ly_buf_t,
) -> c_int {
    const NAME: &str = "ly_bufs_get";
    check_pointer(buf, NAME);
    // SAFETY: the caller's promise.
    let bufs: &'static ly_bufs_t = unsafe { at(bufs, NAME) };
    let make = || {
        let fill = fill.ok_or(libc::EINVAL)?;
        let mut value = null_mut();
        hook::call(false);
        // SAFETY: the caller's promise.
        let error = unsafe { fill(group, block, argument, &raw mut value) };
        hook::call(true);
        match error {
            0 => Ok(Value::new(value, bufs.drop)),
            error => Err(error),
        }
    };
    match bufs.cache.get_or_fill(Key::new(group, block), make) {
        Ok(found) => {
            // SAFETY: the caller's promise.
            unsafe { self::put(buf, found, NAME) };
            0
        }
        Err(GetError::Fill(error)) => error,
        Err(GetError::Full) => libc::ENOSPC,
        Err(_) => libc::ENOMEM,
    }
}

/// Fills a reference.
///
/// # Safety
///
/// The same as for [`fill`].
unsafe fn put(buf: *mut ly_buf_t, found: Block<'static, Value>, function: &str) {
    // SAFETY: the caller's promise.
    unsafe { fill(buf, found, function) };
}

/// Finds the buffer of a key, and waits while it is being filled. Returns true if there is one:
/// `buf` gets a reference. Cost: as a hit of `ly_bufs_get`.
///
/// # Safety
///
/// The same as for `ly_bufs_get`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_find(
    bufs: *mut ly_bufs_t,
    group: u32,
    block: u64,
    buf: *mut ly_buf_t,
) -> bool {
    const NAME: &str = "ly_bufs_find";
    check_pointer(buf, NAME);
    // SAFETY: the caller's promise.
    let bufs: &'static ly_bufs_t = unsafe { at(bufs, NAME) };
    let found = bufs.cache.look_up(Key::new(group, block));
    // SAFETY: the caller's promise.
    found.map(|found| unsafe { put(buf, found, NAME) }).is_some()
}

/// Removes the buffer of a key from the cache. Returns true if it did. References to it stay valid.
/// Waits while it is being filled. Cost: a lock.
///
/// # Safety
///
/// `bufs` must come from `ly_bufs_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_remove(bufs: *mut ly_bufs_t, group: u32, block: u64) -> bool {
    // SAFETY: the caller's promise.
    let bufs: &ly_bufs_t = unsafe { at(bufs, "ly_bufs_remove") };
    bufs.cache.remove(Key::new(group, block)).is_some()
}

/// Frees up to `buffers` buffers that no thread references, the least recently used first. Returns
/// the number. Cost: a lock for each 16 examined buffers.
///
/// # Safety
///
/// `bufs` must come from `ly_bufs_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_reclaim(bufs: *mut ly_bufs_t, buffers: usize) -> usize {
    // SAFETY: the caller's promise.
    let bufs: &ly_bufs_t = unsafe { at(bufs, "ly_bufs_reclaim") };
    bufs.cache.reclaim(buffers)
}

/// Returns the number of buffers in the cache. Exact while no thread changes it. Cost: reads every
/// shard.
///
/// # Safety
///
/// `bufs` must come from `ly_bufs_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_bufs_count(bufs: *const ly_bufs_t) -> usize {
    // SAFETY: the caller's promise.
    let bufs: &ly_bufs_t = unsafe { at(bufs, "ly_bufs_count") };
    bufs.cache.len()
}

/// Returns the pointer of a buffer. Cost: one load. A debug build aborts if `buf` is empty.
///
/// # Safety
///
/// `buf` must be filled, and must not be emptied meanwhile. It may be used by several threads.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_buf_value(buf: *const ly_buf_t) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { inside(buf, "ly_buf_value") }.pointer()
}

/// Makes another reference to a buffer. Cost: one compare-exchange. Never fails.
///
/// # Safety
///
/// The same as for `ly_buf_value`. `copy` must point to memory for a reference that is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_buf_clone(buf: *const ly_buf_t, copy: *mut ly_buf_t) {
    const NAME: &str = "ly_buf_clone";
    // SAFETY: the caller's promise.
    unsafe { put(copy, inside(buf, NAME).clone(), NAME) };
}

/// Drops a reference to a buffer. The buffer stays in the cache. The last reference of a buffer
/// that has left the cache calls its `drop` function. Cost: one compare-exchange. Never fails. A
/// debug build aborts if `buf` is empty.
///
/// # Safety
///
/// `buf` must be filled, and the cache must still exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_buf_release(buf: *mut ly_buf_t) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(buf, "ly_buf_release") });
}
