//! The phases in which threads spend cycles.

/// Number of [`Phase`]s.
pub const PHASES: usize = 6;

/// What a thread spends its cycles on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its own work, operations whose line is there, and the wait for the right instructions after
    /// a misprediction.
    Working,
    /// An operation waits for its line.
    Moving,
    /// An operation waits until the store buffer is empty.
    Draining,
    /// A waiting loop from its first poll that failed, a pause, or a park.
    Waiting,
    /// It has interrupted others, and waits for their answers.
    Answers,
    /// It could run, and another thread has its CPU (see `schedule.rs`).
    OffCpu,
}

impl Phase {
    /// All phases, in the order of their numbers.
    pub const ALL: [Phase; PHASES] = [
        Phase::Working,
        Phase::Moving,
        Phase::Draining,
        Phase::Waiting,
        Phase::Answers,
        Phase::OffCpu,
    ];

    /// Name of the phase in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Working => "working",
            Phase::Moving => "moving lines",
            Phase::Draining => "draining stores",
            Phase::Waiting => "waiting",
            Phase::Answers => "waiting for answers",
            Phase::OffCpu => "off the cpu",
        }
    }
}
