//! Parts of regions. Steps name them, so that a listing can have the same rows as the published
//! one.

use lockyard::platform::{Activity, Region};

/// A part of a region, with the name that steps give it. It is, for example, one function in a
/// profiler's listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPart {
    /// Name of the part.
    pub name: String,
    /// Region to which the part belongs.
    pub region: Region,
}

impl RegionPart {
    /// Returns the element of `parts` to which an activity belongs, or `None` for a whole region.
    pub fn of(parts: &[RegionPart], activity: Activity) -> Option<&RegionPart> {
        parts.get(usize::from(activity.part).checked_sub(1)?)
    }
}
