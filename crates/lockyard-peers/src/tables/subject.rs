//! What is compared: subjects, the rows that name them, and the groups of rows.

use super::work::{Done, Load, Worker};

/// A subject, filled and ready, that all threads of a run share.
pub trait Subject: Send + Sync {
    /// Runs operations on the calling thread until the run is stopped.
    fn work(&self, worker: &Worker) -> Done;

    /// Whether all is as it ought to be after the threads have done what they say.
    ///
    /// # Errors
    ///
    /// What is not.
    fn verify(&self, done: &[Done]) -> Result<(), String>;

    /// Whether a read may have to make what it wants: [`Done::missed`] then is how often, and no error.
    fn may_miss(&self) -> bool {
        false
    }

    /// Objects that were taken out and whose memory is not given back; `None` where that is not counted.
    fn held_back(&self) -> Option<u64> {
        None
    }
}

/// One subject of a group.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name: a variant's, in results.
    pub name: &'static str,
    /// Where it comes from: the crate and its version, or `lockyard`.
    pub from: &'static str,
    /// Its licence, as its package says.
    pub licence: &'static str,
    /// What it is, and what it does that the others do not.
    pub what: &'static str,
    /// What it is to the question.
    pub role: Role,
    /// A new one, filled.
    pub make: fn(&Load) -> Result<Box<dyn Subject>, String>,
}

/// What a row is to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The library's.
    Ours,
    /// What people use instead.
    Peer,
    /// No peer, but the least that it can cost.
    Yardstick,
}

/// What is asked of some rows.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name: an experiment's, in results.
    pub name: &'static str,
    /// What an operation is, in a sentence without its end.
    pub operation: &'static str,
    /// Which shares of reading are measured if none are asked for, in per cent.
    pub reads: &'static [u32],
    /// Whether it has objects, of which there can be more or fewer.
    pub has_objects: bool,
    /// The rows.
    pub rows: &'static [Row],
}

/// The rows of a group. The file that uses it has `Row`, `Role` and `table`, which makes a subject.
macro_rules! rows {
    ($($name:literal, $role:ident, $from:literal, $licence:literal, $subject:ty, $what:literal;)*) => {
        &[$(Row {
            name: $name,
            from: $from,
            licence: $licence,
            what: $what,
            role: Role::$role,
            make: table::<$subject>,
        }),*]
    };
}
pub(super) use rows;
