//! The parts of regions that steps name, so that a listing can have the rows of the published one.

use lockyard::platform::{Activity, Region};

/// A part of a region, under the name that steps give it: a function in a profiler's listing, for
/// example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPart {
    /// The name.
    pub name: String,
    /// The region.
    pub region: Region,
}

impl RegionPart {
    /// The element of `parts` that an activity is; `None` for a region as a whole.
    pub fn of(parts: &[RegionPart], activity: Activity) -> Option<&RegionPart> {
        parts.get(usize::from(activity.part).checked_sub(1)?)
    }
}
