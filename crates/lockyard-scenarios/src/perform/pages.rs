//! Page reference counts: the library's type for each kind that scripts name.

use crate::model::PageKind;
use lockyard::page_ref::PageRef;
use lockyard::page_ref::{
    Cmpxchg, Conditional, LockedBit, OptimisticCmpxchg, References, Variant, Xadd,
};
use lockyard::platform::HostWithSlots;
use std::ptr::NonNull;

/// A page reference count, as the interpreter uses it.
pub(super) trait PageObject {
    /// Takes a reference, with the operation of the page's kind.
    fn get(&self);
    /// Drops a reference.
    fn put(&self);
    /// Returns the number of references, or `None` if the count is frozen or saturated.
    fn count(&self) -> Option<u32>;
    /// Address of the count.
    fn address(&self) -> usize;
}

struct PageAt<V: Variant, H: HostWithSlots> {
    page: NonNull<PageRef<V, H>>,
    get: fn(&PageRef<V, H>),
}

impl<V: Variant, H: HostWithSlots> PageAt<V, H> {
    fn page(&self) -> &PageRef<V, H> {
        // SAFETY: the object was written where the pointer points, and lives as long as `self`
        // (`Prepared` frees the memory after its objects).
        unsafe { self.page.as_ref() }
    }
}

impl<V: Variant, H: HostWithSlots> PageObject for PageAt<V, H> {
    fn get(&self) {
        (self.get)(self.page());
    }
    fn put(&self) {
        // This reference is never the last one, because the script keeps one. `verify` would report
        // a violation.
        let _ = self.page().put();
    }
    fn count(&self) -> Option<u32> {
        match self.page().references() {
            References::Live(count) => Some(count),
            References::Frozen | References::Saturated => None,
        }
    }
    fn address(&self) -> usize {
        self.page.as_ptr() as usize
    }
}

/// Takes a reference unless the count is zero.
fn get_not_zero<V: Conditional, H: HostWithSlots>(page: &PageRef<V, H>) {
    // The call does not fail, because the script keeps one reference. `verify` would report a
    // failure.
    let _ = page.get_not_zero();
}

macro_rules! page_kinds {
    ($($kind:ident: $get:expr;)*) => {
        impl PageKind {
            /// Writes a count of this kind to `memory`.
            ///
            /// # Safety
            ///
            /// `memory` must be valid for a page reference count (4 bytes), and must outlive the
            /// returned object.
            pub(super) unsafe fn make<H: HostWithSlots>(
                self,
                count: u32,
                memory: NonNull<u8>,
            ) -> Box<dyn PageObject> {
                match self {
                    $(PageKind::$kind => {
                        let page = memory.cast::<PageRef<$kind, H>>();
                        // SAFETY: the caller provides memory for the count.
                        unsafe { page.write(PageRef::from_references(count)) };
                        Box::new(PageAt { page, get: $get })
                    })*
                }
            }
        }
    };
}

page_kinds! {
    Xadd: PageRef::get;
    Cmpxchg: get_not_zero;
    OptimisticCmpxchg: get_not_zero;
    LockedBit: get_not_zero;
}
