//! Content of the output, independent of its format.

use crate::row::Row;
use crate::scaling::VariantFit;
use crate::summary::Summary;

/// Formats of the output.
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

/// Everything that is printed.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Rows.
    pub rows: Vec<Row>,
    /// Summaries, where there are published figures.
    pub summaries: Vec<Summary>,
    /// Origin of the figures and the way they were obtained, by name.
    pub environment: Vec<(String, String)>,
    /// Scaling laws fitted to the rows.
    pub fits: Vec<VariantFit>,
    /// Explanations of single rows for people. Programs find them in the rows' details.
    pub explanations: Vec<String>,
    /// Sentences for people, such as sources and the limits of measuring on this host.
    pub notes: Vec<String>,
    /// Missing part; `None` if the document is complete.
    pub partial: Option<Partial>,
}

/// Note that rows are missing, or have fewer rounds than the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Reason in a few words.
    pub why: &'static str,
    /// Extent of the finished part.
    pub extent: Extent,
}

/// Number of finished things, and of those that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of finished things.
    pub finished: usize,
    /// Number of things asked for.
    pub asked: usize,
    /// Name of the things in the plural, for example `rows`.
    pub things: &'static str,
}

impl Extent {
    /// Returns the extent of rows.
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
    /// Marks the document as incomplete: rows are missing, or have fewer rounds than asked for.
    pub fn incomplete(&mut self, why: &'static str, extent: Extent) {
        self.environment.push(("incomplete".to_owned(), why.to_owned()));
        self.partial = Some(Partial { why, extent });
    }
}

/// Returns true if these bytes are a JSON document that is marked as partial.
pub fn is_partial(document: &[u8]) -> bool {
    let document = serde_json::from_slice(document);
    document.is_ok_and(|document: serde_json::Value| document["partial"] == true)
}

/// Marks a JSON document as partial.
pub fn mark_partial(document: &mut serde_json::Value, why: &str, finished: usize, asked: usize) {
    document["partial"] = true.into();
    document["finished"] = finished.into();
    document["asked"] = asked.into();
    document["environment"]["incomplete"] = why.into();
}
