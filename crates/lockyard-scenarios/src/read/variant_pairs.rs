//! The entries `[[pairs]]`.

use super::names::Names;
use super::source::{Result, Source};
use crate::model::VariantPair;
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PairEntry {
    first: Spanned<String>,
    second: Spanned<String>,
}

pub(super) fn variant_pairs(
    source: &Source,
    entries: &[Spanned<PairEntry>],
    names: Names,
) -> Result<Vec<VariantPair>> {
    let one = |entry: &Spanned<PairEntry>| {
        let PairEntry { first, second } = entry.get_ref();
        let pair = VariantPair {
            first: names.variant(source, first)?,
            second: names.variant(source, second)?,
        };
        if pair.first == pair.second {
            return Err(source.error(second.span(), "a pair has two different variants"));
        }
        Ok(pair)
    };
    entries.iter().map(one).collect()
}
