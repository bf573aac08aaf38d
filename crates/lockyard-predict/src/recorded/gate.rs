//! Result of the gate, and what it allows.

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
    /// Number of threads.
    pub threads: usize,
    /// Recorded acquisitions a second.
    pub recorded: f64,
    /// Predicted acquisitions a second; `None` if nothing could be predicted.
    pub predicted: Option<f64>,
    /// Reason for which predictions are refused.
    pub refused: Option<String>,
    /// What to do then, in sentences.
    pub advice: Vec<String>,
}

impl Gate {
    /// Refuses predictions.
    pub(super) fn refuse(&mut self, why: String, advice: &[&str]) {
        self.refused = Some(why);
        self.advice = advice.iter().map(|advice| (*advice).to_owned()).collect();
        self.advice.push("--ungated prints the figures nevertheless.".to_owned());
    }

    /// Returns the result in a sentence.
    pub fn sentence(&self) -> String {
        let Gate { threads, recorded, .. } = self;
        let threads = lockyard_support::threads(*threads);
        let Some(predicted) = self.predicted else {
            return format!("Gate: {threads}, recorded {recorded:.0}/s, nothing predicted.");
        };
        let error = (predicted / recorded - 1.0) * 100.0;
        let passed = if self.refused.is_some() { "refused" } else { "passed" };
        format!(
            "Gate: {passed}. On the recording's host with {threads}, predicted {predicted:.0} and \
             recorded {recorded:.0} acquisitions a second ({error:+.1} %; allowed: {:.0} %).",
            GATE * 100.0
        )
    }
}
