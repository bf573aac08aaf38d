//! The phases in which threads spend cycles.

/// Number of [`CyclePhase`]s.
pub const PHASES: usize = 6;

/// Phase in which a thread spends cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclePhase {
    /// The thread does its own work, an operation whose line is present, or waits for instructions
    /// after a misprediction.
    Working,
    /// An operation waits for its line.
    Moving,
    /// An operation waits until the store buffer is empty.
    Draining,
    /// The thread is in a waiting loop (from its first failed poll on), in a pause, or parked.
    Waiting,
    /// The thread has interrupted other threads, and waits for their answers.
    Answers,
    /// The thread could run, but another thread has its CPU (see `schedule.rs`).
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
