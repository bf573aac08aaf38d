//! Content of the output, in any format.

use crate::recorded::RecordedProgram;
use crate::row::Row;
use crate::scaling::VariantFit;
use crate::summary::Summary;

/// Formats of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Table,
    /// One object: `schema`, `environment`, `rows`, `summary`.
    Json,
    /// A header, and one line for each row.
    Csv,
    /// Tables for a document.
    Markdown,
}

/// Everything to be printed.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Rows.
    pub rows: Vec<Row>,
    /// Summaries, where there are published figures.
    pub summaries: Vec<Summary>,
    /// Origin of the figures, and the way they were obtained: pairs of name and value.
    pub environment: Vec<(String, String)>,
    /// Scaling laws fitted to the rows.
    pub fits: Vec<VariantFit>,
    /// Answers on a recorded program, if the rows are its prediction.
    pub recorded: Option<RecordedProgram>,
    /// Explanations of individual rows for readers. Programs find them in the rows' details.
    pub explanations: Vec<String>,
    /// Notes for readers, for example sources, and the limits of measuring on this host.
    pub notes: Vec<String>,
    /// Missing part of the document; `None` if it is complete.
    pub partial: Option<Partial>,
}

/// Note that the document lacks rows, or rounds of rows, that the user requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Reason in a few words.
    pub why: &'static str,
    /// Amount that was finished.
    pub extent: Extent,
}

/// Number of items that are finished, and number requested by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of finished items.
    pub finished: usize,
    /// Number of requested items.
    pub asked: usize,
    /// Plural name of the items, for example `rows`.
    pub things: &'static str,
}

impl Extent {
    /// Returns the extent for rows.
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
    /// Marks the document as incomplete: it lacks rows, or rounds of rows, that the user requested.
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
