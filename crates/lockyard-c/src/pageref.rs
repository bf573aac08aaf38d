//! The page reference count: see `lockyard::PageRef`.

use crate::in_c::{at, check_pointer, in_c};
use lockyard::PageRef;
use lockyard::page_ref::References;

/// Reference count of 4 bytes for an object that is found without a lock: a reference can be taken
/// only while there is another. It counts to 2^30; beyond that the object is never freed.
///
/// A static one is initialised by `LY_PAGEREF_INIT(references)`, with at least one.
#[derive(Debug)]
#[repr(C)]
pub struct ly_pageref_t {
    /// Only for the functions of this type.
    pub word_: u32,
}

in_c!(ly_pageref_t, PageRef);

// The word is the number of references.
const _: () = {
    // SAFETY: the two types have the same size, and a page reference is a word of 32 bits.
    let word = unsafe { core::mem::transmute::<PageRef, u32>(PageRef::new(7)) };
    assert!(word == 7, "LY_PAGEREF_INIT is a number of references");
};

/// Result of `ly_pageref_references` if there are none, and none can be taken.
pub const LY_PAGEREF_FROZEN: i64 = -1;
/// Result of `ly_pageref_references` beyond 2^30 references: the object is never freed.
pub const LY_PAGEREF_SATURATED: i64 = -2;

/// Makes a count of `references`, as `LY_PAGEREF_INIT` does. Cost: one store. Aborts if
/// `references` is 0 or exceeds 2^30.
///
/// # Safety
///
/// `pageref` must point to memory for a count that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_init(pageref: *mut ly_pageref_t, references: u32) {
    check_pointer(pageref, "ly_pageref_init");
    // SAFETY: the caller's promise; the sizes are equal.
    unsafe { pageref.cast::<PageRef>().write(PageRef::new(references)) };
}

/// Takes a reference. Cost: one locked addition. Never fails. A debug build aborts if there is no
/// reference.
///
/// # Safety
///
/// `pageref` must be initialised. The caller, or another thread during the call, must have a
/// reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_get(pageref: *mut ly_pageref_t) {
    // SAFETY: the caller's promise.
    unsafe { at(pageref, "ly_pageref_get") }.get();
}

/// Takes a reference unless there is none. Returns true if it did. Cost: one load, and one
/// compare-exchange for each attempt.
///
/// # Safety
///
/// `pageref` must be initialised, and its memory must not be freed during the call.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_get_not_zero(pageref: *mut ly_pageref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(pageref, "ly_pageref_get_not_zero") }.get_not_zero()
}

/// Drops a reference. Returns true if it was the last: the caller then has exclusive access to the
/// object, and may free it with the count. Cost: one locked subtraction. A debug build aborts if
/// there is no reference.
///
/// # Safety
///
/// `pageref` must be initialised, and the caller must have a reference.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_put(pageref: *mut ly_pageref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(pageref, "ly_pageref_put") }.put()
}

/// Takes all references away if there are exactly `expected`, all of them the caller's. Returns
/// true if it did: until `ly_pageref_unfreeze` no reference can be taken. Cost: one
/// compare-exchange. Aborts if `expected` is 0 or exceeds 2^30.
///
/// # Safety
///
/// The same as for `ly_pageref_put`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_try_freeze(pageref: *mut ly_pageref_t, expected: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(pageref, "ly_pageref_try_freeze") }.try_freeze(expected)
}

/// Ends a freeze, with `references` references. Cost: one store. Aborts if `references` is 0 or
/// exceeds 2^30; a debug build aborts if the count is not frozen.
///
/// # Safety
///
/// The caller must have frozen the count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_unfreeze(pageref: *mut ly_pageref_t, references: u32) {
    // SAFETY: the caller's promise.
    unsafe { at(pageref, "ly_pageref_unfreeze") }.unfreeze(references);
}

/// Returns the number of references, `LY_PAGEREF_FROZEN` or `LY_PAGEREF_SATURATED`. The answer may
/// be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `pageref` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pageref_references(pageref: *const ly_pageref_t) -> i64 {
    // SAFETY: the caller's promise.
    match unsafe { at(pageref, "ly_pageref_references") }.references() {
        References::Live(number) => i64::from(number),
        References::Frozen => LY_PAGEREF_FROZEN,
        References::Saturated => LY_PAGEREF_SATURATED,
    }
}
