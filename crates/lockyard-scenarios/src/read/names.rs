//! Names to which entries of a script may refer: variants, objects, registers, and parts of
//! regions.

use super::source::{Result, Source};
use super::values::Registers;
use crate::model::{Object, RegionPart};
use toml::Spanned;

/// Names to which entries of a script may refer.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    /// The names of the variants.
    pub(super) variants: &'a [String],
    /// The parts of regions that steps name.
    pub(super) parts: &'a [RegionPart],
    /// The registers that steps name as their targets.
    pub(super) registers: &'a Registers,
}

impl Names<'_> {
    /// Returns the name if a variant has it, otherwise an error.
    pub(super) fn variant(&self, source: &Source, found: &Spanned<String>) -> Result<String> {
        if self.variants.contains(found.get_ref()) {
            return Ok(found.get_ref().clone());
        }
        let names: Vec<&str> = self.variants.iter().map(String::as_str).collect();
        Err(source.unknown("variant", found, &names))
    }
}

/// The variant whose steps are being read.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) objects: &'a [Object],
    pub(super) names: Names<'a>,
    /// The name of the variant, one of `names`.
    pub(super) variant: &'a Spanned<String>,
}
