//! Result of the gate, and what it allows.

use super::several::Fitted;
use lockyard_results::recorded::Replay;

/// Largest difference between the predicted and the recorded rate, relative to the recorded one.
pub const GATE: f64 = 0.1;

/// Smallest share of the CPU time that the recorded threads could have used.
pub const LEAST_CPU: f64 = 0.8;

/// Returns a share of the CPU time below [`LEAST_CPU`] in percent. It is rounded down, so that it
/// never reads as the least one.
pub fn too_little(share: f64) -> f64 {
    (share * 100.0 + 1e-6).floor().min(LEAST_CPU * 100.0 - 1.0)
}

/// Smallest share of the run from the first to the last acquisition in a burst. The rate of a
/// shorter part is not that of the program.
pub(super) const LEAST_REPLAYED: f64 = 0.2;

/// Result of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The replay beside the recorded run.
    pub replay: Replay,
    /// The recorded numbers of threads beside their replays, with several recordings.
    pub fitted: Option<Box<Fitted>>,
    /// Reason for which predictions are refused.
    pub refused: Option<String>,
    /// What to do then, in sentences.
    pub advice: Vec<String>,
}

impl Gate {
    /// Returns the gate of a recorded run, before it is replayed.
    pub(super) fn of(threads: usize, recorded: f64, outside_windows: bool) -> Gate {
        let replay = Replay {
            threads,
            recorded_acquisitions_per_s: recorded,
            outside_windows,
            allowed_share: GATE,
            passed: true,
            ..Replay::default()
        };
        Gate { replay, fitted: None, refused: None, advice: Vec::new() }
    }

    /// Refuses predictions.
    pub(super) fn refuse(&mut self, why: String, advice: &[&str]) {
        self.refused = Some(why);
        self.replay.passed = false;
        self.advice = advice.iter().map(|advice| (*advice).to_owned()).collect();
        self.advice.push("--ungated prints the figures nevertheless.".to_owned());
    }

    /// Takes the figure of the replay. Returns its difference from the recorded one, relative to
    /// that.
    pub(super) fn replayed(&mut self, predicted: f64) -> f64 {
        let error = predicted / self.replay.recorded_acquisitions_per_s - 1.0;
        self.replay.predicted_acquisitions_per_s = Some(predicted);
        self.replay.error_share = Some(error);
        error
    }
}
