//! Finding variants of a scenario by their names, as users give them.

use crate::{Script, Variant};
use lockyard_support::{InputError, hint, printable};

impl Script {
    /// Returns the variants with these names; all of them if there are none.
    ///
    /// # Errors
    ///
    /// If the script has no such variant.
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
