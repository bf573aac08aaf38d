//! The terms of a comparison: subjects, the rows that name them, and the groups of rows.

use super::work::{Done, Load, Worker};

/// A subject, filled and ready, that all threads of a run share.
pub trait Subject: Send + Sync {
    /// Runs operations on the calling thread until the run is stopped.
    fn work(&self, worker: &Worker) -> Done;

    /// Checks that the subject agrees with the threads' reports, after they have ended.
    ///
    /// # Errors
    ///
    /// Fails with a description of the fault.
    fn verify(&self, done: &[Done]) -> Result<(), String>;

    /// Returns true if a read may have to create its object. [`Done::missed`] then counts such
    /// reads, and they are not errors.
    fn may_miss(&self) -> bool {
        false
    }

    /// Number of removed objects whose memory is not freed yet; `None` if they are not counted.
    fn held_back(&self) -> Option<u64> {
        None
    }
}

/// One subject of a group.
#[derive(Clone, Copy, Debug)]
pub struct SubjectRow {
    /// Name of the row, and of the variant in results.
    pub name: &'static str,
    /// Origin: the crate and its version, or `lockyard`.
    pub from: &'static str,
    /// Licence, as stated by its package.
    pub licence: &'static str,
    /// Description, including what it does in addition to the others.
    pub what: &'static str,
    /// Role in the comparison.
    pub role: SubjectRole,
    /// Makes and fills a new subject.
    pub make: fn(&Load) -> Result<Box<dyn Subject>, String>,
}

/// Role of a row in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectRole {
    /// Part of the library.
    Ours,
    /// An alternative.
    Peer,
    /// Not a peer, but a lower bound of the cost.
    Yardstick,
}

/// Rows that answer the same question.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Name of the group, and of the experiment in results.
    pub name: &'static str,
    /// Description of an operation, without a full stop.
    pub operation: &'static str,
    /// Default percentages of reads.
    pub reads: &'static [u32],
    /// True if the number of objects can be chosen.
    pub has_objects: bool,
    /// The rows.
    pub rows: &'static [SubjectRow],
}

/// Writes the rows of a group. The file that uses the macro has `SubjectRow`, `SubjectRole` and
/// `table`, which makes a subject.
macro_rules! rows {
    ($(
        $name:literal, $role:ident, $from:literal, $licence:literal, $subject:ty, $what:literal;
    )*) => {
        &[$(SubjectRow {
            name: $name,
            from: $from,
            licence: $licence,
            what: $what,
            role: SubjectRole::$role,
            make: table::<$subject>,
        }),*]
    };
}
pub(super) use rows;
