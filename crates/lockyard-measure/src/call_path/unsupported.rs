//! Stand-in for platforms where no call site is patched. Other processors have different calls, and
//! other systems map memory differently.

use super::ways::Section;
use lockyard::kind::{Choice, Kind};

/// Stand-in for the page. It cannot be constructed.
#[derive(Debug)]
pub struct Page(std::convert::Infallible);

impl Page {
    /// Refuses to make a page.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn patched(_: &Choice) -> Result<Page, String> {
        Err("not available here: call sites are patched on x86-64, and on Unix".to_owned())
    }

    /// Kind for which the sites were patched.
    pub fn kind(&self) -> Kind {
        match self.0 {}
    }

    /// # Safety
    ///
    /// Never called: there is no page.
    pub unsafe fn patched_loop(&self, _: &mut Section, _: u64) {
        match self.0 {}
    }

    /// # Safety
    ///
    /// Never called: there is no page.
    pub unsafe fn nested_loop(&self, _: &mut Section, _: u64) {
        match self.0 {}
    }
}
