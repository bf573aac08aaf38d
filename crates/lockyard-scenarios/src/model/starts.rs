//! Start times of the tasks of a simulated run. By default they are random. A script may have all
//! tasks start together.
//!
//! In a real run, the operating system starts one task after another. If all tasks start at the
//! same instant, the tasks nearest to a lock's home queue for it first. If each task queues again
//! after its turn, the queue keeps that order for ever. Then the lock hardly ever leaves a socket.

/// Start times of the tasks of a simulated run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Tasks start in random order, at random intervals of a microsecond or more, drawn anew for
    /// each run. Counting begins when all tasks have started.
    #[default]
    Random,
    /// All tasks start within a tenth of a microsecond.
    Together,
}

impl Starts {
    /// All values.
    pub const ALL: [Starts; 2] = [Starts::Random, Starts::Together];

    /// Name that scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Starts::Random => "random",
            Starts::Together => "together",
        }
    }
}
