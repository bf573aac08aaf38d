//! Finds variants of a scenario by the names that users give.

use crate::model::{Script, Variant};
use lockyard_support::{InputError, hint, printable};

impl Script {
    /// Returns the variants with these names, or all variants if `names` is empty.
    ///
    /// # Errors
    ///
    /// If the script lacks one of the variants.
    pub fn named_variants(&self, names: &[String]) -> Result<Vec<&Variant>, InputError> {
        if names.is_empty() {
            return Ok(self.variants.iter().collect());
        }
        let one = |name: &String| {
            self.variant(name).ok_or_else(|| {
                let all: Vec<&str> = self.variants.iter().map(|v| v.name.as_str()).collect();
                InputError(format!(
                    "scenario `{}` has no variant `{}`; {}",
                    self.name,
                    printable(name),
                    hint(name, &all, "there are")
                ))
            })
        };
        names.iter().map(one).collect()
    }
}
