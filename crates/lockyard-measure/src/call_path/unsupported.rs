//! Stand-in where no call site is patched: other processors have other calls, and other systems
//! other ways to map memory.

use super::ways::Section;
use lockyard::kind::{Choice, Kind};

/// Stand-in for the page, of which none exists.
#[derive(Debug)]
pub struct Page(std::convert::Infallible);

impl Page {
    /// Refuses.
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
