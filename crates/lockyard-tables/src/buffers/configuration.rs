//! The choices made with a cache: its maximum number of buffers, and its number of groups.

use core::fmt;

/// The number of trees of a cache that keeps a [tree for each group](super::TreePerGroup): from
/// [`Groups::MIN`] to [`Groups::MAX`]. Groups beyond share trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Groups(u32);

impl Groups {
    /// 1: one tree for all.
    pub const MIN: Groups = Groups(1);
    /// 65,536: 4 MiB of roots.
    pub const MAX: Groups = Groups(1 << 16);
    /// 16.
    pub const DEFAULT: Groups = Groups(16);

    /// Returns `groups`, if it is in range.
    ///
    /// # Errors
    ///
    /// If it is out of range; the error names the range.
    pub const fn new(groups: u32) -> Result<Groups, GroupsError> {
        if Groups::MIN.0 <= groups && groups <= Groups::MAX.0 {
            Ok(Groups(groups))
        } else {
            Err(GroupsError { given: groups })
        }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A number of groups that a cache cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupsError {
    given: u32,
}

impl fmt::Display for GroupsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (Groups::MIN.0, Groups::MAX.0);
        write!(f, "`groups` is {}: it must be from {least} to {most}", self.given)
    }
}

impl core::error::Error for GroupsError {}

/// The settings that a cache is made with.
///
/// ```
/// use lockyard_tables::buffers::{Configuration, Groups};
///
/// const SMALL: Configuration = Configuration::DEFAULT.with_limit(10_000);
/// assert_eq!((SMALL.limit, SMALL.groups), (10_000, Groups::DEFAULT));
/// let refused = Groups::new(0).unwrap_err();
/// assert_eq!(refused.to_string(), "`groups` is 0: it must be from 1 to 65536");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Maximum number of buffers at a time: those in the cache, and those that were taken out of it
    /// and are still referenced. With 0 no buffer is ever made.
    pub limit: u64,
    /// The number of trees, where each group has one.
    pub groups: Groups,
}

impl Configuration {
    /// No limit except memory, and 16 groups.
    pub const DEFAULT: Configuration = Configuration { limit: u64::MAX, groups: Groups::DEFAULT };

    /// The same with at most `limit` buffers.
    #[must_use]
    pub const fn with_limit(self, limit: u64) -> Configuration {
        Configuration { limit, ..self }
    }

    /// The same with `groups` groups.
    #[must_use]
    pub const fn with_groups(self, groups: Groups) -> Configuration {
        Configuration { groups, ..self }
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Configuration::DEFAULT
    }
}
