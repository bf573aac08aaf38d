//! Pointers of C as values of tables.

use crate::hook;
use core::ffi::c_void;
use core::mem::ManuallyDrop;

/// A function of the program that a table calls with a value that it gives up, or NULL. It must not
/// throw, and it may run in any thread that uses the table.
pub type ly_drop_fn = Option<unsafe extern "C" fn(value: *mut c_void)>;

/// A pointer of the program, and the function that gets it when the table gives it up.
pub(crate) struct Value {
    pointer: *mut c_void,
    drop: ly_drop_fn,
}

// SAFETY: the table hands the pointer out and passes it to `drop`, from any thread, as the header
// says. It does nothing else with it.
unsafe impl Send for Value {}
// SAFETY: as above.
unsafe impl Sync for Value {}

impl Value {
    pub(crate) fn new(pointer: *mut c_void, drop: ly_drop_fn) -> Self {
        Value { pointer, drop }
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    /// Returns the pointer. The function that would drop it is not called.
    pub(crate) fn into_pointer(self) -> *mut c_void {
        ManuallyDrop::new(self).pointer
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            hook::call(false);
            // SAFETY: the program gave the function for such pointers, and each is given up once.
            unsafe { drop(self.pointer) };
        }
    }
}
