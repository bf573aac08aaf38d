//! Moments at which the tasks of a simulated run begin. By default they are random; a script may
//! have all tasks begin together.
//!
//! In a real run, the operating system starts one task after another. If all tasks begin at the
//! same instant, those nearest to a lock's home queue for it first. If all tasks queue again, the
//! queue keeps that order for ever. The lock then hardly ever leaves a socket.

/// Moments at which the tasks of a simulated run begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// One after another in random order, at random intervals of a microsecond or more, drawn anew
    /// for each run. Counting begins when all tasks have begun.
    #[default]
    Random,
    /// All tasks begin within a tenth of a microsecond.
    Together,
}

impl Starts {
    /// All values.
    pub const ALL: [Starts; 2] = [Starts::Random, Starts::Together];

    /// The name that scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Starts::Random => "random",
            Starts::Together => "together",
        }
    }
}
