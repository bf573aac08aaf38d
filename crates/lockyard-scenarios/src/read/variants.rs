//! The entries `[[variants]]`.

use super::names::{Context, Names};
use super::objects::{self, SetEntry};
use super::samples::{self, DisturbanceEntry};
use super::source::{Result, Source};
use super::step_entry::StepEntry;
use super::steps;
use crate::model::{Conserved, FirstValue, Object, Samples, Starts, Variant};
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantEntry {
    name: Spanned<String>,
    title: Option<Spanned<String>>,
    #[serde(default)]
    set: Vec<Spanned<SetEntry>>,
}

/// The parts of a script that all variants share.
pub(super) struct InCommon<'a> {
    /// The objects, before a variant changes them.
    pub(super) objects: &'a [Object],
    pub(super) names: Names<'a>,
    /// All steps. Each variant has some of them.
    pub(super) steps: &'a [Spanned<StepEntry>],
    pub(super) disturbances: &'a [Spanned<DisturbanceEntry>],
    pub(super) samples: Option<Samples>,
    pub(super) first_values: &'a [FirstValue],
    pub(super) conserved: &'a [Conserved],
    pub(super) work_varies: bool,
    pub(super) starts: Starts,
    pub(super) guests: Option<usize>,
}

/// Reads the names of the variants, and checks that they differ.
pub(super) fn names(source: &Source, entries: &[Spanned<VariantEntry>]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let found = &entry.get_ref().name;
        let name = source.name("name", found)?;
        if names.contains(&name) {
            return Err(source.error(found.span(), format!("there are two variants `{name}`")));
        }
        names.push(name);
    }
    Ok(names)
}

/// Reads a variant.
pub(super) fn variant(
    source: &Source,
    entry: &VariantEntry,
    in_common: &InCommon,
) -> Result<Variant> {
    let mut objects = in_common.objects.to_vec();
    for set in &entry.set {
        objects::apply(source, set.get_ref(), &mut objects)?;
    }
    let names = in_common.names;
    let context = Context { source, objects: &objects, names, variant: &entry.name };
    let steps = steps::build(context, in_common.steps)?;
    let disturbances = samples::disturbances(context, in_common.disturbances, in_common.samples)?;
    Ok(Variant {
        name: entry.name.get_ref().clone(),
        title: source.text_or("title", entry.title.as_ref(), || entry.name.get_ref().clone())?,
        origin: source.origin.to_owned(),
        objects,
        steps,
        first_values: in_common.first_values.to_vec(),
        conserved: in_common.conserved.to_vec(),
        parts: names.parts.to_vec(),
        disturbances,
        guests: in_common.guests,
        work_varies: in_common.work_varies,
        starts: in_common.starts,
    })
}
