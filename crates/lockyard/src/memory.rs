//! Memory for what a table or a set of records holds: one object at a time from [`Host::allocate`],
//! which may fail.
//!
//! Nothing here blocks or panics, and nobody but the caller knows the object yet, so no operation
//! of the platform is needed to make it. Pointers travel as words of 64 bits ([`to_word`],
//! [`from_word`]); 0 is none.

use crate::platform::{Host, Region, during};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The host had no memory to give ([`Host::allocate`] returned `None`). What was asked for was not
/// done, and nothing else has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationFailed;

/// What a table of values has of them: it owns them, and is invariant in their type. Values go in
/// through a shared reference, so a table of what lives long must not pass for one of what lives
/// shorter.
pub(crate) type Values<T> = PhantomData<(T, fn(T) -> T)>;

impl fmt::Display for AllocationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no memory could be allocated")
    }
}

impl core::error::Error for AllocationFailed {}

/// [`Host::allocate`], in the region of that name.
#[inline(always)]
pub(crate) fn from_host<H: Host>(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
    during::<H, _>(Region::Allocate, || H::allocate(layout, node))
}

/// [`Host::deallocate`], in the region [`Free`](Region::Free).
///
/// # Safety
///
/// As of [`Host::deallocate`].
#[inline(always)]
pub(crate) unsafe fn to_host<H: Host>(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise is the same.
    during::<H, _>(Region::Free, || unsafe { H::deallocate(memory, layout) });
}

/// Memory for a `T`, near `node`, in which `fill` makes one.
///
/// # Safety
///
/// `fill` makes a valid `T` where its argument points (which is aligned, and not initialised), or
/// unwinds.
pub(crate) unsafe fn allocate_with<T, H: Host>(
    node: Option<u32>,
    fill: impl FnOnce(*mut T),
) -> Result<NonNull<T>, AllocationFailed> {
    let memory = from_host::<H>(Layout::new::<T>(), node).ok_or(AllocationFailed)?.cast::<T>();
    fill(memory.as_ptr());
    Ok(memory)
}

/// Memory for a `T`, near `node`, that holds what `make` returns. If there is none, `make` is not
/// called. `make` must not unwind: the memory would be leaked.
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
/// `object` came from [`allocate`] or [`allocate_with`] of this host, and nobody uses it any more.
pub(crate) unsafe fn free<T, H: Host>(object: NonNull<T>) {
    struct Memory<T, H: Host>(NonNull<T>, core::marker::PhantomData<fn() -> H>);
    impl<T, H: Host> Drop for Memory<T, H> {
        fn drop(&mut self) {
            // SAFETY: the memory came from this host with this layout, and what was in it has been
            // dropped (or has unwound, and is not used either).
            unsafe { to_host::<H>(self.0.cast(), Layout::new::<T>()) }
        }
    }
    let memory = Memory::<T, H>(object, core::marker::PhantomData);
    // SAFETY: the caller says that it is a `T` that nobody uses; it is dropped once.
    unsafe { memory.0.drop_in_place() };
}

/// A pointer as a word.
#[inline(always)]
pub(crate) fn to_word<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// The pointer of a word that [`to_word`] made; null for 0.
#[inline(always)]
pub(crate) fn from_word<T>(word: u64) -> *mut T {
    core::ptr::with_exposed_provenance_mut(word as usize)
}
