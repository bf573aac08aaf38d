//! Where no call site is patched: other processors have other calls, other systems other ways to
//! get memory.

use super::ways::Section;
use lockyard::kind::{Choice, Kind};

/// There is none.
#[derive(Debug)]
pub struct Page(std::convert::Infallible);

impl Page {
    /// Says that there is none.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn patched(_: &Choice) -> Result<Page, String> {
        Err("not available here: call sites are patched on x86-64, and on Unix".to_owned())
    }

    /// The kind for which the sites were patched.
    pub fn kind(&self) -> Kind {
        match self.0 {}
    }

    /// # Safety
    ///
    /// There is no page.
    pub unsafe fn patched_loop(&self, _: &mut Section, _: u64) {
        match self.0 {}
    }

    /// # Safety
    ///
    /// There is no page.
    pub unsafe fn nested_loop(&self, _: &mut Section, _: u64) {
        match self.0 {}
    }
}
