//! Memory for a table's objects, and how a table names and owns the objects.
//!
//! Objects are allocated one at a time by [`Host::allocate`](lockyard::platform::Host::allocate),
//! which may fail. Nothing here blocks or panics. A new object is private to the caller, so it can
//! be initialised without operations of the platform. Pointers are passed as words of 64 bits
//! ([`to_word`], [`from_word`]); 0 is null.

pub use lockyard::AllocationFailed;
pub(crate) use lockyard::memory::{from_host, to_host};

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::platform::Host;

/// Marker of a table of values: it owns them, and is invariant in their type.
///
/// Values are inserted through a shared reference. Without invariance, a table of long-lived values
/// could be treated as one of shorter-lived values, and accept such a value.
pub(crate) type Values<T> = PhantomData<(T, fn(T) -> T)>;

/// Marker of a type that names `X`, owns no `X`, and is invariant in it.
///
/// `lockyard` has a private copy of this alias. One line does not justify a public item there.
pub(crate) type Invariant<X> = PhantomData<fn(X) -> X>;

/// Allocates memory for a `T` near `node`, and lets `fill` initialise it.
///
/// # Safety
///
/// `fill` gets an aligned pointer to uninitialised memory. It must write a valid `T` there, or
/// unwind.
pub(crate) unsafe fn allocate_with<T, H: Host>(
    node: Option<u32>,
    fill: impl FnOnce(*mut T),
) -> Result<NonNull<T>, AllocationFailed> {
    let memory = from_host::<H>(Layout::new::<T>(), node).ok_or(AllocationFailed)?.cast::<T>();
    fill(memory.as_ptr());
    Ok(memory)
}

/// Allocates memory for a `T`, near `node`, and stores the result of `make` there.
///
/// If the allocation fails, `make` is not called. `make` must not unwind: the memory would leak.
pub(crate) fn allocate<T, H: Host>(
    node: Option<u32>,
    make: impl FnOnce() -> T,
) -> Result<NonNull<T>, AllocationFailed> {
    // SAFETY: a written `T` is valid.
    unsafe { allocate_with::<T, H>(node, |memory| memory.write(make())) }
}

/// Drops the `T` and returns its memory to the host, even if its destructor unwinds.
///
/// # Safety
///
/// `object` must have been returned by [`allocate`] or [`allocate_with`] for this host, and must no
/// longer be used.
pub(crate) unsafe fn free<T, H: Host>(object: NonNull<T>) {
    struct Memory<T, H: Host>(NonNull<T>, PhantomData<fn() -> H>);
    impl<T, H: Host> Drop for Memory<T, H> {
        fn drop(&mut self) {
            // SAFETY: the memory came from this host with this layout. Its object has been dropped,
            // or its destructor has unwound. In neither case is the object used again.
            unsafe { to_host::<H>(self.0.cast(), Layout::new::<T>()) }
        }
    }
    let memory = Memory::<T, H>(object, PhantomData);
    // SAFETY: the caller promises a valid `T` that no thread uses. It is dropped once.
    unsafe { memory.0.drop_in_place() };
}

/// Returns a pointer as a word.
#[inline(always)]
pub(crate) fn to_word<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Restores a pointer from the result of [`to_word`]; null for 0.
#[inline(always)]
pub(crate) fn from_word<T>(word: u64) -> *mut T {
    core::ptr::with_exposed_provenance_mut(word as usize)
}
