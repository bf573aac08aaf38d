//! The terms of a comparison: subjects, the rows that name them, and the groups of rows.

use super::work::{Done, Load, Worker};

/// A subject, filled and ready, that all threads of a run share.
pub trait Subject: Send + Sync {
    /// Runs operations on the calling thread until the run is stopped.
    fn work(&self, worker: &Worker) -> Done;

    /// Checks the subject after the threads have done what they report.
    ///
    /// # Errors
    ///
    /// A description of the fault.
    fn verify(&self, done: &[Done]) -> Result<(), String>;

    /// Returns true if a read may have to make its object. [`Done::missed`] then counts such reads,
    /// and they are no error.
    fn may_miss(&self) -> bool {
        false
    }

    /// Number of objects that were taken out and whose memory is not freed; `None` if they are not
    /// counted.
    fn held_back(&self) -> Option<u64> {
        None
    }
}

/// One subject of a group.
#[derive(Clone, Copy, Debug)]
pub struct SubjectRow {
    /// Name, which is also the variant's in results.
    pub name: &'static str,
    /// Origin: the crate and its version, or `lockyard`.
    pub from: &'static str,
    /// Licence, as its package says.
    pub licence: &'static str,
    /// Description, with what it does that the others do not.
    pub what: &'static str,
    /// Its part in the comparison.
    pub role: SubjectRole,
    /// Makes a new subject, filled.
    pub make: fn(&Load) -> Result<Box<dyn Subject>, String>,
}

/// Part of a row in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectRole {
    /// The library's.
    Ours,
    /// An alternative.
    Peer,
    /// No peer, but a lower bound of the cost.
    Yardstick,
}

/// Rows that answer the same question.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Name, which is also the experiment's in results.
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

/// Writes the rows of a group. The file that uses it has `SubjectRow`, `SubjectRole` and `table`,
/// which makes a subject.
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
