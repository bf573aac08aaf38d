//! One cell: its inputs, and the id that follows from them.

use crate::version::{SCHEMA, VERSION};
use lockyard_predict::simulate::{RunLength, Runs};
use lockyard_sim::Machine;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// One cell of a plan. Equal cells have equal rows.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index of the cell in its plan.
    pub number: u64,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scenario's file, for errors.
    pub(crate) origin: String,
    /// Text of the scenario, with all changes.
    pub(crate) text: String,
    /// Name of the variant.
    pub variant: String,
    /// The machine, with all changes.
    pub(crate) machine: Machine,
    /// Number of threads.
    pub threads: usize,
    /// Seed of the only run; `None` for the usual runs.
    pub seed: Option<u64>,
    pub(crate) placement: Option<String>,
    pub(crate) length: RunLength,
    pub(crate) intervals: bool,
    pub(crate) details: bool,
    /// Values of the parameters.
    pub parameters: Vec<(String, f64)>,
    /// Reason why the changes cannot be made.
    pub(crate) broken: Option<String>,
}

impl Cell {
    /// Returns the name of the machine.
    pub fn machine(&self) -> &str {
        self.machine.name()
    }

    /// Returns the choice of the runs.
    pub(crate) fn runs(&self) -> Runs {
        Runs { length: self.length, seed: self.seed }
    }

    /// Returns the id: a hash of the scenario's text, the machine's numbers, all options, the
    /// schema and the version of the program.
    pub fn id(&self) -> String {
        let numbers: Vec<(&str, String)> = self
            .machine
            .parameters()
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.value.to_string()))
            .collect();
        let inputs = json!({
            "schema": SCHEMA,
            "program": VERSION,
            "scenario": self.text,
            "variant": self.variant,
            "machine": self.machine.name(),
            "numbers": numbers,
            "order": format!("{:?}", self.machine.order()),
            "options": self.inputs(),
        });
        hash(&inputs.to_string())
    }

    /// Returns the inputs as rows have them.
    pub fn inputs(&self) -> Value {
        let parameters: Map<String, Value> =
            self.parameters.iter().map(|(name, value)| (name.clone(), tidy(*value))).collect();
        let runs = match self.length {
            RunLength::Full => "full",
            RunLength::Quick => "quick",
        };
        let mut inputs = json!({
            "scenario": self.scenario,
            "variant": self.variant,
            "machine": self.machine.name(),
            "threads": self.threads,
            "runs": runs,
            "parameters": parameters,
        });
        if let Some(inputs) = inputs.as_object_mut() {
            let mut add = |name: &str, value: Value| inputs.insert(name.to_owned(), value);
            if let Some(seed) = self.seed {
                add("seed", seed.into());
            }
            if let Some(placement) = &self.placement {
                add("placement", placement.as_str().into());
            }
            for (name, is_set) in [("intervals", self.intervals), ("details", self.details)] {
                if is_set {
                    add(name, true.into());
                }
            }
        }
        inputs
    }
}

/// Returns a whole number without a fraction, as a person would write it.
fn tidy(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { (value as i64).into() } else { value.into() }
}

/// Returns the first 128 bits of the SHA-256 hash of a text, in hexadecimal. Among a million
/// different texts, two have the same value with a probability of 1e-27.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_that_of_the_standard() {
        // FIPS 180-4, the example of one block.
        assert_eq!(super::hash("abc"), "ba7816bf8f01cfea414140de5dae2223");
    }
}
