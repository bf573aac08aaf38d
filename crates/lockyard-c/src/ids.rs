//! The identifier table: see `lockyard_tables::id_table`.

use crate::in_c::{at, check_pointer, fill, handle, in_c, inside, off_heap, on_heap, take};
use crate::value::{Value, ly_drop_fn};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use lockyard_tables::id_table::{InsertError, MAX_IDS};
use lockyard_tables::{IdEntry, IdTable};

/// Table that gives pointers small numbers. A look-up takes no lock of the table, and locks the
/// object that it finds.
#[derive(Debug)]
pub struct ly_ids_t {
    table: IdTable<Value>,
    drop: ly_drop_fn,
}

in_c!(ly_ids_t, ly_ids_t);

/// An object of a table, locked. Filled by `ly_ids_find`, emptied by `ly_ids_release` or
/// `ly_ids_remove_found`.
#[derive(Debug)]
#[repr(C)]
pub struct ly_ids_entry_t {
    /// Only for the functions of this type.
    pub words_: [u64; 10],
}

handle!(ly_ids_entry_t, IdEntry<'static, Value>);

/// Makes an empty table for identifiers below `limit`; 0 means the maximum, 2^31 - 16. `drop` is
/// called with each pointer that is still there when the table is destroyed; it may be NULL.
/// Returns NULL if there is no memory. Cost: one allocation.
///
/// # Safety
///
/// `drop` must be safe to call with each inserted pointer.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_create(limit: u32, drop: ly_drop_fn) -> *mut ly_ids_t {
    let limit = if limit == 0 { MAX_IDS } else { limit };
    on_heap(ly_ids_t { table: IdTable::with_limit(limit), drop })
}

/// Frees a table, and calls its `drop` function with each pointer. Does nothing with NULL.
///
/// # Safety
///
/// `ids` must come from `ly_ids_create`, and no thread may use it or an entry of it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_destroy(ids: *mut ly_ids_t) {
    // SAFETY: the caller's promise.
    unsafe { off_heap(ids) };
}

/// Gives `value` the lowest free identifier, and stores that in `id`. Returns 0, EINVAL if `value`
/// is NULL, ENOSPC if no identifier is free, or ENOMEM; the table is then unchanged. Cost: one
/// allocation and the table's lock.
///
/// # Safety
///
/// `ids` must come from `ly_ids_create`; `id` must point to memory for a number.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_insert(
    ids: *mut ly_ids_t,
    value: *mut c_void,
    id: *mut u32,
) -> c_int {
    const NAME: &str = "ly_ids_insert";
    check_pointer(id, NAME);
    if value.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    let ids: &ly_ids_t = unsafe { at(ids, NAME) };
    match ids.table.insert(Value::new(value, ids.drop)) {
        Ok(new) => {
            // SAFETY: the caller's promise.
            unsafe { id.write(new) };
            0
        }
        Err(error) => {
            let number = match error {
                InsertError::Exhausted(_) => libc::ENOSPC,
                _ => libc::ENOMEM,
            };
            // The pointer stays the caller's.
            let _callers = error.into_inner().into_pointer();
            number
        }
    }
}

/// Finds an object and takes its lock, waiting while another thread has it. Returns its pointer, or
/// NULL if there is none; then `entry` stays empty. Cost: one fence, three dependent loads, and the
/// object's lock.
///
/// # Safety
///
/// `ids` must come from `ly_ids_create`. `entry` must point to memory for an entry that is not in
/// use. It must stay in this thread. The thread must not hold this object's lock.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_find(
    ids: *mut ly_ids_t,
    id: u32,
    entry: *mut ly_ids_entry_t,
) -> *mut c_void {
    const NAME: &str = "ly_ids_find";
    check_pointer(entry, NAME);
    // SAFETY: the caller's promise.
    let ids: &'static ly_ids_t = unsafe { at(ids, NAME) };
    let Some(found) = ids.table.lock(id) else { return null_mut() };
    let pointer = found.pointer();
    // SAFETY: the caller's promise.
    unsafe { fill(entry, found, NAME) };
    pointer
}

/// Releases the object of an entry. Cost: one store for the lock, and one for the reader. Never
/// fails. A debug build aborts if the entry is empty.
///
/// # Safety
///
/// This thread must have filled `entry` by `ly_ids_find`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_release(entry: *mut ly_ids_entry_t) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(entry, "ly_ids_release") });
}

/// Returns the identifier of an entry. Cost: one load. A debug build aborts if the entry is empty.
///
/// # Safety
///
/// The same as for `ly_ids_release`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_id(entry: *const ly_ids_entry_t) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { inside(entry, "ly_ids_id") }.id()
}

/// Removes the object of an entry from the table, releases it and returns its pointer, which is now
/// the caller's alone. Its identifier is free. Cost: the table's lock, and a retirement. Never
/// fails. A debug build aborts if the entry is empty.
///
/// # Safety
///
/// The same as for `ly_ids_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_remove_found(entry: *mut ly_ids_entry_t) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { take(entry, "ly_ids_remove_found") }.remove().into_pointer()
}

/// Removes an object and returns its pointer, which is now the caller's alone, or NULL if there is
/// none. Waits while another thread has the object. Cost: a look-up, the table's lock, and a
/// retirement.
///
/// # Safety
///
/// The same as for `ly_ids_find`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_remove(ids: *mut ly_ids_t, id: u32) -> *mut c_void {
    // SAFETY: the caller's promise.
    let ids: &ly_ids_t = unsafe { at(ids, "ly_ids_remove") };
    ids.table.remove(id).map_or(null_mut(), Value::into_pointer)
}

/// Returns the number of objects. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `ids` must come from `ly_ids_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_ids_count(ids: *const ly_ids_t) -> usize {
    // SAFETY: the caller's promise.
    let ids: &ly_ids_t = unsafe { at(ids, "ly_ids_count") };
    ids.table.len()
}
