//! An object with a header, allocated through the host. Tables are built from such objects.

use super::domain::Domain;
use super::header::Header;
use crate::context::Context;
use crate::memory;
use crate::platform::{Host, HostWithSlots, Native};
use core::alloc::Layout;
use core::fmt;
use core::mem::{ManuallyDrop, offset_of};
use core::ops::{Deref, DerefMut};
use core::ptr::{NonNull, with_exposed_provenance};

#[repr(C)]
struct Node<T, H: Host> {
    header: Header<H>,
    value: T,
}

/// A value in the host's memory, with a header so that it can be retired. It is like a `Box` whose
/// allocation may fail.
///
/// Shared words store it as [bits](Self::into_bits).
pub struct Owned<T, H: Host = Native>(NonNull<Node<T, H>>);

// SAFETY: the type owns the value, as a `Box` does. Only the owner uses the header.
unsafe impl<T: Send, H: Host> Send for Owned<T, H> {}
// SAFETY: a shared reference gives only shared references to the value.
unsafe impl<T: Sync, H: Host> Sync for Owned<T, H> {}

impl<T> Owned<T> {
    /// Moves `value` into newly allocated memory. For another host use
    /// [`allocate`](Self::allocate).
    ///
    /// # Errors
    ///
    /// Returns the value, if there is no memory.
    pub fn new(value: T) -> Result<Self, T> {
        Self::allocate(value, None)
    }
}

impl<T, H: Host> Owned<T, H> {
    const LAYOUT: Layout = Layout::new::<Node<T, H>>();
    /// Number of bytes of an object with its header.
    pub const BYTES: usize = Self::LAYOUT.size();

    /// Moves `value` into newly allocated memory, near NUMA node `node` if a node is given and the
    /// host can choose one.
    ///
    /// # Errors
    ///
    /// Returns the value, if the host has no memory.
    pub fn allocate(value: T, node: Option<u32>) -> Result<Self, T> {
        let Some(memory) = memory::from_host::<H>(Self::LAYOUT, node) else { return Err(value) };
        let memory = memory.cast::<Node<T, H>>();
        // SAFETY: the memory is for this layout, and has no other user.
        unsafe { memory.write(Node { header: Header::new(), value }) };
        Ok(Owned(memory))
    }

    /// Returns the value, and frees its memory.
    pub fn into_inner(self) -> T {
        let node = ManuallyDrop::new(self).0;
        // SAFETY: the node is initialised and not used after this. Its header owns nothing else.
        let Node { header, value } = unsafe { node.read() };
        drop(header);
        // SAFETY: allocated with this layout.
        unsafe { memory::to_host::<H>(node.cast(), Self::LAYOUT) };
        value
    }

    /// Returns the object as bits, which are not 0. The caller must free its memory, by
    /// [`from_bits`](Self::from_bits).
    pub fn into_bits(self) -> u64 {
        ManuallyDrop::new(self).0.as_ptr().expose_provenance() as u64
    }

    /// Turns [bits](Self::into_bits) back into the object. Returns `None` for 0.
    ///
    /// # Safety
    ///
    /// The bits must come from [`into_bits`](Self::into_bits) of an `Owned` of this type and host,
    /// and must not have been turned back before. Either only the caller may use the value, or the
    /// caller must immediately pass the result to [`retire_owned`](Domain::retire_owned).
    pub unsafe fn from_bits(bits: u64) -> Option<Self> {
        NonNull::new(Self::at(bits).cast_mut()).map(Owned)
    }

    /// Returns a shared reference to the value of these [bits](Self::into_bits), or `None` for 0.
    ///
    /// Inside a guard of the domain that frees the value, use [`Guard::deref_bits`]. This function
    /// is for values that something else keeps alive, such as a lock.
    ///
    /// # Safety
    ///
    /// The bits must come from an `Owned` of this type and host, or be 0. The value must live as
    /// long as the reference.
    ///
    /// [`Guard::deref_bits`]: super::Guard::deref_bits
    pub unsafe fn deref_bits<'a>(bits: u64) -> Option<&'a T> {
        // SAFETY: the caller's promise.
        unsafe { Self::at(bits).as_ref() }.map(|node| &node.value)
    }

    fn at(bits: u64) -> *const Node<T, H> {
        with_exposed_provenance(bits as usize)
    }

    /// Returns the bits of the `Owned` that contains this value.
    ///
    /// # Safety
    ///
    /// The value must be in an `Owned` of this type and host, and the reference must have come from
    /// that object's bits.
    pub unsafe fn bits_of(value: &T) -> u64 {
        let address = core::ptr::from_ref(value).addr() - offset_of!(Node<T, H>, value);
        address as u64
    }

    /// # Safety
    ///
    /// `header` must be the header of an `Owned<T, H>` that only the caller uses.
    unsafe fn free(header: NonNull<Header<H>>) {
        let node = header.as_ptr().expose_provenance() as u64;
        // SAFETY: the header is the first field of its node, whose provenance was exposed. The rest
        // is the caller's promise.
        drop(unsafe { Self::from_bits(node) });
    }
}

impl<T, H: Host> Deref for Owned<T, H> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the node is initialised and lives as long as `self`.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T, H: Host> DerefMut for Owned<T, H> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { &mut self.0.as_mut().value }
    }
}

impl<T, H: Host> Drop for Owned<T, H> {
    fn drop(&mut self) {
        /// Frees the memory even if the value's destructor panics.
        struct Memory<T, H: Host>(NonNull<Node<T, H>>);
        impl<T, H: Host> Drop for Memory<T, H> {
            fn drop(&mut self) {
                // SAFETY: allocated with this layout, and the node is no longer used.
                unsafe { memory::to_host::<H>(self.0.cast(), Owned::<T, H>::LAYOUT) };
            }
        }
        let memory = Memory(self.0);
        // SAFETY: the value was initialised in `allocate`, and is dropped once, here.
        unsafe { memory.0.drop_in_place() };
    }
}

impl<T: fmt::Debug, H: Host> fmt::Debug for Owned<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// [Retires](Self::retire) an object that was taken out of reach. The object is dropped when no
    /// reader has it any more. `None` has no effect.
    ///
    /// # Safety
    ///
    /// The same as for [`retire`](Self::retire). Anything that the value borrows must outlive the
    /// domain.
    pub unsafe fn retire_owned<T: Send>(&self, owned: Option<Owned<T, H>>) {
        let Some(owned) = owned else { return };
        let header = ManuallyDrop::new(owned).0.cast::<Header<H>>();
        // SAFETY: the header is the node's first field. `free` drops the node, which is `Send`, on
        // any thread. The rest is the caller's promise.
        unsafe { self.retire(header, Owned::<T, H>::free) };
    }
}
