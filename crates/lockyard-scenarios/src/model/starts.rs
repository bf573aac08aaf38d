//! Moments at which the tasks of a simulated run begin: a script may say that it is all at once.
//!
//! The tasks of a real run begin as their operating system gets to them. If all begin at the same
//! instant, those that are nearest to a lock's home queue for it first. A queue of tasks that all
//! come back keeps that order for ever, so that the lock hardly ever leaves a socket.

/// Moments at which the tasks of a simulated run begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// One after another in a random order, at random distances of a microsecond or more, anew for
    /// each run. Counting begins when all have begun.
    #[default]
    Random,
    /// All within a tenth of a microsecond.
    Together,
}

impl Starts {
    /// All of them.
    pub const ALL: [Starts; 2] = [Starts::Random, Starts::Together];

    /// The name that scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Starts::Random => "random",
            Starts::Together => "together",
        }
    }
}
