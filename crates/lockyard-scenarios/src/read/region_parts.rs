//! Regions and parts of regions, as steps name them.

use super::source::{Result, Source};
use super::step_entry::StepEntry;
use crate::model::RegionPart;
use lockyard::platform::{Activity, Region};
use toml::Spanned;

/// Maximum number of parts that a script may name.
const MAX_PARTS: usize = 64;

/// Reads the region of a step's entry.
pub(super) fn region(source: &Source, entry: &StepEntry) -> Result<Option<Region>> {
    let table = Region::ALL.map(|region| (region.name(), region));
    entry.region.as_ref().map(|region| source.choose("region", region, &table)).transpose()
}

/// Returns the default region of a step that has a name but no region.
fn usual(entry: &StepEntry) -> Region {
    match entry.r#do.get_ref().as_str() {
        "lock" | "lock-shared" => Region::LockWait,
        _ => Region::System,
    }
}

/// Returns the parts that the steps of a script name, each once. Part 1 is the first element.
pub(super) fn parts<'a>(
    source: &Source,
    entries: impl Iterator<Item = &'a Spanned<StepEntry>>,
) -> Result<Vec<RegionPart>> {
    let mut parts: Vec<RegionPart> = Vec::new();
    for entry in entries.map(Spanned::get_ref) {
        let Some(found) = &entry.name else { continue };
        let name = source.text("name", found)?;
        if Region::ALL.iter().any(|region| region.name() == name) {
            let message = format!("`{name}` is a region; `name` must name a part of one");
            return Err(source.error(found.span(), message));
        }
        let region = region(source, entry)?.unwrap_or_else(|| usual(entry));
        match parts.iter().find(|part| part.name == name) {
            Some(part) if part.region == region => {}
            Some(part) => {
                let (is, was) = (region.name(), part.region.name());
                let message =
                    format!("`{name}` is in the region `{is}` here, but in `{was}` above");
                return Err(source.error(found.span(), message));
            }
            None if parts.len() == MAX_PARTS => {
                let message = format!("more than {MAX_PARTS} names of steps");
                return Err(source.error(found.span(), message));
            }
            None => parts.push(RegionPart { name, region }),
        }
    }
    Ok(parts)
}

/// Returns the activity of a step that names one of `parts`, or `None` if the step names none.
pub(super) fn named(entry: &StepEntry, parts: &[RegionPart]) -> Option<Activity> {
    let name = entry.name.as_ref()?.get_ref();
    let number = parts.iter().position(|part| part.name == *name)?;
    Some(Activity::part_of(parts[number].region, number as u16 + 1))
}
