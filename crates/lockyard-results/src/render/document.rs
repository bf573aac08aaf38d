//! What is printed, whatever the format.

use crate::row::Row;
use crate::scaling::VariantFit;
use crate::summary::Summary;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people, in a terminal.
    Table,
    /// One object: `schema`, `environment`, `rows`, `summary`.
    Json,
    /// One line for each row.
    Csv,
    /// For people, in a document.
    Markdown,
}

/// What is printed.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The rows.
    pub rows: Vec<Row>,
    /// Summaries, where there are published figures.
    pub summaries: Vec<Summary>,
    /// Where the figures are from and how they were made, by name.
    pub environment: Vec<(String, String)>,
    /// Laws that were fitted to the rows.
    pub fits: Vec<VariantFit>,
    /// Explanations of single rows, for people; programs find them in the rows' details.
    pub explanations: Vec<String>,
    /// Sentences for people: sources, how far the host could measure.
    pub notes: Vec<String>,
    /// What is missing; `None` of a whole document.
    pub partial: Option<Partial>,
}

/// Says that rows are missing, or have fewer rounds than was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Why, in a few words.
    pub why: &'static str,
    /// Extent of what is there.
    pub extent: Extent,
}

/// Number of things that are finished, of those that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Finished ones.
    pub finished: usize,
    /// All of them.
    pub asked: usize,
    /// Their name in the plural: `rows`.
    pub things: &'static str,
}

impl Extent {
    /// Extent of rows.
    pub fn rows(finished: usize, asked: usize) -> Extent {
        Extent { finished, asked, things: "rows" }
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} {}", self.finished, self.asked, self.things)
    }
}

impl Document {
    /// Says that rows are missing or have fewer rounds than was asked for, and why.
    pub fn incomplete(&mut self, why: &'static str, extent: Extent) {
        self.environment.push(("incomplete".to_owned(), why.to_owned()));
        self.partial = Some(Partial { why, extent });
    }
}

/// Returns whether these bytes are a JSON document of which something is missing.
pub fn is_partial(document: &[u8]) -> bool {
    let document = serde_json::from_slice(document);
    document.is_ok_and(|document: serde_json::Value| document["partial"] == true)
}

/// Marks a JSON document as one of which something is missing.
pub fn mark_partial(document: &mut serde_json::Value, why: &str, finished: usize, asked: usize) {
    document["partial"] = true.into();
    document["finished"] = finished.into();
    document["asked"] = asked.into();
    document["environment"]["incomplete"] = why.into();
}
