//! An entry of `[[steps]]`, as it is in the script.

use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// Maximum number of steps in the description of an operation.
const NAMED: usize = 12;

/// Defines an entry by its optional fields.
macro_rules! entry {
    ($($field:ident: $type:ty,)*) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct StepEntry {
            pub(super) r#do: Spanned<String>,
            $(pub(super) $field: Option<Spanned<$type>>,)*
            pub(super) only: Option<Vec<Spanned<String>>>,
        }

        impl StepEntry {
            /// Returns the fields that the entry has and only some steps may have, with their
            /// places.
            pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
                let fields = [$((stringify!($field), self.$field.as_ref().map(Spanned::span)),)*];
                fields.into_iter().filter_map(|(field, span)| Some((field, span?)))
            }
        }
    };
}

entry! {
    object: String,
    operation: String,
    share: f64,
    ns: f64,
    ahead: bool,
    value: toml::Value,
    into: String,
    expect: toml::Value,
    new: toml::Value,
    result: String,
    at: toml::Value,
    when: toml::Value,
    percent: f64,
    one_in: u32,
    region: String,
    name: String,
    key: String,
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
