//! The table of page reference counts, by the names that scripts use.

use lockyard::page_ref::PageRef;
use lockyard::page_ref::{
    Cmpxchg, Conditional, LockedBit, OptimisticCmpxchg, References, Variant, Xadd,
};
use lockyard::platform::HostWithSlots;
use std::ptr::NonNull;

/// A page reference count as the interpreter uses it.
pub(crate) trait PageObject {
    /// Takes a reference, as the variant does.
    fn get(&self);
    fn put(&self);
    /// The number of references; `None` if it is frozen or saturated.
    fn count(&self) -> Option<u32>;
    /// Where it lies.
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
        // Scripts hold a reference of their own, so it is never the last; `verify` would notice.
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

/// Takes a reference as where there may be none.
fn get_not_zero<V: Conditional, H: HostWithSlots>(page: &PageRef<V, H>) {
    // As above.
    let _ = page.get_not_zero();
}

macro_rules! page_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $get:expr;)*) => {
        /// The ways to take a page reference, by the names that scripts use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PageKind {
            $($(#[$doc])* $kind,)*
        }

        impl PageKind {
            /// All kinds.
            pub const ALL: &[PageKind] = &[$(PageKind::$kind,)*];

            /// The name that scripts use.
            pub fn name(self) -> &'static str {
                match self {
                    $(PageKind::$kind => $name,)*
                }
            }

            /// Writes a count of this kind to `memory`, which has room for it.
            ///
            /// # Safety
            ///
            /// `memory` is valid for a page reference count (4 bytes), and outlives the returned object.
            pub(crate) unsafe fn make<H: HostWithSlots>(
                self,
                count: u32,
                memory: NonNull<u8>,
            ) -> Box<dyn PageObject> {
                match self {
                    $(PageKind::$kind => {
                        let page = memory.cast::<PageRef<$kind, H>>();
                        // SAFETY: the caller says that there is room.
                        unsafe { page.write(PageRef::from_references(count)) };
                        Box::new(PageAt { page, get: $get })
                    })*
                }
            }
        }
    };
}

page_kinds! {
    /// An addition, for when zero cannot happen.
    Xadd = "xadd": PageRef::get;
    /// A load, then a compare-exchange.
    Cmpxchg = "cmpxchg": get_not_zero;
    /// A compare-exchange that guesses one reference.
    OptimisticCmpxchg = "optimistic-cmpxchg": get_not_zero;
    /// An addition, and a bit that makes it void.
    LockedBit = "locked-bit": get_not_zero;
}
