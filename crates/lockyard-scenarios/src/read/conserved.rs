//! The entries `[[conserved]]`.

use super::names::Names;
use super::objects;
use super::source::{Result, Source};
use crate::model::{Conserved, Object, ObjectKind};
use serde::Deserialize;
use toml::Spanned;

/// Maximum number of chains of a script.
const MAX_CHAINS: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConservedEntry {
    links: Spanned<String>,
    from: Spanned<String>,
    to: Option<Spanned<String>>,
    held: Option<Spanned<String>>,
}

/// Reads the chains of a script.
pub(super) fn conserved(
    source: &Source,
    entries: &[Spanned<ConservedEntry>],
    objects: &[Object],
    names: Names,
) -> Result<Vec<Conserved>> {
    source.limit("chains", entries, MAX_CHAINS)?;
    let word = |field: &str, found: &Spanned<String>| {
        let index = objects::object_named(source, found, objects)?;
        match objects[index].kind {
            ObjectKind::Word { .. } => Ok(index),
            _ => {
                let message = format!("`{field}` must be a word; `{}` is not one", found.get_ref());
                Err(source.error(found.span(), message))
            }
        }
    };
    let one = |spanned: &Spanned<ConservedEntry>| {
        let entry = spanned.get_ref();
        let links = objects::object_named(source, &entry.links, objects)?;
        if !matches!(objects[links].kind, ObjectKind::Words { initial: 0, .. }) {
            let message = format!(
                "`links` must be an array of words that are 0 at first; `{}` is not one",
                entry.links.get_ref()
            );
            return Err(source.error(entry.links.span(), message));
        }
        let held = entry.held.as_ref();
        Ok(Conserved {
            links,
            from: word("from", &entry.from)?,
            to: entry.to.as_ref().map(|found| word("to", found)).transpose()?,
            held: held.map(|found| names.registers.named(source, found)).transpose()?,
        })
    };
    entries.iter().map(one).collect()
}
