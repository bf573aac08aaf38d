//! Options of a cache: its maximum number of buffers, and its number of groups.

use core::fmt;

/// Number of trees in a cache that keeps a [tree for each group](super::TreePerGroup): from
/// [`Groups::MIN`] to [`Groups::MAX`]. If there are more groups than trees, groups share trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Groups(u32);

impl Groups {
    /// 1: all groups share one tree.
    pub const MIN: Groups = Groups(1);
    /// 65,536: the roots take 4 MiB.
    pub const MAX: Groups = Groups(1 << 16);
    /// 16.
    pub const DEFAULT: Groups = Groups(16);

    /// Returns `groups`, if it is in range.
    ///
    /// # Errors
    ///
    /// Fails if the number is out of range; the error names the range.
    pub const fn new(groups: u32) -> Result<Groups, GroupsError> {
        if Groups::MIN.0 <= groups && groups <= Groups::MAX.0 {
            Ok(Groups(groups))
        } else {
            Err(GroupsError { given: groups })
        }
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Error: a cache cannot have this number of groups.
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

/// The settings with which a cache is created.
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
    /// Maximum number of buffers at a time: buffers in the cache, and removed buffers that are
    /// still referenced. With 0 no buffer is ever created.
    pub limit: u64,
    /// Number of trees, if each group has a tree.
    pub groups: Groups,
}

impl Configuration {
    /// No limit except memory, and 16 groups.
    pub const DEFAULT: Configuration = Configuration { limit: u64::MAX, groups: Groups::DEFAULT };

    /// Returns the same configuration with at most `limit` buffers.
    #[must_use]
    pub const fn with_limit(self, limit: u64) -> Configuration {
        Configuration { limit, ..self }
    }

    /// Returns the same configuration with `groups` groups.
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
