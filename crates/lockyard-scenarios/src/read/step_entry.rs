//! An entry of `[[steps]]`, as the script has it.

use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepEntry {
    pub(super) r#do: Spanned<String>,
    pub(super) object: Option<Spanned<String>>,
    pub(super) operation: Option<Spanned<String>>,
    pub(super) share: Option<Spanned<f64>>,
    pub(super) ns: Option<Spanned<f64>>,
    pub(super) value: Option<Spanned<i32>>,
    pub(super) one_in: Option<Spanned<u32>>,
    pub(super) region: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) only: Option<Vec<Spanned<String>>>,
}
