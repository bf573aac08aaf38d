//! Rows for people and for programs.

mod csv;
mod fits;
mod json;
mod looked;
mod phases;
mod table;

pub use self::csv::csv;
pub(crate) use json::SCHEMA;
pub use json::json;
pub(crate) use table::{figure, new_table};
pub use table::{markdown, table};

use crate::fit::VariantFit;
use crate::rows::{Row, Summary};

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
}

impl Document {
    /// Says in the environment that rows are missing or have fewer rounds than was asked for, and why.
    pub fn incomplete(&mut self, why: &str) {
        self.environment.push(("incomplete".to_owned(), why.to_owned()));
    }
}

/// The document in a format; ends with a line feed.
pub fn render(document: &Document, format: Format) -> String {
    match format {
        Format::Table => table(document),
        Format::Json => json(document),
        Format::Csv => self::csv(document),
        Format::Markdown => markdown(document),
    }
}
