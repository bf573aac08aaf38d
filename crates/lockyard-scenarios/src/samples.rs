//! What happens in the course of a run: consecutive samples, and tasks that come once and do something else.
//!
//! A disturbance leaves nothing behind, so that what holds after a run is what the operations leave: it works, pauses, and takes and
//! releases locks.

use crate::file::{Result, Source, StepEntry};
use crate::script::{Object, Part, Step};
use crate::steps;
use serde::Deserialize;
use toml::Spanned;

/// A run may have this many samples.
const MAX_SAMPLES: u32 = 100;
/// And this many disturbances.
const MAX_DISTURBANCES: usize = 16;

/// Consecutive samples of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// How many.
    pub number: usize,
    /// How long each is, in seconds.
    pub seconds: f64,
    /// How long each is on a simulated machine; figures are a second's all the same.
    pub simulated_seconds: f64,
}

/// What another task does once, in the course of a run that has samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// When: so many samples after the first one began.
    pub sample: f64,
    /// What.
    pub steps: Vec<Step>,
}

/// Which of the tasks' operations in a sample a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTasks {
    /// Those of the task with the fewest.
    Least,
    /// Those of the task with the most.
    Most,
    /// All.
    Total,
}

impl OfTasks {
    /// All, by the names that tables use.
    pub const ALL: [(&'static str, OfTasks); 3] =
        [("min", OfTasks::Least), ("max", OfTasks::Most), ("total", OfTasks::Total)];
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesEntry {
    number: Spanned<u32>,
    seconds: Spanned<f64>,
    simulated_seconds: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DisturbanceEntry {
    sample: Spanned<f64>,
    steps: Vec<Spanned<StepEntry>>,
}

impl DisturbanceEntry {
    pub(crate) fn steps(&self) -> &[Spanned<StepEntry>] {
        &self.steps
    }
}

/// The section `[samples]`.
pub(crate) fn samples(source: &Source, entry: &SamplesEntry) -> Result<Samples> {
    let number = *entry.number.get_ref();
    if !(1..=MAX_SAMPLES).contains(&number) {
        let message = format!("`number` is {number}; allowed: 1 to {MAX_SAMPLES}");
        return Err(source.error(entry.number.span(), message));
    }
    let length = |found: &Spanned<f64>, what: &str| match *found.get_ref() {
        seconds if (1e-6..=3600.0).contains(&seconds) => Ok(seconds),
        seconds => {
            let message = format!("`{what}` is {seconds}; allowed: 1e-6 to 3600");
            Err(source.error(found.span(), message))
        }
    };
    let seconds = length(&entry.seconds, "seconds")?;
    let simulated = entry.simulated_seconds.as_ref();
    let simulated = simulated.map(|found| length(found, "simulated_seconds")).transpose()?;
    Ok(Samples {
        number: number as usize,
        seconds,
        simulated_seconds: simulated.unwrap_or(seconds),
    })
}

/// The entries `[[disturbances]]`, as they are in one variant.
pub(crate) fn disturbances(
    source: &Source,
    entries: &[Spanned<DisturbanceEntry>],
    samples: Option<Samples>,
    objects: &[Object],
    names: (&[String], &[Part]),
    variant: &Spanned<String>,
) -> Result<Vec<Disturbance>> {
    if let Some(entry) = entries.get(MAX_DISTURBANCES) {
        let message =
            format!("{} disturbances; at most {MAX_DISTURBANCES} are allowed", entries.len());
        return Err(source.error(entry.span(), message));
    }
    let one = |spanned: &Spanned<DisturbanceEntry>| {
        let entry = spanned.get_ref();
        let Some(samples) = samples else {
            let message = "a disturbance needs a section [samples]: it happens in one of them";
            return Err(source.error(spanned.span(), message));
        };
        let (sample, number) = (*entry.sample.get_ref(), samples.number);
        if !(sample >= 0.0 && sample < number as f64) {
            let message = format!("`sample` is {sample}; allowed: from 0, below {number}");
            return Err(source.error(entry.sample.span(), message));
        }
        for step in &entry.steps {
            let what = step.get_ref().r#do.get_ref().as_str();
            if !matches!(what, "work" | "pause" | "lock" | "unlock")
                || step.get_ref().share.is_some()
            {
                let message = "a step of a disturbance is `work` (with `ns`), `pause`, `lock` or `unlock`: it leaves \
                               nothing behind";
                return Err(source.error(step.span(), message));
            }
        }
        Ok(Disturbance {
            sample,
            steps: steps::build(source, objects, names, variant, &entry.steps)?,
        })
    };
    entries.iter().map(one).collect()
}
