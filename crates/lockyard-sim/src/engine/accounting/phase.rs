//! The phases in which threads spend cycles.

/// Number of [`CyclePhase`]s.
pub const PHASES: usize = 6;

/// Phase in which a thread spends cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclePhase {
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

impl CyclePhase {
    /// All phases, in the order of their numbers.
    pub const ALL: [CyclePhase; PHASES] = [
        CyclePhase::Working,
        CyclePhase::Moving,
        CyclePhase::Draining,
        CyclePhase::Waiting,
        CyclePhase::Answers,
        CyclePhase::OffCpu,
    ];

    /// Name of the phase in reports.
    pub fn name(self) -> &'static str {
        match self {
            CyclePhase::Working => "working",
            CyclePhase::Moving => "moving lines",
            CyclePhase::Draining => "draining stores",
            CyclePhase::Waiting => "waiting",
            CyclePhase::Answers => "waiting for answers",
            CyclePhase::OffCpu => "off the cpu",
        }
    }
}
