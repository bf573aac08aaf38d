//! Places where the tasks of a random walk wait for each other without a lock: conditions,
//! semaphores and barriers of a recorded program.

/// A place where tasks wait for each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meeting {
    /// Name for readers.
    pub name: String,
    /// End of a wait.
    pub kind: MeetingKind,
}

/// End of a wait at a [`Meeting`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeetingKind {
    /// A unit that another task has given. Units that no task waits for are kept: the items of a
    /// queue, the value of a semaphore.
    Kept {
        /// Number of units at the beginning.
        units: u64,
    },
    /// The next signal. A signal that no task waits for is lost.
    Lost,
    /// The arrival of all tasks that ever come here.
    Barrier,
}

impl Default for MeetingKind {
    fn default() -> Self {
        MeetingKind::Kept { units: 0 }
    }
}

/// Action of a task at a [`Meeting`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// Gives this many units, or signals. A part of a unit is given with that probability.
    Give {
        /// The units.
        units: f64,
        /// True if all waiting tasks are woken. Those that find no unit wait again.
        all: bool,
    },
    /// Waits until it has a unit, until the next signal, or until all have come.
    Wait,
}
