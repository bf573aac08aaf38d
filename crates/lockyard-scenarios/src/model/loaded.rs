//! A foreign lock whose functions were loaded while the program runs, as from a shared object that
//! a C compiler made.

use super::lock_object::LockObject;
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A function that is called with the address of a lock.
pub type LockFunction = unsafe extern "C" fn(*mut c_void);

/// The functions of a loaded lock.
///
/// Between the return of `lock` and the call of `unlock` by the same thread, no other call of
/// `lock` with this address returns. The thread sees all writes of earlier holders. All threads may
/// call `lock` and `unlock`, even at the same time. The lock does not move.
#[derive(Clone, Copy, Debug)]
pub struct LoadedLock {
    /// Makes a free lock from memory that is 0. Without this function, memory that is 0 is a free
    /// lock.
    pub init: Option<LockFunction>,
    /// Takes the lock.
    pub lock: LockFunction,
    /// Releases the lock.
    pub unlock: LockFunction,
    /// Ends the use of a free lock.
    pub destroy: Option<LockFunction>,
}

/// A loaded lock in place. Dropping this value ends the use of the lock.
pub(crate) struct LoadedAt {
    functions: LoadedLock,
    memory: NonNull<u8>,
}

impl LoadedAt {
    /// Makes a free lock in `memory`.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for `layout`, and must outlive the returned object. On such memory,
    /// the functions must do what [`LoadedLock`] says.
    pub(crate) unsafe fn make(
        functions: LoadedLock,
        memory: NonNull<u8>,
        layout: Layout,
    ) -> LoadedAt {
        // SAFETY: the caller provides memory of the layout's size.
        unsafe { memory.write_bytes(0, layout.size()) };
        if let Some(init) = functions.init {
            // SAFETY: the caller promises that the function is for such memory.
            unsafe { init(memory.as_ptr().cast()) };
        }
        LoadedAt { functions, memory }
    }
}

impl LockObject for LoadedAt {
    fn locked(&self, body: &mut dyn FnMut()) {
        let lock = self.memory.as_ptr().cast();
        // SAFETY: `make` made a lock there, and it is not destroyed before `self` is dropped.
        unsafe { (self.functions.lock)(lock) };
        body();
        // SAFETY: as above; taken above, by this thread.
        unsafe { (self.functions.unlock)(lock) };
    }
    fn is_held(&self) -> bool {
        // There is no function that tells.
        false
    }
    fn address(&self) -> usize {
        self.memory.as_ptr() as usize
    }
}

impl Drop for LoadedAt {
    fn drop(&mut self) {
        if let Some(destroy) = self.functions.destroy {
            // SAFETY: `make` made a lock there, and no thread uses it any more.
            unsafe { destroy(self.memory.as_ptr().cast()) };
        }
    }
}
