//! The activity of a thread, for hosts that account for time.
//!
//! A profiler's listing says how much CPU time each function used. Primitives are inlined into
//! their callers, and a simulated machine has no functions, so here the code itself names its
//! activity. A thread that searches a table for an entry is in the region
//! [`LookUp`](Region::LookUp). While the thread waits for a lock inside that region, it is in
//! [`LockWait`](Region::LockWait). A thread is in one region at a time: the innermost one, as in a
//! listing of functions without their callers.
//!
//! The code passes its activity to its host ([`begin_activity`](super::Host::begin_activity),
//! [`resume_activity`](super::Host::resume_activity)). A host that does not account for time
//! ignores it.

/// A region of a program's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Region {
    /// The system's work, and everything that no other region covers.
    #[default]
    System,
    /// The program's own work.
    User,
    /// In the call that takes a lock: the uncontended cost and the wait. (An attempt that does not
    /// wait counts for its caller's region.)
    LockWait,
    /// Work under a lock, except in the other regions.
    LockHold,
    /// Searching a table.
    LookUp,
    /// Allocating memory from the host.
    Allocate,
    /// Returning memory to the host.
    Free,
    /// Copying data.
    Copy,
    /// No work: the thread is parked, or waits for something else without using its CPU.
    Idle,
}

impl Region {
    /// Number of regions.
    pub const COUNT: usize = 9;

    /// All regions, in the order of their numbers.
    pub const ALL: [Region; Region::COUNT] = [
        Region::System,
        Region::User,
        Region::LockWait,
        Region::LockHold,
        Region::LookUp,
        Region::Allocate,
        Region::Free,
        Region::Copy,
        Region::Idle,
    ];

    /// Returns the region's name in scripts and results.
    pub const fn name(self) -> &'static str {
        match self {
            Region::System => "system",
            Region::User => "user",
            Region::LockWait => "lock-wait",
            Region::LockHold => "lock-hold",
            Region::LookUp => "look-up",
            Region::Allocate => "allocate",
            Region::Free => "free",
            Region::Copy => "copy",
            Region::Idle => "idle",
        }
    }

    /// Returns the region's title, as a listing prints it.
    pub const fn title(self) -> &'static str {
        match self {
            Region::System => "system work",
            Region::User => "user work",
            Region::LockWait => "lock wait",
            Region::LockHold => "lock hold",
            Region::LookUp => "look-up",
            Region::Allocate => "allocate",
            Region::Free => "free",
            Region::Copy => "copy",
            Region::Idle => "idle",
        }
    }
}

/// The activity of a thread: a region and, if the program divides the region into parts, the part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Activity {
    /// The region.
    pub region: Region,
    /// A number that the program gives to a part of the region, or 0 for the region as a whole.
    /// Each number belongs to one region.
    pub part: u16,
}

impl Activity {
    /// Makes the activity of a part of a region.
    pub const fn part_of(region: Region, part: u16) -> Self {
        Activity { region, part }
    }

    /// Returns the thread's activity when `new` [begins](super::Host::begin_activity) during
    /// `self`. That is `new`, unless `new` names the same region as a whole; then it is `self`. An
    /// idle thread that waits for a lock sleeps, and stays idle.
    #[inline(always)]
    #[must_use]
    pub fn then(self, new: Activity) -> Activity {
        let asleep = self.region == Region::Idle && new.region == Region::LockWait;
        if new.part == 0 && (asleep || new.region == self.region) { self } else { new }
    }

    /// Returns a unique number: the region's number, or a higher number for a part.
    #[inline(always)]
    pub const fn index(self) -> usize {
        match self.part {
            0 => self.region as usize,
            part => Region::COUNT - 1 + part as usize,
        }
    }

    /// Returns the activity with an [index](Activity::index). A part's index does not name its
    /// region, so the part is returned in the region of the system's work.
    pub const fn from_index(index: usize) -> Self {
        if index < Region::COUNT {
            return Activity { region: Region::ALL[index], part: 0 };
        }
        Activity { region: Region::System, part: (index - Region::COUNT + 1) as u16 }
    }
}

impl From<Region> for Activity {
    #[inline(always)]
    fn from(region: Region) -> Self {
        Activity { region, part: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_and_parts_have_numbers_of_their_own() {
        for (number, region) in Region::ALL.into_iter().enumerate() {
            assert_eq!((region as usize, Activity::from(region).index()), (number, number));
            assert_eq!(Activity::from_index(number), region.into());
        }
        assert_eq!(Activity::part_of(Region::Copy, 1).index(), Region::COUNT);
        assert_eq!(Activity::part_of(Region::User, 2).index(), Region::COUNT + 1);
        let part = Activity::from_index(Region::COUNT + 1);
        assert_eq!((part.part, part.index()), (2, Region::COUNT + 1));
    }

    #[test]
    fn a_part_stays_in_force_when_its_region_begins() {
        let one_lock = Activity::part_of(Region::LockWait, 3);
        assert_eq!(one_lock.then(Region::LockWait.into()), one_lock);
        assert_eq!(one_lock.then(Region::Idle.into()), Region::Idle.into());
        let other_lock = Activity::part_of(Region::LockWait, 4);
        assert_eq!(one_lock.then(other_lock), other_lock);
        let asleep = Activity::part_of(Region::Idle, 5);
        assert_eq!(asleep.then(Region::LockWait.into()), asleep);
        assert_eq!(asleep.then(Region::LockHold.into()), Region::LockHold.into());
    }
}
