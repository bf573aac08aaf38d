//! Memory for the objects of a table, and the ways in which a table names and owns them.
//!
//! Objects are allocated one at a time by [`Host::allocate`](lockyard::platform::Host::allocate),
//! which may fail. Nothing here blocks or panics. Only the caller knows a new object, so making it
//! needs no operation of the platform. Pointers travel as words of 64 bits ([`to_word`],
//! [`from_word`]); 0 is none.

pub use lockyard::AllocationFailed;
pub(crate) use lockyard::memory::{from_host, to_host};

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::platform::Host;

/// Marker of a table of values: it owns them, and is invariant in their type.
///
/// Values go in through a shared reference. So a table of values with a long lifetime must not pass
/// for one of values with a shorter lifetime.
pub(crate) type Values<T> = PhantomData<(T, fn(T) -> T)>;

/// Marker of a type that names `X`, owns none, and is invariant in it.
///
/// `lockyard` has the same alias for itself. One line is no reason for a public item there.
pub(crate) type Invariant<X> = PhantomData<fn(X) -> X>;

/// Allocates memory for a `T`, near `node`, in which `fill` makes one.
///
/// # Safety
///
/// `fill` gets an aligned pointer to uninitialised memory. It makes a valid `T` there, or unwinds.
pub(crate) unsafe fn allocate_with<T, H: Host>(
    node: Option<u32>,
    fill: impl FnOnce(*mut T),
) -> Result<NonNull<T>, AllocationFailed> {
    let memory = from_host::<H>(Layout::new::<T>(), node).ok_or(AllocationFailed)?.cast::<T>();
    fill(memory.as_ptr());
    Ok(memory)
}

/// Allocates memory for a `T`, near `node`, that holds what `make` returns.
///
/// Without memory, `make` is not called. It must not unwind: the memory would be leaked.
pub(crate) fn allocate<T, H: Host>(
    node: Option<u32>,
    make: impl FnOnce() -> T,
) -> Result<NonNull<T>, AllocationFailed> {
    // SAFETY: a written `T` is a valid one.
    unsafe { allocate_with::<T, H>(node, |memory| memory.write(make())) }
}

/// Drops the `T` and gives its memory back, even if its destructor unwinds.
///
/// # Safety
///
/// `object` came from [`allocate`] or [`allocate_with`] of this host, and is not used any more.
pub(crate) unsafe fn free<T, H: Host>(object: NonNull<T>) {
    struct Memory<T, H: Host>(NonNull<T>, PhantomData<fn() -> H>);
    impl<T, H: Host> Drop for Memory<T, H> {
        fn drop(&mut self) {
            // SAFETY: the memory came from this host with this layout. The object in it has been
            // dropped, or its destructor has unwound; it is not used in either case.
            unsafe { to_host::<H>(self.0.cast(), Layout::new::<T>()) }
        }
    }
    let memory = Memory::<T, H>(object, PhantomData);
    // SAFETY: the caller says that it is a `T` that nobody uses; it is dropped once.
    unsafe { memory.0.drop_in_place() };
}

/// Returns a pointer as a word.
#[inline(always)]
pub(crate) fn to_word<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Returns the pointer of a word that [`to_word`] made; null for 0.
#[inline(always)]
pub(crate) fn from_word<T>(word: u64) -> *mut T {
    core::ptr::with_exposed_provenance_mut(word as usize)
}
