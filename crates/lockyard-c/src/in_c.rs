//! C objects as Rust objects, and the checks of debug builds.

use std::io::Write;

/// A C type whose objects hold a Rust object.
///
/// # Safety
///
/// An object of this type, initialised as the header says, must begin with a valid `Rust`.
pub(crate) unsafe trait InC {
    /// The Rust type.
    type Rust: 'static;
}

/// Declares that a C type holds a Rust type, and checks size and alignment.
macro_rules! in_c {
    ($c:ty, $rust:ty) => {
        const _: () = assert!(
            size_of::<$c>() >= size_of::<$rust>() && align_of::<$c>() >= align_of::<$rust>(),
            "the type of C has no room for the type of Rust"
        );
        // SAFETY: the size is checked above. The type's file says why initialised C objects are
        // valid.
        unsafe impl $crate::in_c::InC for $c {
            type Rust = $rust;
        }
    };
}
pub(crate) use in_c;

/// Ends the program, with the function and the reason on the standard error.
#[cold]
#[inline(never)]
pub(crate) fn misuse(function: &str, reason: &str) -> ! {
    // `eprintln` would panic if no process reads the stream.
    let _ = writeln!(std::io::stderr(), "lockyard: {function}: {reason}");
    std::process::abort()
}

/// Ends the program in debug builds if `holds` is false.
macro_rules! check {
    ($holds:expr, $function:expr, $reason:expr) => {
        if cfg!(debug_assertions) && !$holds {
            $crate::in_c::misuse($function, $reason);
        }
    };
}
pub(crate) use check;

/// Checks a pointer, in debug builds.
#[inline(always)]
pub(crate) fn check_pointer<T>(pointer: *const T, function: &str) {
    check!(!pointer.is_null(), function, "a pointer is null");
    check!(pointer.is_aligned(), function, "a pointer is not aligned for its type");
}

/// Returns the object at `pointer`.
///
/// # Safety
///
/// The pointer must point to an initialised object that lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn at<'a, T: InC>(pointer: *const T, function: &str) -> &'a T::Rust {
    check_pointer(pointer, function);
    // SAFETY: the caller's promise, and the promise of `InC`.
    unsafe { &*pointer.cast::<T::Rust>() }
}

/// A C type that holds a Rust handle, in words. The last word is a mark for debug builds.
///
/// # Safety
///
/// The type must be an array of words, with one word more than the handle.
pub(crate) unsafe trait Handle {
    /// The Rust type.
    type Rust: 'static;
}

/// Declares that a C type holds a Rust handle, and checks size and alignment.
macro_rules! handle {
    ($c:ty, $rust:ty) => {
        const _: () = assert!(
            size_of::<$c>() >= size_of::<$rust>() + size_of::<u64>()
                && size_of::<$c>().is_multiple_of(size_of::<u64>())
                && align_of::<$c>() == align_of::<u64>()
                && align_of::<u64>() >= align_of::<$rust>(),
            "the type of C has no room for the type of Rust"
        );
        // SAFETY: the size is checked above.
        unsafe impl $crate::in_c::Handle for $c {
            type Rust = $rust;
        }
    };
}
pub(crate) use handle;

/// The mark of a handle in use: any number that is rare in memory.
const IN_USE: u64 = 0x6c6f_636b_7961_7264;

const NOT_IN_USE: &str = "the handle is not in use: it was given back, or never filled";

fn mark<T: Handle>(pointer: *mut T) -> *mut u64 {
    pointer.cast::<u64>().wrapping_add(size_of::<T>() / size_of::<u64>() - 1)
}

/// Fills a handle.
///
/// # Safety
///
/// The pointer must point to memory for a handle that no other thread uses.
#[inline(always)]
pub(crate) unsafe fn fill<T: Handle>(pointer: *mut T, value: T::Rust, function: &str) {
    check_pointer(pointer, function);
    // SAFETY: the caller's promise; the memory is large enough.
    unsafe { pointer.cast::<T::Rust>().write(value) };
    if cfg!(debug_assertions) {
        // SAFETY: as above; the mark is the last word.
        unsafe { mark(pointer).write(IN_USE) };
    }
}

/// Returns the contents of a handle.
///
/// # Safety
///
/// [`fill`] must have filled the handle, and no thread may empty or change it during `'a`.
#[inline(always)]
pub(crate) unsafe fn inside<'a, T: Handle>(pointer: *const T, function: &str) -> &'a T::Rust {
    check_pointer(pointer, function);
    // SAFETY: the caller's promise: the handle is filled.
    check!(unsafe { mark(pointer.cast_mut()).read() } == IN_USE, function, NOT_IN_USE);
    // SAFETY: the caller's promise.
    unsafe { &*pointer.cast::<T::Rust>() }
}

/// Empties a handle.
///
/// # Safety
///
/// The same as for [`inside`].
#[inline(always)]
pub(crate) unsafe fn take<T: Handle>(pointer: *mut T, function: &str) -> T::Rust {
    // SAFETY: the caller's promise.
    let value = unsafe { core::ptr::from_ref(inside(pointer, function)).read() };
    if cfg!(debug_assertions) {
        // SAFETY: as above; the mark is the last word.
        unsafe { mark(pointer).write(0) };
    }
    value
}

/// Moves a value to the heap. Returns null if there is no memory.
pub(crate) fn on_heap<T>(value: T) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not zero.
    let memory = unsafe { std::alloc::alloc(std::alloc::Layout::new::<T>()) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: allocated above, for a `T`.
        unsafe { memory.write(value) };
    }
    memory
}

/// Drops a value that [`on_heap`] has moved to the heap. Does nothing with null.
///
/// # Safety
///
/// The pointer must be null or come from `on_heap`, and no thread may use the value any more.
pub(crate) unsafe fn off_heap<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: allocated by the global allocator with the layout of `T`.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
