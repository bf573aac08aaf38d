//! Parts of regions that steps name, so that a listing can have the same rows as the published one.

use lockyard::platform::{Activity, Region};

/// A part of a region, under the name that steps give it. An example is a function in a profiler's
/// listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPart {
    /// The name.
    pub name: String,
    /// The region.
    pub region: Region,
}

impl RegionPart {
    /// Returns the element of `parts` that an activity belongs to, or `None` for a region as a
    /// whole.
    pub fn of(parts: &[RegionPart], activity: Activity) -> Option<&RegionPart> {
        parts.get(usize::from(activity.part).checked_sub(1)?)
    }
}
