//! Numbers of a page, each with its place in the JSON document that the page embeds.

use crate::text::escape;

/// A number, and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    /// Place in the embedded document, as a JSON pointer.
    pub(crate) at: String,
    /// Value at that place.
    pub(crate) value: f64,
}

impl Fact {
    /// Returns a number of row `row`. `of` is the JSON pointer to it, relative to the row.
    pub(crate) fn of_row(row: usize, of: &str, value: f64) -> Fact {
        Fact { at: format!("/rows/{row}/{of}"), value }
    }
}

/// Returns the attributes of an element that shows these numbers. Pointers and values are lists
/// separated by spaces.
pub(crate) fn attributes(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let at: Vec<String> = facts.iter().map(|fact| fact.at.replace(' ', "%20")).collect();
    let values: Vec<String> = facts.iter().map(|fact| fact.value.to_string()).collect();
    format!(" data-at=\"{}\" data-value=\"{}\"", escape(&at.join(" ")), values.join(" "))
}
