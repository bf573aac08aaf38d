//! An entry of `[[steps]]`, as the script has it.

use serde::Deserialize;
use toml::Spanned;

/// Maximum number of steps in the description of an operation.
const NAMED: usize = 12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepEntry {
    pub(super) r#do: Spanned<String>,
    pub(super) object: Option<Spanned<String>>,
    pub(super) operation: Option<Spanned<String>>,
    pub(super) share: Option<Spanned<f64>>,
    pub(super) ns: Option<Spanned<f64>>,
    pub(super) ahead: Option<Spanned<bool>>,
    pub(super) value: Option<Spanned<toml::Value>>,
    pub(super) into: Option<Spanned<String>>,
    pub(super) expect: Option<Spanned<toml::Value>>,
    pub(super) new: Option<Spanned<toml::Value>>,
    pub(super) result: Option<Spanned<String>>,
    pub(super) at: Option<Spanned<toml::Value>>,
    pub(super) when: Option<Spanned<toml::Value>>,
    pub(super) percent: Option<Spanned<f64>>,
    pub(super) one_in: Option<Spanned<u32>>,
    pub(super) region: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) only: Option<Vec<Spanned<String>>>,
}

/// Returns a description of an operation for display, made from its steps.
pub(super) fn operation(steps: &[Spanned<StepEntry>]) -> String {
    let names = steps.iter().map(|step| step.get_ref().r#do.get_ref().as_str());
    let mut names: Vec<&str> = names.take(NAMED).collect();
    if steps.len() > NAMED {
        names.push("...");
    }
    if names.is_empty() { String::from("no steps") } else { names.join(", ") }
}
