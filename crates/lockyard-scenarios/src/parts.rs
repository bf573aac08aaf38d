//! The parts of regions that steps name, so that a listing can have the rows that the published one has.

use crate::file::{Result, Source, StepEntry};
use crate::script::Part;
use lockyard::platform::{Activity, Region};
use toml::Spanned;

/// A script may name this many parts.
const MAX_PARTS: usize = 64;

/// The region that a step says.
pub(crate) fn region(source: &Source, entry: &StepEntry) -> Result<Option<Region>> {
    let table = Region::ALL.map(|region| (region.name(), region));
    entry.region.as_ref().map(|region| source.choose("region", region, &table)).transpose()
}

/// The region of a step that has a name and says none.
fn usual(entry: &StepEntry) -> Region {
    if entry.r#do.get_ref() == "lock" { Region::LockWait } else { Region::System }
}

impl Part {
    /// The one of `parts` that an activity is; `None` if it is a region as a whole.
    pub fn of(parts: &[Part], activity: Activity) -> Option<&Part> {
        parts.get(usize::from(activity.part).checked_sub(1)?)
    }
}

/// The parts that the steps of a script name, each once; part 1 is the first.
pub(crate) fn parts<'a>(
    source: &Source,
    entries: impl Iterator<Item = &'a Spanned<StepEntry>>,
) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for entry in entries.map(Spanned::get_ref) {
        let Some(found) = &entry.name else { continue };
        let name = source.text("name", found)?;
        if Region::ALL.iter().any(|region| region.name() == name) {
            let message = format!("`{name}` is a region; `name` is that of a part of one");
            return Err(source.error(found.span(), message));
        }
        let region = region(source, entry)?.unwrap_or_else(|| usual(entry));
        match parts.iter().find(|part| part.name == name) {
            Some(part) if part.region == region => {}
            Some(part) => {
                let (is, was) = (region.name(), part.region.name());
                let message =
                    format!("`{name}` is in the region `{is}` here, and in `{was}` before");
                return Err(source.error(found.span(), message));
            }
            None if parts.len() == MAX_PARTS => {
                let message = format!("more than {MAX_PARTS} names of steps");
                return Err(source.error(found.span(), message));
            }
            None => parts.push(Part { name, region }),
        }
    }
    Ok(parts)
}

/// What a step is that names one of `parts`; `None` if it names none.
pub(crate) fn named(entry: &StepEntry, parts: &[Part]) -> Option<Activity> {
    let name = entry.name.as_ref()?.get_ref();
    let number = parts.iter().position(|part| part.name == *name)?;
    Some(Activity::part_of(parts[number].region, number as u16 + 1))
}
