//! Output of rows, for people and for programs.

pub mod boxes;
mod cells;
mod csv;
mod document;
mod fits;
mod json;
mod phases;
mod probes_table;
mod table;

pub use self::csv::csv;
pub use cells::{figure, new_table};
pub use document::{Document, Extent, Format, Partial, is_partial, mark_partial};
pub use json::{SCHEMA, json};
pub use table::{markdown, table};

/// Renders the document in a format. The text ends with a line feed.
pub fn render(document: &Document, format: Format) -> String {
    match format {
        Format::Table => table(document),
        Format::Json => json(document),
        Format::Csv => self::csv(document),
        Format::Markdown => markdown(document),
    }
}
