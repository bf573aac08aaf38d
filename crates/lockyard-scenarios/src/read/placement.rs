//! Placement and start times of tasks: the sections `[placement]` and `[guests]`, and the field
//! `starts`.

use super::source::{Result, Source};
use crate::model::{Order, Starts};
use serde::Deserialize;
use toml::Spanned;

/// Highest socket number that is allowed as the objects' home.
const MAX_HOME: u64 = 63;
/// Maximum number of guests that share the CPUs.
const MAX_GUESTS: u32 = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GuestsEntry {
    count: Spanned<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlacementEntry {
    order: Option<Spanned<String>>,
    home: Option<Spanned<u64>>,
}

/// Reads the order in which tasks are placed.
pub(super) fn order(source: &Source, entry: &PlacementEntry) -> Result<Order> {
    let table = Order::ALL.map(|order| (order.name(), order));
    let found = entry.order.as_ref();
    found.map_or(Ok(Order::default()), |found| source.choose("placement order", found, &table))
}

/// Reads the socket whose memory has the objects.
pub(super) fn home(source: &Source, entry: &PlacementEntry) -> Result<usize> {
    match &entry.home {
        Some(home) if *home.get_ref() > MAX_HOME => {
            let message = format!("`home` is {}; allowed: 0 to {MAX_HOME}", home.get_ref());
            Err(source.error(home.span(), message))
        }
        Some(home) => Ok(*home.get_ref() as usize),
        None => Ok(0),
    }
}

/// Reads the number of guests.
pub(super) fn guests(
    source: &Source,
    entry: Option<&GuestsEntry>,
    has_samples: bool,
) -> Result<Option<usize>> {
    let Some(GuestsEntry { count: found }) = entry else { return Ok(None) };
    let count = *found.get_ref();
    if !(1..=MAX_GUESTS).contains(&count) {
        let message = format!("`count` is {count}; allowed: 1 to {MAX_GUESTS} guests");
        return Err(source.error(found.span(), message));
    }
    if has_samples {
        let message = "a script has either `[samples]` or `[guests]`; allowed: one of them";
        return Err(source.error(found.span(), message));
    }
    Ok(Some(count as usize))
}

/// Reads the field `starts`.
pub(super) fn starts(source: &Source, found: Option<&Spanned<String>>) -> Result<Starts> {
    let table = Starts::ALL.map(|starts| (starts.name(), starts));
    found.map_or(Ok(Starts::default()), |found| source.choose("`starts` value", found, &table))
}
