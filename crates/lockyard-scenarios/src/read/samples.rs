//! The section `[samples]`, and the entries `[[disturbances]]`.

use super::actions::{In, names_in};
use super::names::Context;
use super::source::{Result, Source};
use super::step_entry::StepEntry;
use super::steps;
use crate::model::{Disturbance, Samples};
use serde::Deserialize;
use toml::Spanned;

/// Maximum number of samples of a run.
const MAX_SAMPLES: u32 = 100;
/// Maximum number of disturbances of a run.
const MAX_DISTURBANCES: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SamplesEntry {
    number: Spanned<u32>,
    seconds: Spanned<f64>,
    simulated_seconds: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DisturbanceEntry {
    sample: Spanned<f64>,
    steps: Vec<Spanned<StepEntry>>,
}

impl DisturbanceEntry {
    pub(super) fn steps(&self) -> &[Spanned<StepEntry>] {
        &self.steps
    }
}

/// Reads the section `[samples]`.
pub(super) fn samples(source: &Source, entry: &SamplesEntry) -> Result<Samples> {
    let number = source.count("number", &entry.number, 1, MAX_SAMPLES)?;
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
    Ok(Samples { number, seconds, simulated_seconds: simulated.unwrap_or(seconds) })
}

/// Reads the entries `[[disturbances]]` for one variant.
pub(super) fn disturbances(
    context: Context,
    entries: &[Spanned<DisturbanceEntry>],
    samples: Option<Samples>,
) -> Result<Vec<Disturbance>> {
    let source = context.source;
    source.limit("disturbances", entries, MAX_DISTURBANCES)?;
    let one = |spanned: &Spanned<DisturbanceEntry>| {
        let entry = spanned.get_ref();
        let Some(samples) = samples else {
            let message = "a disturbance needs a section [samples]: \
                           it happens in one of the samples";
            return Err(source.error(spanned.span(), message));
        };
        let (sample, number) = (*entry.sample.get_ref(), samples.number);
        if !(sample >= 0.0 && sample < number as f64) {
            let message = format!("`sample` is {sample}; allowed: from 0, below {number}");
            return Err(source.error(entry.sample.span(), message));
        }
        for step in &entry.steps {
            let what = step.get_ref().r#do.get_ref().as_str();
            let names = names_in(In::Disturbance);
            if !names.contains(&what) || step.get_ref().share.is_some() {
                let names = names.iter().map(|name| match *name {
                    "work" => "`work` (with `ns`)".to_owned(),
                    name => format!("`{name}`"),
                });
                let message = format!(
                    "a step of a disturbance is {}: these leave nothing behind",
                    one_of(&names.collect::<Vec<_>>())
                );
                return Err(source.error(step.span(), message));
            }
        }
        Ok(Disturbance { sample, steps: steps::build(context, &entry.steps)? })
    };
    entries.iter().map(one).collect()
}

/// Joins names for a sentence: the last two by "or".
fn one_of(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        names => names.join(", "),
    }
}
